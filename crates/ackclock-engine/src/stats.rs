use ackclock_units::{Duration, Instant};

/// Counters of one connection, kept whether tracing is on or off.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Stats {
    /// Segments sent, all kinds.
    pub segments_sent: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes that the peer acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Full-sized-equivalent segments acknowledged (the denominator of M-U1's p): data segments cumulatively acknowledged.
    pub segments_acked: u64,
    /// Segments with payload retransmitted.
    pub retransmitted_segments: u64,
    /// Payload bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Segments accepted.
    pub segments_received: u64,
    /// Payload bytes delivered in order.
    pub bytes_received: u64,
    /// Segments with payload that brought nothing new (B-A4 seen from the receiver).
    pub duplicate_segments: u64,
    /// Expiries of the retransmission timer, SYNs included.
    pub timeouts: u32,
    /// Expiries of the retransmission timer by backoff round: `[0]` first expiries, `[1]` second in a row, ... the last one collects the rest.
    pub timeouts_by_round: [u32; 8],
    /// SYN or SYN-ACK retransmissions.
    pub syn_retransmissions: u32,
    /// Fast retransmits: recovery episodes entered.
    pub fast_recoveries: u32,
    /// Timeouts whose original segment had arrived (known by timestamps, DSACK, or the world's own knowledge).
    pub spurious_timeouts: u32,
    /// Congestion-avoidance events: clock-preserving halvings (M-U1).
    pub ca_events: u32,
    /// Non-CA events: timeouts, failed recoveries, further window cuts (M-U1).
    pub non_ca_events: u32,
    /// Further retransmissions inside episodes (M-U1).
    pub other_losses: u32,
    /// Reductions on ECN echoes.
    pub ecn_reductions: u32,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// The smallest.
    pub rtt_min: Option<Duration>,
    /// The largest.
    pub rtt_max: Duration,
    /// When the first SYN was sent or received.
    pub opened_at: Option<Instant>,
    /// When the handshake was complete.
    pub established_at: Option<Instant>,
    /// When both sides were closed, or the connection was aborted.
    pub closed_at: Option<Instant>,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u32,
}
