//! Payload bytes that the receiving end can check.

/// The bytes of many streams, selected by number.
#[derive(Debug)]
pub(crate) struct PayloadPattern(Vec<u8>);

/// Length of the repeated block. It is prime, so that streams start at different offsets.
const LEN: usize = 65_537;
/// Number of contiguous bytes available from any position of a stream, so that a write is not split: the last part
/// of one that fills no segment would be sent by itself, and hold back the last part of the next (Minshall).
pub(crate) const RUN: usize = 1 << 18;
/// Distance in the block between the starts of consecutive streams.
const APART: u64 = 4_099;

impl PayloadPattern {
    pub(crate) fn new() -> Self {
        // A multiplicative hash of the position.
        let byte = |i: u64| ((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        Self((0..(LEN + RUN) as u64).map(|i| byte(i % LEN as u64)).collect())
    }

    /// Bytes of stream `number` from position `at` on, at least [`RUN`] of them.
    pub(crate) fn from(&self, number: usize, at: u64) -> &[u8] {
        let start = (number as u64 * APART + at) % LEN as u64;
        &self.0[start as usize..]
    }

    /// Compares `got` with stream `number` from position `at` on. Returns the first stream position of a
    /// wrong byte.
    pub(crate) fn wrong(&self, number: usize, at: u64, got: &[u8]) -> Option<u64> {
        let mut from = 0;
        while from < got.len() {
            let (met, expected) = (&got[from..], self.from(number, at + from as u64));
            let n = met.len().min(expected.len());
            if met[..n] != expected[..n] {
                let within = met.iter().zip(expected).position(|(a, b)| a != b);
                return within.map(|i| at + (from + i) as u64);
            }
            from += n;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_found_at_any_position() {
        let p = PayloadPattern::new();
        let mut stream = Vec::new();
        while stream.len() < 200_000 {
            stream.extend_from_slice(p.from(7, stream.len() as u64));
        }
        assert_eq!(p.wrong(7, 0, &stream), None);
        assert_eq!(p.wrong(7, 1000, &stream[1000..]), None);
        assert!(p.wrong(8, 0, &stream).is_some() && p.wrong(7, 1, &stream).is_some());
        stream[150_000] ^= 1;
        assert_eq!(p.wrong(7, 5, &stream[5..]), Some(150_000));
    }
}
