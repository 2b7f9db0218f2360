use ackclock_units::{Bytes, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Requests, Wake};

#[derive(Debug)]
struct Request {
    unwritten: Bytes,
    started: bool,
    /// What is left of the response, where the client knows how much it is.
    expected: Option<Expected>,
}

/// A response of which the client knows how much comes.
#[derive(Debug)]
struct Expected {
    unread: Bytes,
    requests: Requests,
}

impl Policy for Request {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Application for Request {
    fn on_wake(&mut self, _: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        if !self.started {
            self.started = true;
            io.mark_start();
            if let Some(expected) = &self.expected {
                let (bytes, response) = (self.unwritten, expected.unread);
                expected.requests.add(crate::Request { bytes, response });
            }
        }
        self.unwritten -= io.write(self.unwritten).min(self.unwritten);
        let got = io.read(Bytes::MAX);
        let complete = self.expected.as_mut().is_some_and(|expected| {
            expected.unread = expected.unread.saturating_sub(got);
            expected.unread == 0
        });
        if complete || io.at_end() {
            io.mark_end();
            io.close();
            return Wake::Done;
        }
        if self.unwritten > 0 { Wake::Writable } else { Wake::Readable }
    }

    fn requests(&self) -> Option<Requests> {
        self.expected.as_ref().map(|expected| expected.requests.clone())
    }
}

/// A client's side of one exchange.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "request",
    about: "Sends one request, reads the response to its end, and closes: the client of `respond`, or, where it says \
            how much it wants, of `serve`.",
    source: "Mondal & Kuzmanovic 2008 (B-A7, B-A8): one connection for each web transfer",
    params: &[
        Param::bytes("request", 300, 1..=1 << 30, "size of the request"),
        Param::bytes(
            "response",
            0,
            0..=1 << 50,
            "what it asks for, after which it closes first; 0 to read until the server has closed",
        ),
    ],
    build: |p| {
        let unread = p.bytes("response");
        let expected = (unread > 0).then(|| Expected { unread, requests: Requests::default() });
        Box::new(Request { unwritten: p.bytes("request"), started: false, expected })
    },
};
