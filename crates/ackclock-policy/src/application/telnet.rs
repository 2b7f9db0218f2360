use ackclock_units::{Bytes, Instant, Rng};

use super::typing::{BYTES, PACKETS, ResponseTimes, THINK, Typing, UNTIL};
use crate::{AppIo, Application, Entry, Policy, Wake};

#[derive(Debug)]
struct Telnet {
    typing: Typing,
    times: ResponseTimes,
    bytes: Bytes,
}

impl Policy for Telnet {
    fn name(&self) -> &str {
        "telnet"
    }
}

impl Application for Telnet {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        self.times.record_responses(io);
        while self.typing.typed(now, rng).is_some() {
            self.times.write(io, self.bytes, now);
        }
        match (self.typing.is_over(), self.times.is_idle()) {
            (true, true) => {
                io.close();
                Wake::Done
            }
            (false, true) => Wake::At(self.typing.next()),
            (_, false) => Wake::AckedOrAt(self.typing.next()),
        }
    }

    fn held_bytes(&self) -> u64 {
        self.times.held_bytes()
    }
}

/// The interactive source of the papers.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "telnet",
    about: "Sends single small packets at exponentially distributed intervals; the response time of each is \
            from sending it to its ack.",
    source: "Mondal & Kuzmanovic 2007 (I-A1); 500 bytes give the 540-byte packets of its figure 9a (I-F9a)",
    params: &[THINK, BYTES, PACKETS, UNTIL],
    build: |p| {
        Box::new(Telnet { typing: Typing::new(p), times: ResponseTimes::new(p), bytes: p.bytes("bytes") })
    },
};
