use std::collections::VecDeque;

use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Wake};

/// Packets waiting for their ack whose response times are recorded; later ones, typed into a dead connection, are not.
const MOST_TIMED: usize = 4096;

#[derive(Debug)]
struct Telnet {
    think: Duration,
    bytes: Bytes,
    remaining: u64,
    /// When the next packet is due.
    next: Option<Instant>,
    written: Bytes,
    /// End in the stream and time of writing of each packet that is not yet acknowledged.
    waiting: VecDeque<(Bytes, Instant)>,
}

impl Telnet {
    fn pause(&self, rng: &mut Rng) -> Duration {
        self.think.mul_f64(-libm::log(rng.unit_open()))
    }
}

impl Policy for Telnet {
    fn name(&self) -> &str {
        "telnet"
    }
}

impl Application for Telnet {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        let acked = self.written - io.unacked().min(self.written);
        while let Some(&(end, since)) = self.waiting.front() {
            if end > acked {
                break;
            }
            io.record_response(since);
            self.waiting.pop_front();
        }
        let mut next = self.next.unwrap_or_else(|| now + self.pause(rng));
        while self.remaining > 0 && next <= now {
            let taken = io.write(self.bytes);
            self.written += taken;
            // What the send buffer does not take is lost on the way to it: nobody types into a full terminal.
            if taken > 0 && self.waiting.len() < MOST_TIMED {
                self.waiting.push_back((self.written, now));
            }
            if self.remaining != u64::MAX {
                self.remaining -= 1;
            }
            next += self.pause(rng);
        }
        self.next = Some(next);
        match (self.remaining, self.waiting.is_empty()) {
            (0, true) => {
                io.close();
                Wake::Done
            }
            (0, false) => Wake::AckedOrAt(Instant::FAR_FUTURE),
            (_, true) => Wake::At(next),
            (_, false) => Wake::AckedOrAt(next),
        }
    }
}

/// The interactive source of the papers.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "telnet",
    about: "Sends single small packets at exponential intervals; the response time of each runs from sending it to its ack.",
    source: "I-A1; 500 bytes make the 540-byte packets of I-F9a",
    params: &[
        Param::duration("think", Duration::from_secs(1), Duration::from_micros(1)..=Duration::from_secs(86_400), "mean time between packets"),
        Param::bytes("bytes", 500, 1..=65_495, "payload of a packet; one segment when not above the largest"),
        Param::count("packets", u64::MAX, 1..=u64::MAX, "packets to send before closing"),
    ],
    build: |p| {
        Box::new(Telnet {
            think: p.duration("think"),
            bytes: p.bytes("bytes"),
            remaining: p.count("packets"),
            next: None,
            written: 0,
            waiting: VecDeque::new(),
        })
    },
};
