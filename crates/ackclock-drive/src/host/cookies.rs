//! SYN cookies (RFC 4987 §3.6): the initial sequence number of the SYN-ACK encodes the SYN, so that no state
//! is kept until the acknowledgment returns the number.
//!
//! The upper 24 bits are a keyed hash of addresses, ports, the peer's initial sequence number, the period and
//! the lower eight bits. The lower eight bits, masked with another hash, encode which of two periods it is,
//! the class of the segment size, SACK and the window scale. The acknowledgment itself has the timestamps.
//! ECN is lost.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::SocketAddr;

use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::{Flags, Options, Segment};

/// A cookie is valid in the period in which it was made and in the next one: at most 128 s.
const PERIOD: Duration = Duration::from_secs(64);
/// Time after the last cookie for which acknowledgments are checked.
pub(super) const VALID: Duration = Duration::from_secs(128);
/// Segment sizes that can be encoded, by IP version: those that peers announce most often, as in Linux.
const SIZES: [[u16; 4]; 2] = [[536, 1300, 1440, 1460], [1220, 1420, 1440, 8940]];
/// Encodes a missing window scale option; the largest shift is 14 (RFC 7323 §2.3).
const NO_SCALE: u8 = 15;
const SACK: u8 = 1 << 4;
const SIZE_SHIFT: u32 = 5;
const PERIOD_SHIFT: u32 = 7;

/// The addresses of a connection and the peer's initial sequence number.
#[derive(Clone, Copy, Hash, Debug)]
pub(super) struct Opening {
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) irs: u32,
}

impl Opening {
    fn mac(self, keys: &RandomState, period: u64, encoded: u8) -> u32 {
        (keys.hash_one(("cookie", self, period, encoded)) >> 32) as u32 & !0xff
    }

    fn pad(self, keys: &RandomState) -> u8 {
        keys.hash_one(("cookie pad", self)) as u8
    }

    /// The initial sequence number of the SYN-ACK to `syn` at `now`; `None` for a peer whose segment size is
    /// smaller than can be encoded.
    pub(super) fn cookie(self, keys: &RandomState, now: Instant, syn: &Segment) -> Option<SeqNumber> {
        let sizes = SIZES[usize::from(self.local.is_ipv6())];
        // RFC 9293 §3.7.1: the smallest also encodes a missing MSS option.
        let mss = syn.options.mss.unwrap_or(sizes[0]);
        let size = sizes.iter().rposition(|s| *s <= mss)? as u8;
        let period = period(now);
        let scale = syn.options.window_scale.map_or(NO_SCALE, |s| s.min(NO_SCALE - 1));
        let sack = if syn.options.sack_permitted { SACK } else { 0 };
        let encoded = ((period & 1) as u8) << PERIOD_SHIFT | size << SIZE_SHIFT | sack | scale;
        Some(SeqNumber(self.mac(keys, period, encoded) | u32::from(encoded ^ self.pad(keys))))
    }

    /// Reconstructs the SYN from `cookie` and from the acknowledgment `ack`; `None` when the cookie is
    /// invalid or too old.
    pub(super) fn syn(
        self,
        keys: &RandomState,
        now: Instant,
        cookie: SeqNumber,
        ack: &Segment,
    ) -> Option<Segment> {
        let encoded = cookie.0 as u8 ^ self.pad(keys);
        let current = period(now);
        let period =
            if (current & 1) as u8 == encoded >> PERIOD_SHIFT { current } else { current.checked_sub(1)? };
        (self.mac(keys, period, encoded) == cookie.0 & !0xff).then_some(())?;
        let scale = encoded & NO_SCALE;
        let options = Options {
            mss: Some(SIZES[usize::from(self.local.is_ipv6())][usize::from(encoded >> SIZE_SHIFT & 3)]),
            window_scale: (scale != NO_SCALE).then_some(scale),
            sack_permitted: encoded & SACK != 0,
            timestamps: ack.options.timestamps,
            ..Options::default()
        };
        Some(Segment {
            seq: SeqNumber(self.irs),
            window: ack.window,
            flags: Flags::SYN,
            options,
            ..Segment::default()
        })
    }

    /// The timestamp clock of this connection: milliseconds with a random offset (RFC 7323 §5.4, §7.1).
    pub(super) fn clock(self, keys: &RandomState, now: Instant) -> u32 {
        let offset = keys.hash_one(("cookie clock", self)) as u32;
        ((now.as_nanos() / 1_000_000) as u32).wrapping_add(offset).max(1)
    }
}

fn period(now: Instant) -> u64 {
    // Starts at 1, so that there is a previous period.
    now.as_nanos() / PERIOD.as_nanos() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opening(irs: u32) -> Opening {
        Opening { local: "10.0.0.1:80".parse().unwrap(), peer: "10.0.0.2:1000".parse().unwrap(), irs }
    }

    #[test]
    fn a_cookie_restores_the_syn() {
        let keys = RandomState::new();
        let at = |s| Instant::ZERO + Duration::from_secs(s);
        let sizes =
            [(None, 536), (Some(536), 536), (Some(1299), 536), (Some(1460), 1460), (Some(65_495), 1460)];
        for (mss, size) in sizes {
            for window_scale in [None, Some(0), Some(7), Some(14)] {
                for sack_permitted in [false, true] {
                    let syn = Segment {
                        options: Options { mss, window_scale, sack_permitted, ..Options::default() },
                        ..Segment::default()
                    };
                    for sent in [0, 63, 64, 1_000_000] {
                        let cookie = opening(7).cookie(&keys, at(sent), &syn).unwrap();
                        for taken in [sent, sent + 64] {
                            let back =
                                opening(7).syn(&keys, at(taken), cookie, &Segment::default()).expect("valid");
                            assert_eq!(back.options, Options { mss: Some(size), ..syn.options });
                        }
                        assert!(opening(7).syn(&keys, at(sent + 128), cookie, &syn).is_none(), "too old");
                        assert!(opening(8).syn(&keys, at(sent), cookie, &syn).is_none(), "another number");
                        assert!(
                            opening(7).syn(&RandomState::new(), at(sent), cookie, &syn).is_none(),
                            "another key"
                        );
                    }
                }
            }
        }
        let tiny =
            Segment { options: Options { mss: Some(535), ..Options::default() }, ..Segment::default() };
        assert!(opening(7).cookie(&keys, at(0), &tiny).is_none());
    }

    #[test]
    fn a_guessed_cookie_is_hardly_ever_valid() {
        let keys = RandomState::new();
        let right = (0..200_000_u32).filter(|i| {
            opening(7)
                .syn(&keys, Instant::ZERO, SeqNumber(i.wrapping_mul(0x9e37_79b9)), &Segment::default())
                .is_some()
        });
        assert!(right.count() <= 2);
    }
}
