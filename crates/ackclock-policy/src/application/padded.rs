use ackclock_units::{Bytes, Duration, Instant, Rng};

use super::typing::{BYTES, PACKETS, ResponseTimes, THINK, Typing, UNTIL};
use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct Padded {
    typing: Typing,
    times: ResponseTimes,
    bytes: Bytes,
    dummies: u64,
    dummy_bytes: Bytes,
    spacing: Duration,
    /// Dummies of the last packet that are still to be sent, and when the next one is due.
    lacking: (u64, Instant),
}

impl Policy for Padded {
    fn name(&self) -> &str {
        "padded"
    }
}

impl Application for Padded {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        self.times.record_responses(io);
        while self.typing.typed(now, rng).is_some() {
            self.times.write(io, self.bytes, now);
            // A packet typed before all dummies of the previous one were sent takes the place of the
            // remaining ones, and is followed by its own.
            self.lacking = (self.dummies, now + self.spacing);
        }
        let (lacking, due) = &mut self.lacking;
        while *lacking > 0 && *due <= now {
            self.times.write_untimed(io, self.dummy_bytes);
            *lacking -= 1;
            *due += self.spacing;
        }
        let next = if *lacking > 0 { self.typing.next().min(*due) } else { self.typing.next() };
        match (next, self.times.is_idle()) {
            (Instant::FAR_FUTURE, true) => {
                io.close();
                Wake::Done
            }
            (_, true) => Wake::At(next),
            (_, false) => Wake::AckedOrAt(next),
        }
    }

    fn held_bytes(&self) -> u64 {
        self.times.held_bytes()
    }
}

/// Short-term padding.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "padded",
    about: "Sends packets as `telnet` does, each followed by tiny dummy packets, so that its loss is \
            detected by duplicate acks; response times are those of the packets alone. The stack needs \
            `+no-nagle`; otherwise the dummies wait for the packet's ack and are then sent as one.",
    source: "Mondal & Kuzmanovic 2007 (I-A6); the paper sends dummies separately but does not give their \
             spacing: `spacing` is our \
             choice",
    params: &[
        THINK,
        BYTES,
        PACKETS,
        UNTIL,
        Param::count(
            "min_window",
            4,
            1..=64,
            "m, the least number of packets in flight for each packet: itself and m - 1 dummies",
        ),
        Param::bytes("dummy_bytes", 20, 1..=65_495, "payload of a dummy packet"),
        Param::duration(
            "spacing",
            Duration::from_millis(1),
            Duration::from_nanos(1)..=Duration::from_secs(3600),
            "time between a packet and its first dummy, and between dummies",
        ),
    ],
    build: |p| {
        Box::new(Padded {
            typing: Typing::new(p),
            times: ResponseTimes::new(p),
            bytes: p.bytes("bytes"),
            dummies: p.count("min_window") - 1,
            dummy_bytes: p.bytes("dummy_bytes"),
            spacing: p.duration("spacing"),
            lacking: (0, Instant::ZERO),
        })
    },
};
