//! Which data waits for room for a larger packet, as Linux has it with segmentation offload.

use ackclock_policy::offload::{packet_segs, window_rate};
use ackclock_policy::{Phase, SenderView};
use ackclock_units::{Bytes, Duration, Instant};

/// Nothing is kept back when the last packet left longer ago than this.
const RECENT: Duration = Duration::from_millis(1);

/// The ack of the oldest segment is expected within this time, or half a round trip; otherwise nothing is kept back.
const SOON: Duration = Duration::from_millis(1);

/// What this part of the smaller window can carry is worth a packet (`tcp_tso_win_divisor`).
const PART: Bytes = 3;

/// A packet has at least so many segments, where there are as many, unless a setting says otherwise
/// (`tcp_min_tso_segs`).
pub const LEAST_SEGS: u64 = 2;

/// What waits of the next packet in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Bytes.
    pub bytes: Bytes,
    /// No other packet waits.
    pub last: bool,
    /// Nothing can be added to it: a record or the stream ends there.
    pub ends: bool,
}

/// A sender whose next packet waits.
#[derive(Clone, Copy, Debug)]
pub struct Sender<'a> {
    /// Its state.
    pub view: &'a SenderView,
    /// Its congestion window, or what it is while a reduction is spread over a round trip, bytes.
    pub cwnd: Bytes,
    /// The payload of a full segment.
    pub payload: u32,
    /// Most segments of a packet.
    pub most: u64,
    /// When the last one left, or was to leave at the pacing rate.
    pub left_at: Option<Instant>,
}

impl Sender<'_> {
    /// Segments that may leave in a packet: what the window has room for, and half of the window at most
    /// (`tcp_cwnd_test`).
    pub fn quota(&self) -> u64 {
        let cwnd = self.segs(self.cwnd);
        (cwnd / 2).max(1).min(self.room()).min(self.most.max(1))
    }

    /// Whether the next packet is kept back, since an ack is soon expected that lets it be larger
    /// (`tcp_tso_should_defer`); RFC 9293 §3.8.6.2.1 lets a sender wait.
    pub fn keeps(&self, next: &Waiting) -> Option<Kept> {
        let v = self.view;
        let payload = u64::from(self.payload.max(1));
        if next.bytes <= payload || matches!(v.phase, Phase::Recovery | Phase::Loss) {
            return None;
        }
        let by_cwnd = self.room() * payload;
        let by_receiver = v.rwnd.saturating_sub(v.flight_size);
        let limit = by_cwnd.min(by_receiver);
        let recent = self.left_at.is_some_and(|at| v.now.since(at) < RECENT);
        if !recent
            || limit >= self.most.saturating_mul(payload)
            || !next.last && limit >= next.bytes
            || limit >= v.rwnd.min(self.segs(self.cwnd) * payload) / PART
        {
            return None;
        }
        // Without a sample an ack is expected at once.
        let srtt = v.rtt.map_or(Duration::ZERO, |rtt| rtt.srtt);
        if v.oldest_sent_at? + srtt > v.now + SOON.min(srtt / 2) {
            return None;
        }
        let bounded = limit <= next.bytes;
        (bounded || !next.ends).then_some(Kept { by_window: bounded && by_cwnd < by_receiver })
    }

    /// Segments that the congestion window has room for.
    fn room(&self) -> u64 {
        let smss = u64::from(self.view.smss.max(1));
        self.segs(self.cwnd).saturating_sub(self.view.pipe.div_ceil(smss))
    }

    fn segs(&self, bytes: Bytes) -> u64 {
        bytes / u64::from(self.view.smss.max(1))
    }
}

/// A packet is kept back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// It has too little room in the congestion window, which counts as full then (`tcp_cwnd_validate`).
    pub by_window: bool,
}

/// Most segments of a packet at the rate of the window, `least` in any case; before a round trip is measured, as many as
/// a packet can have (`sk_pacing_rate` is unlimited until then).
pub fn segs_of_window(v: &SenderView, cwnd: Bytes, payload: u32, least: u64) -> u64 {
    let rate = window_rate(cwnd, v).unwrap_or(u64::MAX);
    packet_segs(rate, v.rtt.map_or(Duration::MAX, |rtt| rtt.min_rtt), payload, least)
}

#[cfg(test)]
mod tests {
    use ackclock_policy::{Rtt, Window};
    use ackclock_units::SeqNumber;

    use super::*;

    const PAYLOAD: Bytes = 1000;

    /// Twelve segments of a window of 14 are outstanding, the oldest for a round trip of 100 ms.
    fn view() -> SenderView {
        let (now, rtt) = (Instant::from_nanos(1_000_000_000), Duration::from_millis(100));
        let nxt = SeqNumber(12 * PAYLOAD as u32);
        SenderView {
            now,
            snd_una: SeqNumber(0),
            snd_nxt: nxt,
            data_end: nxt,
            window: Window { cwnd: 14 * PAYLOAD, ssthresh: 14 * PAYLOAD },
            initial_window: 10 * PAYLOAD,
            flight_size: 12 * PAYLOAD,
            pipe: 12 * PAYLOAD,
            rwnd: 1 << 20,
            smss: PAYLOAD as u32,
            unsent: 100 * PAYLOAD,
            holds_small: false,
            phase: Phase::Open,
            recovery_point: nxt,
            dup_acks: 0,
            expiries: 0,
            rto_deadline: None,
            oldest_sent_at: Some(now.saturating_sub(rtt)),
            rtt: Some(Rtt { latest: rtt, srtt: rtt, rttvar: rtt / 4, min_rtt: rtt }),
            sack: true,
            timestamps: false,
            counts_marks: false,
        }
    }

    fn sender(view: &SenderView, most: u64) -> Sender<'_> {
        Sender { view, cwnd: view.window.cwnd, payload: PAYLOAD as u32, most, left_at: Some(view.now) }
    }

    const MORE: Waiting = Waiting { bytes: 40 * PAYLOAD, last: false, ends: false };
    const BY_WINDOW: Option<Kept> = Some(Kept { by_window: true });

    #[test]
    fn less_than_a_packet_waits_while_an_ack_is_due() {
        let v = view();
        assert_eq!(sender(&v, 2).keeps(&MORE), None, "room for a whole packet");
        assert_eq!(sender(&v, 3).keeps(&MORE), BY_WINDOW);
        let later = SenderView { oldest_sent_at: v.oldest_sent_at.map(|at| at + SOON * 2), ..v };
        assert_eq!(sender(&later, 3).keeps(&MORE), None, "the ack is more than a millisecond away");
        let pause = Sender { left_at: Some(v.now.saturating_sub(RECENT)), ..sender(&v, 3) };
        assert_eq!(pause.keeps(&MORE), None, "nothing left for a millisecond");
        let repair = SenderView { phase: Phase::Recovery, ..v };
        assert_eq!(sender(&repair, 3).keeps(&MORE), None);
        let much = SenderView { pipe: 9 * PAYLOAD, ..v };
        assert_eq!(sender(&much, 9).keeps(&MORE), None, "a third of the window");
    }

    #[test]
    fn the_end_of_a_packet_leaves_unless_it_may_still_grow() {
        let v = view();
        let keeps = |next| sender(&v, 3).keeps(&next);
        assert_eq!(keeps(Waiting { bytes: PAYLOAD, ..MORE }), None, "a segment");
        assert_eq!(keeps(Waiting { bytes: 2 * PAYLOAD, ..MORE }), None, "others wait behind it");
        let last = Waiting { bytes: 2 * PAYLOAD - 1, last: true, ends: false };
        assert_eq!(keeps(last), Some(Kept { by_window: false }));
        assert_eq!(keeps(Waiting { ends: true, ..last }), None);
    }

    #[test]
    fn without_a_round_trip_time_a_packet_is_as_large_as_can_be() {
        let v = SenderView { rtt: None, ..view() };
        let most = segs_of_window(&v, v.window.cwnd, PAYLOAD as u32, LEAST_SEGS);
        assert_eq!(most, 65);
        assert_eq!(sender(&v, most).keeps(&MORE), BY_WINDOW, "the ack is expected at once");
        assert_eq!(sender(&v, u64::MAX).keeps(&MORE), BY_WINDOW);
    }

    #[test]
    fn a_packet_takes_half_the_window_at_most() {
        let v = view();
        assert_eq!(sender(&v, 9).quota(), 2, "the room");
        let idle = SenderView { pipe: 0, ..v };
        assert_eq!((sender(&idle, 9).quota(), sender(&idle, 3).quota()), (7, 3));
    }
}
