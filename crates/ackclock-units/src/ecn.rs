/// The ECN field of the IP header (RFC 3168 §5), in the order of its codepoints.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, codepoint 1.
    Ect1 = 1,
    /// ECN-capable, codepoint 0.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// The field's two bits.
    pub const fn bits(self) -> u8 {
        self as u8
    }

    /// The codepoint of the two low bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            1 => Self::Ect1,
            2 => Self::Ect0,
            3 => Self::Ce,
            _ => Self::NotEct,
        }
    }
}
