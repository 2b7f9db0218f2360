use ackclock_units::SeqRange;

use crate::Phase;

/// What a loss recovery does at its deadline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlineAction {
    /// The phase from now on.
    pub phase: Phase,
    /// A segment to send now whatever the window allows, to elicit an ack: an outstanding range, or one that
    /// starts at `snd_nxt`. The retransmission timer restarts with it.
    pub probe: Option<SeqRange>,
    /// The retransmission timer restarts, from when the oldest segment was sent.
    pub rearms: bool,
    /// Only what is lost is sent on this account, and no new data, before the next ack or write.
    pub repairs_only: bool,
}
