use ackclock_units::{Bytes, Instant, Rng};

use crate::{AppIo, Application, Entry, Policy, Wake};

#[derive(Debug)]
struct Bulk;

impl Policy for Bulk {
    fn name(&self) -> &str {
        "bulk"
    }
}

impl Application for Bulk {
    fn on_wake(&mut self, _: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        io.write(Bytes::MAX);
        Wake::Writable
    }
}

/// Endless data.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "bulk",
    about: "Always has data to send and never closes.",
    source: "M-F2, J-F7, B-A11",
    params: &[],
    build: |_| Box::new(Bulk),
};
