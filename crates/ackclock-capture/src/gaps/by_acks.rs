//! Packets that end a silence and came too soon for a timer.

use ackclock_units::Duration;

use super::{Arrival, Content, Ending, Gaps, LEAST};
use crate::thresholds::THRESHOLDS;

impl Gaps {
    /// True for a packet that came too soon for a timer, so that an ack has triggered it.
    pub(super) fn by_acks(&self, a: &Arrival, e: &Ending) -> bool {
        let by = THRESHOLDS.silence;
        // What a SACK triggers comes a round trip after that, whose timestamp it echoes (RFC 7323 §4.3), or
        // later by what RACK waits for reordered packets (RFC 8985 §6.2 step 4). Nothing reports the loss of
        // what nothing has overtaken; what comes a round trip after a request may be the answer, if the ack
        // before it was lost.
        let reported = match a.content {
            Content::Missing | Content::Known { newest: false } => e.sack && !e.unprompted,
            Content::Next => self.copies(a) <= 1,
            _ => false,
        };
        let delayed = a.due.map_or(Duration::ZERO, |due| a.at.since(due));
        let upon_ack = e.least.mul_f64(by.reordering_wait) + e.tick * THRESHOLDS.acked.clock_ticks;
        if reported && e.echoed.is_some_and(|echoed| echoed.saturating_sub(delayed) <= upon_ack + by.margin) {
            return true;
        }
        // A probe, which comes after a silence, starts the timer anew (RFC 8985 §7.3). What the SACK of it reports
        // is repaired sooner.
        let probed = self
            .latest
            .data
            .zip(self.latest.data_before)
            .filter(|(data, before)| data.at.since(*before) > LEAST);
        let silence = probed.map(|(data, _)| a.silence(&data, e.tick));
        e.sack
            && a.content == Content::Missing
            && silence.is_some_and(|silence| silence <= self.least_timeout(e))
    }

    /// True for what begins where the receiver's acks end if it came too soon for the timer, which an ack of new
    /// data starts anew (RFC 6298 §5.3).
    pub(super) fn too_soon(&self, e: &Ending) -> bool {
        e.named.is_some_and(|named| named <= e.least + self.least_timeout(e))
    }

    /// The timer runs for a round trip at the least (RFC 6298 §2.3), and no shorter than any minimum. Linux, which
    /// numbers the packets of each connection, adds its minimum to the round trip (`__tcp_set_rto`).
    fn least_timeout(&self, e: &Ending) -> Duration {
        if self.numbering.counts_alone() { e.least + LEAST } else { e.least.max(LEAST) }
    }
}
