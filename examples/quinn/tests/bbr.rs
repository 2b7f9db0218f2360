//! What quinn's BBR makes of a path whose rate falls, without ackclock: the crate's controller alone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ackclock_quinn::rtt::estimator;
use quinn_proto::congestion::{BbrConfig, Controller, ControllerFactory};

const PACKET: u64 = 1200;
const RTT: Duration = Duration::from_millis(40);

/// Sends packets at a rate (bit/s) for a while, each of them acknowledged a round trip later.
struct Path {
    controller: Box<dyn Controller>,
    now: Instant,
    number: u64,
    in_flight: VecDeque<(u64, Instant)>,
}

impl Path {
    fn run(&mut self, rate: u64, time: Duration) {
        let (gap, end) = (Duration::from_nanos(PACKET * 8 * 1_000_000_000 / rate), self.now + time);
        let rtt = estimator(RTT);
        while self.now < end {
            while let Some(&(number, sent)) = self.in_flight.front()
                && sent + RTT <= self.now
            {
                self.in_flight.pop_front();
                let at = sent + RTT;
                self.controller.on_ack(at, sent, PACKET, false, &rtt);
                self.controller.on_end_acks(at, PACKET * self.in_flight.len() as u64, false, Some(number));
            }
            self.controller.on_sent(self.now, PACKET, self.number);
            self.in_flight.push_back((self.number, self.now));
            self.number += 1;
            self.now += gap;
        }
    }

    /// The pacing rate, bit/s.
    fn rate(&self) -> u64 {
        self.controller.metrics().pacing_rate.expect("BBR has one")
    }
}

/// The filter of the bandwidth has a window of ten round trips, as in Linux. But quinn-proto 0.11.19 passes
/// it no sample that is not above the estimate, so that none is ever forgotten: the estimate does not fall.
/// Should this test fail with a later version, quinn has changed that, and the README of this folder needs
/// new numbers.
#[test]
fn the_bandwidth_estimate_does_not_fall() {
    let now = Instant::now();
    let controller = Arc::new(BbrConfig::default()).build(now, PACKET as u16);
    let mut path = Path { controller, now, number: 0, in_flight: VecDeque::new() };
    path.run(20_000_000, Duration::from_secs(5));
    let before = path.rate();
    assert!((14_000_000..=26_000_000).contains(&before), "{before}");
    // Five hundred round trips at a tenth of the rate.
    path.run(2_000_000, Duration::from_secs(20));
    let after = path.rate();
    assert!(after > 14_000_000, "{before} then {after}");
}
