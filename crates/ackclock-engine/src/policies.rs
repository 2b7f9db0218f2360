//! The policies of a connection, and the choices from which they are built. Every kind of policy of a stack
//! is declared here, once.

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
    /// Estimates the timeout from round-trip samples.
    pub estimator: Box<dyn RttEstimator>,
    /// Decides when to acknowledge.
    pub ack: Lazy<dyn AckPolicy>,
    /// The policies of the sending side.
    pub sender: Lazy<SenderPolicies>,
}

/// Declares the kinds of policy of a sending side: those that every sender has, and those of which most
/// senders have the plain one. `standard` is the policy that a stack has by default.
macro_rules! sender_kinds {
    (
        every sender { $($(#[$doc:meta])* $kind:ident: $role:ident, $standard:literal;)* }
        few senders { $($(#[$few_doc:meta])* $few:ident: $few_role:ident, $few_standard:literal;)* }
    ) => {
        /// The policies that are used only to send data, or to retransmit a SYN.
        #[derive(Debug)]
        pub struct SenderPolicies {
            $($(#[$doc])* pub $kind: Box<dyn $role>,)*
            /// Policies that are not the plain ones; `None` if all are plain.
            pub special: Option<Box<SpecialPolicies>>,
        }

        /// Policies of kinds of which most senders have the plain one, which is `None` here.
        #[derive(Debug, Default)]
        pub struct SpecialPolicies {
            $($(#[$few_doc])* pub $few: Option<Box<dyn $few_role>>,)*
        }

        /// The choice of policies from which [`SenderPolicies`] are built.
        #[derive(Clone, Debug)]
        pub struct SenderChoice {
            $($(#[$doc])* pub $kind: Chosen<dyn $role>,)*
            $($(#[$few_doc])* pub $few: Chosen<dyn $few_role>,)*
        }

        impl SenderChoice {
            /// Names of the kinds, in the order in which they are listed.
            pub(crate) const KINDS: &[&str] =
                &[$(<dyn $role as Role>::KIND,)* $(<dyn $few_role as Role>::KIND,)*];

            /// The standard policies of today.
            pub fn standard(registry: &Registry) -> Result<Self, RegistryError> {
                Ok(Self {
                    $($kind: registry.choose($standard)?,)*
                    $($few: registry.choose($few_standard)?,)*
                })
            }

            /// Builds the policies of one connection.
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
        /// Backs off the timeout.
        backoff: Backoff, "exponential";
        /// Decides when the retransmission timer runs.
        timer: RetransmissionTimer, "restart-on-ack";
        /// Decides what is lost and what is sent next.
        recovery: LossRecovery, "sack";
        /// Detects spurious timeouts, and undoes them.
        undo: SpuriousTimeout, "none";
        /// The congestion window.
        window: CongestionControl, "reno";
    }
    few senders {
        /// Growth of a window below its threshold.
        slow_start: SlowStart, "classic";
        /// How much is sent while a loss is repaired.
        reduction: Reduction, "at-once";
        /// Sizes of the segments of new data.
        framing: Framing, "full";
    }
}

impl SenderPolicies {
    /// Notifies the congestion window of an ack.
    #[inline(always)]
    pub(crate) fn window_on_ack(&mut self, a: &AckInfo, v: &SenderView) -> Control {
        let mut classic = ClassicSlowStart;
        let slow_start = match &mut self.special {
            Some(special) => special.slow_start.as_deref_mut().unwrap_or(&mut classic),
            None => &mut classic,
        };
        self.window.on(Feedback::Ack(a, slow_start), v)
    }

    /// The framing of new data; `None` if it is the plain one.
    pub(crate) fn framing(&mut self) -> Option<&mut (dyn Framing + 'static)> {
        self.special.as_mut()?.framing.as_deref_mut()
    }

    /// The reduction that is spread over a recovery; `None` if the window is reduced at once.
    pub(crate) fn reduction(&mut self) -> Option<&mut (dyn Reduction + 'static)> {
        self.special.as_mut()?.reduction.as_deref_mut()
    }

    /// True when new data is sent in full segments, each once.
    #[inline(always)]
    pub(crate) fn sends_full_segments(&self) -> bool {
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

/// Appends a choice as keys and values.
pub(crate) fn list<T: Role + ?Sized>(chosen: &Chosen<T>, all: &mut Vec<(String, String)>) {
    all.push((T::KIND.to_owned(), chosen.name().to_owned()));
    all.extend(
        chosen.params().iter().map(|(param, value)| (format!("{}.{param}", T::KIND), value.to_string())),
    );
}

/// Policies that not every connection uses, built on first use. So an end that only receives has no policies
/// of a sender, and the reverse.
pub enum Lazy<T: LazyBuild + ?Sized> {
    /// The policies in use.
    Built(Box<T>),
    /// To be built from this choice.
    Chosen(Arc<T::Choice>),
}

/// What [`Lazy`] can build.
pub trait LazyBuild: Debug + 'static {
    /// The choice from which it is built.
    type Choice: Debug;

    /// Builds it.
    fn build(choice: &Self::Choice) -> Box<Self>;
}

impl LazyBuild for dyn AckPolicy {
    type Choice = Chosen<Self>;

    fn build(choice: &Self::Choice) -> Box<Self> {
        choice.build()
    }
}

impl LazyBuild for SenderPolicies {
    type Choice = SenderChoice;

    fn build(choice: &Self::Choice) -> Box<Self> {
        Box::new(choice.build())
    }
}

impl<T: LazyBuild + ?Sized> Lazy<T> {
    /// The policies, built by the first call.
    #[inline]
    pub fn get_mut(&mut self) -> &mut T {
        if matches!(self, Self::Chosen(_)) {
            self.build();
        }
        match self {
            Self::Built(policies) => policies,
            Self::Chosen(_) => unreachable!("just built"),
        }
    }

    #[cold]
    fn build(&mut self) {
        if let Self::Chosen(choice) = self {
            *self = Self::Built(T::build(choice));
        }
    }
}

// Not derived: the bounds would then be on `T` instead of on the box and the choice.
impl<T: LazyBuild + ?Sized> Debug for Lazy<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Built(policies) => policies.fmt(f),
            Self::Chosen(choice) => choice.fmt(f),
        }
    }
}

impl<T: LazyBuild + ?Sized> From<Box<T>> for Lazy<T> {
    fn from(policies: Box<T>) -> Self {
        Self::Built(policies)
    }
}

impl<T: LazyBuild + ?Sized> From<&Arc<T::Choice>> for Lazy<T> {
    fn from(choice: &Arc<T::Choice>) -> Self {
        Self::Chosen(Arc::clone(choice))
    }
}
