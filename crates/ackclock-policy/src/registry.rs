//! All policies that a scenario can name.

use std::fmt;

use crate::traits::*;
use crate::{Entry, Param, ParamError, Params, Value};
use crate::{
    ack, application, backoff, estimator, framing, nearest, queue, rate, recovery, reduction, slow_start,
    timer, undo, window,
};

/// A kind of policy: what the registry can hold. Implemented for the policy traits' objects, such as
/// `dyn Backoff`.
pub trait Role: Policy + 'static {
    /// The kind's name, as scenario files have it.
    const KIND: &'static str;

    /// The registry's entries of this kind, in order of registration.
    fn entries(registry: &Registry) -> &[&'static Entry<Self>];

    /// The same, to add to.
    #[doc(hidden)]
    fn entries_mut(registry: &mut Registry) -> &mut Vec<&'static Entry<Self>>;
}

/// A kind of policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyKind {
    /// Its name, as scenario files have it.
    pub name: &'static str,
    /// What policies of it decide: a heading.
    pub title: &'static str,
}

/// A function that is generic over the kind of policy, which a closure cannot be.
pub trait EachKind {
    /// Called with one kind.
    fn kind<T: Role + ?Sized>(&mut self);
}

macro_rules! kinds {
    ($($field:ident: dyn $role:ident, $kind:literal, $title:literal, $builtin:expr;)*) => {
        /// The kinds of policy, in the order in which they are listed.
        pub const KINDS: &[PolicyKind] = &[$(PolicyKind { name: $kind, title: $title }),*];

        /// All policies that a scenario can name: the built-in ones and a user's own.
        ///
        /// A registry is a value; nothing is global. To use policies of your own everywhere, call
        /// [`Registry::register`] for each on a `Registry::builtin()`.
        #[derive(Clone, Debug)]
        pub struct Registry {
            $($field: Vec<&'static Entry<dyn $role>>,)*
        }

        impl Registry {
            /// The policies that come with ackclock.
            pub fn builtin() -> Self {
                Self { $($field: $builtin.to_vec(),)* }
            }

            /// Calls `what` for every kind of policy, in the order of [`KINDS`].
            pub fn each_kind(what: &mut impl EachKind) {
                $(what.kind::<dyn $role>();)*
            }

            /// Every declaration, for listings and reference pages.
            pub fn declarations(&self) -> Vec<Declaration> {
                let mut all = Vec::new();
                $(all.extend(self.$field.iter().map(|e| Declaration::of($kind, e)));)*
                all
            }
        }

        $(impl Role for dyn $role {
            const KIND: &'static str = $kind;

            fn entries(registry: &Registry) -> &[&'static Entry<Self>] {
                &registry.$field
            }

            fn entries_mut(registry: &mut Registry) -> &mut Vec<&'static Entry<Self>> {
                &mut registry.$field
            }
        })*
    };
}

kinds! {
    estimators: dyn RttEstimator, "estimator", "Estimators: from round-trip times to a retransmission timeout", estimator::ENTRIES;
    backoffs: dyn Backoff, "backoff", "Backoffs: what consecutive expiries do to the timeout", backoff::ENTRIES;
    timers: dyn RetransmissionTimer, "timer", "Timers: when the retransmission timer is restarted", timer::ENTRIES;
    recoveries: dyn LossRecovery, "recovery", "Recoveries: what is lost, and what is sent next", recovery::ENTRIES;
    undos: dyn SpuriousTimeout, "undo", "Undos: detection of spurious timeouts, and the response to them", undo::ENTRIES;
    windows: dyn CongestionControl, "window", "Windows: how much may be in flight", window::ENTRIES;
    slow_starts: dyn SlowStart, "slow_start", "Slow starts: how a window below its threshold grows, and when that ends", slow_start::ENTRIES;
    reductions: dyn Reduction, "reduction", "Reductions: how much is sent while a loss is repaired", reduction::ENTRIES;
    framings: dyn Framing, "framing", "Framings: into what segments new data is cut", framing::ENTRIES;
    acks: dyn AckPolicy, "ack", "Acknowledgments: when a receiver sends an ack", ack::ENTRIES;
    queues: dyn QueueDiscipline, "queue", "Queues: which packets are queued, marked or dropped", queue::ENTRIES;
    applications: dyn Application, "application", "Applications: what runs above a connection", application::ENTRIES;
    rates: dyn RateControl, "rate", "Rate controls: how fast a source without a window sends", rate::ENTRIES;
}

impl Registry {
    /// Adds a policy of your own: `registry.register(&my_policy::ENTRY)`. An error when a policy of its kind
    /// has that name already.
    pub fn register<T: Role + ?Sized>(&mut self, entry: &'static Entry<T>) -> Result<(), RegistryError> {
        if T::entries(self).iter().any(|e| e.name == entry.name) {
            return Err(RegistryError::NameTaken { kind: T::KIND, name: entry.name });
        }
        T::entries_mut(self).push(entry);
        Ok(())
    }

    /// The entry of that name: `registry.find::<dyn Backoff>("none")`.
    pub fn find<T: Role + ?Sized>(&self, name: &str) -> Result<&'static Entry<T>, RegistryError> {
        let entries = T::entries(self);
        entries.iter().find(|e| e.name == name).copied().ok_or_else(|| {
            let known: Vec<_> = entries.iter().map(|e| e.name).collect();
            RegistryError::UnknownPolicy {
                kind: T::KIND,
                met: name.to_owned(),
                nearest: nearest(name, known.iter().copied()),
                known,
            }
        })
    }

    /// The policy of that name with the defaults of its parameters, ready to be adjusted and built.
    pub fn choose<T: Role + ?Sized>(&self, name: &str) -> Result<Chosen<T>, RegistryError> {
        self.find(name).map(Chosen::new)
    }
}

/// A policy chosen by name, with a value for each of its parameters.
pub struct Chosen<T: ?Sized + 'static> {
    entry: &'static Entry<T>,
    params: Params,
}

// Derived, these would require the same of `T` itself.
impl<T: ?Sized> fmt::Debug for Chosen<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chosen").field("name", &self.entry.name).field("params", &self.params).finish()
    }
}

impl<T: ?Sized> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        Self { entry: self.entry, params: self.params.clone() }
    }
}

/// Two choices are equal when name and parameters are.
impl<T: ?Sized> PartialEq for Chosen<T> {
    fn eq(&self, other: &Self) -> bool {
        self.entry.name == other.entry.name && self.params == other.params
    }
}

impl<T: ?Sized> Chosen<T> {
    /// `entry` with the defaults of its parameters.
    pub fn new(entry: &'static Entry<T>) -> Self {
        Self { entry, params: Params::defaults(entry.params) }
    }

    /// The name in the registry.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// The declaration it was chosen from.
    pub fn entry(&self) -> &'static Entry<T> {
        self.entry
    }

    /// Its parameters, every one with a value.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Sets a parameter from text, as a scenario file or `--set` has it.
    pub fn set(&mut self, param: &str, text: &str) -> Result<(), RegistryError> {
        let declared = self.declared(param)?;
        let value = declared.parse(text)?;
        self.params.set(declared.name, value);
        Ok(())
    }

    /// Sets a parameter to a value, which must be of its kind and within its range.
    pub fn set_value(&mut self, param: &str, value: Value) -> Result<(), RegistryError> {
        let declared = self.declared(param)?;
        let value = declared.check(value)?;
        self.params.set(declared.name, value);
        Ok(())
    }

    /// Makes one for one connection or link.
    pub fn build(&self) -> Box<T> {
        (self.entry.build)(&self.params)
    }

    fn declared(&self, param: &str) -> Result<&'static Param, RegistryError> {
        let known = self.entry.params;
        known.iter().find(|p| p.name == param).ok_or_else(|| RegistryError::UnknownParam {
            policy: self.entry.name,
            met: param.to_owned(),
            nearest: nearest(param, known.iter().map(|p| p.name)),
            known: known.iter().map(|p| p.name).collect(),
        })
    }
}

/// An [`Entry`] without its type: what a listing or a reference page shows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Declaration {
    /// The name of one of [`KINDS`].
    pub kind: &'static str,
    /// The name scenario files use.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Where it comes from: register ids, RFC and section.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
}

impl Declaration {
    fn of<T: ?Sized>(kind: &'static str, e: &Entry<T>) -> Self {
        Self { kind, name: e.name, about: e.about, source: e.source, params: e.params }
    }
}

/// Why a policy could not be found, configured or registered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RegistryError {
    /// No policy of this kind has that name.
    UnknownPolicy {
        /// The kind asked for.
        kind: &'static str,
        /// The name met.
        met: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// The policy has no such parameter.
    UnknownParam {
        /// The policy.
        policy: &'static str,
        /// The name met.
        met: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// The parameter's value is not valid.
    Param(ParamError),
    /// A policy of this kind has that name already.
    NameTaken {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: &'static str,
    },
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownPolicy { kind, met, nearest, known } => {
                write!(f, "`{met}` is not a known {kind}{}", Hint(*nearest, known))
            }
            Self::UnknownParam { policy, met, known, .. } if known.is_empty() => {
                write!(f, "`{policy}` has no parameters, and `{met}` was given")
            }
            Self::UnknownParam { policy, met, nearest, known } => {
                write!(f, "`{met}` is not a parameter of `{policy}`{}", Hint(*nearest, known))
            }
            Self::Param(e) => e.fmt(f),
            Self::NameTaken { kind, name } => write!(f, "`{name}` is the name of another {kind} already"),
        }
    }
}

/// ": did you mean `x`? Known are ..."
struct Hint<'a>(Option<&'a str>, &'a [&'a str]);

impl fmt::Display for Hint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(name) => write!(f, " (did you mean `{name}`?); expected one of {}", self.1.join(", ")),
            None => write!(f, "; expected one of {}", self.1.join(", ")),
        }
    }
}

impl std::error::Error for RegistryError {}

impl From<ParamError> for RegistryError {
    fn from(e: ParamError) -> Self {
        Self::Param(e)
    }
}
