//! The policies of a connection, and of what they are made. Every kind of policy that a stack has is declared
//! here, once.

use std::fmt::Debug;
use std::sync::Arc;

use ackclock_policy::{
    AckInfo, AckPolicy, Backoff, Chosen, ClassicSlowStart, CongestionControl, Control, Feedback, Framing,
    LossRecovery, Reduction, Registry, RegistryError, RetransmissionTimer, Role, RttEstimator, SenderView,
    SlowStart, SpuriousTimeout,
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

/// Declares the kinds of policy of a sending side: what every sender has, and what few have another rule for
/// than the plain one. `standard` is the policy that a stack has unless it says otherwise.
macro_rules! sender_kinds {
    (
        every sender { $($(#[$doc:meta])* $kind:ident: $role:ident, $standard:literal;)* }
        few senders { $($(#[$few_doc:meta])* $few:ident: $few_role:ident, $few_standard:literal;)* }
    ) => {
        /// The policies that only what sends data asks, or a SYN that was not answered.
        #[derive(Debug)]
        pub struct SenderPolicies {
            $($(#[$doc])* pub $kind: Box<dyn $role>,)*
            /// What differs from the plain rule; `None` where nothing does.
            pub special: Option<Box<SpecialPolicies>>,
        }

        /// Policies of kinds of which most senders have the plain one, which is `None` here.
        #[derive(Debug, Default)]
        pub struct SpecialPolicies {
            $($(#[$few_doc])* pub $few: Option<Box<dyn $few_role>>,)*
        }

        /// Of what [`SenderPolicies`] are made.
        #[derive(Clone, Debug)]
        pub struct SenderChoice {
            $($(#[$doc])* pub $kind: Chosen<dyn $role>,)*
            $($(#[$few_doc])* pub $few: Chosen<dyn $few_role>,)*
        }

        impl SenderChoice {
            /// Names of the kinds, in the order in which they are listed.
            pub(crate) const KINDS: &[&str] =
                &[$(<dyn $role as Role>::KIND,)* $(<dyn $few_role as Role>::KIND,)*];

            /// Today's standard policies.
            pub fn standard(registry: &Registry) -> Result<Self, RegistryError> {
                Ok(Self {
                    $($kind: registry.choose($standard)?,)*
                    $($few: registry.choose($few_standard)?,)*
                })
            }

            /// Makes the policies of one connection.
            pub fn build(&self) -> SenderPolicies {
                let special = SpecialPolicies {
                    $($few: Some(self.$few.build()).filter(|policy| !policy.is_default()),)*
                };
                let any = $(special.$few.is_some())||*;
                SenderPolicies {
                    $($kind: self.$kind.build(),)*
                    special: any.then(|| Box::new(special)),
                }
            }

            /// Chooses the policy `value` of one of its [kinds](Self::KINDS), or sets a parameter of the one
            /// chosen.
            pub(crate) fn set(
                &mut self,
                registry: &Registry,
                kind: &str,
                param: Option<&str>,
                value: &str,
            ) -> Result<(), RegistryError> {
                $(if kind == <dyn $role as Role>::KIND {
                    return adjust(registry, &mut self.$kind, param, value);
                })*
                $(if kind == <dyn $few_role as Role>::KIND {
                    return adjust(registry, &mut self.$few, param, value);
                })*
                unreachable!("the caller asks for one of the kinds")
            }

            /// Every choice as keys and values, each policy before its parameters.
            pub(crate) fn list(&self, all: &mut Vec<(String, String)>) {
                $(list(&self.$kind, all);)*
                $(list(&self.$few, all);)*
            }
        }
    };
}

sender_kinds! {
    every sender {
        /// Timeout after timeouts.
        backoff: Backoff, "exponential";
        /// Countdown.
        timer: RetransmissionTimer, "restart-on-ack";
        /// What is lost and what goes next.
        recovery: LossRecovery, "sack";
        /// Whether a timeout was spurious.
        undo: SpuriousTimeout, "none";
        /// Congestion window.
        window: CongestionControl, "reno";
    }
    few senders {
        /// How a window below its threshold grows.
        slow_start: SlowStart, "classic";
        /// How much leaves while a loss is repaired.
        reduction: Reduction, "at-once";
        /// In what segments new data leaves.
        framing: Framing, "full";
    }
}

impl SenderPolicies {
    /// Tells the congestion window of an ack.
    #[inline(always)]
    pub(crate) fn window_on_ack(&mut self, a: &AckInfo, v: &SenderView) -> Control {
        let mut classic = ClassicSlowStart;
        let slow_start = match &mut self.special {
            Some(special) => special.slow_start.as_deref_mut().unwrap_or(&mut classic),
            None => &mut classic,
        };
        self.window.on(Feedback::Ack(a, slow_start), v)
    }

    /// How new data is framed, where it is not plainly.
    pub(crate) fn framing(&mut self) -> Option<&mut (dyn Framing + 'static)> {
        self.special.as_mut()?.framing.as_deref_mut()
    }

    /// How much leaves while a loss is repaired, where the loss recovery does not say so itself.
    pub(crate) fn reduction(&mut self) -> Option<&mut (dyn Reduction + 'static)> {
        self.special.as_mut()?.reduction.as_deref_mut()
    }

    /// True where new data leaves in full segments, each sent once.
    #[inline(always)]
    pub(crate) fn frames_plainly(&self) -> bool {
        self.special.as_ref().is_none_or(|s| s.framing.is_none())
    }
}

/// Chooses a policy, or sets a parameter of the one chosen.
pub(crate) fn adjust<T: Role + ?Sized>(
    registry: &Registry,
    chosen: &mut Chosen<T>,
    param: Option<&str>,
    value: &str,
) -> Result<(), RegistryError> {
    match param {
        None => *chosen = registry.choose(value)?,
        Some(param) => chosen.set(param, value)?,
    }
    Ok(())
}

/// A choice as keys and values.
pub(crate) fn list<T: Role + ?Sized>(chosen: &Chosen<T>, all: &mut Vec<(String, String)>) {
    all.push((T::KIND.to_owned(), chosen.name().to_owned()));
    all.extend(
        chosen.params().iter().map(|(param, value)| (format!("{}.{param}", T::KIND), value.to_string())),
    );
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
