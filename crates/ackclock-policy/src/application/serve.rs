use std::collections::VecDeque;

use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Request, Requests, Wake};

#[derive(Debug)]
struct Serve {
    service: Duration,
    requests: Option<Requests>,
    /// Bytes read that belong to no complete request yet.
    received: Bytes,
    /// The request of which a part was read.
    incomplete: Option<Request>,
    /// Responses to be written: their size, and when each is ready.
    responses: VecDeque<(Bytes, Instant)>,
    /// Bytes of the first response that are not written yet; `None` while it is not ready.
    unwritten: Option<Bytes>,
}

impl Serve {
    /// Takes the requests that are complete.
    fn receive(&mut self, now: Instant) {
        loop {
            self.incomplete = self.incomplete.or_else(|| self.requests.as_ref()?.take());
            let Some(request) = self.incomplete.filter(|r| self.received >= r.bytes) else { return };
            self.received -= request.bytes;
            self.incomplete = None;
            // One request is served after the other.
            let free = self.responses.back().map_or(now, |(_, ready)| now.max(*ready));
            self.responses.push_back((request.response, free + self.service));
        }
    }
}

impl Policy for Serve {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Application for Serve {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        let got = io.read(Bytes::MAX);
        self.received += got;
        if got > 0 {
            self.receive(now);
        }
        while let Some(&(size, ready)) = self.responses.front() {
            if ready > now {
                return Wake::At(ready);
            }
            let left = self.unwritten.unwrap_or(size);
            let left = left - io.write(left).min(left);
            self.unwritten = Some(left);
            if left > 0 {
                return Wake::Writable;
            }
            (self.unwritten, _) = (None, self.responses.pop_front());
        }
        if io.at_end() {
            io.close();
            return Wake::Done;
        }
        Wake::Readable
    }

    fn serve(&mut self, requests: Requests) -> bool {
        self.requests = Some(requests);
        true
    }

    fn held_bytes(&self) -> u64 {
        (self.responses.capacity() * size_of::<(Bytes, Instant)>()) as u64
    }
}

/// A server's side of many exchanges.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "serve",
    about: "Reads requests, responds to each with as many bytes as it asks for, and closes when the client \
            has: the server of `http`, `fan-in` and `video`. One request is served after the other.",
    source: "RFC 9112 9.3 (persistent connections)",
    params: &[Param::duration(
        "service",
        Duration::ZERO,
        Duration::ZERO..=Duration::from_secs(3600),
        "time from a complete request to the first byte of its response",
    )],
    build: |p| {
        Box::new(Serve {
            service: p.duration("service"),
            requests: None,
            received: 0,
            incomplete: None,
            responses: VecDeque::new(),
            unwritten: None,
        })
    },
};
