//! Feeds the timers of a what-if with the events of a direction.

use std::sync::Arc;

use ackclock_policy::Window;
use ackclock_units::{Duration, Instant};

use super::Half;
use crate::Cause;
use crate::outstanding::Piece;
use crate::wanted::Wanted;
use crate::what_if::{Advance, Flight, Followers, WhatIfRequest};

/// Timers to simulate in place of the sender's own, if requested.
#[derive(Debug)]
pub(crate) struct Following {
    pub request: Option<Arc<WhatIfRequest>>,
    /// Created with the first segment.
    pub timers: Option<Box<Followers>>,
}

impl Following {
    pub(super) fn new(wanted: &Wanted) -> Self {
        Self { request: wanted.what_if.clone(), timers: None }
    }
}

/// The state before a cumulative ack.
pub(super) struct BeforeAdvance {
    head: Piece,
    /// Nothing that it acknowledges was sent twice: the round trip is measured from the first copy of the
    /// oldest (RFC 7323 §4.1, RFC 6298 §3).
    once: bool,
    segments: u32,
    newest_lost: Option<Instant>,
    flight: u64,
}

impl Half {
    pub(super) fn follow_new(&mut self, at: Instant, start: u64) {
        let syn = self.space.syn == Some(start);
        let oldest = self.sent.outstanding.front().map_or(at, |p| p.last);
        if let Some(request) = &self.following.request {
            self.following
                .timers
                .get_or_insert_with(|| Box::new(Followers::new(request, start)))
                .sent(at, oldest, syn);
        }
    }

    pub(super) fn follow_retransmission(&mut self, at: Instant, cause: Cause, head: bool, called_for: bool) {
        let Some(w) = &mut self.following.timers else { return };
        match cause {
            Cause::Timeout | Cause::Syn => {}
            Cause::TailLossProbe => w.probed(at),
            _ if head => w.retransmitted(at, false, cause == Cause::AfterTimeout && !called_for),
            _ => {}
        }
    }

    /// Called before the acknowledged pieces are removed.
    pub(super) fn before_advance(&mut self, ack: u64, at: Instant) -> Option<BeforeAdvance> {
        let (head, flight) = (*self.sent.outstanding.front()?, self.space.flight());
        let (mut once, mut segments, mut last) = (true, 0, head);
        for p in self.sent.outstanding.overlapping(0, ack) {
            once &= p.copies == 1 && p.seen;
            (segments, last) = (segments + 1, *p);
        }
        // What was sent after the oldest was lost with it if the ack of its retransmission covers no more.
        let newest_lost =
            self.sent.sent_at.filter(|s| last.start == head.start && ack < self.space.max && *s < at);
        Some(BeforeAdvance { head, once, segments, newest_lost, flight })
    }

    /// Passes a cumulative ack to the timers, before anything else has changed.
    pub(super) fn follow_advance(&mut self, b: &BeforeAdvance, at: Instant) {
        let heard = at + self.path.near;
        let timestamps = self.sent.timestamps.last.is_some() && self.heard.echo.is_some();
        let far = if b.once { Some(at.since(b.head.first)) } else { self.heard.echo };
        let mss = self.agreed.mss_or_usual();
        // RFC 5681 §3.1, equation 4; unbounded before the first loss.
        let ssthresh =
            self.verdicts.episodes.last().map_or(u64::MAX, |e| (e.flight / 2).max(2 * u64::from(mss)));
        let expiries = self.verdicts.expiries.len() as u32;
        let last_spurious =
            self.verdicts.expiries.last().is_some_and(|e| e.verdict.eifel_spurious == Some(true));
        let a = Advance {
            heard,
            head: b.head,
            newest_lost: b.newest_lost,
            sample: far.map(|far| far + self.path.near),
            timestamps,
            flight: Flight { size: b.flight, mss },
            window: Window { cwnd: self.sent.rounds.last_flight.max(self.sent.rounds.flight), ssthresh },
            segments: b.segments,
            repairing: self.verdicts.open_episode.is_some() || self.heard.dup_acks > 0,
            una: self.space.una,
            max: self.space.max,
            oldest: self.sent.outstanding.front().map(|p| p.last),
            syn: self.space.syn == Some(b.head.start),
            far: self.path.far.unwrap_or(Duration::ZERO) + self.path.near,
            expiries,
            last_spurious,
            expired_at: self.verdicts.expiries.last().map(|e| e.at),
        };
        if let Some(w) = &mut self.following.timers {
            w.advanced(&a);
        }
    }

    /// Called for an ack without progress whose SACK blocks report something new.
    pub(super) fn follow_sack(&mut self, at: Instant) {
        let near = self.path.near;
        let overtaken =
            self.sent.outstanding.front().is_some_and(|p| self.heard.delivered_sent > Some(p.last));
        if let Some(w) = self.following.timers.as_mut().filter(|_| overtaken) {
            w.overtaken(at + near);
        }
    }

    /// Called at the end of the capture.
    pub(crate) fn follow_end(&mut self) {
        let (syn, far, expiries) = (
            self.space.syn,
            self.path.far.unwrap_or(Duration::ZERO) + self.path.near,
            self.verdicts.expiries.len() as u32,
        );
        let flight = Flight { size: self.space.flight(), mss: self.agreed.mss_or_usual() };
        if let (Some(w), Some(head)) = (&mut self.following.timers, self.sent.outstanding.front()) {
            w.end(*head, syn == Some(head.start), far, flight, expiries);
        }
    }
}
