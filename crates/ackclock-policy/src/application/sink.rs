use ackclock_units::{Bytes, Instant, Rng};

use crate::{AppIo, Application, Entry, Policy, Wake};

#[derive(Debug)]
struct Sink;

impl Policy for Sink {
    fn name(&self) -> &str {
        "sink"
    }
}

impl Application for Sink {
    fn on_wake(&mut self, _: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        io.read(Bytes::MAX);
        if !io.at_end() {
            return Wake::Ended;
        }
        io.close();
        Wake::Done
    }
}

/// The receiving side of applications that only send.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "sink",
    about: "Reads everything that arrives, and closes when the peer has closed.",
    source: "receiving side of bulk, fixed, telnet, padded, backlogged and on-off",
    params: &[],
    build: |_| Box::new(Sink),
};
