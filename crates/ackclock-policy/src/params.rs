//! A policy's parameters with their values, and the declaration that builds the policy from them.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use ackclock_units::{Bytes, Duration, Rate};

use crate::param::Param;
use crate::value::{QueueSize, Value};

/// A policy's parameters, every one with a value.
#[derive(Clone, Debug, Default)]
pub struct Params {
    values: Vec<(&'static str, Value)>,
    /// The cached result of [`Params::shared`].
    shared: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// Equal when every value is.
impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl Params {
    /// The defaults of `declared`.
    pub fn defaults(declared: &[Param]) -> Self {
        Self { values: declared.iter().map(|p| (p.name, p.default)).collect(), shared: OnceLock::new() }
    }

    /// Sets one; returns false when there is none of that name.
    pub fn set(&mut self, name: &str, value: Value) -> bool {
        self.shared = OnceLock::new();
        self.values.iter_mut().find(|(n, _)| *n == name).map(|slot| slot.1 = value).is_some()
    }

    /// All of them, in the order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Value)> + '_ {
        self.values.iter().copied()
    }

    /// The result of `read` on these parameters, computed once for all policies that are built from them. A
    /// policy with many parameters keeps them here, and in each connection only its state.
    pub fn shared<R: Any + Send + Sync>(&self, read: impl Fn(&Self) -> R) -> Arc<R> {
        let shared = self.shared.get_or_init(|| Arc::new(read(self)));
        Arc::clone(shared).downcast().unwrap_or_else(|_| Arc::new(read(self)))
    }

    fn get(&self, name: &str) -> Value {
        // A policy reads only parameters that it declared, with the kind it declared; anything else is a bug
        // in that policy.
        self.iter()
            .find(|(n, _)| *n == name)
            .unwrap_or_else(|| panic!("`{name}` is not declared by this policy"))
            .1
    }

    /// The size `name`.
    pub fn bytes(&self, name: &str) -> Bytes {
        let Value::Bytes(n) = self.get(name) else { panic!("`{name}` is not declared as a size") };
        n
    }

    /// The time `name`.
    pub fn duration(&self, name: &str) -> Duration {
        let Value::Duration(d) = self.get(name) else { panic!("`{name}` is not declared as a time") };
        d
    }

    /// The rate `name`.
    pub fn rate(&self, name: &str) -> Rate {
        let Value::Rate(r) = self.get(name) else { panic!("`{name}` is not declared as a rate") };
        r
    }

    /// The real number `name`.
    pub fn ratio(&self, name: &str) -> f64 {
        let Value::Ratio(x) = self.get(name) else { panic!("`{name}` is not declared as a ratio") };
        x
    }

    /// The whole number `name`; `u64::MAX` for `inf`.
    pub fn count(&self, name: &str) -> u64 {
        let Value::Count(n) = self.get(name) else { panic!("`{name}` is not declared as a count") };
        n
    }

    /// The switch `name`.
    pub fn flag(&self, name: &str) -> bool {
        let Value::Flag(b) = self.get(name) else { panic!("`{name}` is not declared as a flag") };
        b
    }

    /// The length of a queue `name`.
    pub fn queue(&self, name: &str) -> QueueSize {
        let Value::Queue(size) = self.get(name) else {
            panic!("`{name}` is not declared as a length of a queue")
        };
        size
    }

    /// The word `name`.
    pub fn choice(&self, name: &str) -> &'static str {
        let Value::Choice(word) = self.get(name) else { panic!("`{name}` is not declared as a choice") };
        word
    }
}

/// The declaration at the end of each policy file: all that a scenario, a help text, a Python class or a
/// reference page needs.
#[derive(Debug)]
pub struct Entry<T: ?Sized> {
    /// The name scenario files use.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    /// Where it comes from: register ids, RFC and section.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Makes one for one connection (or link).
    pub build: fn(&Params) -> Box<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Param = Param::queue("limit", QueueSize::Packets(50), 40, "most that is queued");

    #[test]
    fn a_shared_value_is_computed_again_after_a_parameter_changes() {
        let mut p = Params::defaults(&[LIMIT]);
        let read = |p: &Params| p.queue("limit");
        let first = p.shared(read);
        assert!(Arc::ptr_eq(&first, &p.clone().shared(read)));
        assert!(p.set("limit", Value::Queue(QueueSize::Packets(7))));
        assert_eq!((*first, *p.shared(read)), (QueueSize::Packets(50), QueueSize::Packets(7)));
        assert_eq!(*p.shared(|_| "another type"), "another type");
    }
}
