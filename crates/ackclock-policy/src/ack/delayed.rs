use std::sync::Arc;

use ackclock_units::{Duration, seldom};

use crate::timer::Heartbeat;
use crate::{AckAction, AckPending, AckPolicy, ArrivedSegment, Entry, Param, Params, Policy};

/// Acknowledges every n-th full-sized segment at once, and others after a delay.
#[derive(Debug)]
struct Delayed {
    rules: Arc<Rules>,
    /// Segments that are still to be acknowledged at once each.
    quick_segs: u64,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    ack_every_segs: u32,
    ack_delay: Duration,
    clock: Heartbeat,
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            ack_every_segs: p.count("ack_every_segs") as u32,
            ack_delay: p.duration("ack_delay"),
            clock: Heartbeat(p.duration("heartbeat")),
        }
    }
}

impl Policy for Delayed {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl AckPolicy for Delayed {
    fn on_arrival(&mut self, s: &ArrivedSegment, p: &AckPending) -> AckAction {
        if seldom(self.quick_segs > 0) {
            self.quick_segs -= 1;
            return AckAction::Now;
        }
        // As many bytes in smaller segments count too: an ack is sent when the window has moved by two full
        // segments (RFC 1122 §4.2.3.2).
        let rules = &*self.rules;
        let enough = u64::from(rules.ack_every_segs) * u64::from(p.rmss.max(1));
        if p.full_segments >= rules.ack_every_segs || p.bytes >= enough {
            return AckAction::Now;
        }
        // The deadline is that of the first unacknowledged segment (RFC 5681 §4.2).
        AckAction::By(p.deadline.unwrap_or_else(|| rules.clock.after(s.now, rules.ack_delay)))
    }
}

/// Delayed acks.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "delayed",
    about: "Acknowledges every second full-sized segment at once, anything else within 200 ms.",
    source: "Jacobson & Karels 1988 (J-A13); Mathis, Semke, Mahdavi & Ott 1997 (M-A2); RFC 1122 4.2.3.2, \
             RFC 5681 4.2",
    params: &[
        Param::count(
            "ack_every_segs",
            2,
            1..=64,
            "full-sized segments per ack (more than 2 breaks RFC 5681)",
        ),
        Param::duration(
            "ack_delay",
            Duration::from_millis(200),
            Duration::ZERO..=Duration::from_secs(10),
            "longest delay of an ack (more than 500ms breaks RFC 5681)",
        ),
        Param::duration(
            "heartbeat",
            Duration::ZERO,
            Duration::ZERO..=Duration::from_secs(10),
            "period of a free-running clock on whose ticks delayed acks are sent; 0s for none",
        ),
        Param::count(
            "quick_segs",
            0,
            0..=u64::MAX,
            "segments at the start of the connection that are acknowledged at once each",
        ),
    ],
    build: |p| Box::new(Delayed { rules: p.shared(Rules::new), quick_segs: p.count("quick_segs") }),
};
