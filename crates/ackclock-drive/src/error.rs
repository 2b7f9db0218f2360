use std::{fmt, io};

/// An error of real-time runs.
#[derive(Debug)]
pub enum DriveError {
    /// A right or a facility of the system is missing. The message names it and how to get it.
    Missing(String),
    /// A system call failed, while doing what the first part says.
    System(&'static str, io::Error),
    /// An input is wrong. The message names the place, the value and the values allowed.
    Input(String),
    /// The data received differs from the data sent, or a program of the run failed.
    Failed(String),
    /// The machine was too busy for the emulator to keep time, so that the run says nothing.
    Void(String),
    /// The caller asked to stop.
    Interrupted,
}

#[cfg(target_os = "linux")]
impl DriveError {
    /// Makes an error of a system call; `doing` completes "could not ...".
    pub(crate) fn system(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |e| Self::System(doing, e)
    }
}

impl fmt::Display for DriveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(sentence)
            | Self::Input(sentence)
            | Self::Failed(sentence)
            | Self::Void(sentence) => f.write_str(sentence),
            Self::System(doing, e) => write!(f, "could not {doing}: {e}"),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for DriveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(_, e) => Some(e),
            _ => None,
        }
    }
}
