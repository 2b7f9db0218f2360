//! The timers simulated for one direction, and the stalls that they record.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ackclock_policy::{RttSample, SamplingRate, TimerEvent, TimerView, Timing};
use ackclock_units::{Duration, Instant, Rng, SeqNumber, SeqRange};

use super::follower::Follower;
use super::stall::{Advance, Flight, Mark, Stall, on_wheel, rng, view};
use crate::outstanding::Piece;

/// Stalls kept over all connections, some hundred bytes each and a few dozen more for each timer.
pub(crate) const MOST_STALLS: u32 = 1 << 16;

/// The timers requested, and the number of stalls kept over all connections.
#[derive(Debug)]
pub(crate) struct WhatIfRequest {
    pub timings: Arc<[Timing]>,
    stalls: AtomicU32,
}

impl WhatIfRequest {
    /// `None` without timers.
    pub fn new(timings: Arc<[Timing]>) -> Option<Arc<Self>> {
        (!timings.is_empty()).then(|| Arc::new(Self { timings, stalls: AtomicU32::new(0) }))
    }

    fn has_room(&self) -> bool {
        self.stalls.fetch_update(Relaxed, Relaxed, |n| (n < MOST_STALLS).then_some(n + 1)).is_ok()
    }

    /// Not every stall was kept.
    pub fn is_full(&self) -> bool {
        self.stalls.load(Relaxed) >= MOST_STALLS
    }
}

/// The timers simulated for one direction.
#[derive(Debug)]
pub(crate) struct Followers {
    pub(super) followers: Vec<Follower>,
    /// Nothing is outstanding.
    idle: bool,
    sampling: SamplingRate,
    request: Arc<WhatIfRequest>,
    pub(super) stalls: Vec<Stall>,
    expiries_before: u32,
    /// The oldest segment was retransmitted in the recovery from a timeout, and no ack had reported it lost.
    released: bool,
    rng: Rng,
}

impl Followers {
    pub fn new(request: &Arc<WhatIfRequest>, first: u64) -> Self {
        let followers = request.timings.iter().filter_map(Follower::new);
        Self {
            followers: followers.collect(),
            idle: true,
            sampling: SamplingRate::new(SeqNumber(first as u32)),
            request: Arc::clone(request),
            stalls: Vec::new(),
            expiries_before: 0,
            released: false,
            rng: rng(),
        }
    }

    /// Called when new data is sent.
    #[inline]
    pub fn sent(&mut self, at: Instant, oldest: Instant, syn: bool) {
        if !self.idle && !syn {
            return;
        }
        self.idle = false;
        let mut v = view(at, Some(oldest));
        for f in &mut self.followers {
            let timeout = f.timeout(syn, f.backed_off, &mut self.rng.clone());
            f.deadline = if syn {
                on_wheel(f.linux, at, at + timeout)
            } else {
                f.next_deadline(TimerEvent::Sent { retransmission: false }, timeout, &mut v)
            };
        }
    }

    /// Called when the oldest segment is retransmitted without an expiry of the sender's timer.
    pub fn retransmitted(&mut self, at: Instant, probe: bool, released: bool) {
        self.released = released;
        let mut v = view(at, Some(at));
        for f in self.followers.iter_mut().filter(|f| f.deadline >= at) {
            let timeout = f.timeout(false, f.backed_off, &mut self.rng.clone());
            // RFC 8985 §7.3: a probe restarts the timer.
            f.deadline = if probe {
                on_wheel(f.linux, at, at + timeout)
            } else {
                f.next_deadline(TimerEvent::Sent { retransmission: true }, timeout, &mut v)
            };
        }
    }

    /// Called for a tail loss probe, which restarts the timers (RFC 8985 §7.3).
    pub fn probed(&mut self, at: Instant) {
        self.retransmitted(at, true, false);
    }

    /// Called when SACK reports something that was sent after the oldest segment: Linux sets its timer anew
    /// (`tcp_ack`, its flag for the timer).
    pub fn overtaken(&mut self, at: Instant) {
        for f in self.followers.iter_mut().filter(|f| f.linux && f.deadline >= at) {
            let timeout = f.timeout(false, f.backed_off, &mut self.rng.clone());
            f.deadline = on_wheel(true, at, at + timeout);
        }
    }

    /// Called for a cumulative ack.
    pub fn advanced(&mut self, a: &Advance) {
        let expired = a.expiries > self.expiries_before;
        let once = a.head.copies <= 1 && !expired;
        let released = std::mem::take(&mut self.released) && !expired;
        let stalled = !once
            && (expired || self.followers.iter().any(|f| f.deadline < a.heard || f.unrepaired && released));
        if stalled {
            self.note(a, expired);
        }
        if !a.repairing {
            self.sampling.on_ack(
                SeqNumber(a.una as u32),
                a.segments,
                a.sample.is_some(),
                SeqNumber(a.max as u32),
            );
        }
        let outstanding = a.max.saturating_sub(a.una).div_ceil(u64::from(a.flight.mss.max(1)));
        let mut v = TimerView {
            outstanding_segs: outstanding.min(u64::from(u32::MAX)) as u32,
            ..view(a.heard, a.oldest)
        };
        let e = if a.oldest.is_none() { TimerEvent::AllAcked } else { TimerEvent::Acked };
        for f in &mut self.followers {
            let (late, deadline) = (f.deadline < a.heard, f.deadline);
            let covered = !once && a.head.first < f.resends;
            if (late || expired || released && f.unrepaired) && !covered {
                f.expire(a, once, &self.rng);
                f.unrepaired = expired && a.last_spurious && !late;
            }
            f.unrepaired &= a.repairing;
            if a.oldest.is_none() {
                f.resends = Instant::ZERO;
            }
            // A timer that waits longer than the sender's gets the sample that the sender's expiry made
            // ambiguous; one that waits less makes it ambiguous itself (Karn).
            let sample = match a.sample {
                Some(_) if late && !a.timestamps => None,
                None if expired && a.last_spurious && !late => Some(a.heard.since(a.head.first)),
                // The echo is of a copy whose ack was lost: the sample includes the wait, which another timer
                // would have changed.
                Some(rtt) if late && expired && !a.last_spurious => {
                    let last = a.expired_at.unwrap_or(deadline);
                    Some(rtt.saturating_sub(last.since(deadline)).max(rtt.min(a.heard.since(last))))
                }
                sample => sample,
            };
            if let Some(rtt) = sample {
                f.backed_off = 0;
                let (rate, smss) = (self.sampling.rate(), a.flight.mss.max(1));
                f.estimator.on_sample(RttSample {
                    now: a.heard,
                    rtt,
                    flight_size: a.flight.size,
                    window: a.window,
                    smss,
                    sampling_rate: rate,
                    outstanding: Some(SeqRange::new(SeqNumber(a.una as u32), SeqNumber(a.max as u32))),
                });
            }
            let timeout = f.timeout(false, f.backed_off, &mut self.rng.clone());
            f.deadline = f.next_deadline(e, timeout, &mut v);
        }
        self.idle = a.oldest.is_none();
        self.expiries_before = a.expiries;
    }

    fn note(&mut self, a: &Advance, expired: bool) {
        if !self.request.has_room() {
            return;
        }
        let marks = self.followers.iter().map(|f| f.mark(a.syn));
        self.stalls.push(Stall {
            first: a.head.first,
            retransmission: a.head.retransmission,
            syn: a.syn,
            heard: Some(a.heard),
            newest_lost: a.newest_lost,
            expiries: (if expired { self.expiries_before } else { a.expiries }, a.expiries),
            far: a.far,
            flight: a.flight,
            marks: marks.collect(),
        });
    }

    /// Called at the end of the capture: records a stall if the sender's timer has fired for what is still
    /// outstanding.
    pub fn end(&mut self, head: Piece, syn: bool, far: Duration, flight: Flight, expiries: u32) {
        if expiries > self.expiries_before && self.request.has_room() {
            let marks = self.followers.iter().map(|f| Mark {
                deadline: f.deadline,
                rto: f.estimator.rto(),
                backed_off: f.backed_off,
                unrepaired: false,
                resends: Instant::ZERO,
            });
            self.stalls.push(Stall {
                first: head.first,
                retransmission: head.retransmission,
                syn,
                heard: None,
                newest_lost: None,
                expiries: (self.expiries_before, expiries),
                far,
                flight,
                marks: marks.collect(),
            });
        }
    }
}
