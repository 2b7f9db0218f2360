use ackclock_units::{Bytes, Duration, Instant, Rng};

use super::exchange::{Exchange, Step};
use crate::{AppIo, Application, Entry, Param, Policy, Request, Requests, Wake};

#[derive(Debug)]
struct FanIn {
    exchange: Exchange,
    stage: Stage,
    rounds: u64,
    request: Bytes,
    response: Bytes,
    pause: Duration,
}

#[derive(Debug)]
enum Stage {
    /// The connection is new.
    Connected,
    /// At the barrier.
    Waiting,
    /// Until the next round.
    Pausing(Instant),
    Exchanging,
}

impl Policy for FanIn {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Application for FanIn {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        loop {
            match self.stage {
                Stage::Connected => {
                    self.stage = Stage::Waiting;
                    return Wake::Barrier;
                }
                Stage::Waiting => self.stage = Stage::Pausing(now + self.pause),
                Stage::Pausing(until) if now < until => return Wake::At(until),
                Stage::Pausing(_) => {
                    self.exchange.begin(now, Request { bytes: self.request, response: self.response });
                    self.stage = Stage::Exchanging;
                }
                Stage::Exchanging => match self.exchange.step(io) {
                    Step::Waits(wake) => return wake,
                    Step::Complete if self.rounds > 1 => {
                        self.rounds -= u64::from(self.rounds != u64::MAX);
                        self.stage = Stage::Waiting;
                        return Wake::Barrier;
                    }
                    Step::Complete | Step::Broken => {
                        io.close();
                        return Wake::Done;
                    }
                },
            }
        }
    }

    fn waits_for_others(&self) -> bool {
        true
    }

    fn requests(&self) -> Option<Requests> {
        Some(self.exchange.requests())
    }
}

/// One client's connection to one of many servers.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "fan-in",
    about: "Asks all servers at once, one by each of its flows, waits until all have responded, and asks \
            again: a barrier-synchronised read, which makes responses collide (incast). The first round \
            begins when all connections are established; a flow that fails is not waited for. The client of \
            `serve`.",
    source: "Phanishayee et al., FAST 2008 (synchronised reads of a block striped over servers)",
    params: &[
        Param::count("rounds", u64::MAX, 1..=u64::MAX, "rounds before closing"),
        Param::bytes("request", 100, 1..=1 << 30, "size of a request"),
        Param::bytes("response", 256 << 10, 1..=1 << 40, "size of the response of each server"),
        Param::duration(
            "pause",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(86_400),
            "time between the last response of a round and the requests of the next",
        ),
    ],
    build: |p| {
        Box::new(FanIn {
            exchange: Exchange::new(),
            stage: Stage::Connected,
            rounds: p.count("rounds"),
            request: p.bytes("request"),
            response: p.bytes("response"),
            pause: p.duration("pause"),
        })
    },
};
