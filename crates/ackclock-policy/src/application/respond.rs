use ackclock_units::{Bytes, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Wake};

#[derive(Debug)]
struct Respond {
    unread: Bytes,
    unwritten: Bytes,
}

impl Policy for Respond {
    fn name(&self) -> &str {
        "respond"
    }
}

impl Application for Respond {
    fn on_wake(&mut self, _: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        self.unread = self.unread.saturating_sub(io.read(Bytes::MAX));
        if self.unread > 0 && !io.at_end() {
            return Wake::Readable;
        }
        // A client that closes before its request is complete gets no response.
        if self.unread == 0 {
            self.unwritten -= io.write(self.unwritten).min(self.unwritten);
            if self.unwritten > 0 {
                return Wake::Writable;
            }
        }
        io.close();
        Wake::Done
    }
}

/// A server's side of one exchange.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "respond",
    about: "Reads one request, responds with a fixed amount of data, and closes: the server of `request`.",
    source: "Mondal & Kuzmanovic 2008 (B-A7, B-A8): one connection for each web transfer",
    params: &[
        Param::bytes("request", 300, 1..=1 << 30, "size of the request to wait for"),
        Param::bytes("size", 10_000, 1..=1 << 50, "size of the response"),
    ],
    build: |p| Box::new(Respond { unread: p.bytes("request"), unwritten: p.bytes("size") }),
};
