//! Packets of several segments, which the device cuts: new data waits for room for a larger one, as in Linux
//! ([`crate::offload`]).

use ackclock_units::{Bytes, Instant};

use super::Connection;
use crate::offload::{LEAST_SEGS, Sender, segs_of_window};

impl Connection {
    /// True when the next of `unsent` bytes waits for room for a larger packet. Otherwise the next segment is the first
    /// one of a packet, or the next one of a packet that is leaving.
    #[inline(never)]
    pub(super) fn awaits_larger_packet(&mut self, now: Instant, unsent: Bytes, fin_due: bool) -> bool {
        let inside = self.rare.packet_left > 0 && self.last_sent_at == now;
        if inside || self.sends_loss_probe() {
            self.rare.reset(|r| r.packet_left = r.packet_left.saturating_sub(1));
            return false;
        }
        let v = self.view(now);
        let payload = self.max_payload(now);
        let cwnd = self.repair_window().unwrap_or(v.window.cwnd);
        let most = match &self.sender.pacer {
            Some(pacer) => u64::from(pacer.quantum() / self.smss.max(1)),
            None => segs_of_window(&v, cwnd, payload, LEAST_SEGS),
        };
        let left_at = match &self.sender.pacer {
            Some(pacer) => Some(pacer.due()),
            None => (self.stats.data_segments_sent > 0).then_some(self.last_sent_at),
        };
        let sender = Sender { view: &v, cwnd, payload, most, left_at };
        if let Some(kept) = sender.keeps(&self.next_packet(unsent, fin_due)) {
            if kept.by_window {
                self.note_full_window(now);
            }
            return true;
        }
        let segs = unsent.div_ceil(u64::from(payload.max(1))).min(sender.quota());
        self.rare.make_mut().packet_left = u32::try_from(segs).unwrap_or(u32::MAX).saturating_sub(1);
        false
    }

    /// After the last segment of a packet the next one keeps its distance.
    pub(super) fn end_packet(&mut self) {
        if self.rare.packet_left == 0
            && let Some(pacer) = &mut self.sender.make_mut().pacer
        {
            pacer.end_quantum();
        }
    }
}
