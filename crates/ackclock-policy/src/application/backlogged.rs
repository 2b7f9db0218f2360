use std::collections::VecDeque;

use ackclock_units::{Bytes, Instant, Rng};

use super::typing::{BYTES, Book, MOST_WAITING, PACKETS, THINK, Typing, UNTIL};
use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct Backlogged {
    typing: Typing,
    book: Book,
    bytes: Bytes,
    dummy_bytes: Bytes,
    /// Response times run from typing a packet, not from sending it.
    from_typed: bool,
    /// When each packet was typed that the window has not let go.
    unsent: VecDeque<Instant>,
}

impl Policy for Backlogged {
    fn name(&self) -> &str {
        "backlogged"
    }
}

impl Application for Backlogged {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        self.book.settle(io);
        while let Some(at) = self.typing.typed(now, rng) {
            if self.unsent.len() < MOST_WAITING {
                self.unsent.push_back(at);
            }
        }
        // Kept back here until it leaves at once, so that its writing is its sending. One that no window
        // would hold goes alone.
        while let Some(&typed) = self.unsent.front()
            && (io.room() >= self.bytes || io.unacked() == 0)
        {
            self.book.write(io, self.bytes, if self.from_typed { typed } else { now });
            self.unsent.pop_front();
        }
        if self.typing.is_over() && self.unsent.is_empty() && self.book.is_settled() {
            io.close();
            return Wake::Done;
        }
        if self.unsent.is_empty() {
            // Whole dummies, and none that would wait: nothing stands in front of what is typed next. But
            // with nothing outstanding one is written whatever the window, so that a closed one is probed.
            let room = if io.unacked() == 0 { io.room().max(self.dummy_bytes) } else { io.room() };
            let dummies = room - room % self.dummy_bytes;
            if dummies > 0 {
                self.book.write_untimed(io, dummies);
            }
        }
        Wake::RoomOrAt(self.typing.next())
    }

    fn held_bytes(&self) -> u64 {
        (self.unsent.capacity() * size_of::<Instant>()) as u64 + self.book.held_bytes()
    }
}

/// The interactive flow that passes for a bulk transfer.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "backlogged",
    about: "Sends what telnet sends, and dummy packets whenever the window has room and no packet waits, so \
            that losses are repaired as those of a bulk transfer; response times are those of the packets \
            alone. Packets come before dummies, and no dummy ever waits to be sent. Where packets or dummies \
            are smaller than the largest segment, its stack needs `+no-nagle`; with `+mss(500B)` each is a \
            segment.",
    source: "I-A2, I-A3 (marked packets of a bulk flow), I-F1, I-X7",
    params: &[
        THINK,
        BYTES,
        PACKETS,
        UNTIL,
        Param::bytes("dummy_bytes", 500, 1..=65_495, "payload of a dummy"),
        Param::choice(
            "since",
            "sent",
            &["sent", "typed"],
            "when a response time begins: as the packet is sent (I-A1), or as it is typed",
        ),
    ],
    build: |p| {
        Box::new(Backlogged {
            typing: Typing::new(p),
            book: Book::new(p),
            bytes: p.bytes("bytes"),
            dummy_bytes: p.bytes("dummy_bytes"),
            from_typed: p.choice("since") == "typed",
            unsent: VecDeque::new(),
        })
    },
};
