//! A sender that follows another one: what may be sent is asked instead of done, and what the other one has
//! sent is taken for sent, whether it was allowed or not. All bookkeeping is that of a connection that sends by
//! itself.

use ackclock_policy::{Phase, TimerEvent};
use ackclock_units::{Bytes, Duration, Instant, Rate, SeqNumber, SeqRange};

use super::new_data::Leaving;
use super::sender::BuiltSender;
use super::{Connection, Transmit};
use crate::timer::Timer;

/// What a sender would do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Allowed {
    /// New bytes that the congestion window, or the repair under way, lets leave, whatever pacing says.
    pub room: Bytes,
    /// New bytes that the receiver's window takes.
    pub receivers: Bytes,
    /// Until when pacing holds all data; `None` without pacing, and where data may leave at once.
    pub held_until: Option<Instant>,
    /// The rate at which it paces.
    pub pacing: Option<Rate>,
    /// When what it has sent has had its time at that rate.
    pub paced_until: Option<Instant>,
    /// What it would retransmit next, if there is room.
    pub repair: Option<SeqRange>,
    /// The tail loss probe that it would send.
    pub probe: Option<SeqRange>,
    /// When its retransmission timer fires; a time that has passed where [`Connection::follow_timers`] has left
    /// it.
    pub retransmission_at: Option<Instant>,
    /// When the timer of its loss recovery fires: reordering or tail loss probe.
    pub recovery_at: Option<Instant>,
    /// When the oldest segment that is outstanding was sent last.
    pub oldest_sent_at: Option<Instant>,
    /// Where it is in its loss repair.
    pub phase: Phase,
}

impl Connection {
    /// What it would do now. Data to send is supposed to wait.
    pub fn allowed(&mut self, now: Instant) -> Allowed {
        self.ensure_sender(now);
        let v = self.view(now);
        let BuiltSender { policies, state } = self.sender.split_mut();
        let repairs = !state.sent.is_empty();
        let next = repairs.then(|| policies.recovery.next_seg(&state.sent, &v)).flatten();
        Allowed {
            room: self.window_room(now),
            receivers: u64::from((self.snd_una + self.snd_wnd).bytes_since(self.snd_nxt)),
            held_until: self.sender.pacer.as_ref().and_then(|pacer| pacer.held_until(now)),
            pacing: self.pacing_rate(),
            paced_until: self.sender.pacer.as_ref().map(|pacer| pacer.due()),
            repair: next.filter(|range| range.start < self.snd_nxt),
            probe: self.rare.loss_probe,
            retransmission_at: self.timers.deadline(Timer::Retransmission),
            recovery_at: self.timers.deadline(Timer::Recovery),
            oldest_sent_at: self.sender.sent.oldest_sent_at(),
            phase: self.phase,
        }
    }

    /// Handles the timer of its loss recovery, if it has expired. Whether the retransmission timer has fired, the
    /// other sender shows ([`Connection::follow_expiry`]).
    pub fn follow_timers(&mut self, now: Instant) {
        if self.timers.expire(Timer::Recovery, now) {
            self.recovery_deadline(now);
        }
    }

    /// The retransmission timer of the other sender has fired.
    pub fn follow_expiry(&mut self, now: Instant) {
        if !self.sender.sent.is_empty() {
            self.timers.arm(Timer::Retransmission, now);
            self.handle_timeout(now);
        }
    }

    /// The timer of the other sender's loss recovery has fired, a little before its own.
    pub fn follow_recovery_timer(&mut self, now: Instant) {
        if self.timers.is_armed(Timer::Recovery) {
            self.timers.arm(Timer::Recovery, now);
            self.follow_timers(now);
        }
    }

    /// The gain with which its window paces, while that draws the times of its gains at random.
    pub fn drawn_gain(&mut self) -> Option<f64> {
        self.sender.policies().window.drawn_gain()
    }

    /// The other sender has paced with `gain` for a round trip.
    pub fn follow_gain(&mut self, now: Instant, gain: f64) {
        self.sender.policies().window.follow_gain(gain, now);
    }

    /// The other sender has sent `range`, of which nothing lies beyond the next new byte: takes the same for
    /// sent. Returns the last segment that it makes of it; `None` if all of it was acknowledged or SACKed.
    ///
    /// A connection that counts its bytes takes new data for written.
    pub fn follow_sent(&mut self, now: Instant, range: SeqRange) -> Option<Transmit> {
        self.ensure_sender(now);
        let probes =
            self.rare.loss_probe.is_some_and(|probe| probe.start < range.end && range.start < probe.end);
        let mut last = None;
        let mut from = range.start.max(self.snd_una);
        while from < range.end {
            if let Some(pacer) = &mut self.sender.make_mut().pacer {
                pacer.leave_now(now);
            }
            let len = range.end.bytes_since(from);
            let (sent, next) = if from < self.snd_nxt {
                let len = len.min(self.snd_nxt.bytes_since(from));
                self.follow_again(now, SeqRange::new(from, from + len))
            } else if from == self.snd_nxt {
                let whole = self.max_payload(now);
                (self.follow_new(now, len.min(whole), whole), from + len.min(whole))
            } else {
                break;
            };
            last = sent.or(last);
            from = next;
        }
        self.rare.reset(|r| r.loss_probe = None);
        if probes {
            // Its timer starts anew when the probe leaves (RFC 8985 §7.3): not when it would have left here.
            let v = self.view(now);
            self.run_retransmission_timer(now, TimerEvent::Probed, &v);
        }
        last
    }

    /// One segment of what was sent again. Returns it, and where the next one begins.
    fn follow_again(&mut self, now: Instant, range: SeqRange) -> (Option<Transmit>, SeqNumber) {
        use ackclock_policy::ScoreboardView;
        let Some(segment) = self.sender.sent.segment(range.start) else { return (None, range.end) };
        let end = segment.range.end.min(range.end);
        if segment.sacked {
            return (None, end);
        }
        let sent =
            self.retransmit_up_to(now, segment.range.start, end.bytes_since(segment.range.start).max(1));
        (sent, end)
    }

    /// A segment of new data, which is taken for written where it was not.
    fn follow_new(&mut self, now: Instant, len: u32, whole: u32) -> Option<Transmit> {
        if len == 0 || self.unsent() < u64::from(len) && !self.counted {
            return None;
        }
        if self.snd_nxt == self.snd_una && self.config.idle_restart && self.snd_wnd > 0 {
            self.restart_after_idle(now);
        }
        let missing = u64::from(len).saturating_sub(self.unsent());
        if missing > 0 && self.write_counted(now, missing) < missing {
            return None;
        }
        let unsent = self.unsent();
        Some(self.depart(now, len, false, Leaving { unsent, whole, copies: 1, room: u64::from(len) }))
    }

    /// How long after it was started the retransmission timer would fire, and when it was started.
    pub fn retransmission_timer(&self) -> Option<(Instant, Duration)> {
        let at = self.timers.deadline(Timer::Retransmission)?;
        Some((at.saturating_sub(self.timeout), self.timeout))
    }
}
