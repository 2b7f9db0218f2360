//! Parameters declared beside a policy: one declaration feeds scenario keys, `--help`, Python signatures and
//! the reference pages.

use std::fmt;
use std::ops::RangeInclusive;

use ackclock_units::{Bytes, Duration, Rate, parse_bytes, parse_duration, parse_rate, parse_ratio};

use crate::value::{QueueSize, Value, parse_queue};

/// The longest queue, packets or bytes: what keeps a scenario's memory bounded.
const MAX_QUEUE: u64 = 1 << 40;
const QUEUE: &str = "a length of a queue: give packets or bytes, such as `50packets` or `64KiB`, or in a \
                     scenario `2bdp` or `100ms`";

/// What a parameter measures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParamKind {
    /// A size, written `64KiB`.
    Bytes,
    /// A time, written `10ms`.
    Duration,
    /// A rate, written `10Mbit/s`.
    Rate,
    /// A real number or percentage.
    Ratio,
    /// A whole number; `inf` where the range reaches `u64::MAX`.
    Count,
    /// `true` or `false`.
    Flag,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A length of a queue, written `50packets` or `64KiB`; a scenario also takes `2bdp`.
    Queue,
}

impl ParamKind {
    /// Its name in an error message, with its article.
    fn article(self) -> &'static str {
        match self {
            Self::Bytes => "a size",
            Self::Duration => "a time",
            Self::Rate => "a rate",
            Self::Ratio => "a ratio",
            Self::Count => "a whole number",
            Self::Flag => "`true` or `false`,",
            Self::Choice(_) => "a word",
            Self::Queue => "a length of a queue",
        }
    }
}

/// One parameter: name, meaning, default and range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Param {
    /// Its name: the scenario key and the Python keyword.
    pub name: &'static str,
    /// What it measures.
    pub kind: ParamKind,
    /// Its default.
    pub default: Value,
    /// Smallest value allowed, in the kind's base unit (bytes, seconds, bit/s, 1).
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// What it means, in one line.
    pub about: &'static str,
}

impl Param {
    /// A size.
    pub const fn bytes(
        name: &'static str,
        default: Bytes,
        range: RangeInclusive<Bytes>,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind: ParamKind::Bytes,
            default: Value::Bytes(default),
            min: *range.start() as f64,
            max: *range.end() as f64,
            about,
        }
    }

    /// A time.
    pub const fn duration(
        name: &'static str,
        default: Duration,
        range: RangeInclusive<Duration>,
        about: &'static str,
    ) -> Self {
        let (min, max) = (range.start().as_nanos() as f64 / 1e9, range.end().as_nanos() as f64 / 1e9);
        Self { name, kind: ParamKind::Duration, default: Value::Duration(default), min, max, about }
    }

    /// A rate.
    pub const fn rate(
        name: &'static str,
        default: Rate,
        range: RangeInclusive<Rate>,
        about: &'static str,
    ) -> Self {
        let (min, max) = (range.start().bits_per_sec() as f64, range.end().bits_per_sec() as f64);
        Self { name, kind: ParamKind::Rate, default: Value::Rate(default), min, max, about }
    }

    /// A real number.
    pub const fn ratio(
        name: &'static str,
        default: f64,
        range: RangeInclusive<f64>,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind: ParamKind::Ratio,
            default: Value::Ratio(default),
            min: *range.start(),
            max: *range.end(),
            about,
        }
    }

    /// A whole number; `u64::MAX` at the upper end allows `inf`.
    pub const fn count(
        name: &'static str,
        default: u64,
        range: RangeInclusive<u64>,
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind: ParamKind::Count,
            default: Value::Count(default),
            min: *range.start() as f64,
            max: *range.end() as f64,
            about,
        }
    }

    /// A switch.
    pub const fn flag(name: &'static str, default: bool, about: &'static str) -> Self {
        Self { name, kind: ParamKind::Flag, default: Value::Flag(default), min: 0.0, max: 1.0, about }
    }

    /// One of several words.
    pub const fn choice(
        name: &'static str,
        default: &'static str,
        words: &'static [&'static str],
        about: &'static str,
    ) -> Self {
        Self {
            name,
            kind: ParamKind::Choice(words),
            default: Value::Choice(default),
            min: 0.0,
            max: 0.0,
            about,
        }
    }

    /// A length of a queue of at least one packet, or of `least` bytes.
    pub const fn queue(name: &'static str, default: QueueSize, least: Bytes, about: &'static str) -> Self {
        Self {
            name,
            kind: ParamKind::Queue,
            default: Value::Queue(default),
            min: least as f64,
            max: MAX_QUEUE as f64,
            about,
        }
    }

    /// Reads a value given as text, as in a scenario file or after `--set`.
    pub fn parse(&self, text: &str) -> Result<Value, ParamError> {
        let wrong = |wanted: String| ParamError { param: self.name.to_owned(), met: text.to_owned(), wanted };
        let value = match self.kind {
            ParamKind::Bytes => Value::Bytes(parse_bytes(text).map_err(|e| wrong(e.wanted.to_owned()))?),
            ParamKind::Duration => {
                Value::Duration(parse_duration(text).map_err(|e| wrong(e.wanted.to_owned()))?)
            }
            ParamKind::Rate => Value::Rate(parse_rate(text).map_err(|e| wrong(e.wanted.to_owned()))?),
            ParamKind::Ratio => Value::Ratio(parse_ratio(text).map_err(|e| wrong(e.wanted.to_owned()))?),
            ParamKind::Count if text == "inf" => Value::Count(u64::MAX),
            ParamKind::Count => Value::Count(text.parse().map_err(|_| wrong("a whole number".to_owned()))?),
            ParamKind::Flag => Value::Flag(text.parse().map_err(|_| wrong("`true` or `false`".to_owned()))?),
            ParamKind::Choice(words) => {
                let word = words
                    .iter()
                    .find(|w| **w == text)
                    .ok_or_else(|| wrong(format!("one of {}", words.join(", "))))?;
                return Ok(Value::Choice(word));
            }
            ParamKind::Queue => Value::Queue(parse_queue(text).ok_or_else(|| wrong(QUEUE.to_owned()))?),
        };
        self.check(value)
    }

    /// Refuses a value of another kind or outside the range.
    pub fn check(&self, value: Value) -> Result<Value, ParamError> {
        if std::mem::discriminant(&value) != std::mem::discriminant(&self.default) {
            let wanted = format!("{} such as `{}`", self.kind.article(), self.default);
            return Err(ParamError { param: self.name.to_owned(), met: value.to_string(), wanted });
        }
        let x = match value {
            Value::Bytes(n) | Value::Count(n) => n as f64,
            Value::Duration(d) => d.as_secs_f64(),
            Value::Rate(r) => r.bits_per_sec() as f64,
            Value::Ratio(x) => x,
            Value::Flag(_) => return Ok(value),
            Value::Choice(word) => return self.parse(word),
            Value::Queue(QueueSize::Packets(n)) if (1..=MAX_QUEUE).contains(&n) => return Ok(value),
            Value::Queue(QueueSize::Packets(_)) => {
                let wanted = format!("between 1packets and {MAX_QUEUE}packets");
                return Err(ParamError { param: self.name.to_owned(), met: value.to_string(), wanted });
            }
            Value::Queue(QueueSize::Bytes(n)) => n as f64,
        };
        if self.min <= x && x <= self.max {
            return Ok(value);
        }
        let bound = |x: f64| match self.kind {
            ParamKind::Duration => Value::Duration(Duration::from_secs_f64(x)),
            ParamKind::Bytes | ParamKind::Queue => Value::Bytes(x as u64),
            ParamKind::Rate => Value::Rate(Rate::from_bits_per_sec(x as u64)),
            ParamKind::Count => Value::Count(x as u64),
            _ => Value::Ratio(x),
        };
        let wanted = format!("between {} and {}", bound(self.min), bound(self.max));
        Err(ParamError { param: self.name.to_owned(), met: value.to_string(), wanted })
    }
}

/// Why a parameter's value was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamError {
    /// The parameter.
    pub param: String,
    /// The value met.
    pub met: String,
    /// The values that are valid.
    pub wanted: String,
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is `{}`, which is not {}", self.param, self.met, self.wanted)
    }
}

impl std::error::Error for ParamError {}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Param = Param::queue("limit", QueueSize::Packets(50), 40, "most that is queued");

    #[test]
    fn a_queue_is_measured_in_packets_or_in_bytes() {
        for (text, size) in [
            ("50packets", QueueSize::Packets(50)),
            ("1 packet", QueueSize::Packets(1)),
            ("64KiB", QueueSize::Bytes(65536)),
        ] {
            assert_eq!(LIMIT.parse(text), Ok(Value::Queue(size)), "{text}");
        }
        for n in [Value::Queue(QueueSize::Packets(7)), Value::Queue(QueueSize::Bytes(9000))] {
            assert_eq!(LIMIT.parse(&n.to_string()), Ok(n));
        }
    }

    #[test]
    fn a_queue_without_room_for_a_packet_is_refused() {
        for (text, message) in [
            (
                "50",
                "`limit` is `50`, which is not a length of a queue: give packets or bytes, such as \
                 `50packets` or `64KiB`, or in a scenario `2bdp` or `100ms`",
            ),
            ("0packets", "`limit` is `0packets`, which is not between 1packets and 1099511627776packets"),
            ("39B", "`limit` is `39B`, which is not between 40B and 1099511627776B"),
        ] {
            assert_eq!(LIMIT.parse(text).unwrap_err().to_string(), message);
        }
    }
}
