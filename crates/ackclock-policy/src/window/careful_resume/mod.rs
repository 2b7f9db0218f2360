//! Careful Resume (RFC 9959): another window, whose slow start jumps to half of a window that an earlier
//! connection over the same path had.

#[cfg(test)]
mod tests;

use ackclock_units::{Bytes, Duration, Instant, Rate, SeqNumber};

use super::{cubic, reno};
use crate::{
    Congestion, CongestionControl, Control, Entry, Family, Feedback, Needs, Pacing, Param, Params, Policy,
    PrivateState, SenderView, Window,
};

/// A window that jumps once.
#[derive(Debug)]
struct CarefulResume {
    base: Box<dyn CongestionControl>,
    base_needs: Needs,
    saved: Saved,
    beta: f64,
    phase: Phase,
    /// What was acknowledged in the phase of reconnaissance; then the capacity that acks have validated
    /// (PipeSize).
    pipe_size: Bytes,
    /// What was in flight at the jump and is not acknowledged yet: `pipe_size` has it already (examples B.2, B.4).
    included: Bytes,
}

/// What an earlier connection has left.
#[derive(Debug)]
struct Saved {
    cwnd: Bytes,
    /// Zero if it is not known.
    rtt: Duration,
    max_jump: Bytes,
}

/// RFC 9959 §3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The initial data finds out whether the path is the one that is known (§3.2).
    Reconnaissance,
    /// More than has been validated is sent, paced (§3.3): data from `first` on, since `since`.
    Unvalidated { first: SeqNumber, since: Instant },
    /// All of it, up to `last`, is in the network (§3.4).
    Validating { last: SeqNumber },
    /// Some of it was lost (§3.5).
    SafeRetreat { last: SeqNumber },
    /// The base alone decides (§3.7).
    Normal,
}

impl CarefulResume {
    fn new(p: &Params) -> Self {
        let base = if p.choice("base") == "reno" { &reno::ENTRY } else { &cubic::ENTRY };
        let base = (base.build)(&Params::defaults(base.params));
        let saved = Saved {
            cwnd: p.bytes("saved_cwnd"),
            rtt: p.duration("saved_rtt"),
            max_jump: p.bytes("max_jump"),
        };
        let phase = if saved.cwnd == 0 { Phase::Normal } else { Phase::Reconnaissance };
        Self {
            base_needs: base.needs(),
            base,
            saved,
            beta: p.ratio("beta"),
            phase,
            pipe_size: 0,
            included: 0,
        }
    }

    /// §3.2 and §4.2.1: the smallest round-trip time is that of a known path, neither half of it nor ten
    /// times as long.
    fn confirms_path(&self, v: &SenderView) -> bool {
        let known = self.saved.rtt;
        v.rtt.is_some_and(|rtt| known.is_zero() || (rtt.min_rtt > known / 2 && rtt.min_rtt <= known * 10))
    }

    /// Enters the unvalidated phase, or stops where that is of no use.
    fn jump(&mut self, v: &SenderView) -> Window {
        // §3.3: no more than half of the saved window.
        let jump = self.saved.max_jump.min(self.saved.cwnd / 2);
        if jump <= v.window.cwnd || !self.confirms_path(v) {
            self.phase = Phase::Normal;
            return v.window;
        }
        (self.pipe_size, self.included) = (v.flight_size, v.flight_size);
        self.phase = Phase::Unvalidated { first: v.snd_nxt, since: v.now };
        Window { cwnd: jump, ..v.window }
    }

    /// §3.3: PipeSize grows by what is acknowledged of the unvalidated data.
    fn track(&mut self, delivered: Bytes) {
        let again = delivered.min(self.included);
        self.included -= again;
        self.pipe_size += delivered - again;
    }

    /// §3.3: ends the unvalidated phase if it is over, and checks how much of the jump was used.
    fn settle(&mut self, v: &SenderView) -> Window {
        let Phase::Unvalidated { first, since } = self.phase else { return v.window };
        let full = v.window.cwnd.saturating_sub(v.flight_size) < u64::from(v.smss);
        let late = v.rtt.is_some_and(|rtt| v.now.since(since) > rtt.latest);
        if !full && !late && v.snd_una <= first {
            return v.window;
        }
        if v.flight_size < v.initial_window || v.flight_size <= self.pipe_size {
            self.phase = Phase::Normal;
            return Window { cwnd: self.pipe_size.max(v.initial_window), ..v.window };
        }
        self.phase = Phase::Validating { last: v.snd_nxt };
        Window { cwnd: v.flight_size, ..v.window }
    }

    fn on_ack(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        let Feedback::Ack(a, _) = &f else { return v.window.into() };
        let (newly_acked, delivered) = (a.newly_acked, a.delivered.max(a.newly_acked));
        let grows = a.may_grow || self.base_needs.every_ack;
        match self.phase {
            Phase::Normal => self.base_on(f, grows, v),
            Phase::Reconnaissance => {
                self.pipe_size += newly_acked;
                let control = self.base_on(f, grows, v);
                // §3.2, path confirmed: all of the initial data was acknowledged.
                if self.pipe_size >= v.initial_window {
                    let window = self.jump(&SenderView { window: control.window, ..*v });
                    return self.paced(window, v);
                }
                control
            }
            Phase::Unvalidated { .. } => {
                self.track(delivered);
                if self.confirms_path(v) {
                    let window = self.settle(v);
                    return self.paced(window, v);
                }
                // §3.3, confirming the path during transmission.
                let control = self.retreat(Congestion::Loss, v);
                self.paced(control, v)
            }
            Phase::Validating { last } => {
                self.track(delivered);
                if v.snd_una >= last {
                    self.phase = Phase::Normal;
                }
                self.base_on(f, grows, v)
            }
            Phase::SafeRetreat { last } => {
                self.track(delivered);
                if v.snd_una < last {
                    // The window is not increased.
                    return v.window.into();
                }
                self.phase = Phase::Normal;
                let ssthresh = (self.pipe_size as f64 * self.beta) as Bytes;
                Window { ssthresh: ssthresh.max(2 * u64::from(v.smss)), ..v.window }.into()
            }
        }
    }

    /// Passes feedback to the base, if it concerns it.
    fn base_on(&mut self, f: Feedback<'_>, concerns: bool, v: &SenderView) -> Control {
        if concerns { self.base.on(f, v) } else { v.window.into() }
    }

    /// With the pacing of the unvalidated phase: the window spread over the round trip (§4.3.2).
    fn paced(&self, window: Window, v: &SenderView) -> Control {
        let rtt = v.rtt.map_or(Duration::ZERO, |rtt| rtt.latest);
        match self.phase {
            Phase::Unvalidated { .. } if !rtt.is_zero() => {
                let rate = Rate::from_transfer(window.cwnd, rtt);
                Control { window, pacing: Some(Pacing { rate, quantum: v.smss }) }
            }
            _ => window.into(),
        }
    }

    /// §3.5: enters the safe retreat.
    fn retreat(&mut self, c: Congestion, v: &SenderView) -> Window {
        let last = match self.phase {
            Phase::Validating { last } => last,
            _ => v.snd_nxt,
        };
        self.phase = Phase::SafeRetreat { last };
        // The base reduces what was validated, not the jump.
        let window = self.reduced(c, v);
        let most = (self.pipe_size / 2).max(2 * u64::from(v.smss));
        Window { cwnd: window.cwnd.min(most), ..window }
    }

    /// The base's reduction of the validated part of the window.
    fn reduced(&mut self, c: Congestion, v: &SenderView) -> Window {
        let cwnd = v.window.cwnd.min(self.pipe_size.max(2 * u64::from(v.smss)));
        let validated = SenderView {
            window: Window { cwnd, ..v.window },
            flight_size: v.flight_size.min(cwnd),
            pipe: v.pipe.min(cwnd),
            ..*v
        };
        self.base.on(Feedback::Congestion(c), &validated).window
    }

    fn on_congestion(&mut self, c: Congestion, v: &SenderView) -> Control {
        let jumped = matches!(self.phase, Phase::Unvalidated { .. } | Phase::Validating { .. });
        match c {
            Congestion::Loss | Congestion::Ecn if jumped => self.retreat(c, v).into(),
            // §3.6: a timeout ends Careful Resume.
            Congestion::Rto { .. } if jumped => {
                self.phase = Phase::Normal;
                self.reduced(c, v).into()
            }
            _ => {
                // §3.2: in reconnaissance, congestion shows that the path is not the known one.
                if !matches!(self.phase, Phase::SafeRetreat { .. }) || matches!(c, Congestion::Rto { .. }) {
                    self.phase = Phase::Normal;
                }
                self.base.on(Feedback::Congestion(c), v)
            }
        }
    }
}

impl Policy for CarefulResume {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        let phase = match self.phase {
            Phase::Reconnaissance => 0.0,
            Phase::Unvalidated { .. } => 1.0,
            Phase::Validating { .. } => 2.0,
            Phase::SafeRetreat { .. } => 3.0,
            Phase::Normal => 4.0,
        };
        state.number("careful_resume_phase", phase);
        state.number("pipe_size", self.pipe_size as f64);
        self.base.private_state(state);
    }
}

impl CongestionControl for CarefulResume {
    fn family(&self) -> Family {
        Family::ModelBased
    }

    fn needs(&self) -> Needs {
        let resumes = self.phase != Phase::Normal;
        Needs {
            every_ack: resumes || self.base_needs.every_ack,
            sends: resumes || self.base_needs.sends,
            ..self.base_needs
        }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.base.start(v)
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        match f {
            Feedback::Ack(..) => self.on_ack(f, v),
            Feedback::Congestion(c) => self.on_congestion(c, v),
            Feedback::Sent { .. } => {
                let window = self.settle(v);
                let v = SenderView { window, ..*v };
                let control = self.base_on(f, self.base_needs.sends, &v);
                if matches!(self.phase, Phase::Unvalidated { .. }) { self.paced(window, &v) } else { control }
            }
            Feedback::Lost(_) => self.base_on(f, self.base_needs.losses, v),
            Feedback::Idle(_) | Feedback::EpisodeEnded(_) => {
                let keeps = matches!(self.phase, Phase::Reconnaissance | Phase::SafeRetreat { .. });
                if !keeps || matches!(f, Feedback::Idle(_)) {
                    self.phase = Phase::Normal;
                }
                self.base.on(f, v)
            }
        }
    }
}

/// RFC 9959.
pub(crate) const ENTRY: Entry<dyn CongestionControl> = Entry {
    name: "careful-resume",
    about: "Careful Resume: after the initial window was acknowledged over a path with a known round-trip \
            time, the window of `base` jumps to half of the one that an earlier connection had, paced over a \
            round trip; if some of that is lost, it retreats to half of what arrived.",
    source: "RFC 9959 3 and 4",
    params: &[
        Param::choice("base", "cubic", &["reno", "cubic"], "the window that jumps, with its defaults"),
        Param::bytes(
            "saved_cwnd",
            0,
            0..=1 << 40,
            "window of an earlier connection over the same path (saved_cwnd); 0B for none, which leaves the \
             base as it is",
        ),
        Param::duration(
            "saved_rtt",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(3600),
            "its smallest round-trip time (saved_rtt): without a jump if the new one is no longer than half \
             of it, or longer than ten times; 0s to jump over any path",
        ),
        Param::bytes("max_jump", 1 << 40, 0..=1 << 40, "largest window to jump to (max_jump)"),
        Param::ratio(
            "beta",
            0.5,
            0.5..=1.0,
            "part of the capacity found that becomes the threshold after a retreat (Beta, 3.5)",
        ),
    ],
    build: |p| Box::new(CarefulResume::new(p)),
};
