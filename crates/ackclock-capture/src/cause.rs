//! Why a segment was retransmitted, from what its sender knew at that moment.

mod evidence;
mod rules;
mod situation;

pub(crate) use self::evidence::{silence, span};
pub(crate) use self::rules::rule_for;
pub(crate) use self::situation::{AcksReceived, Elapsed, Resent, SenderState, Situation};

/// Why a segment was retransmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cause {
    /// The retransmission timer fired.
    #[default]
    Timeout,
    /// Acks in the recovery from a timeout released it.
    AfterTimeout,
    /// The third duplicate ack, or a partial ack in the recovery that followed.
    Fast,
    /// SACK blocks cover enough behind it (RFC 6675).
    Sack,
    /// The highest SACK block lies more than three segments behind it (FACK).
    Fack,
    /// Something sent later was delivered (RACK, RFC 8985).
    Rack,
    /// A tail loss probe (RFC 8985 §7).
    TailLossProbe,
    /// A retransmitted SYN or SYN-ACK.
    Syn,
    /// A probe of a closed window (RFC 9293 §3.8.6.1).
    ZeroWindowProbe,
    /// A keepalive (RFC 9293 §3.8.4).
    Keepalive,
    /// A copy sent immediately after its original, in case one of the two is lost (I-A7).
    Copy,
    /// No timer and no ack in the capture explains it.
    Unknown,
}

impl Cause {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after-timeout",
            Self::Fast => "fast-retransmit",
            Self::Sack => "sack-retransmit",
            Self::Fack => "fack-retransmit",
            Self::Rack => "rack-retransmit",
            Self::TailLossProbe => "tail-loss-probe",
            Self::Syn => "syn",
            Self::ZeroWindowProbe => "zero-window-probe",
            Self::Keepalive => "keepalive",
            Self::Copy => "copy",
            Self::Unknown => "unknown",
        }
    }

    /// True where acks called for it, outside of a repair after a timeout.
    pub const fn is_by_acks(self) -> bool {
        matches!(self, Self::Fast | Self::Sack | Self::Fack | Self::Rack)
    }

    /// True if it counts as a retransmission of data, SYN or FIN, as in the kernel's counters. Probes of a
    /// closed window and keepalives do not, and copies are sent before any loss can be known.
    pub const fn counts(self) -> bool {
        !matches!(self, Self::ZeroWindowProbe | Self::Keepalive | Self::Copy)
    }
}
