//! Other timers in place of the sender's: what they would have done given what it sent and received.
//!
//! While a direction is read, each timer is notified of what is sent and acknowledged, as by a connection of
//! its own. If its deadline passes before an ack arrives, or the sender's own timer fires, a [`Stall`] is
//! recorded. Stalls are evaluated at the end ([`evaluate`]), when the verdicts on retransmissions are final.

mod attempts;
mod evaluate;
mod follower;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ackclock_policy::{
    Backoff, Expiry, Phase, RttSample, SamplingRate, TimerEvent, TimerView, Timing, Window,
};
use ackclock_units::{Duration, Instant, Rng, SeqNumber};

pub(crate) use evaluate::{Evidence, evaluate};
use follower::Follower;

use crate::outstanding::Piece;

/// The state of a timer when a stall ended.
#[derive(Clone, Copy, Debug)]
struct Mark {
    deadline: Instant,
    rto: Duration,
    backed_off: u32,
    /// See [`Follower`].
    unrepaired: bool,
    resends: Instant,
}

/// A wait of the sender for what was lost, or seemed to be: from the first copy of the oldest segment
/// outstanding until its ack.
#[derive(Debug)]
struct Stall {
    /// The oldest segment: when its first copy was sent, and its latest retransmission by its place in the
    /// list.
    first: Instant,
    retransmission: Option<u32>,
    /// It holds the SYN.
    syn: bool,
    /// When its sender received the ack; `None` if it never did.
    heard: Option<Instant>,
    /// When the newest segment was sent, if the ack covers no more than the oldest: the newest was lost too.
    newest_lost: Option<Instant>,
    /// The range of the sender's own expiries in it, by their places in the list.
    expiries: (u32, u32),
    /// Least round-trip time to the receiver so far.
    far: Duration,
    flight: Flight,
    marks: Box<[Mark]>,
}

/// What is outstanding when a timer fires, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub size: u64,
    pub mss: u32,
}

impl Flight {
    /// The level of a backoff after an expiry that follows `expiries` in a row. For a SYN it is the number of
    /// expiries.
    fn level(self, backoff: &dyn Backoff, syn: bool, expiries: u32, level: u32) -> u32 {
        if syn {
            level.saturating_add(1)
        } else {
            backoff.level(&Expiry { expiries, level, flight_size: self.size, smss: self.mss.max(1) })
        }
    }
}

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
    followers: Vec<Follower>,
    /// Nothing is outstanding.
    idle: bool,
    sampling: SamplingRate,
    request: Arc<WhatIfRequest>,
    stalls: Vec<Stall>,
    expiries_before: u32,
    /// The oldest segment was retransmitted in the recovery from a timeout, and no ack had reported it lost.
    released: bool,
    rng: Rng,
}

/// What a cumulative ack did.
pub(crate) struct Advance {
    /// When the sender received it.
    pub heard: Instant,
    /// The oldest segment before it, and when the newest was sent if no more than the oldest is acknowledged.
    pub head: Piece,
    pub newest_lost: Option<Instant>,
    /// Round-trip time that the sender measured: by Karn's rule, or by timestamps.
    pub sample: Option<Duration>,
    /// Timestamps are in use: they show which copy an ack is for.
    pub timestamps: bool,
    /// The flight before it, and the window inferred from that.
    pub flight: Flight,
    pub window: Window,
    /// Segments that it acknowledges.
    pub segments: u32,
    pub repairing: bool,
    pub una: u64,
    pub max: u64,
    /// When what is now the oldest was last sent; `None` if all is acknowledged.
    pub oldest: Option<Instant>,
    /// It acknowledges the SYN.
    pub syn: bool,
    pub far: Duration,
    /// Expiries recorded so far, and whether the last of them was spurious.
    pub expiries: u32,
    pub last_spurious: bool,
    /// When the last of them fired.
    pub expired_at: Option<Instant>,
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
            let timeout = f.timeout(syn, f.backed_off, &mut self.rng);
            f.deadline = if syn {
                at + timeout
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
            let timeout = f.timeout(false, f.backed_off, &mut self.rng);
            // RFC 8985 §7.3: a probe restarts the timer.
            f.deadline = if probe {
                at + timeout
            } else {
                f.next_deadline(TimerEvent::Sent { retransmission: true }, timeout, &mut v)
            };
        }
    }

    /// Called for a tail loss probe, which restarts the timers (RFC 8985 §7.3).
    pub fn probed(&mut self, at: Instant) {
        self.retransmitted(at, true, false);
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
            self.sampling.follow(
                SeqNumber(a.una as u32),
                a.segments,
                a.sample.is_some(),
                SeqNumber(a.max as u32),
            );
        }
        let mut v = view(a.heard, a.oldest);
        let e = if a.oldest.is_none() { TimerEvent::AllAcked } else { TimerEvent::Acked };
        for f in &mut self.followers {
            let (late, deadline) = (f.deadline < a.heard, f.deadline);
            let covered = !once && a.head.first < f.resends;
            if (late || expired || released && f.unrepaired) && !covered {
                f.expire(a, once, &mut self.rng);
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
                });
            }
            let timeout = f.timeout(false, f.backed_off, &mut self.rng);
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

/// No two expiries lie closer together.
const TICK: Duration = Duration::from_micros(100);

/// The random stream that backoffs may use; none of the built-in ones does.
fn rng() -> Rng {
    Rng::stream(0, "what-if", 0)
}

/// What a timer sees of a sender.
fn view(now: Instant, oldest_sent_at: Option<Instant>) -> TimerView {
    TimerView { now, deadline: None, oldest_sent_at, restarted_at: Instant::ZERO, phase: Phase::Open }
}
