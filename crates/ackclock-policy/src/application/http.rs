use ackclock_units::{Bytes, Duration, Instant, Rng};

use super::distribution::{Distribution, NAMES, shape};
use super::exchange::{Exchange, Step};
use crate::{AppIo, Application, Entry, Param, Policy, Request, Requests, Wake};

/// Upper bound of a drawn response.
const LARGEST: Bytes = 1 << 50;

#[derive(Debug)]
struct Http {
    exchange: Exchange,
    stage: Stage,
    /// Requests that are still to be made; `None` before their number was drawn.
    remaining: Option<u64>,
    requests: u64,
    requests_vary: bool,
    request: Bytes,
    response: (Bytes, Distribution),
    largest: Bytes,
    think: (Duration, Distribution),
}

#[derive(Debug)]
enum Stage {
    /// Until then.
    Thinking(Instant),
    Exchanging,
}

impl Http {
    /// Draws the number of requests. A geometric number has its mean too.
    fn count(&self, rng: &mut Rng) -> u64 {
        if !self.requests_vary || self.requests <= 1 || self.requests == u64::MAX {
            return self.requests;
        }
        let stop = 1.0 / self.requests as f64;
        (libm::floor(libm::log(rng.unit_open()) / libm::log1p(-stop)) as u64).saturating_add(1)
    }

    fn next_request(&self, rng: &mut Rng) -> Request {
        let (mean, distribution) = self.response;
        let drawn = (mean as f64 * distribution.draw(rng) + 0.5) as Bytes;
        Request { bytes: self.request, response: drawn.clamp(1, self.largest) }
    }
}

impl Policy for Http {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Application for Http {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake {
        let mut remaining = match self.remaining {
            Some(remaining) => remaining,
            None => self.count(rng),
        };
        loop {
            self.remaining = Some(remaining);
            match self.stage {
                Stage::Thinking(until) if now < until => return Wake::At(until),
                Stage::Thinking(_) => {
                    self.exchange.begin(now, self.next_request(rng));
                    self.stage = Stage::Exchanging;
                }
                Stage::Exchanging => match self.exchange.step(io) {
                    Step::Waits(wake) => return wake,
                    Step::Complete if remaining > 1 => {
                        remaining -= u64::from(remaining != u64::MAX);
                        let (mean, distribution) = self.think;
                        self.stage = Stage::Thinking(now + mean.mul_f64(distribution.draw(rng)));
                    }
                    Step::Complete | Step::Broken => {
                        io.close();
                        return Wake::Done;
                    }
                },
            }
        }
    }

    fn requests(&self) -> Option<Requests> {
        Some(self.exchange.requests())
    }
}

/// A client on a persistent connection.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "http",
    about: "Makes requests on one connection, each after the response to the one before and a think time, \
            and closes after the last: the client of `serve`, as HTTP/1.1 without pipelining. Response \
            times are from the request to the last byte of the response.",
    source: "RFC 9112 9.3 (persistent connections); shapes of the distributions are our choice, widths as in \
             Mondal & Kuzmanovic 2008 (B-A7)",
    params: &[
        Param::count("requests", 10, 1..=u64::MAX, "requests of a connection, on average; `inf` for endless"),
        Param::choice(
            "requests_distribution",
            "fixed",
            &["fixed", "geometric"],
            "how the number of requests varies between connections",
        ),
        Param::bytes("request", 300, 1..=1 << 30, "size of a request"),
        Param::bytes("response", 10_000, 1..=1 << 40, "mean size of a response, before `response_max`"),
        Param::choice("response_distribution", "exponential", NAMES, "how sizes vary"),
        Param::ratio("response_sigma", 1.5, 0.001..=10.0, "of lognormal sizes, deviation of the logarithm"),
        shape("response_shape", "of Pareto sizes: the smaller, the heavier the tail"),
        Param::bytes("response_max", LARGEST, 1..=LARGEST, "larger responses become this"),
        Param::duration(
            "think",
            Duration::from_secs(1),
            Duration::ZERO..=Duration::from_secs(86_400),
            "mean time between a response and the next request",
        ),
        Param::choice("think_distribution", "exponential", NAMES, "how think times vary"),
        Param::ratio("think_sigma", 1.5, 0.001..=10.0, "of lognormal times, deviation of the logarithm"),
        shape("think_shape", "of Pareto times: the smaller, the heavier the tail"),
    ],
    build: |p| {
        let drawn = |what: &str| {
            Distribution::of(
                p,
                &format!("{what}_distribution"),
                &format!("{what}_sigma"),
                &format!("{what}_shape"),
            )
        };
        Box::new(Http {
            exchange: Exchange::new(),
            stage: Stage::Thinking(Instant::ZERO),
            remaining: None,
            requests: p.count("requests"),
            requests_vary: p.choice("requests_distribution") == "geometric",
            request: p.bytes("request"),
            response: (p.bytes("response"), drawn("response")),
            largest: p.bytes("response_max"),
            think: (p.duration("think"), drawn("think")),
        })
    },
};
