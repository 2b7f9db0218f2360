use std::collections::VecDeque;

use ackclock_units::{Bytes, Instant, Rng};

use super::typing::{BYTES, MOST_WAITING, PACKETS, ResponseTimes, THINK, Typing, UNTIL};
use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct Backlogged {
    typing: Typing,
    times: ResponseTimes,
    bytes: Bytes,
    dummy_bytes: Bytes,
    /// Response times begin when a packet is typed, not when it is sent.
    from_typed: bool,
    /// Typing times of the packets that wait for the window.
    unsent: VecDeque<Instant>,
}

impl Policy for Backlogged {
    fn name(&self) -> &str {
        "backlogged"
    }
}

impl Application for Backlogged {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        self.times.record_responses(io);
        while let Some(at) = self.typing.typed(now, rng) {
            if self.unsent.len() < MOST_WAITING {
                self.unsent.push_back(at);
            }
        }
        // Packets are kept here until there is room to send them at once, so that the time of writing is that
        // of sending. A packet larger than any window is sent when nothing is outstanding.
        while let Some(&typed) = self.unsent.front()
            && (io.room() >= self.bytes || io.unacked() == 0)
        {
            self.times.write(io, self.bytes, if self.from_typed { typed } else { now });
            self.unsent.pop_front();
        }
        if self.typing.is_over() && self.unsent.is_empty() && self.times.is_idle() {
            io.close();
            return Wake::Done;
        }
        if self.unsent.is_empty() {
            // Only whole dummies that are sent at once, so that none is queued ahead of the next packet. With
            // nothing outstanding one is written whatever the window, so that a closed window is probed.
            let room = if io.unacked() == 0 { io.room().max(self.dummy_bytes) } else { io.room() };
            let dummies = room - room % self.dummy_bytes;
            if dummies > 0 {
                self.times.write_untimed(io, dummies);
            }
        }
        Wake::RoomOrAt(self.typing.next())
    }

    fn held_bytes(&self) -> u64 {
        (self.unsent.capacity() * size_of::<Instant>()) as u64 + self.times.held_bytes()
    }
}

/// An interactive flow padded to a bulk transfer.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "backlogged",
    about: "Sends packets as `telnet` does, and dummy packets whenever the window has room and no packet \
            waits, so that losses are repaired as in a bulk transfer; response times are those of the \
            packets alone. Packets are sent before dummies, and no dummy is ever queued. The stack needs \
            `+no-nagle` if packets or dummies are smaller than the largest segment; with `+mss(500B)` each \
            is a segment.",
    source: "Mondal & Kuzmanovic 2007 (I-A2, I-A3, I-F1, I-X7): marked packets of a bulk flow",
    params: &[
        THINK,
        BYTES,
        PACKETS,
        UNTIL,
        Param::bytes("dummy_bytes", 500, 1..=65_495, "payload of a dummy packet"),
        Param::choice(
            "since",
            "sent",
            &["sent", "typed"],
            // I-A1
            "when a response time begins: when the packet is sent, or when it is typed",
        ),
    ],
    build: |p| {
        Box::new(Backlogged {
            typing: Typing::new(p),
            times: ResponseTimes::new(p),
            bytes: p.bytes("bytes"),
            dummy_bytes: p.bytes("dummy_bytes"),
            from_typed: p.choice("since") == "typed",
            unsent: VecDeque::new(),
        })
    },
};
