use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange};

/// Why a segment was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendKind {
    /// SYN or SYN-ACK, `repeat` counting retransmissions.
    Syn {
        /// 0 for the first transmission.
        repeat: u32,
    },
    /// New data or FIN.
    New,
    /// A copy of new data, sent immediately after it on purpose (I-A7).
    Copy,
    /// A retransmission because acks indicated a loss, or because an ICMP error reported the segment as too
    /// long.
    FastRetransmit,
    /// A retransmission because the timer expired.
    TimeoutRetransmit,
    /// A tail loss probe (RFC 8985 §7); `again` if it repeats the last segment.
    TailLossProbe {
        /// False for new data.
        again: bool,
    },
    /// A probe of a closed window.
    WindowProbe,
    /// A keepalive probe.
    Keepalive,
    /// An acknowledgment without data.
    Ack,
    /// A reset.
    Reset,
}

/// Class of a loss episode (M-U1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LossClass {
    /// Clock-preserving halving: a congestion-avoidance event.
    #[default]
    Ca,
    /// Timeout, failed recovery, further window cut.
    NonCa,
}

/// An event of one connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum EventKind {
    /// A segment left.
    Sent {
        /// Why.
        kind: SendKind,
        /// Its first sequence number.
        seq: SeqNumber,
        /// Its payload.
        len: u32,
        /// Its acknowledgment number.
        ack: SeqNumber,
    },
    /// A segment arrived and was accepted.
    Received {
        /// Its first sequence number.
        seq: SeqNumber,
        /// Its payload.
        len: u32,
        /// Its acknowledgment number.
        ack: SeqNumber,
    },
    /// A round-trip time sample was taken.
    RttSample {
        /// The sample.
        rtt: Duration,
        /// Smoothed round-trip time after it.
        srtt: Duration,
        /// Deviation after it.
        rttvar: Duration,
        /// Timeout after it, before backoff.
        rto: Duration,
    },
    /// The window changed.
    Window {
        /// Congestion window.
        cwnd: Bytes,
        /// Slow-start threshold.
        ssthresh: Bytes,
        /// In the network.
        pipe: Bytes,
    },
    /// The retransmission timer expired.
    Timeout {
        /// Oldest outstanding sequence number.
        seq: SeqNumber,
        /// Backoff round: 1 for the first expiry without progress.
        round: u32,
        /// The timeout that expired.
        rto: Duration,
    },
    /// A range was declared lost.
    Lost {
        /// The range.
        range: SeqRange,
    },
    /// A loss episode began.
    EpisodeBegan {
        /// Its class so far; a CA event may still become a non-CA event.
        class: LossClass,
        /// `snd_nxt` at that moment.
        recovery_point: SeqNumber,
    },
    /// A loss episode ended.
    EpisodeEnded {
        /// Its final class.
        class: LossClass,
        /// True when it was found spurious.
        spurious: bool,
    },
    /// A number of a policy's private state changed.
    State {
        /// The kind of policy: `estimator`, `recovery` or `window`.
        policy: &'static str,
        /// What the policy calls it.
        name: &'static str,
        /// Its value from now on.
        value: f64,
    },
    /// The connection became established.
    Established,
    /// It ended, orderly or not.
    Closed {
        /// False for a reset, an abort or a timeout.
        orderly: bool,
    },
}

/// An event with its time and its connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event {
    /// When it happened.
    pub at: Instant,
    /// The number of the connection in its run.
    pub connection: u32,
    /// What happened.
    pub kind: EventKind,
}

/// Which groups of events are recorded; nothing by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mask(pub u8);

impl Mask {
    /// Nothing: tracing is off and costs nothing.
    pub const NONE: Self = Self(0);
    /// Segments sent and received.
    pub const PACKETS: Self = Self(1);
    /// Round-trip samples and windows.
    pub const SAMPLES: Self = Self(2);
    /// Timeouts, losses, episodes, opening and closing.
    pub const EPISODES: Self = Self(4);
    /// The private state of policies.
    pub const STATE: Self = Self(8);
    /// Everything.
    pub const ALL: Self = Self(15);

    /// True when any group of `other` is recorded.
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}
