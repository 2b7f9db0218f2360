//! Common parts of interactive sources: when packets are typed, and which of them wait for their ack.

use std::collections::VecDeque;

use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Param, Params};

/// Most packets whose times are kept while they wait; later ones, typed into a dead connection, are dropped.
pub(super) const MOST_WAITING: usize = 4096;

pub(super) const THINK: Param = Param::duration(
    "think",
    Duration::from_secs(1),
    Duration::from_micros(1)..=Duration::from_secs(86_400),
    "mean time between packets",
);
pub(super) const BYTES: Param = Param::bytes(
    "bytes",
    500,
    1..=65_495,
    "payload of a packet; it is one segment if no larger than the \
                                            largest segment",
);
pub(super) const UNTIL: Param = Param::choice(
    "until",
    "acked",
    &["acked", "arrived"],
    "when a response time ends: with the cumulative ack of the packet, or with the first ack that reports \
     its arrival, SACK included",
);
pub(super) const PACKETS: Param =
    Param::count("packets", u64::MAX, 1..=u64::MAX, "packets to send before closing");

/// Packets typed at exponentially distributed intervals (I-A1), up to a number of them.
#[derive(Debug)]
pub(super) struct Typing {
    think: Duration,
    remaining: u64,
    /// When the next packet is due.
    next: Option<Instant>,
}

impl Typing {
    /// Reads [`THINK`] and [`PACKETS`].
    pub fn new(p: &Params) -> Self {
        Self { think: p.duration(THINK.name), remaining: p.count(PACKETS.name), next: None }
    }

    /// Takes the next packet that has been typed by now; returns when it was typed. To be called until it
    /// returns `None`.
    pub fn typed(&mut self, now: Instant, rng: &mut Rng) -> Option<Instant> {
        let next = match self.next {
            Some(next) => next,
            None => now + self.pause(rng),
        };
        self.next = Some(next);
        if self.remaining == 0 || next > now {
            return None;
        }
        if self.remaining != u64::MAX {
            self.remaining -= 1;
        }
        self.next = Some(next + self.pause(rng));
        Some(next)
    }

    /// When the next packet is typed; [`Instant::FAR_FUTURE`] after the last.
    pub fn next(&self) -> Instant {
        self.next.filter(|_| !self.is_over()).unwrap_or(Instant::FAR_FUTURE)
    }

    /// True when the last packet was typed.
    pub fn is_over(&self) -> bool {
        self.remaining == 0
    }

    fn pause(&self, rng: &mut Rng) -> Duration {
        self.think.mul_f64(-libm::log(rng.unit_open()))
    }
}

/// The stream written so far, and the packets in it that have no response time yet.
#[derive(Debug)]
pub(super) struct ResponseTimes {
    written: Bytes,
    /// A response time ends when the packet has arrived, even if data before it is missing.
    out_of_order: bool,
    /// In the order of writing.
    waiting: VecDeque<Waiting>,
}

/// A packet that is not yet acknowledged.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    /// First byte in the stream.
    start: Bytes,
    end: Bytes,
    /// Start of its response time.
    since: Instant,
}

impl ResponseTimes {
    /// Reads [`UNTIL`].
    pub fn new(p: &Params) -> Self {
        Self { written: 0, out_of_order: p.choice(UNTIL.name) == "arrived", waiting: VecDeque::new() }
    }

    /// Writes a packet whose response time begins at `since`. What the send buffer does not take is dropped.
    pub fn write(&mut self, io: &mut dyn AppIo, bytes: Bytes, since: Instant) {
        let start = self.written;
        if self.write_untimed(io, bytes) > 0 && self.waiting.len() < MOST_WAITING {
            self.waiting.push_back(Waiting { start, end: self.written, since });
        }
    }

    /// Writes data without a response time; returns the bytes taken.
    pub fn write_untimed(&mut self, io: &mut dyn AppIo, bytes: Bytes) -> Bytes {
        let taken = io.write(bytes);
        self.written += taken;
        taken
    }

    /// Records the response times of packets acknowledged since the last call.
    pub fn record_responses(&mut self, io: &mut dyn AppIo) {
        let acked = self.written - io.unacked().min(self.written);
        while let Some(first) = self.waiting.front().filter(|w| w.end <= acked) {
            io.record_response(first.since);
            self.waiting.pop_front();
        }
        if self.out_of_order {
            self.waiting.retain(|w| {
                let waits = !io.has_arrived(w.start, w.end);
                if !waits {
                    io.record_response(w.since);
                }
                waits
            });
        }
    }

    /// Memory of its list, bytes.
    pub fn held_bytes(&self) -> u64 {
        (self.waiting.capacity() * size_of::<Waiting>()) as u64
    }

    /// True when no packet waits for its ack.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }
}
