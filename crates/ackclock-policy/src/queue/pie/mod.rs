//! Proportional integral controller enhanced (RFC 8033).

mod probability;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant, Rng};

use self::probability::Drops;
use super::fifo::Fifo;
use crate::{
    Admit, Backlog, Ecn, Entry, Param, Params, Policy, PrivateState, QueueDiscipline, QueueSize, Queued,
};

#[derive(Debug)]
struct Pie {
    limit: QueueSize,
    mtu: u64,
    ecn: bool,
    mark_limit: f64,
    queue: Fifo,
    /// Times of arrival of what is queued, in order.
    arrivals: VecDeque<Instant>,
    /// Sojourn time of the packet that left last, zero when it left nothing behind (RFC 8033 section 4.3, by
    /// timestamps).
    qdelay: Duration,
    drops: Drops,
}

impl Pie {
    fn new(p: &Params) -> Self {
        let t_update = p.duration("t_update");
        Self {
            limit: p.queue("limit"),
            mtu: p.bytes("mtu"),
            ecn: p.flag("ecn"),
            mark_limit: p.ratio("mark_limit"),
            queue: Fifo::default(),
            arrivals: VecDeque::new(),
            qdelay: Duration::ZERO,
            drops: Drops {
                target: p.duration("target"),
                t_update,
                alpha: p.ratio("alpha"),
                beta: p.ratio("beta"),
                max_burst: p.duration("max_burst"),
                derandomize: p.flag("derandomize"),
                probability: 0.0,
                qdelay_old: Duration::ZERO,
                burst_allowance: p.duration("max_burst"),
                accumulated: 0.0,
                next_update: Instant::ZERO + t_update,
            },
        }
    }
}

impl Policy for Pie {
    fn name(&self) -> &str {
        "pie"
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("probability", self.drops.probability);
        state.number("qdelay", self.qdelay.as_secs_f64());
    }
}

impl QueueDiscipline for Pie {
    fn enqueue(&mut self, p: Queued, now: Instant, rng: &mut Rng) -> Admit {
        self.drops.advance(now, self.qdelay);
        if !self.queue.fits(p.bytes, self.limit) {
            self.drops.accumulated = 0.0;
            return Admit::Drop { early: false };
        }
        let mut admit = Admit::Take;
        if self.drops.drops(self.qdelay, self.queue.backlog().bytes <= 2 * self.mtu, rng) {
            // Section 5.1: marks replace drops while the probability is low.
            if !self.ecn || p.ecn == Ecn::NotEct || self.drops.probability > self.mark_limit {
                return Admit::Drop { early: true };
            }
            admit = Admit::Mark;
        }
        self.queue.push(p.bytes);
        self.arrivals.push_back(now);
        admit
    }

    fn dequeued(&mut self, bytes: u32, now: Instant) {
        self.drops.advance(now, self.qdelay);
        self.queue.pop(bytes);
        let arrived = self.arrivals.pop_front();
        let alone = self.queue.is_empty();
        self.qdelay = arrived.filter(|_| !alone).map_or(Duration::ZERO, |arrived| now.since(arrived));
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn held_bytes(&self) -> u64 {
        (self.arrivals.capacity() * size_of::<Instant>()) as u64
    }
}

/// Proportional integral controller enhanced.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "pie",
    about: "Drops or marks arriving packets with a probability that a proportional integral controller sets \
            so that the queueing delay stays at a target.",
    source: "RFC 8033 with sections 5.1, 5.4 and 5.5; delay by timestamps, limit and mtu as in an \
             undated sch_pie.c of Linux",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(1000),
            40,
            "capacity, not counting the packet being transmitted",
        ),
        Param::duration(
            "target",
            Duration::from_millis(15),
            Duration::ZERO..=Duration::from_secs(3600),
            "queueing delay aimed at (QDELAY_REF of RFC 8033 section 4.2)",
        ),
        Param::duration(
            "t_update",
            Duration::from_millis(15),
            Duration::from_millis(1)..=Duration::from_secs(60),
            "time between updates of the probability (T_UPDATE of RFC 8033 section 4.2)",
        ),
        Param::ratio("alpha", 0.125, 0.0..=1000.0, "gain of the delay's distance from the target, Hz"),
        Param::ratio("beta", 1.25, 0.0..=1000.0, "gain of the delay's change, Hz"),
        Param::duration(
            "max_burst",
            Duration::from_millis(150),
            Duration::ZERO..=Duration::from_secs(3600),
            "time without drops after the queue has been short (MAX_BURST of RFC 8033 section 4.4)",
        ),
        Param::bytes(
            "mtu",
            1500,
            1..=65_535,
            "with no more than twice as many bytes waiting, nothing is dropped",
        ),
        Param::flag("ecn", false, "mark ECN-capable packets instead of dropping them"),
        Param::ratio(
            "mark_limit",
            0.1,
            0.0..=1.0,
            "with a higher probability ECN-capable packets are dropped too (RFC 8033 section 5.1)",
        ),
        Param::flag("derandomize", true, "spread drops evenly (RFC 8033 section 5.4)"),
    ],
    build: |p| Box::new(Pie::new(p)),
};
