//! Whether all that a sender sends is marked, so that the marks say nothing (RFC 9768 §3.2.2.3).

use ackclock_units::{Bytes, SeqNumber};

use super::Marks;

/// The check of the first round trips: something early in the path may set CE on every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Continuous {
    /// Nothing was acknowledged yet.
    Begins,
    /// Everything acknowledged so far was marked, for so many round trips; the present one ends there.
    So { rounds: u8, until: SeqNumber },
    /// Something was not.
    No,
}

impl Continuous {
    /// An ack up to `ack` newly delivers so many packets and bytes, and reports `marks`; `snd_nxt` is the end
    /// of what was sent. Returns true when all of `rounds` round trips was marked.
    pub fn on_ack(
        &mut self,
        marks: Marks,
        (packets, bytes): (u32, Bytes),
        ack: SeqNumber,
        snd_nxt: SeqNumber,
        rounds: u8,
    ) -> bool {
        if marks.packets < packets || Bytes::from(marks.bytes) < bytes {
            *self = Self::No;
        }
        match *self {
            Self::No => {}
            Self::Begins => *self = Self::So { rounds: 0, until: snd_nxt },
            Self::So { rounds: before, until } if ack >= until => {
                *self = if before + 1 >= rounds {
                    Self::No
                } else {
                    Self::So { rounds: before + 1, until: snd_nxt }
                };
                return before + 1 >= rounds;
            }
            Self::So { .. } => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips of ten packets of 1000 bytes each, acknowledged two at a time, of which the numbered ones
    /// are not marked. Returns the round trip at whose end the check finds that all are.
    fn found(unmarked: &[u32], check: u8) -> Option<u32> {
        let mut c = Continuous::Begins;
        let mut snd_una = SeqNumber(0xffff_f000);
        for round in 1..20 {
            let end = snd_una + 10_000;
            for ack in 1..=5 {
                snd_una += 2000;
                let first = (round - 1) * 10 + (ack - 1) * 2;
                let packets = (first..first + 2).filter(|n| !unmarked.contains(n)).count() as u32;
                let marks = Marks { packets, bytes: packets * 1000 };
                if c.on_ack(marks, (2, 2000), snd_una, end + 2000 * ack, check) {
                    return Some(round);
                }
            }
        }
        None
    }

    #[test]
    fn four_round_trips_without_an_unmarked_packet() {
        // The first round trip ends when what was outstanding at the first ack is acknowledged.
        assert_eq!(found(&[], 4), Some(5));
        assert_eq!(found(&[], 1), Some(2));
        for packet in [0, 1, 17, 39] {
            assert_eq!(found(&[packet], 4), None, "{packet}");
        }
    }
}
