//! One request and its response, at the client's side of a connection.

use ackclock_units::{Bytes, Instant};

use crate::{AppIo, Request, Requests, Wake};

/// An exchange in progress.
#[derive(Debug)]
pub(super) struct Exchange {
    requests: Requests,
    since: Instant,
    unwritten: Bytes,
    unread: Bytes,
    response: Bytes,
}

/// What an exchange has come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It is not complete.
    Waits(Wake),
    /// The response is complete, and was recorded.
    Complete,
    /// The server closed before.
    Broken,
}

impl Exchange {
    /// No exchange yet.
    pub fn new() -> Self {
        Self { requests: Requests::default(), since: Instant::ZERO, unwritten: 0, unread: 0, response: 0 }
    }

    /// The contents of its requests.
    pub fn requests(&self) -> Requests {
        self.requests.clone()
    }

    /// Begins with a request.
    pub fn begin(&mut self, now: Instant, request: Request) {
        self.requests.add(request);
        (self.since, self.unwritten) = (now, request.bytes);
        (self.unread, self.response) = (request.response, request.response);
    }

    /// Writes and reads what can be written and read.
    pub fn step(&mut self, io: &mut dyn AppIo) -> Step {
        self.unwritten -= io.write(self.unwritten).min(self.unwritten);
        if self.unwritten > 0 {
            return Step::Waits(Wake::Writable);
        }
        self.unread -= io.read(self.unread).min(self.unread);
        if self.unread == 0 {
            io.record_exchange(self.since, self.response);
            Step::Complete
        } else if io.at_end() {
            Step::Broken
        } else {
            Step::Waits(Wake::Readable)
        }
    }
}
