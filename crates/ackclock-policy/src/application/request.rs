use ackclock_units::{Bytes, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct Request {
    unwritten: Bytes,
    started: bool,
}

impl Policy for Request {
    fn name(&self) -> &str {
        "request"
    }
}

impl Application for Request {
    fn on_wake(&mut self, _: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        if !self.started {
            self.started = true;
            io.mark_start();
        }
        self.unwritten -= io.write(self.unwritten).min(self.unwritten);
        io.read(Bytes::MAX);
        if io.at_end() {
            io.mark_end();
            io.close();
            return Wake::Done;
        }
        if self.unwritten > 0 { Wake::Writable } else { Wake::Readable }
    }
}

/// A client's side of one exchange.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "request",
    about: "Sends one request, reads the response to its end, and closes: the client of `respond`.",
    source: "Mondal & Kuzmanovic 2008 (B-A7, B-A8): one connection for each web transfer",
    params: &[Param::bytes("request", 300, 1..=1 << 30, "size of the request")],
    build: |p| Box::new(Request { unwritten: p.bytes("request"), started: false }),
};
