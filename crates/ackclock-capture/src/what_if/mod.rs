//! Other timers in the place of the sender's: what they would have done with what it sent and heard.
//!
//! While a direction is read, each timer is told of what was sent and acknowledged, as its connection would
//! have told it. Where its deadline passes before an ack comes, or the sender's own timer fires, a
//! [`Stall`] is noted; what came of it is judged at the end ([`settle`]), when all retransmissions are.

mod attempts;
mod follower;
mod settle;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ackclock_policy::{
    Backoff, Expiry, Phase, RttSample, SamplingRate, TimerEvent, TimerView, Timing, Window,
};
use ackclock_units::{Duration, Instant, Rng, SeqNumber};

use follower::Follower;
pub(crate) use settle::{Evidence, settle};

use crate::outstanding::Piece;

/// What a timer had when a stall ended.
#[derive(Clone, Copy, Debug)]
struct Mark {
    deadline: Instant,
    rto: Duration,
    backed_off: u32,
    /// See [`Follower`].
    unrepaired: bool,
    resends: Instant,
}

/// A wait of the sender for what was lost, or so it thought: from when a segment became the oldest
/// outstanding until it was acknowledged.
#[derive(Debug)]
struct Stall {
    /// The oldest segment: first copy, and latest retransmission by its place in the list.
    first: Instant,
    retransmission: Option<u32>,
    /// It holds the SYN.
    syn: bool,
    /// When its sender heard the ack; `None` when it never did.
    heard: Option<Instant>,
    /// When the newest segment outstanding then was sent, unless the ack covers more than the oldest segment.
    newest_lost: Option<Instant>,
    /// Expiries of the sender's own timer in it, by their places in the list.
    expiries: (u32, u32),
    /// Least round-trip time to the receiver so far.
    far: Duration,
    flight: Flight,
    marks: Box<[Mark]>,
}

/// What is outstanding when a timer fires, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub size: u64,
    pub mss: u32,
}

impl Flight {
    /// The level of a backoff after an expiry, `expiries` in a row having come before it; that of a SYN
    /// counts expiries.
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

/// What is asked about every sender.
#[derive(Debug)]
pub(crate) struct Asked {
    pub timings: Arc<[Timing]>,
    stalls: AtomicU32,
}

impl Asked {
    /// Nothing where there are no timers.
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

/// The timers that follow one direction.
#[derive(Debug)]
pub(crate) struct Followers {
    followers: Vec<Follower>,
    /// Nothing is outstanding.
    idle: bool,
    sampling: SamplingRate,
    asked: Arc<Asked>,
    stalls: Vec<Stall>,
    expiries_before: u32,
    /// The oldest segment was retransmitted in the recovery from a timeout, and no ack had called for it.
    released: bool,
    rng: Rng,
}

/// What an ack that moves forward did.
pub(crate) struct Advance {
    /// When the sender heard of it.
    pub heard: Instant,
    /// The oldest segment before it, and when the newest was sent unless more than the oldest is
    /// acknowledged.
    pub head: Piece,
    pub newest_lost: Option<Instant>,
    /// Round-trip time that the sender measured: by Karn's rule, or by timestamps.
    pub sample: Option<Duration>,
    /// Timestamps tell which copy an ack answers.
    pub timestamps: bool,
    /// In flight before, and the window that this shows.
    pub flight: Flight,
    pub window: Window,
    /// Segments that it acknowledges.
    pub segments: u32,
    pub repairing: bool,
    pub una: u64,
    pub max: u64,
    /// What is the oldest now was last sent then; `None` when all is acknowledged.
    pub oldest: Option<Instant>,
    /// The SYN is acknowledged, and when it was first sent is all that is known of it.
    pub syn: bool,
    pub far: Duration,
    /// Expiries noted so far, and whether the last of them was for nothing.
    pub expiries: u32,
    pub last_spurious: bool,
    /// When the last of them was.
    pub expired_at: Option<Instant>,
}

impl Followers {
    pub fn new(asked: &Arc<Asked>, first: u64) -> Self {
        let followers = asked.timings.iter().filter_map(Follower::new);
        Self {
            followers: followers.collect(),
            idle: true,
            sampling: SamplingRate::new(SeqNumber(first as u32)),
            asked: Arc::clone(asked),
            stalls: Vec::new(),
            expiries_before: 0,
            released: false,
            rng: rng(),
        }
    }

    /// Something new was sent.
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

    /// The oldest segment was retransmitted, and no timer of the sender had expired.
    pub fn retransmitted(&mut self, at: Instant, probe: bool, released: bool) {
        self.released = released;
        let mut v = view(at, Some(at));
        for f in self.followers.iter_mut().filter(|f| f.deadline >= at) {
            let timeout = f.timeout(false, f.backed_off, &mut self.rng);
            // RFC 8985 §7.3: a probe sets the timer anew.
            f.deadline = if probe {
                at + timeout
            } else {
                f.next_deadline(TimerEvent::Sent { retransmission: true }, timeout, &mut v)
            };
        }
    }

    /// A tail loss probe of something else than the oldest segment sets the timers anew (RFC 8985 §7.3).
    pub fn probed(&mut self, at: Instant) {
        self.retransmitted(at, true, false);
    }

    /// The acknowledgment number moves forward.
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
            // A timer that waited longer than the sender's takes the sample that this one spoilt; one that
            // waited less has spoilt it (Karn).
            let sample = match a.sample {
                Some(_) if late && !a.timestamps => None,
                None if expired && a.last_spurious && !late => Some(a.heard.since(a.head.first)),
                // The echo of a copy whose ack was lost: the wait is in the sample, and another timer would
                // have waited otherwise.
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
        if !self.asked.has_room() {
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

    /// The capture ends while something is outstanding for which the sender's timer has fired.
    pub fn end(&mut self, head: Piece, syn: bool, far: Duration, flight: Flight, expiries: u32) {
        if expiries > self.expiries_before && self.asked.has_room() {
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

/// Backoffs may draw; none of the built-in ones does.
fn rng() -> Rng {
    Rng::stream(0, "what-if", 0)
}

/// What a countdown asks of a sender.
fn view(now: Instant, oldest_sent_at: Option<Instant>) -> TimerView {
    TimerView { now, deadline: None, oldest_sent_at, restarted_at: Instant::ZERO, phase: Phase::Open }
}
