//! What is sent: bytes of which each end knows what they must be.

/// The bytes of many streams, each known by a number.
#[derive(Debug)]
pub(crate) struct PayloadPattern(Vec<u8>);

/// Prime, so that no stream lies in it as another does.
const LEN: usize = 65_537;
/// So many bytes of a stream lie in a row, wherever one begins: what is written at once leaves at once.
pub(crate) const RUN: usize = 1 << 14;
/// Streams of neighbours begin so far apart.
const APART: u64 = 4_099;

impl PayloadPattern {
    pub(crate) fn new() -> Self {
        // A multiplicative mixing of the position: long without repeats.
        let byte = |i: u64| ((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        Self((0..(LEN + RUN) as u64).map(|i| byte(i % LEN as u64)).collect())
    }

    /// The bytes of stream `number` from position `at` on: at least [`RUN`] of them.
    pub(crate) fn from(&self, number: usize, at: u64) -> &[u8] {
        let start = (number as u64 * APART + at) % LEN as u64;
        &self.0[start as usize..]
    }

    /// The first position of `got`, which begins at position `at` of stream `number`, whose byte is not what
    /// it must be.
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
    fn a_wrong_byte_is_found_wherever_it_is() {
        let p = PayloadPattern::new();
        let mut answer = Vec::new();
        while answer.len() < 200_000 {
            answer.extend_from_slice(p.from(7, answer.len() as u64));
        }
        assert_eq!(p.wrong(7, 0, &answer), None);
        assert_eq!(p.wrong(7, 1000, &answer[1000..]), None);
        assert!(p.wrong(8, 0, &answer).is_some() && p.wrong(7, 1, &answer).is_some());
        answer[150_000] ^= 1;
        assert_eq!(p.wrong(7, 5, &answer[5..]), Some(150_000));
    }
}
