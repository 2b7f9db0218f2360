use crate::{AckAction, AckPending, AckPolicy, ArrivedSegment, Entry, Policy};

/// Acknowledges each segment.
#[derive(Debug)]
struct Every;

impl Policy for Every {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl AckPolicy for Every {
    fn on_arrival(&mut self, _s: &ArrivedSegment, _p: &AckPending) -> AckAction {
        AckAction::Now
    }
}

/// An ack for each segment.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "every",
    about: "Acknowledges every segment at once.",
    source: "Jacobson & Karels 1988 (J-A13)",
    params: &[],
    build: |_| Box::new(Every),
};
