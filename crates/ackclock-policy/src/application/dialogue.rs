use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Wake};

/// The stage of a dialogue.
#[derive(Debug)]
enum Stage {
    /// Bytes of the current message that are not written yet.
    Talking(Bytes),
    /// Waits until then for the transfer to begin.
    Pausing(Instant),
    Sending,
}

#[derive(Debug)]
struct Dialogue {
    stage: Stage,
    exchanges: u64,
    bytes: Bytes,
    pause: Duration,
    unwritten: Bytes,
}

impl Policy for Dialogue {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Application for Dialogue {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        loop {
            match &mut self.stage {
                Stage::Talking(left) => {
                    *left -= io.write(*left).min(*left);
                    if *left > 0 {
                        return Wake::Writable;
                    }
                    if io.unacked() > 0 {
                        return Wake::Flushed;
                    }
                    self.stage = match self.exchanges.checked_sub(1) {
                        Some(exchanges) => {
                            self.exchanges = exchanges;
                            Stage::Talking(self.bytes)
                        }
                        None => Stage::Pausing(now + self.pause),
                    };
                }
                Stage::Pausing(until) if now < *until => return Wake::At(*until),
                Stage::Pausing(_) => {
                    io.mark_start();
                    self.stage = Stage::Sending;
                }
                Stage::Sending => {
                    self.unwritten -= io.write(self.unwritten).min(self.unwritten);
                    if self.unwritten > 0 {
                        return Wake::Writable;
                    }
                    if io.unacked() > 0 {
                        return Wake::Flushed;
                    }
                    io.mark_end();
                    io.close();
                    return Wake::Done;
                }
            }
        }
    }
}

/// Mail and news: a negotiation, then the article.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "dialogue",
    about: "Sends messages, each after the one before is acknowledged, pauses, sends a fixed amount of data \
            and closes, as mail and news do.",
    source: "Jacobson & Karels 1988 (J-A12, J-X1): stop-and-wait negotiation, then a bulk phase",
    params: &[
        Param::count("exchanges", 8, 0..=1 << 32, "messages before the transfer"),
        Param::bytes("bytes", 512, 1..=65_495, "size of each message"),
        Param::duration(
            "pause",
            Duration::from_secs(5),
            Duration::ZERO..=Duration::from_secs(86_400),
            "time between the last message's ack and the transfer",
        ),
        Param::bytes("size", 100_000, 1..=1 << 50, "size of the transfer"),
    ],
    build: |p| {
        Box::new(Dialogue {
            stage: Stage::Talking(0),
            exchanges: p.count("exchanges"),
            bytes: p.bytes("bytes"),
            pause: p.duration("pause"),
            unwritten: p.bytes("size"),
        })
    },
};
