use std::num::NonZeroU64;
use std::ops::{Deref, DerefMut};

use ackclock_units::{Duration, Instant};

/// Backoff rounds told apart.
const ROUNDS: usize = 8;

/// A count for each backoff round, the last for all from there on. Without memory until there is something to count: most connections never time out.
#[derive(Clone, Default)]
pub struct Rounds(Option<Box<[u32; ROUNDS]>>);

impl Deref for Rounds {
    type Target = [u32; ROUNDS];

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().unwrap_or(&[0; ROUNDS])
    }
}

impl DerefMut for Rounds {
    fn deref_mut(&mut self) -> &mut Self::Target {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for Rounds {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for Rounds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

/// When something happened, if it did, in eight bytes rather than sixteen.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment(Option<NonZeroU64>);

impl Moment {
    /// The instant; `None` when it has not come.
    pub fn get(self) -> Option<Instant> {
        self.0.map(|n| Instant::from_nanos(n.get() - 1))
    }

    /// It is `now`, unless it was earlier.
    pub(crate) fn come(&mut self, now: Instant) {
        self.0 = self.0.or(NonZeroU64::new(now.as_nanos().saturating_add(1)));
    }
}

impl std::fmt::Debug for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

/// The shortest of some times, if there was one, in eight bytes rather than sixteen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Shortest(Duration);

impl Shortest {
    /// It; `None` when there was none.
    pub fn get(self) -> Option<Duration> {
        (self.0 != Duration::MAX).then_some(self.0)
    }

    pub(crate) fn take_in(&mut self, time: Duration) {
        self.0 = self.0.min(time);
    }
}

impl Default for Shortest {
    fn default() -> Self {
        Self(Duration::MAX)
    }
}

impl std::fmt::Debug for Shortest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

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
    pub timeouts_by_round: Rounds,
    /// SYN or SYN-ACK retransmissions.
    pub syn_retransmissions: u32,
    /// Tail loss probes sent, new data or old (RFC 8985 §7).
    pub tail_loss_probes: u32,
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
    /// Downward adjustments of the congestion window: halvings, collapses, ECN reductions. A timeout of what had timed out before is none; one that
    /// was taken back is.
    pub window_cuts: u32,
    /// Reductions on ECN echoes.
    pub ecn_reductions: u32,
    /// Round-trip samples taken.
    pub rtt_samples: u64,
    /// Their sum.
    pub rtt_sum: Duration,
    /// The smallest.
    pub rtt_min: Shortest,
    /// The largest.
    pub rtt_max: Duration,
    /// When the handshake was complete.
    pub established_at: Moment,
    /// When both sides were closed, or the connection was aborted.
    pub closed_at: Moment,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u32,
}

impl Stats {
    /// What was counted since `before`, an earlier state of the same counters. The smallest and largest round-trip time and the moments stay: see
    /// [`Connection::forget_rtt_extremes`](crate::Connection::forget_rtt_extremes).
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let mut rounds = self.timeouts_by_round.clone();
        rounds.iter_mut().zip(*before.timeouts_by_round).for_each(|(n, b)| *n -= b);
        Self {
            segments_sent: self.segments_sent - before.segments_sent,
            data_segments_sent: self.data_segments_sent - before.data_segments_sent,
            bytes_sent: self.bytes_sent - before.bytes_sent,
            bytes_acked: self.bytes_acked - before.bytes_acked,
            segments_acked: self.segments_acked - before.segments_acked,
            retransmitted_segments: self.retransmitted_segments - before.retransmitted_segments,
            retransmitted_bytes: self.retransmitted_bytes - before.retransmitted_bytes,
            segments_received: self.segments_received - before.segments_received,
            bytes_received: self.bytes_received - before.bytes_received,
            duplicate_segments: self.duplicate_segments - before.duplicate_segments,
            timeouts: self.timeouts - before.timeouts,
            timeouts_by_round: rounds,
            syn_retransmissions: self.syn_retransmissions - before.syn_retransmissions,
            tail_loss_probes: self.tail_loss_probes - before.tail_loss_probes,
            fast_recoveries: self.fast_recoveries - before.fast_recoveries,
            spurious_timeouts: self.spurious_timeouts - before.spurious_timeouts,
            // An episode that was open then and has changed its class since counts for what it is now.
            ca_events: self.ca_events.saturating_sub(before.ca_events),
            non_ca_events: self.non_ca_events.saturating_sub(before.non_ca_events),
            other_losses: self.other_losses - before.other_losses,
            window_cuts: self.window_cuts - before.window_cuts,
            ecn_reductions: self.ecn_reductions - before.ecn_reductions,
            rtt_samples: self.rtt_samples - before.rtt_samples,
            rtt_sum: self.rtt_sum - before.rtt_sum,
            challenge_acks: self.challenge_acks - before.challenge_acks,
            ..self.clone()
        }
    }
}
