//! A command behind an emulated link: a namespace for the command, one at the far end, the emulator between
//! them, and behind the far end either the outside world or a server of the user's.

mod ends;
mod relay;
mod resolver;
mod run;
mod setup;
mod watch;

use std::ffi::CString;
use std::path::PathBuf;

use ackclock_sim::LinkSpec;
use ackclock_trace::LinkRow;
use ackclock_units::Duration;

use crate::EmulatorReport;

pub use self::relay::RelayReport;
pub use self::run::run_link;
pub use self::watch::{LinkProgress, LinkSample};

/// Options of a command behind a link.
pub struct LinkOptions {
    /// The link from the command.
    pub up: LinkSpec,
    /// The link to the command.
    pub down: LinkSpec,
    /// Seed of the links' random streams.
    pub seed: u64,
    /// The command and its arguments.
    pub command: Vec<CString>,
    /// Its environment, `NAME=VALUE` each; `ACKCLOCK_FAR`, the address of the far end, is added.
    pub environment: Vec<CString>,
    /// A server to run at the far end, in place of the outside world.
    pub server: Option<Vec<CString>>,
    /// A folder for the captures `near.pcapng` and `far.pcapng`.
    pub captures: Option<PathBuf>,
    /// Report what passes each second.
    pub live: bool,
}

/// What a link has carried.
#[derive(Clone, Debug)]
pub struct LinkReport {
    /// The exit status of the command: 128 and the number of the signal if one has killed it.
    pub status: i32,
    /// How long the link was there.
    pub lasted: Duration,
    /// The link from the command.
    pub up: LinkRow,
    /// The link to the command.
    pub down: LinkRow,
    /// How well the emulator kept time.
    pub emulator: EmulatorReport,
    /// The outside world; `None` with a server.
    pub relay: Option<RelayReport>,
    /// The command has ended, and not all that it sent could be delivered in time.
    pub unsent: bool,
}
