//! The variables of a script's blocks.

use std::collections::BTreeMap;

use ackclock_policy::nearest;

use super::call::FUNCTIONS;
use super::{MAX_SCOPE, Value};

/// Variables that keep their values from one block to the next.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scope {
    variables: BTreeMap<String, Value>,
    /// The size of all names and values.
    size: usize,
    /// Other names, for the errors about unknown ones.
    known: Vec<String>,
}

impl Scope {
    /// Without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Without variables. Errors about unknown names suggest these too; [`super::known_names`] has those of
    /// `TCP_INFO`.
    pub fn with_known<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { known: names.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    /// A variable's value.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.variables.get(name)
    }

    /// Sets a variable; the error is a sentence.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), String> {
        let old = self.get(name).map_or(0, |old| size(name, old));
        let new = self.size - old + size(name, &value);
        if new > MAX_SCOPE {
            return Err(format!("`{name}` makes the variables larger than {MAX_SCOPE} bytes or elements"));
        }
        self.size = new;
        self.variables.insert(name.to_owned(), value);
        Ok(())
    }

    /// The variables, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Forgets the variables that hide a given name.
    pub(super) fn unhide(&mut self, names: &dyn Fn(&str) -> Option<Value>) {
        self.variables.retain(|name, _| names(name).is_none());
        self.size = self.iter().map(|(name, value)| size(name, value)).sum();
    }

    /// The error of a name that nothing has.
    pub(super) fn unknown(&self, name: &str) -> String {
        let variables = self.variables.keys().map(String::as_str);
        let known = variables.chain(self.known.iter().map(String::as_str)).chain(FUNCTIONS.iter().copied());
        match nearest(name, known) {
            Some(nearest) => format!("`{name}` is not a known name (did you mean `{nearest}`?)"),
            None => {
                format!(
                    "`{name}` is not a known name; expected a variable, a field of TCP_INFO or a constant"
                )
            }
        }
    }
}

fn size(name: &str, value: &Value) -> usize {
    name.len() + value.size()
}
