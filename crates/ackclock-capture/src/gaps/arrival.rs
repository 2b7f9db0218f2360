//! A packet as the rules about silences see it.

use ackclock_units::{Duration, Instant, SeqNumber};

/// What a packet carries, as its receiver sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    /// No payload.
    Nothing,
    /// The next data in sequence.
    Next,
    /// The next data in sequence, which a later packet's sequence number has shown to be sent before;
    /// `newest` if that showed nothing later.
    Overdue { newest: bool },
    /// Data beyond the next in sequence.
    Beyond,
    /// Data that was missing while later data had arrived.
    Missing,
    /// Data that had already arrived; `newest` if nothing later had.
    Known { newest: bool },
}

/// A packet from the sender as the rules see it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub at: Instant,
    /// The number of its packet in the file.
    pub frame: u64,
    pub seq: SeqNumber,
    pub content: Content,
    /// A SYN: silences around it do not count.
    pub syn: bool,
    /// Its identification, if it has one, and the number of packets in it, which have one each.
    pub id: Option<u16>,
    pub packets: u32,
    /// Its timestamp, and when it would have arrived with the least delay.
    pub tsval: Option<u32>,
    pub due: Option<Instant>,
    /// The receiver's timestamp that it echoes.
    pub tsecr: Option<u32>,
    /// The round-trip time of the handshake.
    pub rtt: Duration,
    /// It acknowledges all that the receiver has sent.
    pub acks_all: bool,
    /// The end of what its sender had sent before it.
    pub highest: u64,
}

/// Further facts about a packet that may end a silence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ending {
    /// A FIN: nothing comes after it.
    pub fin: bool,
    /// The tick of the sender's clock.
    pub tick: Duration,
    /// By the timestamp that it echoes, no ack that reports a loss had reached its sender.
    pub unprompted: bool,
    /// How long acks without SACK had asked for this data, if it fills the hole that they reported.
    pub unanswered: Duration,
    /// The least round-trip time that was seen, and the largest that its sender may have measured.
    pub least: Duration,
    pub smoothed: Duration,
    /// Time since the segment whose timestamp it echoes.
    pub echoed: Option<Duration>,
    /// What that had acknowledged.
    pub knew: u64,
    /// It begins with what the receiver lacks first: time since the first ack that said so.
    pub named: Option<Duration>,
    /// SACK was negotiated.
    pub sack: bool,
}

/// A packet that came before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Earlier {
    pub at: Instant,
    pub tsval: Option<u32>,
}

impl Arrival {
    /// Time between an earlier packet and this one, by the sender's timestamps if it has them: a delay on the
    /// way is no silence, and a retransmission that arrives together with what it overtook was still sent
    /// after one.
    pub(super) fn silence(&self, since: &Earlier, tick: Duration) -> Duration {
        let ticks = self
            .tsval
            .zip(since.tsval)
            .map(|(now, then)| now.wrapping_sub(then))
            .filter(|ticks| *ticks < 1 << 30);
        ticks.map_or(self.at.since(since.at), |ticks| tick * u64::from(ticks))
    }
}
