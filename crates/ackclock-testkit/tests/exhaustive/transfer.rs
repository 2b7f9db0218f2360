//! What the sending application does.

use std::fmt;

use crate::stacks::SEGMENT;

/// A transfer in one direction, in segments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Transfer {
    /// One segment is written first and acknowledged; the rest is written at once then.
    pub one_first: bool,
    /// Segments written at once.
    pub segments: u8,
    /// A hundred more segments are written with them and wait behind the congestion window.
    pub more: bool,
    /// Initial congestion window, segments.
    pub initial_segs: u8,
    /// The application closes when everything is acknowledged, so that the FIN is sent alone; otherwise it is
    /// sent with the last segment.
    pub fin_apart: bool,
    /// Milliseconds between the arrivals of segments sent at one moment.
    pub gap_ms: u8,
}

/// Segments that wait behind the congestion window.
const MORE: u64 = 100;

impl Transfer {
    /// `segments` written at once, with an initial window of `initial_segs`.
    pub const fn of(segments: u8, initial_segs: u8) -> Self {
        Self { one_first: false, segments, more: false, initial_segs, fin_apart: false, gap_ms: 0 }
    }

    /// The same after one segment that is acknowledged first.
    pub const fn after_one(self) -> Self {
        Self { one_first: true, ..self }
    }

    /// The same with more waiting behind.
    pub const fn with_more(self) -> Self {
        Self { more: true, ..self }
    }

    /// The same with the FIN apart.
    pub const fn fin_apart(self) -> Self {
        Self { fin_apart: true, ..self }
    }

    /// The same over a link that takes a millisecond for each segment.
    pub const fn spaced(self) -> Self {
        Self { gap_ms: 1, ..self }
    }

    /// Bytes of the first write, and of the second.
    pub fn writes(&self) -> (u64, u64) {
        let bulk = u64::from(self.segments) + if self.more { MORE } else { 0 };
        let (first, second) = if self.one_first { (1, bulk) } else { (bulk, 0) };
        (first * SEGMENT, second * SEGMENT)
    }

    /// Segments in all.
    pub fn total(&self) -> usize {
        let (first, second) = self.writes();
        ((first + second) / SEGMENT) as usize
    }

    /// Segments that patterns address: those that wait behind the congestion window are not lost.
    pub fn addressed(&self) -> u8 {
        self.segments + u8::from(self.one_first)
    }

    /// What [`Transfer`]'s `Display` wrote.
    pub fn read(words: &str) -> Option<Self> {
        let mut words = words.split_whitespace();
        let mut what = words.next()?;
        let mut t = Self::of(0, 10);
        if let Some(rest) = what.strip_prefix("1+") {
            (t.one_first, what) = (true, rest);
        }
        if let Some(rest) = what.strip_suffix("+more") {
            (t.more, what) = (true, rest);
        }
        t.segments = what.parse().ok()?;
        for word in words {
            match word {
                "fin-apart" => t.fin_apart = true,
                "spaced" => t.gap_ms = 1,
                _ => t.initial_segs = word.strip_prefix("iw")?.parse().ok()?,
            }
        }
        Some(t)
    }
}

impl fmt::Display for Transfer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (one, more) = (if self.one_first { "1+" } else { "" }, if self.more { "+more" } else { "" });
        let (fin, gap) =
            (if self.fin_apart { " fin-apart" } else { "" }, if self.gap_ms > 0 { " spaced" } else { "" });
        write!(f, "{one}{}{more} iw{}{fin}{gap}", self.segments, self.initial_segs)
    }
}
