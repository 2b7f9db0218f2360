use std::sync::Arc;

use ackclock_policy::{AckPolicy, Backoff, Chosen, CongestionControl, Framing, LossRecovery, RetransmissionTimer, RttEstimator, SpuriousTimeout};

/// The policies of one connection, one of each kind.
#[derive(Debug)]
pub struct Policies {
    /// Samples to timeout.
    pub estimator: Box<dyn RttEstimator>,
    /// Timeout after timeouts.
    pub backoff: Box<dyn Backoff>,
    /// Countdown.
    pub timer: AtNeed<dyn RetransmissionTimer>,
    /// What is lost and what goes next.
    pub recovery: AtNeed<dyn LossRecovery>,
    /// Whether a timeout was spurious.
    pub undo: Box<dyn SpuriousTimeout>,
    /// Congestion window.
    pub window: Box<dyn CongestionControl>,
    /// In what segments new data leaves; `None` for full ones, each sent once. A box of a box: few connections have one.
    pub framing: Option<Box<Box<dyn Framing>>>,
    /// When to acknowledge.
    pub ack: Box<dyn AckPolicy>,
}

impl Policies {
    /// A framing as a connection holds it.
    pub fn framing(framing: Box<dyn Framing>) -> Option<Box<Box<dyn Framing>>> {
        (!framing.is_plain()).then(|| Box::new(framing))
    }
}

/// A policy that only the sender of data asks: one that was made already, or one to be made when it is first asked, so that a receiver has none.
#[derive(Debug)]
pub enum AtNeed<T: ?Sized + 'static> {
    /// There it is.
    Made(Box<T>),
    /// To be made of this.
    Chosen(Arc<Chosen<T>>),
}

impl<T: ?Sized> AtNeed<T> {
    /// The policy.
    #[inline]
    pub fn get(&mut self) -> &mut T {
        if matches!(self, Self::Chosen(_)) {
            self.make();
        }
        match self {
            Self::Made(policy) => policy,
            Self::Chosen(_) => unreachable!("just made"),
        }
    }

    #[cold]
    fn make(&mut self) {
        if let Self::Chosen(chosen) = self {
            *self = Self::Made(chosen.build());
        }
    }
}

impl<T: ?Sized> From<Box<T>> for AtNeed<T> {
    fn from(policy: Box<T>) -> Self {
        Self::Made(policy)
    }
}

impl<T: ?Sized> From<&Arc<Chosen<T>>> for AtNeed<T> {
    fn from(chosen: &Arc<Chosen<T>>) -> Self {
        Self::Chosen(Arc::clone(chosen))
    }
}
