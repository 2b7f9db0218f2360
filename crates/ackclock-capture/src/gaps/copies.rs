//! What skipped identifications say of the copies that were sent in a silence.

use ackclock_units::{Duration, Instant};

use super::{Arrival, Content, Ending, Gaps, LEAST};
use crate::thresholds::THRESHOLDS;

impl Gaps {
    /// Copies sent in a silence that this arrival ends, itself included. Of the next data, the original was
    /// lost too; of known data, only copies. After a SYN, the ack of the SYN-ACK was lost too.
    pub(super) fn copies(&self, a: &Arrival) -> u32 {
        let lost = self.numbering.left_out.saturating_sub(u32::from(self.latest.after_syn));
        if a.content == Content::Next { lost } else { lost + 1 }
    }

    /// True for a packet that shows that something had been sent before any request, or more than once within the time
    /// of a timer after it: skipped identifications that no acks explain.
    pub(super) fn is_unasked(&self, a: &Arrival) -> bool {
        let after = |asked: &Instant| self.latest.overdue.is_none_or(|since| *asked > since.at);
        let asked = self.request.into_iter().chain(self.close).map(|asked| asked.first).filter(after).min();
        let copies = self.numbering.left_out.saturating_sub(self.elicited);
        let twice = copies > 1 && self.numbering.counts_alone();
        asked.is_none_or(|first| twice && a.at.since(first) <= a.rtt + LEAST)
    }

    /// Derives from the number of copies sent in this silence whether the first was a probe, which is due no
    /// later than the timeout and is followed by a timeout that has not doubled yet, or an expiry, which
    /// doubles the next wait. A timeout lies between the round-trip time plus Linux's minimum of 200 ms, and
    /// RFC 6298's after the first sample, three round-trip times.
    pub(super) fn count_lost(&self, a: &Arrival, e: &Ending, silence: Duration) -> Option<bool> {
        let (copies, by) = (self.copies(a), THRESHOLDS.silence);
        if !by.counted.contains(&copies) || a.rtt.min(e.least) == Duration::ZERO {
            return None;
        }
        let (least, most) =
            (e.least + LEAST, (e.smoothed + LEAST).max(e.smoothed * 3) + self.delay.held_up_before * 4);
        let (least_probe, slack) = (least.min(e.least * 2 + LEAST), e.smoothed + by.margin);
        let within = |least: Duration, most: Duration| {
            silence >= least.mul_f64(by.waits.0) && silence <= most.mul_f64(by.waits.1) + slack
        };
        let (probes, none) = ((1 << (copies - 1)) - 1, (1 << copies) - 1);
        let (probed, expired) =
            (within(least_probe + least * probes, most * (probes + 1)), within(least * none, most * none));
        (probed != expired).then_some(probed)
    }
}
