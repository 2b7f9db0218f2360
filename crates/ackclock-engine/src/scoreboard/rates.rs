//! Delivery rates (draft-ietf-ccwg-bbr §4.1): the state of delivery when each outstanding segment was sent,
//! and the samples derived from it. Kept beside the segments, and only for senders whose policies need rates.

use std::collections::VecDeque;

use ackclock_policy::{LostSegment, RateSample, Transmission};
use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange};

/// State of the connection when a segment was last sent.
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// P.delivered.
    delivered: Bytes,
    /// P.delivered_time.
    delivered_at: Instant,
    /// P.first_send_time.
    first_sent_at: Instant,
    /// P.lost.
    lost: Bytes,
    /// P.tx_in_flight, the segment itself included.
    in_flight: u32,
    /// P.is_app_limited.
    app_limited: bool,
    /// The delivery of the segment has been counted.
    counted: bool,
}

/// The newest transmission that the current ack reports as delivered.
#[derive(Clone, Copy, Debug)]
struct Newest {
    departure: Departure,
    sent_at: Instant,
    end_seq: SeqNumber,
    sent_once: bool,
}

/// State for the delivery rate of a connection.
#[derive(Debug)]
pub(super) struct Rates {
    /// One for each segment of the scoreboard.
    departures: VecDeque<Departure>,
    /// C.delivered.
    delivered: Bytes,
    /// C.delivered_time.
    delivered_at: Instant,
    /// C.first_send_time.
    first_sent_at: Instant,
    /// C.lost.
    lost: Bytes,
    /// C.lost before the last timeout, to be restored if that was spurious.
    lost_before_timeout: Bytes,
    /// C.app_limited: the count of delivered bytes up to which samples are application-limited; zero if they
    /// are not.
    app_limited_until: Bytes,
    newest: Option<Newest>,
    /// P.is_app_limited of the segment sent last.
    sent_app_limited: bool,
    /// Segments marked lost since they were last taken, for windows that need them.
    losses: Option<Vec<LostSegment>>,
}

impl Rates {
    pub fn new() -> Self {
        Self {
            departures: VecDeque::new(),
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            lost: 0,
            lost_before_timeout: 0,
            // The first write finds nothing to send.
            app_limited_until: 1,
            newest: None,
            sent_app_limited: false,
            losses: None,
        }
    }

    pub fn held_bytes(&self) -> u64 {
        let losses = self.losses.as_ref().map_or(0, Vec::capacity);
        (size_of::<Self>()
            + self.departures.capacity() * size_of::<Departure>()
            + losses * size_of::<LostSegment>()) as u64
    }

    /// Keeps from now on what was marked lost.
    pub fn record_losses(&mut self) {
        self.losses.get_or_insert_default();
    }

    /// Segments marked lost since the last call; give the list back with [`Rates::return_losses`].
    pub fn take_losses(&mut self) -> Vec<LostSegment> {
        self.losses.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn return_losses(&mut self, mut list: Vec<LostSegment>) {
        list.clear();
        if let Some(losses) = self.losses.as_mut() {
            *losses = list;
        }
    }

    /// Whether the segment sent last was application-limited.
    pub fn is_app_limited(&self) -> bool {
        self.sent_app_limited
    }

    /// State for a segment of `len` bytes that is being sent. `in_flight` includes it.
    fn departure(&mut self, now: Instant, in_flight: u32, len: u32) -> Departure {
        self.sent_app_limited = self.app_limited_until > 0;
        if in_flight <= len {
            // Time with nothing in flight is not part of a sample.
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Departure {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited_until > 0,
            counted: false,
        }
    }

    pub fn push(&mut self, now: Instant, in_flight: u32, len: u32) {
        let departure = self.departure(now, in_flight, len);
        self.departures.push_back(departure);
    }

    pub fn retransmit(&mut self, i: usize, now: Instant, in_flight: u32, len: u32) {
        let departure = self.departure(now, in_flight, len);
        self.departures[i] = departure;
    }

    /// The segment was cut in two.
    pub fn split(&mut self, i: usize) {
        self.departures.insert(i + 1, self.departures[i]);
    }

    pub fn pop_front(&mut self) {
        self.departures.pop_front();
    }

    pub fn pop_back(&mut self) {
        self.departures.pop_back();
    }

    /// Segment `i`, of these bytes, was marked lost.
    pub fn lose(&mut self, i: usize, range: SeqRange) {
        self.lost += u64::from(range.len());
        if let Some(losses) = self.losses.as_mut() {
            let departure = self.departures[i];
            losses.push(LostSegment {
                range,
                in_flight: u64::from(departure.in_flight),
                lost: self.lost.saturating_sub(departure.lost),
                total_delivered: self.delivered,
                app_limited: departure.app_limited,
            });
        }
    }

    /// The timer expired: losses marked from now on may be undone.
    pub fn save_lost(&mut self) {
        self.lost_before_timeout = self.lost;
    }

    pub fn restore_lost(&mut self) {
        self.lost = self.lost_before_timeout;
    }

    /// `bytes` of segment `i` were delivered. `whole`: that is all of it. UpdateRateSample() of the draft.
    pub fn deliver(&mut self, i: usize, bytes: u32, whole: bool, last: Transmission, sent_once: bool) {
        let Transmission { xmit_ts: sent_at, end_seq } = last;
        let departure = self.departures[i];
        if departure.counted {
            // Reported before, by a receiver that has reneged since.
            return;
        }
        self.departures[i].counted = whole;
        self.delivered += u64::from(bytes);
        if self.newest.is_none_or(|n| (n.sent_at, n.end_seq.diff(end_seq)) < (sent_at, 0)) {
            self.newest = Some(Newest { departure, sent_at, end_seq, sent_once });
        }
    }

    /// The sample of an ack, after everything that it delivered was recorded; `None` if it delivered nothing.
    /// The interval is zero if it is shorter than `min_rtt`. GenerateRateSample() of the draft.
    pub fn sample(&mut self, now: Instant, min_rtt: Duration) -> Option<RateSample> {
        let Newest { departure, sent_at, sent_once, .. } = self.newest.take()?;
        let send_elapsed = sent_at.since(departure.first_sent_at);
        let ack_elapsed = now.since(departure.delivered_at);
        (self.delivered_at, self.first_sent_at) = (now, sent_at);
        if self.app_limited_until > 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        // The send phase and the ack phase: the slower of the two is the path's rate.
        let interval = send_elapsed.max(ack_elapsed);
        let interval = if interval < min_rtt { Duration::ZERO } else { interval };
        Some(RateSample {
            delivered: self.delivered - departure.delivered,
            interval,
            prior_delivered: departure.delivered,
            total_delivered: self.delivered,
            app_limited: departure.app_limited,
            lost: self.lost.saturating_sub(departure.lost),
            prior_in_flight: u64::from(departure.in_flight),
            sent_at,
            rtt: sent_once.then(|| now.since(sent_at)),
        })
    }

    /// The application has written less than the window allows, with `in_flight` bytes in the network.
    pub fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::{Rate, Rng, SeqRange};

    use super::super::OutstandingSegments;
    use super::*;

    const MSS: u32 = 1000;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn seq(n: u32) -> SeqNumber {
        SeqNumber(n * MSS)
    }

    fn measuring() -> OutstandingSegments {
        let mut b = OutstandingSegments::new();
        b.measure_rates();
        b
    }

    #[test]
    fn the_rate_is_that_of_the_slower_of_sending_and_acknowledging() {
        // A segment each millisecond, and the ack of the first at 20 ms: the ack interval is the longer one.
        let mut b = measuring();
        (0..10).for_each(|n| b.push(seq(n), MSS, false, at(u64::from(n))));
        b.acknowledge(seq(1));
        let first = b.rate_sample(at(20), Duration::ZERO).expect("a sample");
        assert_eq!((first.delivered, first.interval), (1000, Duration::from_millis(20)));
        // The next sample starts at that ack.
        b.push(seq(10), MSS, false, at(20));
        b.push(seq(11), MSS, false, at(25));
        b.acknowledge(seq(12));
        let s = b.rate_sample(at(40), Duration::from_millis(20)).expect("a sample");
        assert_eq!((s.prior_delivered, s.total_delivered, s.delivered), (1000, 12_000, 11_000));
        // Acknowledged in 20 ms; sent in 25, since the first delivered segment left at 0.
        assert_eq!(s.interval, Duration::from_millis(25));
        assert_eq!((s.prior_in_flight, s.lost, s.app_limited), (11_000, 0, false));
        assert!(b.rate_sample(at(40), Duration::ZERO).is_none(), "nothing was delivered since");
    }

    #[test]
    fn less_than_a_round_trip_gives_no_rate() {
        let mut b = measuring();
        b.push(seq(0), MSS, false, at(0));
        b.acknowledge(seq(1));
        let s = b.rate_sample(at(5), Duration::from_millis(10)).expect("something was delivered");
        assert_eq!((s.rate(), s.rtt), (Rate::default(), Some(Duration::from_millis(5))));
    }

    #[test]
    fn samples_are_app_limited_until_that_data_has_left() {
        let mut b = measuring();
        let sample = |b: &mut OutstandingSegments, ack, ms| {
            b.acknowledge(seq(ack));
            b.rate_sample(at(ms), Duration::ZERO).map(|s| s.app_limited)
        };
        // What is sent first was written when there was nothing to send.
        b.push(seq(0), MSS, false, at(0));
        assert_eq!(sample(&mut b, 1, 10), Some(true));
        b.push(seq(1), MSS, false, at(10));
        b.mark_app_limited(MSS);
        b.push(seq(2), MSS, false, at(11));
        assert_eq!([sample(&mut b, 2, 20), sample(&mut b, 3, 21)], [Some(false), Some(true)]);
        b.push(seq(3), MSS, false, at(22));
        assert_eq!(sample(&mut b, 4, 32), Some(false));
    }

    #[test]
    fn every_segment_has_its_departure_under_any_acks() {
        for round in 0..300 {
            let mut rng = Rng::stream(round, "rates", 0);
            let (mut b, mut una, mut nxt, mut now) = (measuring(), 0_u32, 0_u32, at(0));
            for _ in 0..200 {
                now += Duration::from_micros(rng.below(3000));
                let pick = |rng: &mut Rng| una + rng.below(u64::from(nxt - una) + 1) as u32;
                match rng.below(9) {
                    0..=2 => {
                        let len = 1 + rng.below(u64::from(MSS)) as u32;
                        b.push(SeqNumber(nxt), len, false, now);
                        nxt += len;
                    }
                    3 => {
                        una = pick(&mut rng);
                        b.acknowledge(SeqNumber(una));
                    }
                    4 => {
                        let (x, y) = (pick(&mut rng), pick(&mut rng));
                        b.sack(SeqRange::new(SeqNumber(x.min(y)), SeqNumber(x.max(y))));
                    }
                    5 => {
                        let (x, y) = (pick(&mut rng), pick(&mut rng));
                        b.mark_lost(SeqRange::new(SeqNumber(x.min(y)), SeqNumber(x.max(y))));
                    }
                    6 => {
                        b.retransmit(SeqNumber(pick(&mut rng)), 1 + rng.below(800) as u32, now);
                    }
                    7 if rng.chance(0.5) => b.save_marks(true),
                    7 => b.restore_marks(false),
                    _ if rng.chance(0.2) => b.forget_sacks(),
                    _ => {
                        if let Some(s) = b.rate_sample(now, Duration::ZERO) {
                            assert_eq!(s.prior_delivered + s.delivered, s.total_delivered);
                        }
                    }
                }
                assert_eq!(
                    b.rates().map(|r| r.departures.len()),
                    Some(b.segments_from(SeqNumber(una)).count())
                );
            }
        }
    }
}
