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

/// A receiver that cheats, to see what its sender makes of that.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "misbehaving",
    about: "A receiver that acknowledges every segment at once and cheats to make its sender faster; with \
            the defaults it is honest.",
    source: "Savage et al. 1999 (ACK division, DupACK spoofing, optimistic ACKing)",
    params: &[
        Param::count(
            "divide",
            1,
            1..=10_000,
            "acks per segment, each of which acknowledges its part of it (ACK division)",
        ),
        Param::count(
            "repeat",
            0,
            0..=10_000,
            "duplicate acks after each ack, for which nothing arrived (DupACK spoofing)",
        ),
        Param::bytes(
            "ahead",
            0,
            0..=1 << 30,
            "bytes acknowledged beyond what has arrived (optimistic ACKing); what is lost there is never \
             repaired, so that the transfer stops there",
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
