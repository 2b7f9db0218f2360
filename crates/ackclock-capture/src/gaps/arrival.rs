//! A packet as the rules over silences look at it.

use ackclock_units::{Duration, Instant, SeqNumber};

/// What a packet is to its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// No payload.
    Nothing,
    /// What comes next.
    Next,
    /// What comes next, when a later packet's sequence number has told that it was sent before; `newest`
    /// where that told of nothing later.
    Overdue { newest: bool },
    /// Something beyond what comes next.
    Beyond,
    /// What was missing while later data was there already.
    Missing,
    /// What was there already; `newest` where nothing later was.
    Known { newest: bool },
}

/// A packet from the sender as the rules look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Instant,
    pub seq: SeqNumber,
    pub content: Content,
    /// A SYN: silences around it are none of these.
    pub syn: bool,
    /// Its identification, if it has one, and the packets that it holds, which have one each.
    pub id: Option<u16>,
    pub packets: u32,
    /// Its timestamp, and when it would have come without more delay than the least.
    pub tsval: Option<u32>,
    pub due: Option<Instant>,
    /// The latest of the receiver's timestamps that its sender had heard of.
    pub tsecr: Option<u32>,
    /// The round-trip time of the handshake.
    pub rtt: Duration,
}

/// What is asked besides of one that may end a silence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    /// A FIN: nothing comes after it.
    pub fin: bool,
    /// The tick of the sender's clock.
    pub tick: Duration,
    /// By what its sender had heard, no ack that tells of a loss had reached it.
    pub unprompted: bool,
    /// How long acks without SACK had been without an answer, where this fills the hole that they told of.
    pub unanswered: Duration,
    /// The least round-trip time that was seen, and the most that its sender may hold for it.
    pub least: Duration,
    pub smoothed: Duration,
    /// Whether SACK was agreed on.
    pub sack: bool,
}

/// A packet that came before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Earlier {
    pub at: Instant,
    pub tsval: Option<u32>,
}

impl Arrival {
    /// Time between an earlier packet and this one, by the sender's clock where it tells: a delay on the way
    /// is no silence, and a retransmission that comes together with what it overtook is sent after one.
    pub(super) fn silence(&self, since: &Earlier, tick: Duration) -> Duration {
        let ticks = self
            .tsval
            .zip(since.tsval)
            .map(|(now, then)| now.wrapping_sub(then))
            .filter(|ticks| *ticks < 1 << 30);
        ticks.map_or(self.at.since(since.at), |ticks| tick * u64::from(ticks))
    }
}
