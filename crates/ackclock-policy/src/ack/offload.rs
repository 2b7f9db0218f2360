use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant};

use crate::{AckAction, AckPending, AckPolicy, ArrivedSegment, Entry, Param, Params, Policy};

/// A receiver behind receive offload: the network card interrupts some time after a first packet, the packets
/// that came until then are merged, and TCP acknowledges the merged segment.
#[derive(Debug)]
struct Offload {
    rules: Arc<Rules>,
    /// When the packets that arrive now are handed to TCP.
    handed_up: Instant,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    hold: Duration,
    most: Bytes,
    ack_delay: Duration,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self { hold: p.duration("hold"), most: p.bytes("most"), ack_delay: p.duration("ack_delay") }
    }
}

impl Policy for Offload {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl AckPolicy for Offload {
    fn on_arrival(&mut self, s: &ArrivedSegment, p: &AckPending) -> AckAction {
        let rules = &*self.rules;
        if s.now >= self.handed_up {
            self.handed_up = s.now + rules.hold;
        }
        if p.bytes >= rules.most {
            return AckAction::Now;
        }
        // More than one full segment is acknowledged as soon as TCP sees it (RFC 1122 §4.2.3.2).
        let two = p.full_segments >= 2 || p.bytes >= 2 * u64::from(p.rmss.max(1));
        let at = if two { self.handed_up } else { s.now + rules.ack_delay.max(rules.hold) };
        AckAction::By(p.deadline.map_or(at, |running| running.min(at)))
    }
}

/// A receiver with receive offload.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "offload",
    about: "Acknowledges trains of segments that arrive together, as a receiver with receive offload (GRO, \
            LRO) does: one stretch ack for each.",
    source: "Linux 6.18 (gro_max_size, NAPI, rx-usecs); stretch acks: RFC 2525 2.13",
    params: &[
        Param::duration(
            "hold",
            Duration::from_micros(50),
            Duration::ZERO..=Duration::from_millis(100),
            "time from the first segment of a train until TCP gets it: the network card's interrupt delay \
             (ethtool's rx-usecs), or gro_flush_timeout",
        ),
        Param::bytes("most", 65_536, 1..=1 << 20, "largest train (Linux's gro_max_size)"),
        Param::duration(
            "ack_delay",
            Duration::from_millis(40),
            Duration::ZERO..=Duration::from_secs(10),
            "longest delay of the ack of a single segment",
        ),
    ],
    build: |p| Box::new(Offload { rules: p.shared(Rules::new), handed_up: Instant::ZERO }),
};
