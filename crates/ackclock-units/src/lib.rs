//! Time, rates, sequence numbers and seeded random streams, used by every other crate.
//!
//! Instants and durations are whole nanoseconds, so two runs of one scenario compare equal bit for bit;
//! floats appear inside formulas only, never in state that two runs compare.

mod ecn;
mod hint;
mod parse;
mod ranges;
mod rate;
mod rng;
mod seq;
mod since;
mod time;

pub use ecn::Ecn;
pub use hint::{mostly, seldom};
pub use parse::{ParseQuantityError, parse_bytes, parse_duration, parse_rate, parse_ratio};
pub use ranges::SeqRanges;
pub use rate::Rate;
pub use rng::Rng;
pub use seq::{SeqNumber, SeqRange};
pub use since::Count;
pub use time::{Duration, Instant};

/// A size in bytes (octets).
pub type Bytes = u64;
