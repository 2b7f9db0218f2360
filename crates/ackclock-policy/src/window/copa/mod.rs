//! Copa.

mod delays;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Rate, SeqNumber};

use self::delays::Delays;
use super::growth::{Remainder, counted};
use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::standard::{at_least_two, half_flight, reduced_to};
use crate::{
    AckInfo, Congestion, CongestionControl, Control, Entry, Family, Feedback, Needs, Pacing, Param, Params,
    Phase, Policy, PrivateState, SenderView, SlowStart, Window,
};

/// A window that moves towards the rate of one packet per delta queueing delays.
#[derive(Debug)]
struct Copa {
    rules: Arc<Rules>,
    delays: Delays,
    /// 1 / delta: that of the default mode, or more while competing with flows that fill the queue.
    packets: f64,
    competes: bool,
    /// v, the direction in which the window moved in the last round trip, and how many more round trips in a
    /// row it has kept that direction.
    velocity: u32,
    grows: Option<bool>,
    same_direction: u32,
    /// What is acknowledged at the end of this round trip, and the window at its beginning.
    round_end: SeqNumber,
    round_cwnd: Bytes,
    /// Round trips since the queue was nearly empty.
    since_empty: u32,
    /// The flow's own delivery rate, measured last.
    rate: Option<Rate>,
    /// A loss in this round trip.
    lost: bool,
    remainder: Remainder,
}

#[derive(Debug)]
struct Rules {
    packets: f64,
    switches: bool,
    initial: InitialWindow,
}

/// Round trips in which the queue of Copa flows alone is nearly empty once (§2.2).
const EMPTY_WITHIN: u32 = 5;
/// Round trips for which the direction remains the same before the velocity doubles (§2.1). Alone, a flow
/// keeps it for 2.5 of them in its steady state, with a velocity of one.
const STEADY_ROUNDS: u32 = 3;
/// Full-sized segments that an ack stands for, at most (RFC 5681 §4.2).
const SEGMENTS_PER_ACK: u64 = 2;
/// The window moves by no more than all of it in a round trip; the velocity is not larger than it could use.
const MOST_VELOCITY: u32 = 1 << 20;

impl Copa {
    fn new(p: &Params) -> Self {
        let rules = p.shared(|p| Rules {
            packets: 1.0 / p.ratio("delta"),
            switches: p.flag("switches"),
            initial: InitialWindow::new(p),
        });
        Self {
            delays: Delays::NEW,
            packets: rules.packets,
            competes: false,
            velocity: 1,
            grows: None,
            same_direction: 0,
            round_end: SeqNumber(0),
            round_cwnd: 0,
            since_empty: 0,
            rate: None,
            lost: false,
            remainder: Remainder::default(),
            rules,
        }
    }

    /// True when the rate is below the target: cwnd / RTTstanding <= 1 / (delta d_q) (§2.1).
    fn is_slow(&self, v: &SenderView) -> bool {
        let segs = v.window.cwnd as f64 / f64::from(v.smss);
        let standing = self.delays.standing().map_or(0.0, |rtt| rtt.as_secs_f64());
        segs * self.delays.queueing().as_secs_f64() <= self.packets * standing
    }

    fn on_ack(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        self.measure(a, v);
        if v.snd_una > self.round_end {
            self.end_round(v);
        }
        let acked = a.delivered;
        if acked == 0 || self.delays.standing().is_none() {
            return v.window;
        }
        let slow = self.is_slow(v);
        if v.window.cwnd < v.window.ssthresh {
            // It doubles in a round trip until the rate is above the target.
            if !slow && v.phase != Phase::Loss {
                let cwnd = at_least_two(v.window.cwnd, v).min(v.window.cwnd);
                return Window { cwnd, ssthresh: at_least_two(cwnd, v) };
            }
            return if a.may_grow && a.validated {
                let grown = slow_start.on_ack(a, counted(a.newly_acked, v.smss, 2), v).applied_to(v);
                Window { cwnd: grown.cwnd.min(usable(v)), ..grown }
            } else {
                v.window
            };
        }
        if self.velocity > 1 && self.grows != Some(slow) {
            // A high velocity was meant for the other direction.
            (self.velocity, self.same_direction, self.grows) = (1, 0, Some(slow));
        }
        // v / (delta cwnd) for each packet.
        let smss = f64::from(v.smss);
        let step = f64::from(self.velocity) * self.packets * smss * acked as f64 / v.window.cwnd as f64;
        let step = step.min(acked as f64);
        let cwnd = if !slow {
            let step = self.remainder.take(step);
            at_least_two(v.window.cwnd.saturating_sub(step), v).min(v.window.cwnd)
        } else if a.validated && v.phase != Phase::Loss {
            v.window.cwnd.saturating_add(self.remainder.take(step)).min(usable(v))
        } else {
            v.window.cwnd
        };
        Window { cwnd, ssthresh: v.window.ssthresh.min(at_least_two(cwnd, v)) }
    }

    /// The delay that the segment met which was sent last of those delivered, so that it has not waited for
    /// an acknowledgment; and whether the queue was nearly empty.
    fn measure(&mut self, a: &AckInfo, v: &SenderView) {
        if let Some(sample) = a.rate.filter(|r| !r.app_limited && !r.interval.is_zero()) {
            self.rate = Some(sample.rate()).filter(|r| r.bits_per_sec() > 0);
        }
        let (Some(rtt), Some(estimate)) = (a.rate.map_or(a.rtt, |r| r.rtt), v.rtt) else { return };
        self.delays.sample(rtt, estimate.srtt, v.now);
        let bytes = SEGMENTS_PER_ACK * u64::from(v.smss);
        let quantum = self.rate.map_or(Duration::ZERO, |r| r.time_to_send(bytes));
        if self.delays.is_nearly_empty(quantum) {
            self.since_empty = 0;
        }
    }

    /// Once a round trip: direction, velocity and mode.
    fn end_round(&mut self, v: &SenderView) {
        // Slow start has no velocity.
        let past = self.round_cwnd > 0 && v.window.cwnd >= v.window.ssthresh;
        let grows = past.then_some(v.window.cwnd > self.round_cwnd);
        if past && grows == self.grows {
            self.same_direction = self.same_direction.saturating_add(1);
            if self.same_direction >= STEADY_ROUNDS {
                self.velocity = (2 * self.velocity).min(MOST_VELOCITY);
            }
        } else {
            (self.velocity, self.same_direction) = (1, 0);
        }
        (self.grows, self.round_end, self.round_cwnd) = (grows, v.snd_nxt, v.window.cwnd);
        self.delays.next_round();
        self.since_empty = self.since_empty.saturating_add(1);
        let competes = self.rules.switches && self.since_empty > EMPTY_WITHIN;
        // §2.2: in competitive mode 1 / delta grows by one in a round trip without a loss; the default mode
        // begins anew.
        if !competes || !self.competes {
            self.packets = self.rules.packets;
        } else if !self.lost {
            self.packets += 1.0;
        }
        (self.competes, self.lost) = (competes, false);
    }

    fn cut(&mut self, c: Congestion, v: &SenderView) -> Window {
        match c {
            // §2.2: a loss halves 1 / delta in competitive mode, and is none of the default mode's concern.
            Congestion::Loss => {
                self.lost = true;
                if self.competes {
                    self.packets = (self.packets / 2.0).max(self.rules.packets);
                }
                // The threshold is what a repair's flight is reduced to (RFC 9937 §6.1); it is as low as the
                // window once was, and the window of now is the target.
                let Window { cwnd, ssthresh } = v.window;
                Window { cwnd, ssthresh: if cwnd < ssthresh { ssthresh } else { at_least_two(cwnd, v) } }
            }
            Congestion::Ecn | Congestion::Rto { .. } => {
                (self.velocity, self.same_direction) = (1, 0);
                reduced_to(half_flight(v), c, v)
            }
        }
    }

    /// Twice the rate of the window (§2.1), so that it is the window that limits, without its bursts.
    fn pacing(&self, w: Window, v: &SenderView) -> Option<Pacing> {
        let standing = self.delays.standing()?;
        Some(Pacing { rate: Rate::from_transfer(w.cwnd.saturating_mul(2), standing), quantum: v.smss })
    }
}

/// The largest window that is of use: beyond the receiver's, which keeps the queue short by itself, the target
/// would be out of reach for ever, and the window and its pace grow without end.
fn usable(v: &SenderView) -> Bytes {
    v.window.cwnd.max(v.rwnd)
}

impl Policy for Copa {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("delta", 1.0 / self.packets);
        state.number("velocity", f64::from(self.velocity));
        state.number("competes", f64::from(u8::from(self.competes)));
        state.number("queueing_delay_us", self.delays.queueing().as_nanos() as f64 / 1000.0);
    }
}

impl CongestionControl for Copa {
    fn family(&self) -> Family {
        Family::ModelBased
    }

    fn needs(&self) -> Needs {
        Needs { every_ack: true, rate_samples: true, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.round_end = v.snd_una;
        Window { cwnd: self.rules.initial.bytes(v), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let window = match f {
            Feedback::Ack(a, slow_start) => self.on_ack(a, slow_start, v),
            Feedback::Congestion(c) => self.cut(c, v),
            f => v.default_window(&f),
        };
        Control { window, pacing: self.pacing(window, v) }
    }
}

/// Copa.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "copa",
    about: "Copa: moves towards the rate of one packet per delta queueing delays, which keeps 1 / delta \
            packets in the queue, and competes where others fill it.",
    source: "Arun and Balakrishnan 2018 (NSDI)",
    params: &[
        Param::ratio(
            "delta",
            0.5,
            0.001..=10.0,
            "delta of the default mode: how much delay counts against throughput (2.1)",
        ),
        Param::flag(
            "switches",
            true,
            "go into competitive mode where the queue has not been nearly empty for five round trips (2.2)",
        ),
        INITIAL_WINDOW,
        INITIAL_SEGS,
    ],
    build: |p| Box::new(Copa::new(p)),
};
