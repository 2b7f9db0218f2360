//! Captures taken apart without the engine: who talked to whom, what was sent again and why, what it cost.
//!
//! [`read`] gives packets, [`Analysis`] makes connections of them, and a [`Report`] says what was found. Everything streams; what is kept is bounded
//! ([`MOST_CONNECTIONS`], [`MOST_PIECES`], [`MOST_LISTED`]).

mod analysis;
mod cause;
mod connection;
mod error;
mod half;
mod ranges;
pub mod read;
mod report;
mod resolve;
mod segment;
mod select;
mod sent;
mod spread;
mod tables;

pub use analysis::{Analysis, MOST_CONNECTIONS, MOST_LISTED, MOST_PIECES, Options};
pub use cause::Cause;
pub use error::CaptureError;
pub use report::{Connection, Direction, Episode, Report, Retransmission, Sample, Standing, TimedOut, Timeout, View};
pub use segment::{Seen, Unseen};
pub use select::Selection;
pub use spread::Spread;
pub use tables::Tables;
