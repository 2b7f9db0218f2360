use ackclock_units::Bytes;

use crate::{Param, Params, SenderView};

/// What a connection may send before the first ack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InitialWindow {
    /// Ten segments (RFC 6928 §2).
    Rfc6928,
    /// Two to four segments by size (RFC 5681 §3.1).
    Rfc5681,
    /// Two to four segments by bytes (RFC 3390 §1).
    Rfc3390,
    /// Ten segments, as QUIC counts them (RFC 9002 §7.2).
    Rfc9002,
    /// So many segments.
    Segments(u32),
}

impl InitialWindow {
    /// Reads [`initial_window`] and [`INITIAL_SEGS`].
    pub fn new(p: &Params) -> Self {
        match p.choice("initial_window") {
            "rfc6928" => Self::Rfc6928,
            "rfc5681" => Self::Rfc5681,
            "rfc3390" => Self::Rfc3390,
            "rfc9002" => Self::Rfc9002,
            _ => Self::Segments(p.count("initial_segs") as u32),
        }
    }

    /// In bytes. After a lost SYN the engine reduces it to one segment in any case (RFC 5681 §3.1, RFC 6928
    /// §2).
    pub fn bytes(self, v: &SenderView) -> Bytes {
        let smss = u64::from(v.smss);
        match self {
            Self::Rfc6928 => (10 * smss).min(14_600.max(2 * smss)),
            Self::Rfc5681 if smss > 2190 => 2 * smss,
            Self::Rfc5681 if smss > 1095 => 3 * smss,
            Self::Rfc5681 => 4 * smss,
            Self::Rfc3390 => (4 * smss).min(4380.max(2 * smss)),
            Self::Rfc9002 => (10 * smss).min(14_720.max(2 * smss)),
            Self::Segments(n) => u64::from(n) * smss,
        }
    }
}

/// Which rule.
pub(super) const INITIAL_WINDOW: Param = Param::choice(
    "initial_window",
    "rfc6928",
    &["rfc6928", "rfc5681", "rfc3390", "rfc9002", "segments"],
    "window before the first ack: ten segments (RFC 6928; QUIC, RFC 9002), two to four (RFC 5681, RFC \
     3390), or `initial_segs`",
);
/// How many, where the rule leaves it open.
pub(super) const INITIAL_SEGS: Param =
    Param::count("initial_segs", 1, 1..=1_000_000, "segments of the initial window `segments`");
