use ackclock_units::{Bytes, Duration, Instant, SeqNumber};

use crate::{AckInfo, Entry, Growth, Param, Policy, PrivateState, SenderView, SlowStart};

/// HyStart as Linux's CUBIC has it: slow start ends when the acks of a round trip come in a train that is as
/// long as half of the path, or when its round-trip times have grown.
#[derive(Debug)]
struct HyStart {
    /// Beginning of this round trip.
    round_start: Instant,
    /// The last ack of the train.
    last_ack: Instant,
    /// The round trip is over when more than this is acknowledged.
    round_end: SeqNumber,
    /// Smallest round-trip time of all, and of this round trip, µs; `NONE` before there is one.
    min_rtt: u32,
    round_min: u32,
    /// From what window on it looks, segments.
    low_window: u16,
    /// Round-trip times seen in this round trip.
    samples: u8,
    detects: Detects,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Detects {
    Both,
    Train,
    Delay,
}

const NONE: u32 = u32::MAX;

/// Acks that follow each other no later than this make a train (`hystart_ack_delta_us`).
const TRAIN_GAP: Duration = Duration::from_millis(2);

/// Round-trip times of a round trip that are only counted (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u8 = 8;

/// Bounds of the growth of the round-trip time that ends slow start, µs (`HYSTART_DELAY_MIN`,
/// `HYSTART_DELAY_MAX`).
const DELAY_MIN: u32 = 4000;
const DELAY_MAX: u32 = 16_000;

/// Bursts of the sender may stretch a train by so much, µs, and by no more than four bursts take at its rate
/// (`hystart_ack_delay`).
const MAX_BURST: u64 = 1000;
const FOUR_BURSTS: u64 = 4 * 65_536;

impl HyStart {
    fn begin_round(&mut self, v: &SenderView) {
        (self.round_start, self.last_ack, self.round_end) = (v.now, v.now, v.snd_nxt);
        (self.round_min, self.samples) = (NONE, 0);
    }

    /// True when this ack, with a round-trip time of `rtt` µs, ends slow start.
    fn ends(&mut self, rtt: u32, v: &SenderView) -> bool {
        let first = self.min_rtt == NONE;
        self.min_rtt = self.min_rtt.min(rtt);
        if first || v.snd_una > self.round_end {
            self.begin_round(v);
        }
        if v.window.cwnd < u64::from(self.low_window) * u64::from(v.smss) {
            return false;
        }
        let mut ends = false;
        if self.detects != Detects::Delay && v.now.since(self.last_ack) <= TRAIN_GAP {
            self.last_ack = v.now;
            ends |= v.now.since(self.round_start) > self.longest_train(v);
        }
        if self.detects != Detects::Train {
            self.round_min = self.round_min.min(rtt);
            if self.samples < MIN_SAMPLES {
                self.samples += 1;
            } else {
                let grown = (self.min_rtt / 8).clamp(DELAY_MIN, DELAY_MAX);
                ends |= self.round_min > self.min_rtt.saturating_add(grown);
            }
        }
        ends
    }

    /// Half of the path's round-trip time with the bursts of the sender.
    fn longest_train(&self, v: &SenderView) -> Duration {
        let srtt = v.rtt.map_or(0, |rtt| rtt.srtt.as_nanos() / 1000);
        // In slow start Linux sends two windows in a round trip.
        let bursts = (FOUR_BURSTS * srtt / (2 * v.window.cwnd).max(1)).min(MAX_BURST);
        Duration::from_micros((u64::from(self.min_rtt) + bursts) / 2)
    }
}

impl Policy for HyStart {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("round_min_us", f64::from(self.round_min));
        state.number("samples", f64::from(self.samples));
    }
}

impl SlowStart for HyStart {
    fn on_ack(&mut self, a: &AckInfo, _most: Bytes, v: &SenderView) -> Growth {
        let micros = |rtt: Duration| u32::try_from(rtt.as_nanos() / 1000).unwrap_or(NONE - 1).max(1);
        if a.rtt.is_some_and(|rtt| self.ends(micros(rtt), v)) {
            return Growth { bytes: 0, exit: true };
        }
        // As Linux grows: what lies above the threshold is congestion avoidance's.
        let left = v.window.ssthresh.saturating_sub(v.window.cwnd);
        Growth { bytes: a.delivered.min(left), exit: false }
    }
}

/// Linux's HyStart.
pub(crate) const ENTRY: Entry<dyn SlowStart> = Entry {
    name: "hystart",
    about: "HyStart as in Linux's CUBIC: grows by what is delivered, until the acks of a round trip are \
            spread over half of it, or its round-trip times have grown by an eighth.",
    source: "Ha and Rhee 2011, with the constants of Linux's tcp_cubic; RFC 9406 has a variant",
    params: &[
        Param::count("low_window", 16, 2..=1000, "segments of the window from which on it looks"),
        Param::choice(
            "detect",
            "both",
            &["both", "train", "delay"],
            "what ends slow start: a long `train` of acks, a growing `delay`, or either",
        ),
    ],
    build: |p| {
        Box::new(HyStart {
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            round_end: SeqNumber(0),
            min_rtt: NONE,
            round_min: NONE,
            low_window: p.count("low_window") as u16,
            samples: 0,
            detects: match p.choice("detect") {
                "train" => Detects::Train,
                "delay" => Detects::Delay,
                _ => Detects::Both,
            },
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{ack, view};
    use crate::{Params, Window};

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// Acks of a segment each, `(after, rtt)`; the first begins the connection, the others belong to one
    /// round trip with a window of 20 segments. Returns the number of the ack that ends slow start, counted
    /// from 0.
    fn ended(acks: impl IntoIterator<Item = (Duration, Duration)>) -> Option<usize> {
        let mut hystart = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let mut v = SenderView { window: Window { cwnd: 20_000, ssthresh: u64::MAX }, ..view() };
        v.snd_nxt = v.snd_una + 1000;
        let first = AckInfo { rtt: Some(ms(200)), ..ack(1, 1000) };
        hystart.on_ack(&first, 1000, &v);
        (v.snd_una, v.snd_nxt) = (v.snd_nxt + 1, v.snd_nxt + 40_000);
        acks.into_iter().position(|(after, rtt)| {
            v.now += after;
            let a = AckInfo { rtt: Some(rtt), ..ack(1, 1000) };
            let growth = hystart.on_ack(&a, 1000, &v);
            assert!(growth.exit || growth.bytes == 1000);
            growth.exit
        })
    }

    #[test]
    fn grown_delay_ends_it_after_eight_samples() {
        // An eighth of 200 ms is more than the bound of 16 ms.
        assert_eq!(ended([(ms(3), ms(217)); 20]), Some(8));
        assert_eq!(ended([(ms(3), ms(216)); 20]), None);
    }

    #[test]
    fn the_smallest_of_a_round_trip_counts() {
        let times = (0..20).map(|i| (ms(3), if i == 5 { ms(210) } else { ms(300) }));
        assert_eq!(ended(times), None);
    }

    #[test]
    fn a_long_train_of_acks_ends_it() {
        // Half of 200 ms, and half of a millisecond for bursts.
        let acks = (0..80).map(|i| (if i == 0 { ms(0) } else { ms(2) }, ms(200)));
        assert_eq!(ended(acks), Some(51));
        assert_eq!(ended([(ms(3), ms(200)); 80]), None, "no train");
    }
}
