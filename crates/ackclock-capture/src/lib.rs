//! Analysis of captures, without the engine: connections, retransmissions with their causes, timeouts, and
//! what they cost.
//!
//! [`read`] yields packets, [`Analysis`] assembles connections from them, and a [`Report`] holds the results.
//! Everything streams, in bounded memory ([`MOST_CONNECTIONS`], [`MOST_PIECES`], [`MOST_LISTED`],
//! [`MOST_PACKETS`]).

mod analysis;
mod cause;
pub mod compare;
mod connection;
mod counted;
mod error;
mod follow;
pub mod gaps;
mod glance;
mod habits;
mod half;
mod limits;
mod listing;
mod near_receiver;
mod numbers;
mod observed;
mod outstanding;
mod peer_clock;
mod ranges;
pub mod read;
mod read_all;
mod report;
mod resolve;
mod segment;
mod select;
mod spread;
mod tables;
mod thresholds;
mod wanted;
mod what_if;

pub use analysis::{Analysis, MOST_CONNECTIONS, MOST_LISTED, MOST_PACKETS, MOST_PIECES};
pub use cause::Cause;
pub use counted::TimeoutByRule;
pub use error::CaptureError;
pub use glance::Glance;
pub use limits::{Part, Span, Spans};
pub use observed::{Beginning, Closures, HeldBack, Lateness, Observed, Place, Throughput, Tls};
pub use report::{
    Connection, Direction, Episode, PathState, Remedy, Report, Retransmission, RoundTrips, Sample, Shares,
    Stalled, Standing, TimedOut, Timeout, View, WhatIf,
};
pub use segment::{CapturedSegment, NotASegment};
pub use select::Selection;
pub use spread::Spread;
pub use tables::Tables;
pub use wanted::{KnownCause, KnownCauses, Options};
