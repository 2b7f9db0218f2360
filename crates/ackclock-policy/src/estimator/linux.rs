use ackclock_units::{Duration, Instant, SeqNumber};

use super::smooth::{AFTER_LOST_SYN, bounded, initial_rto, max_rto, min_rto, smooth, with_estimates};
use crate::{Entry, Param, Policy, PrivateState, Rtt, RttEstimator, RttSample};

/// Linux's timer (`tcp_rtt_estimator`): the mean of RFC 6298, and for the variation the largest deviation of
/// a round trip, which rises at once, falls slowly, and has a floor.
#[derive(Debug)]
struct Linux {
    variation_floor: Duration,
    min_rto: Duration,
    max_rto: Duration,
    initial_rto: Duration,
    /// A SYN has timed out.
    lost_syn: bool,
    /// Its `rttvar` is the smoothed mean deviation.
    rtt: Option<Rtt>,
    /// What the timeout adds to the mean: four deviations, no less than the floor.
    variation: Duration,
    /// The largest of this round trip.
    largest: Duration,
    /// What ends this round trip.
    round: Round,
}

/// A round trip is over once something beyond what had been sent at its beginning is acknowledged: no
/// repair ends it, nor does a SACK. Where sequence numbers are not known, a sample of something sent later
/// does.
#[derive(Clone, Copy, Debug)]
struct Round {
    end: Option<SeqNumber>,
    begun: Instant,
}

impl Round {
    const NONE: Self = Self { end: None, begun: Instant::ZERO };

    /// The one that begins with a sample.
    fn from(s: &RttSample) -> Self {
        Self { end: s.outstanding.map(|o| o.end), begun: s.now }
    }

    fn is_over(self, s: &RttSample) -> bool {
        match s.outstanding.zip(self.end) {
            Some((o, end)) => o.start > end,
            None => s.now.saturating_sub(s.rtt) >= self.begun,
        }
    }
}

impl Linux {
    /// Four deviations, with the floor.
    fn of(&self, rttvar: Duration) -> Duration {
        (rttvar * K).max(self.variation_floor)
    }
}

impl Policy for Linux {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("variation", self.variation.as_secs_f64());
    }
}

impl RttEstimator for Linux {
    fn on_sample(&mut self, s: RttSample) {
        let Some(old) = self.rtt else {
            let rtt = Rtt { latest: s.rtt, srtt: s.rtt, rttvar: s.rtt / 2, min_rtt: s.rtt };
            self.variation = self.of(rtt.rttvar);
            (self.largest, self.round, self.rtt) = (self.variation, Round::from(&s), Some(rtt));
            return;
        };
        let deviation = s.rtt.abs_diff(old.srtt);
        // A path that becomes faster is no reason for a longer timeout: the deviation then rises an eighth as
        // fast.
        let falling = s.rtt < old.srtt && deviation > old.rttvar;
        let rtt = Rtt {
            latest: s.rtt,
            srtt: smooth(old.srtt, s.rtt, ALPHA),
            rttvar: smooth(old.rttvar, deviation, if falling { BETA / 8.0 } else { BETA }),
            min_rtt: old.min_rtt.min(s.rtt),
        };
        self.rtt = Some(rtt);
        self.largest = self.largest.max(self.of(rtt.rttvar));
        self.variation = self.variation.max(self.largest);
        if self.round.is_over(&s) {
            // A round trip without a deviation as large: down by a quarter of the difference.
            self.variation = smooth(self.variation, self.largest, BETA);
            (self.largest, self.round) = (self.variation_floor, Round::from(&s));
        }
    }

    fn rtt(&self) -> Option<Rtt> {
        self.rtt
    }

    fn rto(&self) -> Duration {
        self.rto_above(self.min_rto)
    }

    fn rto_above(&self, floor: Duration) -> Duration {
        let Some(rtt) = self.rtt else {
            // tcp_init_metrics (RFC 6298 §5.7)
            return if self.lost_syn { self.initial_rto.max(AFTER_LOST_SYN) } else { self.initial_rto };
        };
        bounded(rtt.srtt + self.variation, floor, self.max_rto)
    }

    fn initial_rto(&self) -> Duration {
        self.initial_rto
    }

    fn on_expiry(&mut self, _expiries: u32) {
        self.lost_syn |= self.rtt.is_none();
    }

    fn on_unmeasured_handshake(&mut self) {
        // Also where a SYN-ACK was sent again for a SYN that came twice: nothing timed out.
        self.lost_syn |= self.rtt.is_none();
    }

    fn set_estimates(&mut self, srtt: Duration, rttvar: Duration) {
        self.rtt = Some(with_estimates(self.rtt, srtt, rttvar));
        self.variation = self.of(rttvar);
        self.largest = self.variation;
    }
}

/// RFC 6298 §2.3.
const ALPHA: f64 = 1.0 / 8.0;
/// RFC 6298 §2.3.
const BETA: f64 = 1.0 / 4.0;
/// RFC 6298 §2.3.
const K: u64 = 4;

/// Linux's timer.
pub(crate) const ENTRY: Entry<dyn RttEstimator> = Entry {
    name: "linux",
    about: "Linux's timer: the smoothed round-trip time plus at least 200 ms for its variation, which is four \
            times the largest mean deviation of a round trip, rises at once and falls by a quarter of the \
            difference per round trip; samples that fall raise the deviation slowly.",
    source: "Linux 6.18, net/ipv4/tcp_input.c (tcp_rtt_estimator)",
    params: &[
        Param::duration(
            "variation_floor",
            Duration::from_millis(200),
            Duration::ZERO..=Duration::from_secs(10),
            "least term added for the variation (TCP_RTO_MIN)",
        ),
        min_rto(Duration::from_millis(200)),
        max_rto(Duration::from_secs(120)),
        initial_rto(Duration::from_secs(1)),
    ],
    build: |p| {
        Box::new(Linux {
            variation_floor: p.duration("variation_floor"),
            min_rto: p.duration("min_rto"),
            max_rto: p.duration("max_rto"),
            initial_rto: p.duration("initial_rto"),
            lost_syn: false,
            rtt: None,
            variation: Duration::ZERO,
            largest: Duration::ZERO,
            round: Round::NONE,
        })
    },
};

#[cfg(test)]
mod tests {
    use ackclock_units::SeqRange;

    use super::*;
    use crate::Params;
    use crate::harness::sample;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// RTO in milliseconds after each of these samples, each taken one round trip after the last.
    fn timeouts(samples: &[u64]) -> Vec<f64> {
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let mut at = 1000;
        let mut one = |rtt: &u64| {
            at += rtt;
            e.on_sample(sample(ms(at), ms(*rtt)));
            e.rto().as_secs_f64() * 1000.0
        };
        samples.iter().map(&mut one).collect()
    }

    #[test]
    fn the_variation_counts_for_200_ms_at_least() {
        assert_eq!(timeouts(&[]), []);
        assert_eq!(timeouts(&[50]), [250.0]);
        assert_eq!(timeouts(&[100]), [300.0]);
        // 400 + 4 * 200.
        assert_eq!(timeouts(&[400]), [1200.0]);
        assert_eq!(timeouts(&[50; 40])[39], 250.0, "not less with time");
    }

    #[test]
    fn data_begins_with_three_seconds_after_a_handshake_that_gives_no_round_trip_time() {
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        e.on_unmeasured_handshake();
        assert_eq!((e.initial_rto(), e.rto()), (ms(1000), ms(3000)), "tcp_init_metrics");
    }

    #[test]
    fn data_begins_with_three_seconds_after_a_lost_syn() {
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        e.on_expiry(1);
        assert_eq!((e.initial_rto(), e.rto()), (ms(1000), ms(3000)), "RFC 6298 §5.7");
        e.on_sample(sample(ms(100), ms(100)));
        e.on_expiry(1);
        assert_eq!(e.rto(), ms(300));
    }

    #[test]
    fn the_variation_rises_at_once_and_falls_slowly() {
        // Mean 100 + 200/8, deviation 50 + (200 - 50)/4 = 87.5.
        assert_eq!(timeouts(&[100, 300]), [300.0, 125.0 + 350.0]);
        // 400, deviation 200, then 200 * 3/4 = 150 and four of it at once the largest of the round trip; the
        // variation falls from 800 by a quarter of the difference to it. The first round trip has the first
        // sample's own.
        assert_eq!(timeouts(&[400, 400, 400]), [1200.0, 1200.0, 400.0 + 800.0 - (800.0 - 450.0) / 4.0]);
    }

    #[test]
    fn a_round_trip_ends_when_what_followed_it_is_acknowledged() {
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let mut at = 1000;
        let mut one = |rtt: u64, start: u32, end: u32| {
            at += 400;
            let outstanding = Some(SeqRange::new(SeqNumber(start), SeqNumber(end)));
            e.on_sample(RttSample { outstanding, ..sample(ms(at), ms(rtt)) });
            e.rto().as_secs_f64() * 1000.0
        };
        assert_eq!(one(400, 1, 1), 1200.0);
        assert_eq!(one(400, 1001, 4001), 1200.0, "the first sample's own round trip");
        // Deviation 112.5: samples that SACKs give, and the ack of a repair of what had been sent, end none.
        assert_eq!(one(400, 1001, 6001), 1200.0);
        assert_eq!(one(400, 4001, 8001), 1200.0);
        // Deviation 63.28, the largest of the round trip is 4 * 112.5.
        assert_eq!(one(400, 5001, 9001), 400.0 + 800.0 - (800.0 - 450.0) / 4.0);
    }

    #[test]
    fn falling_samples_raise_the_deviation_an_eighth_as_fast() {
        let mut e = (ENTRY.build)(&Params::defaults(ENTRY.params));
        for (at, rtt) in [(1000, 100), (1100, 10)] {
            e.on_sample(sample(ms(at), ms(rtt)));
        }
        // 50 + (90 - 50)/32.
        assert_eq!(e.rtt().map(|r| r.rttvar), Some(Duration::from_micros(51_250)));
        e.on_sample(sample(ms(2000), ms(300)));
        // 51.25 + (300 - 88.75 - 51.25)/4.
        assert_eq!(e.rtt().map(|r| r.rttvar), Some(Duration::from_micros(91_250)));
    }
}
