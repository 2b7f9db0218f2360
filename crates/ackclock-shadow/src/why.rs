//! Why a stack retransmits.

use ackclock_capture::Cause;

/// What makes a stack retransmit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    /// Its retransmission timer.
    Timeout,
    /// Its repair after a timeout.
    AfterTimeout,
    /// Its tail loss probe.
    Probe,
    /// Its loss recovery, by acks or by the timer for reordering.
    Recovery,
}

/// Why a packet was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason {
    /// Its number in the file, from 1 on.
    pub packet: u64,
    /// What made the stack send it.
    pub why: Why,
}

impl Why {
    /// What `cause`, which the acks alone suggest, shows of it; `None` for what is no retransmission of data.
    pub fn of(cause: Cause) -> Option<Self> {
        Some(match cause {
            Cause::Timeout => Self::Timeout,
            Cause::AfterTimeout => Self::AfterTimeout,
            Cause::TailLossProbe => Self::Probe,
            cause if cause.is_by_acks() => Self::Recovery,
            _ => return None,
        })
    }

    /// The cause, where segments are marked by the times at which others were delivered (`rack`), or else by
    /// duplicate acks.
    pub(crate) fn cause(self, rack: bool) -> Cause {
        match self {
            Self::Timeout => Cause::Timeout,
            Self::AfterTimeout => Cause::AfterTimeout,
            Self::Probe => Cause::TailLossProbe,
            Self::Recovery if rack => Cause::Rack,
            Self::Recovery => Cause::Fast,
        }
    }

    /// What sent the segment, in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Timeout => "its timer fires here",
            Self::AfterTimeout => "it repairs after its timeout",
            Self::Probe => "its probe is due",
            Self::Recovery => "its recovery sends this",
        }
    }
}
