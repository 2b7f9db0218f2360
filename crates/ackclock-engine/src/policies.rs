use std::fmt::Debug;
use std::sync::Arc;

use ackclock_policy::{
    AckPolicy, Backoff, Chosen, CongestionControl, Framing, LossRecovery, RetransmissionTimer, RttEstimator,
    SpuriousTimeout,
};

/// The policies of one connection, one of each kind.
#[derive(Debug)]
pub struct Policies {
    /// Samples to timeout.
    pub estimator: Box<dyn RttEstimator>,
    /// When to acknowledge.
    pub ack: AtNeed<dyn AckPolicy>,
    /// Those of the sending side.
    pub sender: AtNeed<SenderPolicies>,
}

/// The policies that only what sends data asks, or a SYN that was not answered.
#[derive(Debug)]
pub struct SenderPolicies {
    /// Timeout after timeouts.
    pub backoff: Box<dyn Backoff>,
    /// Countdown.
    pub timer: Box<dyn RetransmissionTimer>,
    /// What is lost and what goes next.
    pub recovery: Box<dyn LossRecovery>,
    /// Whether a timeout was spurious.
    pub undo: Box<dyn SpuriousTimeout>,
    /// Congestion window.
    pub window: Box<dyn CongestionControl>,
    /// In what segments new data leaves; `None` for full ones, each sent once.
    pub framing: Option<Box<dyn Framing>>,
}

/// Of what [`SenderPolicies`] are made.
#[derive(Clone, Debug)]
pub struct SenderChoice {
    /// Timeout after timeouts.
    pub backoff: Chosen<dyn Backoff>,
    /// Countdown.
    pub timer: Chosen<dyn RetransmissionTimer>,
    /// What is lost and what goes next.
    pub recovery: Chosen<dyn LossRecovery>,
    /// Whether a timeout was spurious.
    pub undo: Chosen<dyn SpuriousTimeout>,
    /// Congestion window.
    pub window: Chosen<dyn CongestionControl>,
    /// In what segments new data leaves.
    pub framing: Chosen<dyn Framing>,
}

impl SenderChoice {
    /// Makes the policies of one connection.
    pub fn build(&self) -> SenderPolicies {
        SenderPolicies {
            backoff: self.backoff.build(),
            timer: self.timer.build(),
            recovery: self.recovery.build(),
            undo: self.undo.build(),
            window: self.window.build(),
            framing: Some(self.framing.build()).filter(|framing| !framing.is_plain()),
        }
    }
}

/// What not every connection asks for: made already, or to be made when it is first asked for, so that a
/// receiver has nothing of a sender's, and the other way round.
pub enum AtNeed<T: Need + ?Sized> {
    /// There it is.
    Made(Box<T>),
    /// To be made of this.
    Chosen(Arc<T::Choice>),
}

/// What can be made when it is needed.
pub trait Need: Debug + 'static {
    /// Of what.
    type Choice: Debug;

    /// Makes it.
    fn make(choice: &Self::Choice) -> Box<Self>;
}

impl Need for dyn AckPolicy {
    type Choice = Chosen<Self>;

    fn make(choice: &Self::Choice) -> Box<Self> {
        choice.build()
    }
}

impl Need for SenderPolicies {
    type Choice = SenderChoice;

    fn make(choice: &Self::Choice) -> Box<Self> {
        Box::new(choice.build())
    }
}

impl<T: Need + ?Sized> AtNeed<T> {
    /// It.
    #[inline]
    pub fn get(&mut self) -> &mut T {
        if matches!(self, Self::Chosen(_)) {
            self.make();
        }
        match self {
            Self::Made(made) => made,
            Self::Chosen(_) => unreachable!("just made"),
        }
    }

    #[cold]
    fn make(&mut self) {
        if let Self::Chosen(choice) = self {
            *self = Self::Made(T::make(choice));
        }
    }
}

// Derived, it would ask the same of the choice's `Arc`.
impl<T: Need + ?Sized> Debug for AtNeed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Made(made) => made.fmt(f),
            Self::Chosen(choice) => choice.fmt(f),
        }
    }
}

impl<T: Need + ?Sized> From<Box<T>> for AtNeed<T> {
    fn from(made: Box<T>) -> Self {
        Self::Made(made)
    }
}

impl<T: Need + ?Sized> From<&Arc<T::Choice>> for AtNeed<T> {
    fn from(choice: &Arc<T::Choice>) -> Self {
        Self::Chosen(Arc::clone(choice))
    }
}
