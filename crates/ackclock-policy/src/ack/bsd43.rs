use ackclock_units::Duration;

use crate::timer::Heartbeat;
use crate::{AckAction, AckPending, AckPolicy, ArrivedSegment, Entry, Param, Policy};

/// Acknowledges when part of the window has arrived, or at the next tick of a clock that all connections of a
/// host share.
#[derive(Debug)]
struct Bsd43 {
    window_part: f64,
    clock: Heartbeat,
    /// The shortest wait: zero for a free-running clock.
    wait: Duration,
    hold_out_of_order: bool,
}

impl Policy for Bsd43 {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl AckPolicy for Bsd43 {
    fn on_arrival(&mut self, s: &ArrivedSegment, p: &AckPending) -> AckAction {
        if p.bytes as f64 >= self.window_part * p.rcv_wnd as f64 {
            return AckAction::Now;
        }
        AckAction::By(p.deadline.unwrap_or_else(|| self.clock.after(s.now, self.wait)))
    }

    fn holds_out_of_order(&self) -> bool {
        self.hold_out_of_order
    }
}

/// The receiver of 4.3BSD.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "bsd43",
    about: "Acknowledges when 35 % of the window has arrived, or at the next tick of a free-running 200 ms \
            clock, as 4.3BSD did.",
    source: "Jacobson & Karels 1988 (J-A13)",
    params: &[
        Param::ratio(
            "window_part",
            0.35,
            0.0..=1.0,
            "fraction of the window that must have arrived for an \
                                                      ack at once",
        ),
        Param::duration(
            "tick",
            Duration::from_millis(200),
            Duration::from_millis(1)..=Duration::from_secs(10),
            "period of the clock",
        ),
        Param::flag(
            "free_running",
            true,
            "whether one clock runs for the whole host; otherwise each ack waits for a whole period",
        ),
        Param::flag(
            "hold_out_of_order",
            false,
            "delay the acks of out-of-order segments as well, as 4.3BSD did before fast retransmit",
        ),
    ],
    build: |p| {
        Box::new(Bsd43 {
            window_part: p.ratio("window_part"),
            clock: Heartbeat(if p.flag("free_running") { p.duration("tick") } else { Duration::ZERO }),
            wait: if p.flag("free_running") { Duration::ZERO } else { p.duration("tick") },
            hold_out_of_order: p.flag("hold_out_of_order"),
        })
    },
};
