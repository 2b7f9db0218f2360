//! Values of parameters.

use std::fmt;

use ackclock_units::{Bytes, Duration, Rate, parse_bytes};

/// A parameter's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value {
    /// A size.
    Bytes(Bytes),
    /// A time.
    Duration(Duration),
    /// A rate.
    Rate(Rate),
    /// A real number.
    Ratio(f64),
    /// A whole number.
    Count(u64),
    /// A switch.
    Flag(bool),
    /// A word of a [`ParamKind::Choice`](crate::ParamKind::Choice).
    Choice(&'static str),
    /// A length of a queue.
    Queue(QueueSize),
}

/// Written so that it reads back the same: the form of resolved scenarios.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(n) => write!(f, "{n}B"),
            Self::Duration(d) => write!(f, "{d}"),
            Self::Rate(r) => write!(f, "{r}"),
            Self::Ratio(x) => write!(f, "{x}"),
            Self::Count(u64::MAX) => write!(f, "inf"),
            Self::Count(n) => write!(f, "{n}"),
            Self::Flag(b) => write!(f, "{b}"),
            Self::Choice(word) => write!(f, "{word}"),
            Self::Queue(size) => write!(f, "{size}"),
        }
    }
}

/// A length of a queue, counted in packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueSize {
    /// Packets of any size.
    Packets(u64),
    /// Bytes on the wire, headers included.
    Bytes(Bytes),
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n}packets"),
            Self::Bytes(n) => write!(f, "{n}B"),
        }
    }
}

/// Reads `50packets` (also `1packet`, `50pkt`) or a size with its unit.
pub(crate) fn parse_queue(text: &str) -> Option<QueueSize> {
    let text = text.trim();
    let packets = ["packets", "packet", "pkts", "pkt"].iter().find_map(|unit| text.strip_suffix(unit));
    match packets {
        Some(n) => n.trim().parse().ok().map(QueueSize::Packets),
        None => parse_bytes(text).ok().map(QueueSize::Bytes),
    }
}
