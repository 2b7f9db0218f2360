use ackclock_units::{Bytes, Instant, Rng};

use super::typing::{BYTES, Book, PACKETS, THINK, Typing, UNTIL};
use crate::{AppIo, Application, Entry, Policy, Wake};

#[derive(Debug)]
struct Telnet {
    typing: Typing,
    book: Book,
    bytes: Bytes,
}

impl Policy for Telnet {
    fn name(&self) -> &str {
        "telnet"
    }
}

impl Application for Telnet {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        self.book.settle(io);
        while self.typing.typed(now, rng).is_some() {
            self.book.write(io, self.bytes, now);
        }
        match (self.typing.is_over(), self.book.is_settled()) {
            (true, true) => {
                io.close();
                Wake::Done
            }
            (false, true) => Wake::At(self.typing.next()),
            (_, false) => Wake::AckedOrAt(self.typing.next()),
        }
    }

    fn held_bytes(&self) -> u64 {
        self.book.held_bytes()
    }
}

/// The interactive source of the papers.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "telnet",
    about: "Sends single small packets at exponential intervals; the response time of each runs from sending \
            it to its ack.",
    source: "I-A1; 500 bytes make the 540-byte packets of I-F9a",
    params: &[THINK, BYTES, PACKETS, UNTIL],
    build: |p| Box::new(Telnet { typing: Typing::new(p), book: Book::new(p), bytes: p.bytes("bytes") }),
};
