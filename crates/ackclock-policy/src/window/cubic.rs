use std::sync::Arc;

use ackclock_units::{Bytes, Instant};

use super::cubic_linux::{Scales, Stage, TICK};
use super::growth::{Remainder, counted};
use super::in_use::{
    ABE, Flight, Half, IN_USE, InUse, REDUCE_FROM, VALIDATE, backs_off_less, counts_flights, reduced_from,
};
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
    /// In place of the curve, in the integers of Linux.
    linux: Option<Box<Stage>>,
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
    /// Those of Linux's integers.
    scales: Option<Scales>,
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
            scales: (p.choice("arithmetic") == "linux").then(|| {
                let reno = p.flag("reno_friendly");
                Scales::new(p.ratio("c"), p.ratio("beta_cubic"), reno, p.duration("tick"))
            }),
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
        let rules = p.shared(Rules::new);
        Self {
            linux: rules.scales.map(|_| Box::default()),
            rules,
            in_use: U::default(),
            remainder: Remainder::default(),
            curve: Curve::NEW,
            undo: Curve::NEW,
            last_ack_at: Instant::ZERO,
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
        if self.rules.reno_friendly && w_cubic(self.rules.c, t, curve.k, curve.plateau) < curve.w_est {
            return curve.w_est - cwnd;
        }
        // §4.2, §4.4, §4.5: towards the curve one round trip from now, by at most half of the window in it.
        let target = w_cubic(self.rules.c, t + rtt, curve.k, curve.plateau).clamp(cwnd, 1.5 * cwnd);
        (target - cwnd) / cwnd * if self.rules.byte_counting { acked } else { 1.0 }
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
            let growth = slow_start.on_ack(a, most, v);
            let window = growth.applied_to(v);
            // Linux goes on with what slow start has not used (`cubictcp_cong_avoid`).
            let left = a.delivered.saturating_sub(growth.bytes);
            let goes_on = self.linux.is_some() && window.cwnd >= window.ssthresh && left >= v.smss.into();
            return if goes_on { self.grown_by_linux(left, window, v) } else { window };
        }
        if self.linux.is_some() {
            return self.grown_by_linux(a.delivered, v.window, v);
        }
        let smss = f64::from(v.smss);
        let segs = self.avoidance(a.newly_acked as f64 / smss, self.remainder.with(cwnd) / smss, v);
        Window { cwnd: cwnd.saturating_add(self.remainder.take(segs * smss)), ..v.window }
    }

    /// `window` after an ack that newly delivers so many bytes above the threshold, in the integers of Linux.
    fn grown_by_linux(&mut self, delivered: Bytes, window: Window, v: &SenderView) -> Window {
        let (Some(stage), Some(scales)) = (&mut self.linux, &self.rules.scales) else { return window };
        let smss = u64::from(v.smss);
        let acked = if self.rules.byte_counting { stage.whole(delivered, smss) } else { 1 };
        let segs = stage.grow(acked, (window.cwnd / smss).max(1), scales, v.now);
        Window { cwnd: window.cwnd.saturating_add(segs * smss), ..window }
    }

    fn cut(&mut self, c: Congestion, v: &SenderView) -> Window {
        // The reduction forgets what was counted for growth (`tcp_init_cwnd_reduction`, `tcp_enter_loss`).
        self.linux.iter_mut().for_each(|stage| stage.forget_credit());
        match c {
            Congestion::Rto { repeated } => {
                let ssthresh =
                    if repeated { v.window.ssthresh } else { self.reduce(self.rules.beta_cubic, v) };
                // §4.8: the stage after a timeout begins with K = 0 where slow start ends, regardless of
                // W_max.
                self.curve = Curve { w_max: 0.0, epoch_start: None, ..self.curve };
                self.linux.iter_mut().for_each(|stage| stage.forget());
                Window { cwnd: u64::from(v.smss), ssthresh }
            }
            Congestion::Loss | Congestion::Ecn => {
                let beta = if backs_off_less(c, v) { self.rules.beta_ecn } else { self.rules.beta_cubic };
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
        if let (Some(stage), Some(scales)) = (&mut self.linux, &self.rules.scales) {
            let (segs, smss) = (v.window.cwnd / u64::from(v.smss), u64::from(v.smss));
            let lowered = self.rules.fast_convergence && segs < stage.last_max;
            stage.last_max = if lowered { segs * (1024 + scales.beta) / 2048 } else { segs };
            stage.end();
            let beta = if beta == self.rules.beta_cubic { scales.beta } else { (beta * 1024.0) as u64 };
            return (from as u64 / smss * beta / 1024 * smss).max(2 * smss);
        }
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
        let linux = self.linux.is_some();
        Needs { sends: U::COUNTS || linux, every_ack: linux, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        Window { cwnd: self.rules.initial.bytes(v), ssthresh: Bytes::MAX }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let window = match f {
            Feedback::Ack(a, slow_start) => {
                if let (Some(stage), Some(scales)) = (&mut self.linux, &self.rules.scales) {
                    stage.measure(a, scales, v.now);
                }
                if self.linux.is_some() && !a.may_grow {
                    return v.window.into();
                }
                self.grown(a, slow_start, v)
            }
            Feedback::Congestion(c) => self.cut(c, v),
            f => {
                match f {
                    // Linux restores the window alone.
                    Feedback::EpisodeEnded(EpisodeEnd::Spurious) => self.curve = self.undo,
                    Feedback::Idle(_) => self.curve.epoch_start = None,
                    Feedback::Sent { bytes, retransmission, .. } => {
                        if let (Some(stage), Some(scales)) = (&mut self.linux, &self.rules.scales)
                            && bytes > 0
                        {
                            stage.sent(!retransmission && v.pipe <= u64::from(v.smss), scales, v.now);
                        }
                        self.in_use.sent(retransmission, v);
                    }
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
    source: "RFC 9438, RFC 8511; `arithmetic=linux`: Linux 6.18, net/ipv4/tcp_cubic.c",
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
        Param::choice(
            "arithmetic",
            "real",
            &["real", "linux"],
            "how the curve is computed: in `real` numbers (RFC 9438), or in the integers of `linux`, where the \
             window grows by a segment after so many acknowledged, 2 at least and 20 at most until there was a \
             loss, and Reno's window goes on with alpha_cubic",
        ),
        TICK,
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
