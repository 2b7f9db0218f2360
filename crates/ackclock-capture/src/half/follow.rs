//! What the timers of a what-if are told.

use ackclock_policy::Window;
use ackclock_units::{Duration, Instant};

use super::Half;
use crate::Cause;
use crate::sent::Piece;
use crate::what_if::{Advance, Flight, WhatIf};

/// How things stood before an ack moved forward.
pub(super) struct BeforeAdvance {
    head: Piece,
    /// Nothing that it acknowledges was sent twice: the first copy of the oldest is timed (RFC 7323 §4.1, RFC
    /// 6298 §3).
    once: bool,
    segments: u32,
    newest_lost: Option<Instant>,
    flight: u64,
}

impl Half {
    pub(super) fn follow_new(&mut self, at: Instant, start: u64) {
        let syn = self.syn == Some(start);
        let oldest = self.outstanding.front().map_or(at, |p| p.last);
        if let Some(asked) = &self.asked {
            self.what_if.get_or_insert_with(|| Box::new(WhatIf::new(asked, start))).sent(at, oldest, syn);
        }
    }

    pub(super) fn follow_again(&mut self, at: Instant, cause: Cause, head: bool, called_for: bool) {
        let Some(w) = &mut self.what_if else { return };
        match cause {
            Cause::Timeout | Cause::Syn => {}
            Cause::TailLossProbe => w.probed(at),
            _ if head => w.sent_again(at, false, cause == Cause::AfterTimeout && !called_for),
            _ => {}
        }
    }

    /// Called before what is acknowledged leaves the books.
    pub(super) fn before_advance(&mut self, ack: u64, at: Instant) -> Option<BeforeAdvance> {
        let (head, flight) = (*self.outstanding.front()?, self.flight());
        let (mut once, mut segments, mut last) = (true, 0, head);
        for p in self.outstanding.overlapping(0, ack) {
            once &= p.copies == 1 && p.seen;
            (segments, last) = (segments + 1, *p);
        }
        // What lies behind the oldest was lost with it where the ack of its retransmission covers no more.
        let newest_lost = self.sent_at.filter(|s| last.start == head.start && ack < self.max && *s < at);
        Some(BeforeAdvance { head, once, segments, newest_lost, flight })
    }

    /// Called when they are told of an ack, and nothing else has changed yet.
    pub(super) fn follow_advance(&mut self, b: &BeforeAdvance, at: Instant) {
        let heard = at + self.near;
        let timestamps = self.last_tsval.is_some() && self.echo.is_some();
        let far = if b.once { Some(at.since(b.head.first)) } else { self.echo };
        let mss = self.mss_or_usual();
        // RFC 5681 §3.1, equation 4; until a loss it is without bound.
        let ssthresh = self.episodes.last().map_or(u64::MAX, |e| (e.flight / 2).max(2 * u64::from(mss)));
        let expiries = self.expiries.len() as u32;
        let in_vain = self.expiries.last().is_some_and(|e| e.eifel_spurious == Some(true));
        let a = Advance {
            heard,
            head: b.head,
            newest_lost: b.newest_lost,
            sample: far.map(|far| far + self.near),
            timestamps,
            flight: Flight { size: b.flight, mss },
            window: Window { cwnd: self.last_round_flight.max(self.round_flight), ssthresh },
            segments: b.segments,
            repairing: self.episode.is_some() || self.dup_acks > 0,
            una: self.una,
            max: self.max,
            oldest: self.outstanding.front().map(|p| p.last),
            syn: self.syn == Some(b.head.start),
            far: self.far.unwrap_or(Duration::ZERO) + self.near,
            expiries,
            in_vain,
            expired_at: self.expiries.last().map(|e| e.at),
        };
        if let Some(w) = &mut self.what_if {
            w.advanced(&a);
        }
    }

    /// The capture is over.
    pub(crate) fn follow_end(&mut self) {
        let (syn, far, expiries) =
            (self.syn, self.far.unwrap_or(Duration::ZERO) + self.near, self.expiries.len() as u32);
        let flight = Flight { size: self.flight(), mss: self.mss_or_usual() };
        if let (Some(w), Some(head)) = (&mut self.what_if, self.outstanding.front()) {
            w.end(*head, syn == Some(head.start), far, flight, expiries);
        }
    }
}
