//! The TCP flags of a packet in one byte.

use ackclock_units::seldom;
use ackclock_wire::Flags;

/// TCP flags in one byte. AE is stored in the bit of URG, which no endpoint here sends (RFC 6093).
#[derive(Clone, Copy)]
pub(crate) struct KeptFlags(u8);

impl KeptFlags {
    pub(super) const NONE: Self = Self(0);

    #[inline]
    pub(super) fn of(flags: Flags) -> Self {
        let kept = flags.0 as u8 & !(Flags::URG.0 as u8);
        Self(if seldom(flags.any(Flags::AE)) { kept | Flags::URG.0 as u8 } else { kept })
    }

    #[inline]
    pub(super) fn all(self) -> Flags {
        let kept = u16::from(self.0);
        if seldom(kept & Flags::URG.0 != 0) { Flags(kept & !Flags::URG.0 | Flags::AE.0) } else { Flags(kept) }
    }

    /// True when any flag of `other` is set.
    pub(crate) fn any(self, other: Flags) -> bool {
        self.all().any(other)
    }
}
