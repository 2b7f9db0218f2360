//! Acks that a correct receiver would not send, to test how senders react to them (Savage et al. 1999).

use ackclock_policy::Forgery;
use ackclock_units::{Instant, SeqNumber, SeqRange};

use super::{Connection, Transmit};

/// Acks to send besides the regular one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forged {
    how: Forgery,
    /// The data that arrived since the last ack.
    arrived: SeqRange,
    /// How many forged acks have been sent.
    sent: u32,
}

impl Forged {
    /// The acknowledgment number of the next forged ack. First one for each part of the new data except the
    /// last part, which the regular ack covers, then the repetitions of the regular ack.
    fn next(&mut self) -> Option<SeqNumber> {
        let (i, parts) = (self.sent, u32::from(self.how.parts));
        self.sent += 1;
        if i + 1 < parts {
            let part = u64::from(self.arrived.len()) * u64::from(i + 1) / u64::from(parts);
            return Some(self.arrived.start + (part as u32 + self.how.ahead));
        }
        (i + 1 < parts + u32::from(self.how.repeats) || (i + 1 == parts && self.how.ahead > 0))
            .then_some(self.arrived.end + self.how.ahead)
    }
}

impl Connection {
    /// Acknowledges the `bytes` that have arrived in order since the last ack in the way that `how`
    /// describes.
    #[cold]
    pub(super) fn forge_acks(&mut self, how: Forgery, bytes: u32) {
        self.pending.ack = true;
        let arrived = SeqRange::new(self.rcv_nxt - bytes, self.rcv_nxt);
        self.rare.make_mut().acked_early = self.rare.acked_early.max(how.ahead);
        self.rare.make_mut().forged = Some(Box::new(Forged { how, arrived, sent: 0 }));
    }

    /// The largest number of bytes that were acknowledged before they arrived: 0 for a correct receiver.
    pub fn acked_early(&self) -> u64 {
        self.rare.acked_early.into()
    }

    /// The next forged ack to send, if there is one.
    #[cold]
    pub(super) fn transmit_forged(&mut self, now: Instant) -> Option<Transmit> {
        let Some(ack) = self.rare.part_mut(|r| r.forged.as_deref_mut())?.next() else {
            self.rare.reset(|r| r.forged = None);
            return None;
        };
        let due = self.pending.ack;
        let mut t = self.transmit_ack(now);
        t.segment.ack = ack;
        // The regular ack is still to be sent.
        self.pending.ack = due;
        Some(t)
    }
}
