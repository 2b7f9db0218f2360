//! Random early detection (Floyd & Jacobson 1993) with the later refinements: gentle, waiting, byte mode,
//! self-tuning.

mod average;
mod probability;
#[cfg(test)]
mod tests;

use ackclock_units::{Duration, Instant, Rate, Rng};

use self::average::Average;
use self::probability::{DropVerdict, Drops};
use super::fifo::Fifo;
use crate::{
    Admit, Backlog, Ecn, Entry, Param, Params, Policy, PrivateState, QueueDiscipline, QueueSize, Queued,
};

#[derive(Debug)]
struct Red {
    limit: QueueSize,
    queue: Fifo,
    average: Average,
    drops: Drops,
    /// The average counts bytes, not packets.
    in_bytes: bool,
    ecn: bool,
    link_rate: Rate,
}

impl Red {
    fn new(p: &Params) -> Self {
        let mean_packet = p.bytes("mean_packet") as f64;
        let link_rate = p.rate("link_rate");
        let (mut min_th, mut max_th, mut w_q) = (p.queue("min_th"), p.queue("max_th"), p.ratio("w_q"));
        let target = p.duration("target_delay");
        if !target.is_zero() {
            // Floyd, Gummadi & Shenker 2001, section 4: half of the target as the lower threshold (5 packets
            // at least), three times that as the upper one, and a weight with a time constant of one second's
            // worth of packets. A delay is a number of bytes, so bytes are counted.
            let lower = (link_rate.bytes_in(target) as f64 / 2.0).max(5.0 * mean_packet);
            (min_th, max_th) = (QueueSize::Bytes(lower as u64), QueueSize::Bytes((3.0 * lower) as u64));
            let packets_per_second = link_rate.bits_per_sec() as f64 / (8.0 * mean_packet);
            w_q = 1.0 - libm::exp(-1.0 / packets_per_second);
        }
        let in_bytes = matches!(min_th, QueueSize::Bytes(_));
        let threshold = |size| match (size, in_bytes) {
            (QueueSize::Packets(n), true) => n as f64 * mean_packet,
            (QueueSize::Bytes(n), false) => n as f64 / mean_packet,
            (QueueSize::Packets(n) | QueueSize::Bytes(n), _) => n as f64,
        };
        Self {
            limit: p.queue("limit"),
            queue: Fifo::default(),
            average: Average::new(w_q, link_rate.time_to_send(mean_packet as u64)),
            drops: Drops {
                min_th: threshold(min_th),
                // With an upper threshold at or below the lower one the probability jumps at the lower one.
                max_th: threshold(max_th).max(threshold(min_th)),
                max_p: p.ratio("max_p"),
                gentle: p.flag("gentle"),
                wait: p.flag("wait"),
                byte_mode: p.flag("byte_mode").then_some(mean_packet),
                adaptive: p.flag("adaptive") || !target.is_zero(),
                count: None,
                count_bytes: 0.0,
                adapted_at: Instant::ZERO,
            },
            in_bytes,
            ecn: p.flag("ecn"),
            link_rate,
        }
    }
}

impl Policy for Red {
    fn name(&self) -> &str {
        "red"
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("average", self.average.value());
        state.number("max_p", self.drops.max_p);
    }
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, p: Queued, now: Instant, rng: &mut Rng) -> Admit {
        let backlog = self.queue.backlog();
        let length = if self.in_bytes { backlog.bytes as f64 } else { f64::from(backlog.packets) };
        let average = self.average.on_arrival(length, now);
        self.drops.adapt(average, now);
        let verdict = self.drops.judge(average, p.bytes, rng);
        if !self.queue.fits(p.bytes, self.limit) {
            self.drops.restart();
            return Admit::Drop { early: false };
        }
        // RFC 3168 section 7: a mark replaces the early drop; above the highest threshold packets are
        // dropped, marked or not.
        let admit = match verdict {
            DropVerdict::Pass => Admit::Take,
            DropVerdict::Early if self.ecn && p.ecn != Ecn::NotEct => Admit::Mark,
            DropVerdict::Early | DropVerdict::Forced => return Admit::Drop { early: true },
        };
        self.average.on_queued();
        self.queue.push(p.bytes);
        admit
    }

    fn dequeued(&mut self, bytes: u32, now: Instant) {
        self.queue.pop(bytes);
        if self.queue.is_empty() {
            // The link idles from the end of this packet's transmission on.
            self.average.on_empty(now + self.link_rate.time_to_send(bytes.into()));
        }
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }
}

/// Random early detection.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "red",
    about: "Drops or marks arriving packets with a probability that grows with the average queue (random \
            early detection).",
    source: "Floyd & Jacobson 1993; gentle: Floyd 2000; target_delay: Floyd, Gummadi & Shenker 2001; \
             defaults of ns-2 and byte mode: Mondal & Kuzmanovic 2007 (I-A10, I-F12b). The papers' texts \
             were not at hand for the last \
             review, only descriptions of their formulas",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(50),
            40,
            "capacity, not counting the packet being transmitted",
        ),
        Param::queue(
            "min_th",
            QueueSize::Packets(5),
            40,
            "average queue below which nothing is dropped; the average is counted in its unit",
        ),
        Param::queue(
            "max_th",
            QueueSize::Packets(15),
            40,
            "average queue at which the drop probability reaches max_p",
        ),
        Param::ratio("max_p", 0.1, 0.0..=1.0, "drop probability at max_th"),
        Param::ratio("w_q", 0.002, 1e-9..=1.0, "weight of the present queue in the average"),
        Param::flag(
            "gentle",
            true,
            "raise the probability from max_p to 1 between max_th and twice max_th, rather than at max_th",
        ),
        Param::flag(
            "wait",
            true,
            "keep a least number of packets between drops, which spaces them more \
                                   evenly",
        ),
        Param::flag(
            "ecn",
            false,
            "mark ECN-capable packets instead of dropping them early; where the probability is 1, they are \
             dropped too",
        ),
        Param::flag("byte_mode", false, "scale the probability by a packet's size over mean_packet"),
        Param::bytes(
            "mean_packet",
            500,
            1..=65_535,
            "mean packet size, for the idle time, byte mode and thresholds given in the other unit",
        ),
        Param::rate(
            "link_rate",
            Rate::from_bits_per_sec(10_000_000),
            Rate::from_bits_per_sec(1)..=Rate::from_bits_per_sec(1_000_000_000_000_000),
            "rate of the link, for the idle time; a scenario sets it",
        ),
        Param::flag(
            "adaptive",
            false,
            "adapt max_p every 0.5 s so that the average stays midway between the thresholds",
        ),
        Param::duration(
            "target_delay",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(100),
            "target of the average queueing delay: sets the thresholds and w_q from link_rate, and adapts \
             max_p; 0s for none",
        ),
    ],
    build: |p| Box::new(Red::new(p)),
};
