//! LEDBAT++.

mod delays;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant};

use self::delays::Delays;
use super::growth::{Remainder, counted};
use super::standard::{at_least_two, half_flight, may_grow, reduced_to};
use crate::{
    AckInfo, CongestionControl, Control, Entry, Family, Feedback, Param, Params, Phase, Policy, PrivateState,
    SenderView, SlowStart, Window,
};

/// A background flow: it keeps the queue at a target and yields to others that fill it.
#[derive(Debug)]
struct LedbatPlusPlus {
    rules: Arc<Rules>,
    delays: Delays,
    stage: Stage,
    remainder: Remainder,
}

#[derive(Debug)]
struct Rules {
    target: Duration,
    constant: f64,
    initial_segs: u64,
    slowdowns: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    InitialSlowStart,
    /// Congestion avoidance until the next slowdown.
    Avoidance {
        until: Instant,
    },
    /// A slowdown: the window is held at two segments, then grows to the threshold.
    Slowdown {
        since: Instant,
        frozen_until: Instant,
    },
}

/// The smallest GAIN is one over this (draft §4.2).
const MOST_GAIN_DIVISOR: u64 = 16;
/// Round trips from slow start to the first slowdown, and of a slowdown with two segments (draft §4.4).
const ROUND_TRIPS: u64 = 2;
/// Time between slowdowns, over the time that a slowdown takes (draft §4.4).
const SLOWDOWN_INTERVAL: u64 = 9;

/// GAIN = 1 / min(16, ceil(2 TARGET / base)) (draft §4.2); the smallest one without a base delay.
fn gain(target: Duration, base: Option<Duration>) -> f64 {
    let base = base.map_or(1, |base| base.as_nanos().max(1));
    1.0 / (2 * target.as_nanos()).div_ceil(base).clamp(1, MOST_GAIN_DIVISOR) as f64
}

impl LedbatPlusPlus {
    fn new(p: &Params) -> Self {
        Self {
            rules: p.shared(|p| Rules {
                target: p.duration("target"),
                constant: p.ratio("constant"),
                initial_segs: p.count("initial_segs"),
                slowdowns: p.flag("slowdowns"),
            }),
            delays: Delays::NEW,
            stage: Stage::InitialSlowStart,
            remainder: Remainder::default(),
        }
    }

    fn on_ack(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        if let Some(rtt) = a.rtt {
            self.delays.sample(rtt, v.now);
        }
        let round_trips = v.rtt.map_or(Duration::ZERO, |rtt| rtt.srtt) * ROUND_TRIPS;
        let below = v.window.cwnd < v.window.ssthresh;
        match self.stage {
            Stage::InitialSlowStart if below && self.delays.queueing() <= self.rules.target * 3 / 4 => {
                return self.slow_start(a, slow_start, v);
            }
            // The queue is at three quarters of the target: out of slow start, whatever its threshold.
            Stage::InitialSlowStart => {
                self.stage = Stage::Avoidance { until: v.now + round_trips };
                let ssthresh = v.window.ssthresh.min(at_least_two(v.window.cwnd, v));
                return self.avoidance(a, &SenderView { window: Window { ssthresh, ..v.window }, ..*v });
            }
            Stage::Avoidance { until }
                if self.rules.slowdowns && v.now >= until && v.phase == Phase::Open =>
            {
                self.stage = Stage::Slowdown { since: v.now, frozen_until: v.now + round_trips };
                let two = 2 * u64::from(v.smss);
                return Window { cwnd: v.window.cwnd.min(two), ssthresh: v.window.cwnd.max(two) };
            }
            Stage::Slowdown { frozen_until, .. } if v.now < frozen_until && v.phase == Phase::Open => {
                return v.window;
            }
            Stage::Slowdown { since, .. } if !below => {
                let took = v.now.since(since);
                self.stage = Stage::Avoidance { until: v.now + took * SLOWDOWN_INTERVAL };
            }
            Stage::Avoidance { .. } | Stage::Slowdown { .. } => {}
        }
        if below { self.slow_start(a, slow_start, v) } else { self.avoidance(a, v) }
    }

    /// Slow start, slower by GAIN (draft §4.3).
    fn slow_start(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        if !may_grow(a) {
            return v.window;
        }
        let gain = gain(self.rules.target, self.delays.base());
        let most = self.remainder.take(counted(a.newly_acked, v.smss, 1) as f64 * gain);
        slow_start.on_ack(a, most.min(a.newly_acked), v).applied_to(v)
    }

    /// Additive increase below the target, multiplicative decrease above it (draft §4.2).
    fn avoidance(&mut self, a: &AckInfo, v: &SenderView) -> Window {
        let (cwnd, smss) = (v.window.cwnd as f64, f64::from(v.smss));
        let queue = self.delays.queueing().as_secs_f64() / self.rules.target.as_secs_f64();
        let gain = gain(self.rules.target, self.delays.base()) * smss;
        let a_round_trip = if queue < 1.0 {
            gain
        } else {
            (gain - self.rules.constant * cwnd * (queue - 1.0)).max(-cwnd / 2.0)
        };
        // In a round trip, acks acknowledge the window.
        let change = a_round_trip * (a.newly_acked as f64 / cwnd).min(1.0);
        if change < 0.0 {
            let cwnd = v.window.cwnd.saturating_sub(-change as Bytes);
            let cwnd = at_least_two(cwnd, v).min(v.window.cwnd);
            return Window { cwnd, ssthresh: v.window.ssthresh.min(at_least_two(cwnd, v)) };
        }
        if !may_grow(a) {
            return v.window;
        }
        Window { cwnd: v.window.cwnd.saturating_add(self.remainder.take(change)), ..v.window }
    }
}

impl Policy for LedbatPlusPlus {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("base_delay_us", self.delays.base().map_or(0.0, |d| d.as_nanos() as f64 / 1000.0));
        state.number("queueing_delay_us", self.delays.queueing().as_nanos() as f64 / 1000.0);
        let stage = match self.stage {
            Stage::InitialSlowStart => 0.0,
            Stage::Avoidance { .. } => 1.0,
            Stage::Slowdown { .. } => 2.0,
        };
        state.number("stage", stage);
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn family(&self) -> Family {
        Family::DelayBased
    }

    fn start(&mut self, v: &SenderView) -> Control {
        let cwnd = self.rules.initial_segs.saturating_mul(u64::from(v.smss));
        Window { cwnd, ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, slow_start) => self.on_ack(a, slow_start, v),
            Feedback::Congestion(c) => reduced_to(half_flight(v), c, v),
            f => v.default_window(&f),
        }
        .into()
    }
}

/// LEDBAT++.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "ledbat-pp",
    about: "LEDBAT++, for background transfers: keeps the queueing delay at a target, shrinks when others \
            fill the queue, and slows down from time to time to measure the path without a queue.",
    source: "draft-irtf-iccrg-ledbat-plus-plus-06, checked by implementations that quote the draft and not \
             by its text, which was not at hand; RFC 6817",
    params: &[
        Param::duration(
            "target",
            Duration::from_millis(60),
            Duration::from_millis(1)..=Duration::from_secs(10),
            "TARGET, the queueing delay that it keeps (4.5)",
        ),
        Param::ratio("constant", 1.0, 0.0..=100.0, "Constant, how fast it shrinks above the target (4.2)"),
        Param::count("initial_segs", 2, 1..=1000, "segments of the window before the first ack (4.3)"),
        Param::flag(
            "slowdowns",
            true,
            "slow down two round trips after slow start, and then periodically (4.4)",
        ),
    ],
    build: |p| Box::new(LedbatPlusPlus::new(p)),
};
