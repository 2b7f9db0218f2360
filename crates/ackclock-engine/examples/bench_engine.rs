//! The engine alone: two connections over pipes of 5 ms, without event queue, links or network. Prints one
//! line of JSON per figure: ns of CPU time per data segment, its ack included, or per connection. An argument
//! divides the amount of work, for callgrind.

#[path = "../../ackclock-sim/examples/measure/mod.rs"]
mod measure;

use std::collections::VecDeque;
use std::sync::Arc;

use ackclock_engine::{Config, Connection, Lazy, Policies, SenderPolicies, State};
use ackclock_policy::*;
use ackclock_units::{Duration, Instant, Rng, SeqNumber};
use ackclock_wire::Segment;
use measure::cpu_ns;

const DELAY: Duration = Duration::from_millis(5);
const NEVER: Instant = Instant::from_nanos(u64::MAX);

fn policies(registry: &Registry) -> Result<Policies, RegistryError> {
    Ok(Policies {
        estimator: registry.choose::<dyn RttEstimator>("rfc6298")?.build(),
        ack: Lazy::Built(registry.choose::<dyn AckPolicy>("delayed")?.build()),
        sender: Lazy::Built(Box::new(SenderPolicies {
            backoff: registry.choose::<dyn Backoff>("exponential")?.build(),
            timer: registry.choose::<dyn RetransmissionTimer>("restart-on-ack")?.build(),
            recovery: registry.choose::<dyn LossRecovery>("sack")?.build(),
            undo: registry.choose::<dyn SpuriousTimeout>("none")?.build(),
            window: registry.choose::<dyn CongestionControl>("reno")?.build(),
            special: None,
        })),
    })
}

/// A sender, a receiver and the pipes between them.
struct Pair {
    ends: [Connection; 2],
    /// The pipe towards each end.
    pipes: [VecDeque<(Instant, Segment)>; 2],
    now: Instant,
    data_segments: u64,
    /// One of so many data segments is lost; 0: none.
    lose_every: u64,
}

impl Pair {
    fn new(registry: &Registry, config: &Arc<Config>, lose_every: u64) -> Result<Self, RegistryError> {
        let end = |i| {
            Ok::<_, RegistryError>(Connection::counted(
                config.clone(),
                policies(registry)?,
                SeqNumber(i),
                Rng::stream(1, "bench", u64::from(i)),
            ))
        };
        let mut pair = Self {
            ends: [end(0)?, end(1)?],
            pipes: Default::default(),
            now: Instant::ZERO,
            data_segments: 0,
            lose_every,
        };
        pair.ends[1].listen();
        pair.ends[0].connect(pair.now);
        pair.flush(0);
        Ok(pair)
    }

    /// Puts everything that an end can send into the pipe.
    fn flush(&mut self, end: usize) {
        while let Some(t) = self.ends[end].poll_transmit(self.now) {
            if t.segment.len > 0 {
                self.data_segments += 1;
                if self.lose_every > 0 && self.data_segments.is_multiple_of(self.lose_every) {
                    continue;
                }
            }
            self.pipes[1 - end].push_back((self.now + DELAY, t.segment));
        }
    }

    /// Handles the next segment or deadline; false when there is none.
    fn step(&mut self) -> bool {
        let at = |pair: &Self, end: usize| {
            let arrival = pair.pipes[end].front().map_or(NEVER, |p| p.0);
            arrival.min(pair.ends[end].poll_timeout().unwrap_or(NEVER))
        };
        let (first, second) = (at(self, 0), at(self, 1));
        let end = usize::from(second < first);
        let now = first.min(second);
        if now == NEVER {
            return false;
        }
        self.now = now;
        match self.pipes[end].front() {
            Some(&(at, segment)) if at <= now => {
                self.pipes[end].pop_front();
                self.ends[end].handle_segment(now, &segment, &[], Ecn::NotEct);
            }
            _ => self.ends[end].handle_timeout(now),
        }
        while self.ends[end].poll_event().is_some() {}
        if end == 1 {
            self.ends[1].read_counted(self.now, u64::MAX);
        }
        self.flush(end);
        true
    }
}

/// A long transfer through a window of 100 segments: ns per data segment.
fn bulk(registry: &Registry, lose_every: u64, less: u64) -> Result<f64, RegistryError> {
    let config = Arc::new(Config { mss: 1000, rcv_buf: 100_000, snd_buf: 1 << 20, ..Config::default() });
    let mut pair = Pair::new(registry, &config, lose_every)?;
    let mut run = |segments: u64| {
        let end = pair.data_segments + segments;
        while pair.data_segments < end && pair.step() {
            // In large writes, as an application would.
            if pair.ends[0].state() == State::Established && pair.ends[0].writable() > 1 << 19 {
                pair.ends[0].write_counted(pair.now, u64::MAX);
                pair.flush(0);
            }
        }
    };
    run(100_000 / less);
    let (begin, segments) = (cpu_ns(), 4_000_000 / less);
    run(segments);
    Ok((cpu_ns() - begin) as f64 / segments as f64)
}

/// Whole connections of seven segments, from construction to TIME-WAIT: ns per connection.
fn short(registry: &Registry, less: u64) -> Result<f64, RegistryError> {
    let config = Arc::new(Config { mss: 1000, time_wait: Duration::from_millis(1), ..Config::default() });
    let connections = 100_000 / less;
    let begin = cpu_ns();
    for _ in 0..connections {
        let mut pair = Pair::new(registry, &config, 0)?;
        let mut written = false;
        while pair.step() {
            if !written && pair.ends[0].state() == State::Established {
                pair.ends[0].write_counted(pair.now, 7000);
                pair.ends[0].close(pair.now);
                written = true;
                pair.flush(0);
            }
            if pair.ends[1].state() == State::CloseWait && pair.ends[1].at_end() {
                pair.ends[1].close(pair.now);
                pair.flush(1);
            }
        }
        assert!(pair.ends.iter().all(|c| c.state() == State::Closed), "a connection did not close");
    }
    Ok((cpu_ns() - begin) as f64 / connections as f64)
}

fn main() -> Result<(), RegistryError> {
    let registry = Registry::builtin();
    let less = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1).max(1);
    for (name, ns) in [
        ("engine, ns per data segment", bulk(&registry, 0, less)?),
        ("engine, ns per data segment, 1 of 200 lost", bulk(&registry, 200, less)?),
        ("engine, ns per connection of 7 segments", short(&registry, less)?),
    ] {
        println!("{{\"name\": \"{name}\", \"ns\": {ns:.1}}}");
    }
    Ok(())
}
