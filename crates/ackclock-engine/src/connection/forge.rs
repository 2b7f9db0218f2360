//! Acks that an honest receiver would not send, for senders to be tried with (Savage et al. 1999).

use ackclock_policy::Forgery;
use ackclock_units::{Instant, SeqNumber, SeqRange};

use super::{Connection, Transmit};

/// Acks on their way besides the one that is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forged {
    how: Forgery,
    /// What arrived since the last ack.
    news: SeqRange,
    /// How many of them have been sent.
    sent: u32,
}

impl Forged {
    /// The acknowledgment number of the next one: the parts of the news but the last, which the due ack
    /// reports, then as many repetitions of that.
    fn next(&mut self) -> Option<SeqNumber> {
        let (i, parts) = (self.sent, u32::from(self.how.parts));
        self.sent += 1;
        if i + 1 < parts {
            let part = u64::from(self.news.len()) * u64::from(i + 1) / u64::from(parts);
            return Some(self.news.start + (part as u32 + self.how.ahead));
        }
        (i + 1 < parts + u32::from(self.how.repeats) || (i + 1 == parts && self.how.ahead > 0))
            .then_some(self.news.end + self.how.ahead)
    }
}

impl Connection {
    /// `bytes` in order have arrived since the last ack: they are acknowledged in this way.
    #[cold]
    pub(super) fn forge(&mut self, how: Forgery, bytes: u32) {
        self.pending.ack = true;
        let news = SeqRange::new(self.rcv_nxt - bytes, self.rcv_nxt);
        self.rare.make().acked_early = self.rare.acked_early.max(how.ahead);
        self.rare.make().forged = Some(Box::new(Forged { how, news, sent: 0 }));
    }

    /// How many bytes beyond what had arrived were ever acknowledged: none by an honest receiver.
    pub fn acked_early(&self) -> u64 {
        self.rare.acked_early.into()
    }

    /// The next forged ack, if there is one.
    #[cold]
    pub(super) fn transmit_forged(&mut self, now: Instant) -> Option<Transmit> {
        let Some(ack) = self.rare.part(|r| r.forged.as_deref_mut())?.next() else {
            self.rare.reset(|r| r.forged = None);
            return None;
        };
        let due = self.pending.ack;
        let mut t = self.transmit_ack(now);
        t.segment.ack = ack;
        // The due one is yet to come.
        self.pending.ack = due;
        Some(t)
    }
}
