use ackclock_units::Duration;

use crate::timer::Heartbeat;
use crate::{AckAction, AckPending, AckPolicy, Arrival, Entry, Param, Policy};

/// Waits for a good part of the window, or for the next tick of a clock that all connections of a host share.
#[derive(Debug)]
struct Bsd43 {
    window_part: f64,
    clock: Heartbeat,
}

impl Policy for Bsd43 {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl AckPolicy for Bsd43 {
    fn on_arrival(&mut self, s: &Arrival, p: &AckPending) -> AckAction {
        if p.bytes as f64 >= self.window_part * p.rcv_wnd as f64 {
            return AckAction::Now;
        }
        AckAction::By(p.deadline.unwrap_or_else(|| self.clock.after(s.now, Duration::ZERO)))
    }
}

/// The receiver of 4.3BSD.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "bsd43",
    about: "Acknowledges when 35 % of the window has arrived, or at the next tick of a free-running 200 ms clock, as 4.3BSD did.",
    source: "J-A13",
    params: &[
        Param::ratio("window_part", 0.35, 0.0..=1.0, "part of the window that must have arrived"),
        Param::duration("tick", Duration::from_millis(200), Duration::from_millis(1)..=Duration::from_secs(10), "period of the free-running clock"),
    ],
    build: |p| Box::new(Bsd43 { window_part: p.ratio("window_part"), clock: Heartbeat(p.duration("tick")) }),
};
