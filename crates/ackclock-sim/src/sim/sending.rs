//! Segments leave an endpoint for the network.

use ackclock_engine::Transmit;
use ackclock_trace::SendKind;
use ackclock_units::seldom;

use super::path::Net;
use crate::endpoint::{End, Rare, SentTruth};
use crate::error::SimError;

impl End {
    /// Sends what writes of the application have let leave, and then what may leave now.
    #[inline(never)]
    pub(super) fn send_early(&mut self, number: u32, e: u32, net: &mut Net) {
        let mut early =
            self.user.io.rare.as_mut().map(|rare| std::mem::take(&mut rare.early)).unwrap_or_default();
        for t in early.drain(..) {
            transmit((&mut self.sent, &mut self.user.io.rare), &t, (number, e), net);
        }
        if let Some(rare) = &mut self.user.io.rare {
            // Keeps the list's memory.
            rare.early = early;
        }
        let Some(connection) = &mut self.connection else { return };
        while let Some(t) = connection.poll_transmit(net.now) {
            transmit((&mut self.sent, &mut self.user.io.rare), &t, (number, e), net);
        }
    }
}

/// Sends a segment of endpoint `e`, of flow `number`. Returns false when the run has failed.
#[inline(always)]
pub(super) fn transmit(
    (sent, rare): (&mut SentTruth, &mut Option<Box<Rare>>),
    t: &Transmit,
    (number, e): (u32, u32),
    net: &mut Net,
) -> bool {
    sent.send();
    let Some((retransmission, mut seen)) = sent.note(t, rare) else {
        let (seq, offset) = (t.segment.seq, t.offset);
        net.fail(SimError::Conservation(format!("flow {number} numbered stream position {offset} as {seq}")));
        return false;
    };
    if seldom(retransmission) && t.kind == SendKind::Copy {
        seen = net.passed_by_original(e, t).unwrap_or(seen);
    }
    net.send(e, t, retransmission, seen);
    true
}
