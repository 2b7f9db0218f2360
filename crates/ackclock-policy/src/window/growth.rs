use ackclock_units::Bytes;

/// A fraction of a byte of growth, carried over so that growth is exact (J-A11): a whole number of 2^-32
/// bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Remainder(u32);

impl Remainder {
    /// `cwnd` and this remainder together, in bytes.
    pub fn with(self, cwnd: Bytes) -> f64 {
        cwnd as f64 + f64::from(self.0) / ONE
    }

    /// The whole bytes of `growth` plus this remainder; the rest is kept.
    pub fn take(&mut self, growth: f64) -> Bytes {
        let total = growth.clamp(0.0, LARGEST) + f64::from(self.0) / ONE;
        // Far below 2^63, so that the cheaper conversion to a signed number is exact.
        let whole = total as i64;
        self.0 = ((total - whole as f64) * ONE) as i64 as u32;
        whole as u64
    }
}

const ONE: f64 = (1_u64 << 32) as f64;
/// Growth in one step is far below this; the bound prevents overflow with extreme parameters.
const LARGEST: f64 = (1_u64 << 40) as f64;

/// Bytes that slow start counts of an ack of `newly_acked` bytes: at most a segment, or by byte counting up
/// to `limit_segs` (RFC 5681 §3.1 eq. 2, RFC 3465 §2.2 and §2.3: after a timeout never more than one).
pub(super) fn counted(newly_acked: Bytes, smss: u32, limit_segs: u64) -> Bytes {
    newly_acked.min(u64::from(smss) * limit_segs)
}
