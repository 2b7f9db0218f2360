use ackclock_units::{Bytes, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct Fixed {
    unwritten: Bytes,
    started: bool,
}

impl Policy for Fixed {
    fn name(&self) -> &str {
        "fixed"
    }
}

impl Application for Fixed {
    fn on_wake(&mut self, _: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        if !self.started {
            self.started = true;
            io.mark_start();
        }
        self.unwritten -= io.write(self.unwritten).min(self.unwritten);
        if self.unwritten > 0 {
            return Wake::Writable;
        }
        if io.unacked() > 0 {
            return Wake::Flushed;
        }
        io.mark_end();
        io.close();
        Wake::Done
    }
}

/// A file of a known size.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "fixed",
    about: "Sends a fixed amount of data, waits until all of it is acknowledged, and closes.",
    source: "Jacobson & Karels 1988 (J-F7): transfers of 1 MB",
    params: &[Param::bytes("size", 1_000_000, 1..=1 << 50, "how much it sends")],
    build: |p| Box::new(Fixed { unwritten: p.bytes("size"), started: false }),
};
