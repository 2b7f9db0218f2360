use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant};

use super::growth::{Remainder, counted};
use super::in_use::{ABE, Flight, Half, IN_USE, InUse, REDUCE_FROM, VALIDATE, counts_flights, reduced_from};
use super::initial::{INITIAL_SEGS, INITIAL_WINDOW, InitialWindow};
use super::paced::{PACED, paced};
use crate::{
    AckInfo, Congestion, CongestionControl, Control, Entry, EpisodeEnd, Feedback, Needs, Param, Params,
    Phase, Policy, PrivateState, SenderView, SlowStart, Window,
};

/// A window that follows a cubic curve through its size at the last loss.
#[derive(Debug)]
struct Cubic<U> {
    rules: Arc<Rules>,
    in_use: U,
    remainder: Remainder,
    curve: Curve,
    /// The curve from before the last reduction, in case it was spurious (RFC 9438 §4.9).
    undo: Curve,
    last_ack_at: Instant,
    /// When the curve was read last.
    read_at: Instant,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    validate: bool,
    c: f64,
    beta_cubic: f64,
    /// What is left after an ECN echo.
    beta_ecn: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    byte_counting: bool,
    explore_segs: u64,
    refresh: Duration,
    whole_target: bool,
    reduces_window: bool,
    initial: InitialWindow,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            validate: p.flag("validate"),
            c: p.ratio("c"),
            beta_cubic: p.ratio("beta_cubic"),
            beta_ecn: p.ratio(if p.flag("abe") { "beta_ecn" } else { "beta_cubic" }),
            fast_convergence: p.flag("fast_convergence"),
            reno_friendly: p.flag("reno_friendly"),
            byte_counting: p.flag("byte_counting"),
            explore_segs: p.count("explore_segs"),
            refresh: p.duration("refresh"),
            whole_target: p.flag("whole_target"),
            reduces_window: p.choice("reduce_from") == "window",
            initial: InitialWindow::new(p),
        }
    }
}

/// Sizes in segments, times in seconds, as in RFC 9438 §4.1.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Curve {
    /// Window at the last reduction, lowered by fast convergence; 0 before the first one.
    w_max: f64,
    /// Window just before the last reduction.
    cwnd_prior: f64,
    /// Time from the beginning of the epoch to the plateau.
    k: f64,
    /// Plateau of this epoch: `w_max`, or the window at its beginning if there was no reduction by an ack.
    plateau: f64,
    /// The window that Reno would have.
    w_est: f64,
    /// Beginning of this congestion-avoidance stage, shifted by the time in which the application did not
    /// fill the window; `None` before it.
    epoch_start: Option<Instant>,
}

impl Curve {
    const NEW: Self =
        Self { w_max: 0.0, cwnd_prior: 0.0, k: 0.0, plateau: 0.0, w_est: 0.0, epoch_start: None };
}

/// W_cubic(t) = C (t - K)^3 + W_max (RFC 9438 §4.2 eq. 1).
fn w_cubic(c: f64, t: f64, k: f64, plateau: f64) -> f64 {
    let from_plateau = t - k;
    c * from_plateau * from_plateau * from_plateau + plateau
}

/// K = cbrt((W_max - cwnd_epoch) / C) (RFC 9438 §4.2 eq. 2).
fn plateau_after(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    libm::cbrt((w_max - cwnd_epoch) / c)
}

impl<U: InUse> Cubic<U> {
    fn new(p: &Params) -> Self {
        Self {
            rules: p.shared(Rules::new),
            in_use: U::default(),
            remainder: Remainder::default(),
            curve: Curve::NEW,
            undo: Curve::NEW,
            last_ack_at: Instant::ZERO,
            read_at: Instant::ZERO,
        }
    }

    /// Begins a congestion-avoidance stage with a window of `cwnd` segments.
    fn begin(&mut self, cwnd: f64, now: Instant) {
        let curve = &mut self.curve;
        curve.epoch_start = Some(now);
        curve.w_est = cwnd;
        // After a timeout, or after slow start ended without a loss, the stage begins on the plateau (§4.8,
        // §4.10); also when the window has already grown beyond W_max.
        (curve.k, curve.plateau) = if curve.w_max > cwnd {
            (plateau_after(self.rules.c, curve.w_max, cwnd), curve.w_max)
        } else {
            (0.0, cwnd)
        };
    }

    /// Growth in segments for an ack of `acked` segments.
    fn avoidance(&mut self, acked: f64, cwnd: f64, v: &SenderView) -> f64 {
        if self.curve.epoch_start.is_none() {
            self.begin(cwnd, v.now);
        }
        // Without a maximum that it could approach, the curve may be too flat.
        let blind = self.curve.w_max == 0.0 && self.rules.explore_segs > 0;
        let least = if blind { acked / self.rules.explore_segs as f64 } else { 0.0 };
        let curve = &mut self.curve;
        let t = v.now.since(curve.epoch_start.unwrap_or(v.now)).as_secs_f64();
        let rtt = v.rtt.map_or(0.0, |r| r.srtt.as_secs_f64());
        // §4.3: Reno's average window; once it has reached the window before the reduction, it grows as
        // Reno's does.
        let alpha_cubic = if curve.w_est >= curve.cwnd_prior {
            1.0
        } else {
            3.0 * (1.0 - self.rules.beta_cubic) / (1.0 + self.rules.beta_cubic)
        };
        curve.w_est += alpha_cubic * acked / cwnd;
        if self.rules.whole_target {
            return self.whole_avoidance(acked, cwnd.floor(), v).max(least);
        }
        if v.now.since(self.read_at) < self.rules.refresh {
            return least;
        }
        self.read_at = v.now;
        if self.rules.reno_friendly && w_cubic(self.rules.c, t, curve.k, curve.plateau) < curve.w_est {
            return (curve.w_est - cwnd).max(least);
        }
        // §4.2, §4.4, §4.5: towards the curve one round trip from now, by at most half of the window in it.
        let target = w_cubic(self.rules.c, t + rtt, curve.k, curve.plateau).clamp(cwnd, 1.5 * cwnd);
        ((target - cwnd) / cwnd * if self.rules.byte_counting { acked } else { 1.0 }).max(least)
    }

    /// The same as Linux counts it (`bictcp_update`): the curve and Reno's window in whole segments, and one
    /// more for so many acknowledged, by what the curve showed when it was read last.
    #[cold]
    fn whole_avoidance(&mut self, acked: f64, cwnd: f64, v: &SenderView) -> f64 {
        if v.now.since(self.read_at) >= self.rules.refresh {
            self.read_at = v.now;
        }
        let curve = &self.curve;
        let min_rtt = v.rtt.map_or(Duration::ZERO, |r| r.min_rtt);
        let t = (self.read_at.since(curve.epoch_start.unwrap_or(v.now)) + min_rtt).as_secs_f64();
        let at = w_cubic(self.rules.c, t, curve.k, curve.plateau);
        let target = if at < curve.plateau { at.ceil() } else { at.floor() };
        let friendly = if self.rules.reno_friendly { curve.w_est.floor() } else { 0.0 };
        let target = target.max(friendly);
        let for_one = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
        acked / for_one.max(2.0)
    }

    fn grown(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        let since_last = v.now.since(std::mem::replace(&mut self.last_ack_at, v.now));
        if self.rules.validate && !self.in_use.permits(a, v) {
            // Time in which the application limited the sender does not count (§4.2, §5.8).
            self.curve.epoch_start = self.curve.epoch_start.map(|t| (t + since_last).min(v.now));
            return v.window;
        }
        let cwnd = v.window.cwnd.max(1);
        if cwnd < v.window.ssthresh {
            let limit_segs = if self.rules.byte_counting && v.phase != Phase::Loss { 2 } else { 1 };
            let most = counted(a.newly_acked, v.smss, limit_segs);
            return slow_start.on_ack(a, most, v).applied_to(v);
        }
        let smss = f64::from(v.smss);
        // Linux counts what is newly delivered (`acked_sacked`).
        let acked = if self.rules.whole_target { a.delivered } else { a.newly_acked };
        let segs = self.avoidance(acked as f64 / smss, self.remainder.with(cwnd) / smss, v);
        Window { cwnd: cwnd.saturating_add(self.remainder.take(segs * smss)), ..v.window }
    }

    fn cut(&mut self, c: Congestion, v: &SenderView) -> Window {
        match c {
            Congestion::Rto { repeated } => {
                let ssthresh =
                    if repeated { v.window.ssthresh } else { self.reduce(self.rules.beta_cubic, v) };
                // §4.8: the stage after a timeout begins with K = 0 where slow start ends, regardless of
                // W_max.
                self.curve = Curve { w_max: 0.0, epoch_start: None, ..self.curve };
                Window { cwnd: u64::from(v.smss), ssthresh }
            }
            Congestion::Loss | Congestion::Ecn => {
                let beta = if c == Congestion::Ecn { self.rules.beta_ecn } else { self.rules.beta_cubic };
                let ssthresh = self.reduce(beta, v);
                Window { cwnd: ssthresh, ssthresh }
            }
        }
    }

    /// The threshold of a reduction, in bytes, and the curve's memory of the window (§4.6, §4.7).
    fn reduce(&mut self, beta: f64, v: &SenderView) -> Bytes {
        let smss = f64::from(v.smss);
        let cwnd = self.remainder.with(v.window.cwnd) / smss;
        self.undo = self.curve;
        let lowered = self.rules.fast_convergence && cwnd < self.curve.w_max;
        let w_max = if lowered { cwnd * (1.0 + self.rules.beta_cubic) / 2.0 } else { cwnd };
        self.curve = Curve { w_max, cwnd_prior: cwnd, ..Curve::NEW };
        // §4.6 allows the window in place of the flight where a window that is not in use does not grow.
        let from = reduced_from(self.rules.reduces_window, v);
        let reduced = if self.rules.reduces_window {
            // Linux counts in whole segments.
            ((from * beta).round() as u64) / u64::from(v.smss.max(1)) * u64::from(v.smss)
        } else {
            (from * beta) as u64
        };
        reduced.max(2 * u64::from(v.smss))
    }
}

impl<U: InUse> Policy for Cubic<U> {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("w_max", self.curve.w_max);
        state.number("k", self.curve.k);
        state.number("w_est", self.curve.w_est);
    }
}

impl<U: InUse> CongestionControl for Cubic<U> {
    fn needs(&self) -> Needs {
        Needs { sends: U::COUNTS, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        Window { cwnd: self.rules.initial.bytes(v), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let window = match f {
            Feedback::Ack(a, slow_start) => self.grown(a, slow_start, v),
            Feedback::Congestion(c) => self.cut(c, v),
            f => {
                match f {
                    Feedback::EpisodeEnded(EpisodeEnd::Spurious) => self.curve = self.undo,
                    Feedback::Idle(_) => self.curve.epoch_start = None,
                    Feedback::Sent { .. } => self.in_use.sent(v),
                    _ => {}
                }
                v.default_window(&f)
            }
        };
        window.into()
    }
}

/// CUBIC.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "cubic",
    about: "CUBIC: after a loss the window follows a cubic function of time through its former size, and is \
            never below Reno's.",
    source: "RFC 9438, RFC 8511",
    params: &[
        Param::ratio("c", 0.4, 0.001..=100.0, "C, steepness of the curve, segments per cubic second (4.1)"),
        Param::ratio("beta_cubic", 0.7, 0.1..=1.0, "fraction of the window left after a loss (4.6)"),
        Param::flag(
            "fast_convergence",
            true,
            "release bandwidth by lowering W_max when the window was still below its former maximum (4.7)",
        ),
        Param::flag("reno_friendly", true, "keep the window at least as large as Reno's (4.3)"),
        Param::flag("byte_counting", true, "grow by acknowledged segments rather than by acks"),
        Param::count(
            "explore_segs",
            0,
            0..=1000,
            "while W_max is not known, grow by a segment for so many acknowledged at least; 0 for as the \
             curve has it; Linux has 20",
        ),
        Param::duration(
            "refresh",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(1),
            "shortest time between two readings of the curve, on which the window grows; 0s for on every \
             ack; Linux has the 32nd of a second",
        ),
        Param::flag(
            "whole_target",
            false,
            "read the curve and Reno's window in whole segments, as Linux does; otherwise exactly",
        ),
        VALIDATE,
        IN_USE,
        REDUCE_FROM,
        ABE,
        Param::ratio(
            "beta_ecn",
            0.85,
            0.1..=0.99,
            "fraction of the window left after an ECN echo with `abe` (RFC 8511 3.1)",
        ),
        PACED,
        INITIAL_WINDOW,
        INITIAL_SEGS,
    ],
    build: |p| {
        if counts_flights(p) {
            paced(p, Box::new(Cubic::<Flight>::new(p)))
        } else {
            paced(p, Box::new(Cubic::<Half>::new(p)))
        }
    },
};
