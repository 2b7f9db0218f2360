//! Counters of losses and errors, allocated on first use.

use std::ops::{Deref, DerefMut};

use ackclock_units::{Count, since};

/// Backoff rounds that are counted separately.
const ROUNDS: usize = 8;

/// Counters of losses, timeouts, reductions and errors of one connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RareCounts {
    /// Segments with payload retransmitted.
    pub retransmitted_segments: u64,
    /// Payload bytes retransmitted.
    pub retransmitted_bytes: u64,
    /// Expiries of the retransmission timer, SYNs included.
    pub timeouts: u32,
    /// Expiries of the retransmission timer by backoff round: `[0]` first expiries, `[1]` second in a row,
    /// ... The last element collects the rest.
    pub timeouts_by_round: [u32; ROUNDS],
    /// SYN or SYN-ACK retransmissions.
    pub syn_retransmissions: u32,
    /// Tail loss probes sent, new data or old (RFC 8985 §7).
    pub tail_loss_probes: u32,
    /// Fast retransmits: recovery episodes entered.
    pub fast_recoveries: u32,
    /// Spurious timeouts: the original segment's ack was under way (detected by timestamps, DSACK, or the
    /// world's own knowledge).
    pub spurious_timeouts: u32,
    /// Congestion-avoidance events: clock-preserving halvings (M-U1).
    pub ca_events: u32,
    /// Non-CA events: timeouts, failed recoveries, further window cuts (M-U1).
    pub non_ca_events: u32,
    /// Further retransmissions inside episodes (M-U1).
    pub other_losses: u32,
    /// Reductions of the congestion window: halvings, collapses, ECN reductions. A repeated timeout does not
    /// count; one that was undone does.
    pub window_cuts: u32,
    /// Reductions on ECN echoes.
    pub ecn_reductions: u32,
    /// Segments that the peer reported as received twice (RFC 2883).
    pub dsacks_received: u32,
    /// Challenge ACKs sent (RFC 5961).
    pub challenge_acks: u32,
}

impl RareCounts {
    const NONE: Self = Self {
        retransmitted_segments: 0,
        retransmitted_bytes: 0,
        timeouts: 0,
        timeouts_by_round: [0; ROUNDS],
        syn_retransmissions: 0,
        tail_loss_probes: 0,
        fast_recoveries: 0,
        spurious_timeouts: 0,
        ca_events: 0,
        non_ca_events: 0,
        other_losses: 0,
        window_cuts: 0,
        ecn_reductions: 0,
        dsacks_received: 0,
        challenge_acks: 0,
    };
}

/// Boxed counters, allocated when the first of them is changed: most receivers, and many senders, never
/// change any.
#[derive(Clone, Default)]
pub(super) struct LazyRareCounts(Option<Box<RareCounts>>);

impl Deref for LazyRareCounts {
    type Target = RareCounts;

    #[inline]
    fn deref(&self) -> &RareCounts {
        self.0.as_deref().unwrap_or(&RareCounts::NONE)
    }
}

impl DerefMut for LazyRareCounts {
    #[inline]
    fn deref_mut(&mut self) -> &mut RareCounts {
        self.0.get_or_insert_with(|| Box::new(RareCounts::NONE))
    }
}

impl PartialEq for LazyRareCounts {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl std::fmt::Debug for LazyRareCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}

impl Count for LazyRareCounts {
    fn since(&self, before: &Self) -> Self {
        Self(Some(Box::new(since!(RareCounts { self, before }
            counted {
                retransmitted_segments, retransmitted_bytes, timeouts, timeouts_by_round, syn_retransmissions,
                tail_loss_probes, fast_recoveries, spurious_timeouts, other_losses, window_cuts,
                ecn_reductions, dsacks_received, challenge_acks,
            }
            kept {}
            set {
                // An episode that was open at `before` and has changed its class since counts by its present
                // class.
                ca_events: self.ca_events.saturating_sub(before.ca_events),
                non_ca_events: self.non_ca_events.saturating_sub(before.non_ca_events),
            }
        ))))
    }
}
