//! Views and samples for tests, a reference scoreboard, and a sender reduced to loss recovery.

mod scoreboard;
mod sender;

pub use scoreboard::ReferenceScoreboard;
pub(crate) use sender::Sender;

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::{AckInfo, Phase, RttSample, SenderView, TimerView, Window};

/// A sender with nothing outstanding, segments of 1000 bytes and a window of ten.
pub(crate) fn view() -> SenderView {
    SenderView {
        now: Instant::ZERO,
        snd_una: SeqNumber(1),
        snd_nxt: SeqNumber(1),
        data_end: SeqNumber(1),
        window: Window { cwnd: 10_000, ssthresh: u64::MAX },
        initial_window: 10_000,
        flight_size: 0,
        pipe: 0,
        rwnd: 1 << 30,
        smss: 1000,
        unsent: 1 << 30,
        holds_small: false,
        phase: Phase::Open,
        recovery_point: SeqNumber(0),
        dup_acks: 0,
        expiries: 0,
        rto_deadline: None,
        oldest_sent_at: None,
        rtt: None,
        sack: false,
        timestamps: false,
        counts_marks: false,
    }
}

/// What a timer sees `now`: ten segments of 1000 bytes are outstanding, and more than can be sent is waiting.
pub(crate) fn timer_view(now: Instant) -> TimerView {
    TimerView {
        now,
        deadline: None,
        oldest_sent_at: None,
        restarted_at: Instant::ZERO,
        last_sent_at: Instant::ZERO,
        outstanding_segs: 10,
        unsent: 1 << 30,
        smss: 1000,
        phase: Phase::Open,
    }
}

/// An ack of `newly_acked` new bytes up to `ack`, in a segment each of 1000.
pub(crate) fn ack(ack: u32, newly_acked: u64) -> AckInfo {
    AckInfo {
        ack: SeqNumber(ack),
        newly_acked,
        segments_acked: newly_acked.div_ceil(1000) as u32,
        newly_sacked: 0,
        delivered: newly_acked,
        is_dup: newly_acked == 0,
        has_sack: false,
        acks_original: false,
        reneged: false,
        dsack: None,
        dsack_sent_again: 0,
        rtt: None,
        ece: false,
        ce_bytes: 0,
        may_grow: newly_acked > 0,
        validated: true,
        deliveries: None,
        newly_lost: 0,
        rate: None,
    }
}

/// A sample of `rtt` taken `at` so long after the beginning of the run.
pub(crate) fn sample(at: Duration, rtt: Duration) -> RttSample {
    RttSample {
        now: Instant::ZERO + at,
        rtt,
        flight_size: 0,
        window: Window { cwnd: 10_000, ssthresh: u64::MAX },
        smss: 1000,
        sampling_rate: 1.0,
        outstanding: None,
    }
}
