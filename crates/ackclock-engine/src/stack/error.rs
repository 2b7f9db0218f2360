//! Errors in the name or the keys of a stack.

use std::fmt;

use ackclock_policy::{ModifierError, RegistryError};

/// Why a stack could not be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StackError {
    /// The name does not begin with a preset.
    UnknownPreset {
        /// The name given.
        met: String,
        /// What may have been meant.
        nearest: Option<&'static str>,
        /// The known names.
        known: Vec<&'static str>,
    },
    /// A modifier is unknown or malformed.
    Modifier(ModifierError),
    /// No policy, parameter or option has that key.
    UnknownKey {
        /// The key given.
        met: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A policy, a parameter or a value is not valid.
    Registry(RegistryError),
}

impl fmt::Display for StackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hint =
            |nearest: &Option<&str>| nearest.map_or(String::new(), |n| format!(" (did you mean `{n}`?)"));
        match self {
            Self::UnknownPreset { met, nearest, known } => {
                write!(f, "`{met}` is not a known stack{}; known are {}", hint(nearest), known.join(", "))
            }
            Self::Modifier(e) => e.fmt(f),
            Self::UnknownKey { met, nearest: Some(n) } => {
                write!(f, "`{met}` is not a key of a stack (did you mean `{n}`?)")
            }
            Self::UnknownKey { met, nearest: None } => {
                let kinds: Vec<_> = super::Stack::kinds().collect();
                let kinds = kinds.join(", ");
                write!(
                    f,
                    "`{met}` is not a key of a stack, which are {kinds}, their parameters and the options"
                )
            }
            Self::Registry(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for StackError {}

impl From<RegistryError> for StackError {
    fn from(e: RegistryError) -> Self {
        Self::Registry(e)
    }
}

impl From<ModifierError> for StackError {
    fn from(e: ModifierError) -> Self {
        Self::Modifier(e)
    }
}
