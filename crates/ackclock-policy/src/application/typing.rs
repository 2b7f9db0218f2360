//! What interactive sources have in common: when packets are typed, and the book of those that wait for their ack.

use std::collections::VecDeque;

use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Param, Params};

/// Packets that wait, whose times are kept; later ones, typed into a dead connection, are not.
pub(super) const MOST_WAITING: usize = 4096;

pub(super) const THINK: Param =
    Param::duration("think", Duration::from_secs(1), Duration::from_micros(1)..=Duration::from_secs(86_400), "mean time between packets");
pub(super) const BYTES: Param = Param::bytes("bytes", 500, 1..=65_495, "payload of a packet; one segment when not above the largest");
pub(super) const PACKETS: Param = Param::count("packets", u64::MAX, 1..=u64::MAX, "packets to send before closing");

/// Packets typed at exponential intervals (I-A1), until there are no more.
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

    /// Takes a packet that has been typed by now and answers when. Ask until `None`.
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

    /// When the next packet is typed: never, after the last.
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

/// The stream as written so far, and the packets in it whose response times are due.
#[derive(Debug, Default)]
pub(super) struct Book {
    written: Bytes,
    /// End in the stream, and beginning of the response time, of each packet that is not yet acknowledged.
    waiting: VecDeque<(Bytes, Instant)>,
}

impl Book {
    /// Writes a packet whose response time runs from `since` to its ack. What the send buffer does not take is lost on the way to it: nobody types into a
    /// full terminal.
    pub fn write(&mut self, io: &mut dyn AppIo, bytes: Bytes, since: Instant) {
        if self.write_untimed(io, bytes) > 0 && self.waiting.len() < MOST_WAITING {
            self.waiting.push_back((self.written, since));
        }
    }

    /// Writes what has no response time; returns how much was taken.
    pub fn write_untimed(&mut self, io: &mut dyn AppIo, bytes: Bytes) -> Bytes {
        let taken = io.write(bytes);
        self.written += taken;
        taken
    }

    /// Records the response times of packets acknowledged since.
    pub fn settle(&mut self, io: &mut dyn AppIo) {
        let acked = self.written - io.unacked().min(self.written);
        while let Some(&(end, since)) = self.waiting.front() {
            if end > acked {
                break;
            }
            io.record_response(since);
            self.waiting.pop_front();
        }
    }

    /// True when no packet waits for its ack.
    pub fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }
}
