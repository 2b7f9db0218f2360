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
    /// A window stands where a preset or a modifier is expected.
    Window {
        /// The name given.
        met: String,
        /// The window, and the preset that it is to be used with.
        window: &'static str,
        /// See `window`.
        preset: String,
        /// Windows whose names differ by a number alone, with what each is; empty if there is one.
        alike: Vec<(&'static str, &'static str)>,
        /// The known presets.
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
                write!(
                    f,
                    "`{met}` is not a known stack{}; expected one of {}",
                    hint(nearest),
                    known.join(", ")
                )
            }
            Self::Window { met, window, preset, alike, known } => {
                let each: Vec<_> = alike.iter().map(|(name, is)| format!("`{name}` is {is}")).collect();
                let which = if each.is_empty() { String::new() } else { format!(" ({})", each.join(", ")) };
                write!(
                    f,
                    "`{met}` is a congestion window{which} and no stack: expected `{{ preset = \"{preset}\", \
                     window = \"{window}\" }}`, or one of the stacks {}",
                    known.join(", ")
                )
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
