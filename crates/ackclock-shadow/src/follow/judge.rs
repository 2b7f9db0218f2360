//! What a stack would have done where the captured sender has sent.

use ackclock_engine::Allowed;
use ackclock_policy::Phase;
use ackclock_units::{Duration, Instant, Rate, SeqRange};

use super::{AT_ONCE, Clocks, LEAST_WAIT, MOST_EXPIRIES, NEAR, Shadow};
use crate::timer::{Expiry, HOST, error, latest};
use crate::why::Why;

impl Shadow<'_> {
    /// When the sender's tail loss probe was due, if it is sooner than the shadow's and has come by now: Linux
    /// counts the timeout, before which it probes, from when the oldest segment was sent, if it has sent something
    /// since the last ack (`tcp_schedule_loss_probe`).
    pub(super) fn sooner_probe(&self, now: Instant, allowed: &Allowed) -> Option<Instant> {
        let (_, timeout) = self.connection.retransmission_timer()?;
        let planned = allowed.recovery_at?;
        let sent_since = self.clocks.event_at > self.clocks.acked_at;
        let due = if sent_since { planned.min(allowed.oldest_sent_at? + timeout) } else { planned };
        let silent = now.since(self.clocks.event_at) > AT_ONCE;
        (allowed.probe.is_none() && allowed.phase == Phase::Open && silent && due.since(now) <= NEAR)
            .then_some(due)
    }

    /// The sender has probed before the shadow would have, at or after `due`.
    pub(super) fn probed_sooner(&mut self, now: Instant, packet: u64, due: Instant) {
        self.connection.follow_recovery_timer(now);
        self.judge_probe(now, packet, due);
        self.clocks.probe_at = now;
    }

    /// Judges a probe that was due at `due`.
    fn judge_probe(&mut self, now: Instant, packet: u64, due: Instant) {
        let waited = now.since(self.clocks.event_at);
        let timeout = (waited + due.since(now)).saturating_sub(now.since(due));
        let error = error(waited, timeout);
        if error == 0.0 && self.probes.len() < MOST_EXPIRIES {
            self.probes.push(now);
        }
        self.round.timer(packet, error);
    }

    pub(super) fn judge_new(&mut self, now: Instant, packet: u64, range: SeqRange, allowed: &Allowed) {
        let flight = self.flight();
        let len = u64::from(range.len());
        if let Some(probe) = allowed.probe {
            if probe.start >= self.capture.nxt {
                self.judge_probe(now, packet, self.clocks.probe_at);
                return;
            }
            self.round.no_probe(packet);
        }
        let early = len.saturating_sub(allowed.room);
        self.round.volume(packet, self.segs(early), flight);
        let srtt = self.srtt();
        match allowed.pacing {
            Some(rate) => {
                let rounded = |d: Duration| self.segs(rate.bytes_in(d));
                let ahead = allowed.held_until.map_or(0.0, |at| rounded(at.since(now)));
                let late = if early == 0 { self.late_by_pacing(now, rate) } else { Duration::ZERO };
                let behind = rounded(late).min(flight.max(10.0));
                self.round.paced(packet, ahead - behind, flight);
                let gain = self.connection.drawn_gain();
                self.gains.note(self.segs(len), ahead - behind, gain);
                if early == 0 {
                    self.round.late(packet, late, srtt);
                }
            }
            None => self.round.late(packet, now.since(self.clocks.acked_at), srtt),
        }
    }

    /// How long after the time at which this rate lets a segment leave it is: after the bytes that left last have had
    /// their time, and the window has room. A segment that left late lets the next leave sooner
    /// (`tcp_update_skb_after_send`), but does not make it late.
    fn late_by_pacing(&self, now: Instant, rate: Rate) -> Duration {
        let (at, bytes) = self.clocks.left;
        now.since((at + rate.time_to_send(bytes)).max(self.clocks.room_since))
    }

    /// Judges a retransmission. Returns why the stack would have sent it, if it would.
    pub(super) fn judge_again(&mut self, now: Instant, packet: u64, range: SeqRange) -> Option<Why> {
        let mut allowed = self.connection.allowed(now);
        let oldest = range.start <= self.capture.una;
        let newest = range.end >= self.capture.nxt;
        let sooner = self.sooner_probe(now, &allowed).filter(|_| newest && allowed.repair.is_none());
        if let Some(due) = sooner {
            self.probed_sooner(now, packet, due);
            allowed = self.connection.allowed(now);
        }
        let planned = allowed.recovery_at.filter(|at| at.since(now) <= NEAR);
        // Linux has one timer for both (`icsk_retransmit_timer`): while that of the loss recovery runs, that of the
        // timeout does not.
        // And what an ack has let go, pacing may hold.
        let paced = allowed.pacing.is_some() && now.since(self.clocks.acked_at) <= NEAR;
        let other = planned.is_some() || self.has_just_fired(now) || paced && is_repair(&allowed, range);
        if sooner.is_none() && oldest && !other && self.is_near_expiry(now, &allowed) {
            return self.expired(now, packet);
        }
        if let (None, None, Some(at)) = (allowed.probe, allowed.repair, planned) {
            self.probed_sooner(now, packet, at);
            allowed = self.connection.allowed(now);
        }
        if let Some(probe) = allowed.probe {
            if probe.start < range.end && range.start < probe.end {
                self.judge_probe(now, packet, self.clocks.probe_at);
                return self.has_just_fired(now).then_some(Why::Probe);
            }
            self.round.no_probe(packet);
        }
        // What an ack or the recovery's timer lets go leaves at once; what could have left long before was sent by
        // the retransmission timer.
        let repairs = is_repair(&allowed, range);
        let fresh = now.since(self.clocks.acked_at) <= NEAR || self.has_just_fired(now);
        let waited = self.connection.retransmission_timer().map(|(started, _)| now.since(started));
        if oldest && !(repairs && fresh) && waited.is_some_and(|w| w >= self.srtt() + LEAST_WAIT) {
            return self.expired(now, packet);
        }
        if !repairs {
            self.round.unexplained(packet);
            return None;
        }
        Some(if allowed.phase == Phase::Loss { Why::AfterTimeout } else { Why::Recovery })
    }

    /// True where what the timer of the loss recovery sends may still come: the wheel of the sender fires later than
    /// the shadow's.
    pub(super) fn has_just_fired(&self, now: Instant) -> bool {
        let Clocks { probe_at, event_at, .. } = self.clocks;
        now.since(probe_at) <= latest(probe_at.since(event_at)) + HOST
    }

    fn srtt(&self) -> Duration {
        self.connection.estimator().rtt().map_or(Duration::ZERO, |rtt| rtt.srtt)
    }

    /// True where the retransmission timer is due, and no ack has just let the segment go.
    fn is_near_expiry(&self, now: Instant, allowed: &Allowed) -> bool {
        let near = |at: Instant| at.since(now) <= NEAR && now.since(at) <= NEAR;
        allowed.retransmission_at.is_some_and(near) && now.since(self.clocks.acked_at) > AT_ONCE
    }

    /// The sender's retransmission timer has fired. The stack explains it where its own would have by then.
    fn expired(&mut self, now: Instant, packet: u64) -> Option<Why> {
        let mut why = None;
        if let Some((started, timeout)) = self.connection.retransmission_timer() {
            let waited = now.since(started);
            self.round.timer(packet, error(waited, timeout));
            let level = self.connection.backoff_level();
            why = (error(waited, timeout) == 0.0).then_some(Why::Timeout);
            if self.expiries.len() < MOST_EXPIRIES {
                self.expiries.push(Expiry { packet, at: now, waited, timeout, srtt: self.srtt(), level });
            }
        }
        self.connection.follow_expiry(now);
        self.clocks.acked_at = now;
        why
    }
}

/// True where `range` begins what the stack would retransmit next.
fn is_repair(allowed: &Allowed, range: SeqRange) -> bool {
    allowed.repair.is_some_and(|r| r.start < range.end && range.start <= r.end)
}
