use crate::{AckAction, AckPending, AckPolicy, ArrivedSegment, Entry, Forgery, Param, Policy};

/// Acknowledges each segment, with acks that an honest receiver would not send.
#[derive(Debug)]
struct Misbehaving(Forgery);

impl Policy for Misbehaving {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl AckPolicy for Misbehaving {
    fn on_arrival(&mut self, _s: &ArrivedSegment, _p: &AckPending) -> AckAction {
        if self.0 == Forgery::NONE { AckAction::Now } else { AckAction::Forge(self.0) }
    }
}

/// A misbehaving receiver, to test senders against.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "misbehaving",
    about: "Acknowledges every segment at once, with forged acks that make the sender faster; honest with \
            the default parameters.",
    source: "Savage et al. 1999 (ACK division, DupACK spoofing, optimistic ACKing)",
    params: &[
        Param::count(
            "divide",
            1,
            1..=10_000,
            "acks per segment, each of which acknowledges a part of it (ACK division)",
        ),
        Param::count(
            "repeat",
            0,
            0..=10_000,
            "duplicate acks sent after each ack without any arrival (DupACK spoofing)",
        ),
        Param::bytes(
            "ahead",
            0,
            0..=1 << 30,
            "bytes acknowledged beyond what has arrived (optimistic ACKing); a loss among them is never \
             repaired, and the transfer stops there",
        ),
    ],
    build: |p| {
        let forgery = Forgery {
            parts: p.count("divide") as u16,
            repeats: p.count("repeat") as u16,
            ahead: p.bytes("ahead") as u32,
        };
        Box::new(Misbehaving(forgery))
    },
};
