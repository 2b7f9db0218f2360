use std::sync::Arc;

use ackclock_units::Bytes;

use super::after_timeout::{AFTER_TIMEOUT, AfterTimeout};
use super::decay::{AFTER_IDLE, AfterIdle, HALF_LIFE};
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

/// Slow start and congestion avoidance with AIMD parameters.
#[derive(Debug)]
struct Reno<U> {
    rules: Arc<Rules>,
    /// The current episode is a loss inferred from acks.
    repairing: bool,
    remainder: Remainder,
    in_use: U,
    /// Bytes acknowledged towards the next increase, with byte counting (RFC 3465 §2.1).
    bytes_acked: Bytes,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    validate: bool,
    phases: Phases,
    decrease: f64,
    /// The same for an ECN echo.
    ecn_decrease: f64,
    increase_segs: f64,
    increase_factor: f64,
    whole_segs: bool,
    whole_segs_left: bool,
    /// Segments that the window grows by during the round trip of a repair (M-X11).
    repair_segs: f64,
    initial: InitialWindow,
    initial_ssthresh: Bytes,
    min_ssthresh_segs: u32,
    loss_window_segs: u32,
    /// Segments per ack in slow start by byte counting; 0 without.
    limit_segs: u32,
    reduces_window: bool,
    keep_ssthresh: bool,
    at_ssthresh: bool,
    after_timeout: AfterTimeout,
    after_idle: AfterIdle,
}

/// Which of the two algorithms run: both, or one without the other (J-A9, J-X6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phases {
    Both,
    SlowStart,
    Avoidance,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            validate: p.flag("validate"),
            phases: match p.choice("phases") {
                "slow-start" => Phases::SlowStart,
                "avoidance" => Phases::Avoidance,
                _ => Phases::Both,
            },
            decrease: p.ratio("decrease"),
            ecn_decrease: p.ratio(if p.flag("abe") { "beta_ecn" } else { "decrease" }),
            increase_segs: p.ratio("increase_segs"),
            increase_factor: p.ratio("increase_factor"),
            whole_segs: p.flag("whole_segs"),
            whole_segs_left: p.flag("whole_segs_left"),
            repair_segs: p.ratio("repair_segs"),
            initial: InitialWindow::new(p),
            initial_ssthresh: p.bytes("initial_ssthresh"),
            min_ssthresh_segs: p.count("min_ssthresh_segs") as u32,
            loss_window_segs: p.count("loss_window_segs") as u32,
            limit_segs: if p.flag("byte_counting") { p.count("limit_segs") as u32 } else { 0 },
            reduces_window: p.choice("reduce_from") == "window",
            keep_ssthresh: p.flag("keep_ssthresh"),
            at_ssthresh: p.flag("at_ssthresh"),
            after_timeout: AfterTimeout::new(p),
            after_idle: AfterIdle::new(p),
        }
    }
}

impl<U: InUse> Reno<U> {
    fn new(p: &Params) -> Self {
        Self {
            rules: p.shared(Rules::new),
            repairing: false,
            remainder: Remainder::default(),
            in_use: U::default(),
            bytes_acked: 0,
        }
    }

    fn avoidance(&mut self, a: &AckInfo, v: &SenderView) -> Bytes {
        let (cwnd, smss) = (v.window.cwnd, f64::from(v.smss));
        // J-A17's b: a round trip's acks together add (b - 1) times the window that they acknowledge.
        let factor = self.rules.increase_factor - 1.0;
        if self.rules.limit_segs == 0 {
            // J-A11, RFC 5681 §3.1 eq. 3: u segments a round trip, spread over the acks of one per segment.
            let growth =
                self.rules.increase_segs * smss * smss / self.remainder.with(cwnd.max(1)) + factor * smss;
            if self.rules.whole_segs {
                return (growth / smss) as Bytes * u64::from(v.smss);
            }
            return self.remainder.take(growth);
        }
        // RFC 3465 §2.1: u segments for each window of bytes acknowledged.
        self.bytes_acked += a.newly_acked;
        if self.bytes_acked < cwnd {
            return 0;
        }
        self.bytes_acked -= cwnd;
        self.remainder.take(self.rules.increase_segs * smss + factor * cwnd as f64)
    }

    fn grown(&mut self, a: &AckInfo, slow_start: &mut dyn SlowStart, v: &SenderView) -> Window {
        if self.rules.validate && !self.in_use.permits(a, v) {
            return v.window;
        }
        let slow = match self.rules.phases {
            // RFC 5681 §3.1: where the two are equal, either algorithm may run.
            Phases::Both => {
                v.window.cwnd < v.window.ssthresh
                    || self.rules.at_ssthresh && v.window.cwnd == v.window.ssthresh
            }
            Phases::SlowStart => true,
            Phases::Avoidance => false,
        };
        if slow {
            let limit =
                if v.phase == Phase::Loss { self.rules.limit_segs.min(1) } else { self.rules.limit_segs };
            let most = counted(a.newly_acked, v.smss, u64::from(limit.max(1)));
            return slow_start.on_ack(a, most, v).applied_to(v);
        }
        Window { cwnd: v.window.cwnd.saturating_add(self.avoidance(a, v)), ..v.window }
    }

    #[cold]
    #[inline(never)]
    fn cut(&mut self, c: Congestion, v: &SenderView) -> Window {
        self.bytes_acked = 0;
        self.repairing = c == Congestion::Loss;
        let loss_window = u64::from(self.rules.loss_window_segs) * u64::from(v.smss);
        match (c, self.rules.phases) {
            // J-A2: slow start again from the loss window, without a threshold.
            (_, Phases::SlowStart) => return Window { cwnd: loss_window, ..v.window },
            // J-A9: on a timeout, half of the window in use, also on repeated ones. The paper gives no floor;
            // one segment is needed to continue.
            (_, Phases::Avoidance) => {
                return Window {
                    cwnd: self.left(c, v).max(loss_window).min(v.window.cwnd.max(loss_window)),
                    ..v.window
                };
            }
            (_, Phases::Both) => {}
        }
        let lost = |ssthresh| self.rules.after_timeout.left(loss_window, ssthresh, v);
        match c {
            Congestion::Rto { repeated } if repeated || self.rules.keep_ssthresh => {
                Window { cwnd: lost(v.window.ssthresh), ..v.window }
            }
            Congestion::Rto { .. } => {
                let ssthresh = self.reduced(c, v);
                Window { cwnd: lost(ssthresh), ssthresh }
            }
            Congestion::Loss | Congestion::Ecn => {
                let ssthresh = self.reduced(c, v);
                Window { cwnd: ssthresh, ssthresh }
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn episode_ended(&mut self, s: EpisodeEnd, v: &SenderView) -> Window {
        let grown = if std::mem::take(&mut self.repairing) && s == EpisodeEnd::Completed {
            self.remainder.take(self.rules.repair_segs * f64::from(v.smss))
        } else {
            0
        };
        Window { cwnd: v.window.cwnd.saturating_add(grown), ..v.window }
    }

    /// The part of the window that a reduction leaves.
    fn left(&self, c: Congestion, v: &SenderView) -> Bytes {
        let decrease = if backs_off_less(c, v) { self.rules.ecn_decrease } else { self.rules.decrease };
        let left = (reduced_from(self.rules.reduces_window, v) * decrease) as u64;
        if self.rules.whole_segs_left { left - left % u64::from(v.smss) } else { left }
    }

    /// The threshold after a congestion signal.
    fn reduced(&self, c: Congestion, v: &SenderView) -> Bytes {
        self.left(c, v).max(u64::from(self.rules.min_ssthresh_segs) * u64::from(v.smss))
    }
}

impl<U: InUse> Policy for Reno<U> {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("remainder", self.remainder.with(0));
        state.number("bytes_acked", self.bytes_acked as f64);
    }
}

impl<U: InUse> CongestionControl for Reno<U> {
    fn needs(&self) -> Needs {
        Needs { sends: U::COUNTS, ..Needs::default() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        let ssthresh =
            if self.rules.initial_ssthresh == 0 { Bytes::MAX } else { self.rules.initial_ssthresh };
        Window { cwnd: self.rules.initial.bytes(v), ssthresh }.into()
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(a, slow_start) => self.grown(a, slow_start, v),
            Feedback::Congestion(c) => self.cut(c, v),
            Feedback::EpisodeEnded(s) => self.episode_ended(s, v),
            Feedback::Idle(idle) => self.rules.after_idle.left(idle, v),
            f => {
                if let Feedback::Sent { retransmission, .. } = f {
                    self.in_use.sent(retransmission, v);
                }
                v.default_window(&f)
            }
        }
        .into()
    }
}

/// The standard window.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "reno",
    about: "Slow start, then additive increase by one segment a round trip; halves the window at a loss.",
    source: "Jacobson & Karels 1988 (J-A2, J-A9, J-A10, J-A11, J-A17); Mathis, Semke, Mahdavi & Ott 1997 \
             (M-A1, M-X11); RFC 5681 3.1, RFC 3465, RFC 8511",
    params: &[
        Param::choice(
            "phases",
            "both",
            &["both", "slow-start", "avoidance"],
            // J-A2, J-A9, J-A10
            "algorithms: `both` combined as in 1988; `slow-start` alone, without a threshold; \
             congestion `avoidance` alone, at any window",
        ),
        Param::ratio("decrease", 0.5, 0.0..=1.0, "d, fraction of the window left after a loss"),
        Param::ratio(
            "increase_segs",
            1.0,
            0.0..=1000.0,
            "u, segments added per round trip in congestion avoidance",
        ),
        Param::ratio(
            "increase_factor",
            1.0,
            1.0..=4.0,
            // J-A17
            "b, factor by which the window also grows per round trip (multiplicative increase); 1 for \
             none",
        ),
        Param::flag(
            "whole_segs",
            false,
            // J-A11
            "keep the window in whole segments: without `byte_counting`, increments of less than a segment \
             are lost (a negative control)",
        ),
        Param::flag(
            "whole_segs_left",
            false,
            // M-A1, M-X11
            "round the window after a reduction down to whole segments",
        ),
        Param::ratio(
            "repair_segs",
            0.0,
            0.0..=1000.0,
            // M-X11
            "segments added at the end of the round trip in which a loss was repaired; 0 to hold the window \
             during it (RFC 5681 3.2), `increase_segs` to let it grow",
        ),
        INITIAL_WINDOW,
        INITIAL_SEGS,
        Param::bytes(
            "initial_ssthresh",
            0,
            0..=1 << 40,
            "slow-start threshold of a new connection; 0B for none",
        ),
        Param::count("min_ssthresh_segs", 2, 2..=1000, "floor of the slow-start threshold, segments"),
        Param::count("loss_window_segs", 1, 1..=1000, "window after a timeout, segments"),
        AFTER_TIMEOUT,
        AFTER_IDLE,
        HALF_LIFE,
        Param::flag(
            "byte_counting",
            true,
            "count acknowledged bytes in congestion avoidance, so that a receiver gains nothing by dividing \
             its acks (RFC 5681 3.1, RFC 3465 2.1); otherwise each ack adds its part of a segment (RFC 5681 \
             3.1 eq. 3)",
        ),
        Param::count(
            "limit_segs",
            1,
            1..=1000,
            "L, segments per ack in slow start with byte counting: 1 is the standard (RFC 5681 3.1 eq. 2), 2 \
             an experiment (RFC 3465 2.3)",
        ),
        VALIDATE,
        IN_USE,
        REDUCE_FROM,
        ABE,
        Param::ratio("beta_ecn", 0.8, 0.0..=1.0, "fraction of the window left after an ECN echo with `abe`"),
        PACED,
        Param::flag(
            "at_ssthresh",
            false,
            "continue slow start when the window equals the threshold, as in 4.4BSD-Lite (RFC 5681 3.1 \
             allows either)",
        ),
        Param::flag(
            "keep_ssthresh",
            false,
            // M-A3
            "keep the threshold when the window falls to the loss window (as printed in 1997; not standard)",
        ),
    ],
    build: |p| {
        if counts_flights(p) {
            paced(p, Box::new(Reno::<Flight>::new(p)))
        } else {
            paced(p, Box::new(Reno::<Half>::new(p)))
        }
    },
};
