use std::fmt;

use crate::{Bytes, Duration};

/// A data rate in bit/s, a whole number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rate(u64);

/// Bytes whose time on a wire is computed in 64 bits: with half of any rate added, no more than 2^64.
const SHORT: Bytes = 1_000_000_000;

impl Rate {
    /// A rate of `n` bit/s.
    pub const fn from_bits_per_sec(n: u64) -> Self {
        Self(n)
    }

    /// The rate in bit/s.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Time to put `bytes` on a wire of this rate, rounded to the nearest nanosecond; a rate of zero never
    /// finishes.
    pub const fn time_to_send(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        if bytes <= SHORT {
            // The same in 64 bits, which is several times as fast.
            return Duration::from_nanos((bytes * 8_000_000_000 + self.0 / 2) / self.0);
        }
        let (bits, half) = (bytes as u128 * 8, self.0 as u128 / 2);
        let ns = (bits * 1_000_000_000 + half) / self.0 as u128;
        Duration::from_nanos(if ns > u64::MAX as u128 { u64::MAX } else { ns as u64 })
    }

    /// The rate at which `bytes` are sent in `d`, rounded down; zero when `d` is zero.
    pub const fn from_transfer(bytes: Bytes, d: Duration) -> Self {
        if d.as_nanos() == 0 {
            return Self(0);
        }
        let bits = bytes as u128 * 8_000_000_000 / d.as_nanos() as u128;
        Self(if bits > u64::MAX as u128 { u64::MAX } else { bits as u64 })
    }

    /// Bytes sent in `d` at this rate, rounded down.
    pub const fn bytes_in(self, d: Duration) -> Bytes {
        let bytes = self.0 as u128 * d.as_nanos() as u128 / 8_000_000_000;
        if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }
    }
}

/// Writes the rate in the largest unit that holds it exactly (`10Mbit/s`), so that parsing it returns the
/// same rate.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, unit) = match self.0 {
            0 => (0, "bit/s"),
            n if n % 1_000_000_000 == 0 => (n / 1_000_000_000, "Gbit/s"),
            n if n % 1_000_000 == 0 => (n / 1_000_000, "Mbit/s"),
            n if n % 1_000 == 0 => (n / 1_000, "kbit/s"),
            n => (n, "bit/s"),
        };
        f.pad(&format!("{n}{unit}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_512_byte_packet_with_headers_takes_19_ms_on_the_microwave_link() {
        // J-E19: 552 bytes on 230.4 kb/s, 19.1667 ms.
        let t = Rate::from_bits_per_sec(230_400).time_to_send(552);
        assert_eq!(t, Duration::from_nanos(19_166_667));
    }

    #[test]
    fn short_and_long_ways_agree() {
        for rate in [1, 7, 999, 230_400, 1 << 32, u64::MAX] {
            for bytes in [0, 1, 552, 1500, SHORT - 1, SHORT] {
                let ns = (u128::from(bytes) * 8_000_000_000 + u128::from(rate / 2)) / u128::from(rate);
                let exact = u64::try_from(ns).expect("small");
                assert_eq!(Rate(rate).time_to_send(bytes), Duration::from_nanos(exact), "{bytes} at {rate}");
            }
        }
    }

    #[test]
    fn rate_and_time_agree() {
        let r = Rate::from_bits_per_sec(10_000_000);
        assert_eq!(r.time_to_send(1500), Duration::from_micros(1200));
        assert_eq!(r.bytes_in(Duration::from_micros(1200)), 1500);
        assert_eq!(Rate::default().time_to_send(1), Duration::MAX);
        assert_eq!(Rate::from_transfer(1500, Duration::from_micros(1200)), r);
        assert_eq!(Rate::from_transfer(1500, Duration::ZERO), Rate::default());
    }
}
