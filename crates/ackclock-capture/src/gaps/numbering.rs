//! Whether a sender numbers its packets, and which numbers were skipped.

use crate::thresholds::THRESHOLDS;

/// Identifications of one direction's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Numbering {
    pub last_id: Option<u16>,
    /// The number of packets in the latest one, which have a number each.
    last_packets: u32,
    /// Packets sent since the latest one that did not arrive, by the numbers that were skipped.
    pub left_out: u32,
    /// How often numbers followed each other closely, and how often they did not.
    pub steps: u32,
    leaps: u32,
    /// Numbers skipped in all.
    between: u32,
}

impl Numbering {
    /// Takes the number of the current packet; returns true if it was sent before the latest one.
    pub fn note(&mut self, id: Option<u16>) -> bool {
        self.left_out = 0;
        let (Some(id), Some(last)) = (id, self.last_id) else { return false };
        let by = THRESHOLDS.silence;
        match id.wrapping_sub(last) {
            0 | 0xff00.. => return true,
            step if step < by.lost_in_a_row => {
                self.steps += 1;
                self.left_out = u32::from(step).saturating_sub(self.last_packets);
                self.between += self.left_out.min(by.left_out_at_once);
            }
            _ => self.leaps += 1,
        }
        false
    }

    /// Makes the current packet the latest one.
    pub fn set_last(&mut self, id: Option<u16>, packets: u32) {
        (self.last_id, self.last_packets) = (id, packets);
    }

    /// The sender numbers its packets consecutively.
    pub fn counts(&self) -> bool {
        self.steps > 2 * self.leaps
    }

    /// It numbers the packets of this connection alone, so that skipped numbers are lost packets. Some hosts
    /// number the packets of all connections together: then numbers of other connections lie between most
    /// packets.
    pub fn counts_alone(&self) -> bool {
        let by = THRESHOLDS.silence;
        self.counts()
            && (self.steps < by.few_steps || self.between * by.left_out.1 <= self.steps * by.left_out.0)
    }
}
