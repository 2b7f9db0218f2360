use ackclock_units::{Bytes, Duration, Instant, Rng};

use super::typing::{BYTES, Book, PACKETS, THINK, Typing, UNTIL};
use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct Padded {
    typing: Typing,
    book: Book,
    bytes: Bytes,
    dummies: u64,
    dummy_bytes: Bytes,
    spacing: Duration,
    /// Dummies that the last packet still lacks, and when the next of them is due.
    lacking: (u64, Instant),
}

impl Policy for Padded {
    fn name(&self) -> &str {
        "padded"
    }
}

impl Application for Padded {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        self.book.settle(io);
        while self.typing.typed(now, rng).is_some() {
            self.book.write(io, self.bytes, now);
            // What is typed before the packet before it has all its dummies stands in for those: it is
            // followed by as many.
            self.lacking = (self.dummies, now + self.spacing);
        }
        let (lacking, due) = &mut self.lacking;
        while *lacking > 0 && *due <= now {
            self.book.write_untimed(io, self.dummy_bytes);
            *lacking -= 1;
            *due += self.spacing;
        }
        let next = if *lacking > 0 { self.typing.next().min(*due) } else { self.typing.next() };
        match (next, self.book.is_settled()) {
            (Instant::FAR_FUTURE, true) => {
                io.close();
                Wake::Done
            }
            (_, true) => Wake::At(next),
            (_, false) => Wake::AckedOrAt(next),
        }
    }

    fn held_bytes(&self) -> u64 {
        self.book.held_bytes()
    }
}

/// Short-term padding.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "padded",
    about: "Sends what telnet sends, each packet followed by tiny dummy packets, so that its loss is found \
            by duplicate acks; response times are those of the packets alone. Its stack needs `+no-nagle`, \
            or the dummies wait for the packet's ack and then leave as one.",
    source: "I-A6; the paper writes dummies apart but does not say how far: `spacing` is ours",
    params: &[
        THINK,
        BYTES,
        PACKETS,
        UNTIL,
        Param::count(
            "min_window",
            4,
            1..=64,
            "m, the packets in flight that each one makes at least: itself and m - 1 dummies",
        ),
        Param::bytes("dummy_bytes", 20, 1..=65_495, "payload of a dummy"),
        Param::duration(
            "spacing",
            Duration::from_millis(1),
            Duration::from_nanos(1)..=Duration::from_secs(3600),
            "time between a packet, its first dummy and each further one",
        ),
    ],
    build: |p| {
        Box::new(Padded {
            typing: Typing::new(p),
            book: Book::new(p),
            bytes: p.bytes("bytes"),
            dummies: p.count("min_window") - 1,
            dummy_bytes: p.bytes("dummy_bytes"),
            spacing: p.duration("spacing"),
            lacking: (0, Instant::ZERO),
        })
    },
};
