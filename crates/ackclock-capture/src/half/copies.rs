//! Packets that the capture holds twice.

use ackclock_units::Instant;
use ackclock_wire::Flags;

use crate::segment::CapturedSegment;
use crate::thresholds::THRESHOLDS;

/// Fingerprints of the latest packets of one direction.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    /// Of packets with an identification, and of those without: two rings, 0 where there is none yet.
    recent: [u64; 8],
    twins: [u64; 16],
    /// When the latter were seen.
    seen: [Instant; 16],
    /// How many there were of each, modulo 256, which the rings' lengths divide.
    recent_count: u8,
    twin_count: u8,
    /// How many data segments in a row came twice, and whether the latest has come only once so far.
    twin_run: u32,
    alone: bool,
    doubled: bool,
    /// Its SYN came once: segments that come twice at once are sent twice on purpose.
    syn_alone: bool,
}

impl Copies {
    /// True if `seen` repeats one of the latest segments, identification included.
    pub(crate) fn is_copy(&mut self, seen: &CapturedSegment) -> bool {
        let s = &seen.segment;
        let times = s.options.timestamps.map_or(0, |t| (u64::from(t.tsval) << 32) | u64::from(t.tsecr));
        let numbers = (u64::from(s.seq.0) << 32) | u64::from(s.ack.0);
        let blocks = s
            .options
            .sack
            .as_slice()
            .first()
            .map_or(0, |b| (u64::from(b.start.0) << 32) | u64::from(b.end.0));
        let rest = (u64::from(seen.id) << 48)
            | (u64::from(s.window) << 32)
            | (u64::from(s.flags.0) << 24)
            | u64::from(s.len & 0xff_ffff);
        // Odd multipliers mix the bits: 2^64 over the golden ratio, and three primes of xxHash.
        let print = numbers.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ times.rotate_left(31).wrapping_mul(0xc2b2_ae3d_27d4_eb4f)
            ^ blocks.rotate_left(43).wrapping_mul(0x27d4_eb2f_1656_67c5)
            ^ rest.rotate_left(17).wrapping_mul(0x1656_67b1_9e37_79f9);
        let print = print.max(1);
        if seen.id == 0 {
            return self.is_twin(seen, print);
        }
        // A search without an early exit: usually there is no match.
        if self.recent.iter().fold(false, |found, known| found | (*known == print)) {
            return true;
        }
        self.recent[usize::from(self.recent_count) % self.recent.len()] = print;
        self.recent_count = self.recent_count.wrapping_add(1);
        false
    }

    /// The same without identifications. Acks in a burst look identical then, so copies are recognised only
    /// in a capture that is known to hold packets twice.
    fn is_twin(&mut self, seen: &CapturedSegment, print: u64) -> bool {
        let data = seen.segment.seq_len() > 0;
        if let Some(i) = self.latest_twin(seen.at, print) {
            // No sender sends a SYN twice at once. Some do so with data (I-A7), but their SYN came once
            // before.
            self.twin_run += u32::from(data);
            self.alone = false;
            let syn = seen.segment.flags.has(Flags::SYN);
            self.doubled |= syn || self.twin_run >= THRESHOLDS.copies.in_a_row && !self.syn_alone;
            self.syn_alone &= !syn;
            if self.doubled {
                // A third one is another packet.
                self.twins[i] = 0;
                return true;
            }
        } else if data {
            self.syn_alone |= seen.segment.flags.has(Flags::SYN);
            self.twin_run = if self.alone { 0 } else { self.twin_run };
            self.alone = true;
        }
        let place = usize::from(self.twin_count) % self.twins.len();
        (self.twins[place], self.seen[place]) = (print, seen.at);
        self.twin_count = self.twin_count.wrapping_add(1);
        false
    }

    /// The place of the latest identical packet that came shortly before.
    fn latest_twin(&self, at: Instant, print: u64) -> Option<usize> {
        if !self.twins.contains(&print) {
            return None;
        }
        let within = if self.doubled { THRESHOLDS.copies.doubled } else { THRESHOLDS.copies.perhaps_doubled };
        let n = self.twins.len();
        (1..=n)
            .map(|back| (usize::from(self.twin_count) + n - back) % n)
            .find(|i| self.twins[*i] == print && at.since(self.seen[*i]) < within)
    }
}
