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
            Cause::Fast | Cause::Sack | Cause::Fack | Cause::Rack => Self::Recovery,
            Cause::Syn | Cause::ZeroWindowProbe | Cause::Keepalive | Cause::Copy | Cause::Unknown => {
                return None;
            }
        })
    }
}
