//! From a link's frame to the IP packet in it.

/// The supported link types (tcpdump.org/linktypes.html).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkType {
    /// BSD loopback: the address family in the byte order of the machine (0).
    Null,
    /// Ethernet (1).
    Ethernet,
    /// OpenBSD loopback: the same in network order (108).
    Loop,
    /// IP without a link header (12, 14, 101, 228, 229).
    Raw,
    /// Linux cooked (113).
    Cooked,
    /// Linux cooked, version 2 (276).
    Cooked2,
    /// Any other.
    Other(u32),
}

impl LinkType {
    /// By number.
    pub const fn from_number(n: u32) -> Self {
        match n {
            0 => Self::Null,
            1 => Self::Ethernet,
            108 => Self::Loop,
            12 | 14 | 101 | 228 | 229 => Self::Raw,
            113 => Self::Cooked,
            276 => Self::Cooked2,
            n => Self::Other(n),
        }
    }

    /// Its number, or that of one that is read in the same way.
    pub(crate) const fn number(self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Ethernet => 1,
            Self::Loop => 108,
            Self::Raw => 101,
            Self::Cooked => 113,
            Self::Cooked2 => 276,
            Self::Other(n) => n,
        }
    }

    /// The offset of the IP packet in a frame; `None` for other protocols and for frames cut before it.
    pub fn ip_offset(self, frame: &[u8]) -> Option<usize> {
        match self {
            Self::Raw => Some(0),
            Self::Ethernet => behind_tags(frame, 12),
            Self::Cooked => behind_tags(frame, 14),
            // The type is the first of 20 bytes; the one behind a tag follows them.
            Self::Cooked2 => match behind_tags(frame.get(..2)?, 0) {
                Some(_) => Some(20),
                None if matches!(frame[..2], [0x81 | 0x91, 0] | [0x88, 0xa8]) => behind_tags(frame, 22),
                None => None,
            },
            // AF_INET is 2 everywhere, AF_INET6 is 10, 24, 28 or 30; the IP version itself decides.
            Self::Null | Self::Loop => frame.get(4).filter(|b| matches!(**b >> 4, 4 | 6)).map(|_| 4),
            Self::Other(_) => None,
        }
    }
}

/// Where the payload of an IP protocol type begins, from the type field at `at` on and behind VLAN tags
/// (802.1Q, 802.1ad and the older 0x9100).
fn behind_tags(frame: &[u8], mut at: usize) -> Option<usize> {
    // Cooked captures keep their tags in the same form. More than four are not found in valid frames.
    for _ in 0..=4 {
        match u16::from_be_bytes(frame.get(at..at + 2)?.try_into().ok()?) {
            0x0800 | 0x86dd => return Some(at + 2),
            0x8100 | 0x88a8 | 0x9100 => at += 4,
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ethernet(types: &[u16]) -> Vec<u8> {
        let mut frame = vec![0; 12];
        for (i, t) in types.iter().enumerate() {
            frame.extend(t.to_be_bytes());
            if i + 1 < types.len() {
                frame.extend([0, 7]);
            }
        }
        frame
    }

    #[test]
    fn ip_is_found_behind_every_link_header() {
        assert_eq!(LinkType::Ethernet.ip_offset(&ethernet(&[0x0800])), Some(14));
        assert_eq!(LinkType::Ethernet.ip_offset(&ethernet(&[0x8100, 0x86dd])), Some(18));
        assert_eq!(LinkType::Ethernet.ip_offset(&ethernet(&[0x88a8, 0x8100, 0x0800])), Some(22));
        assert_eq!(LinkType::Ethernet.ip_offset(&ethernet(&[0x0806])), None, "ARP");
        assert_eq!(LinkType::Ethernet.ip_offset(&ethernet(&[0x8100; 9])), None, "tags without end");
        let mut cooked = vec![0; 14];
        cooked.extend([0x08, 0]);
        assert_eq!(LinkType::Cooked.ip_offset(&cooked), Some(16));
        let mut cooked2 = vec![0x86, 0xdd];
        cooked2.extend([0; 18]);
        assert_eq!(LinkType::Cooked2.ip_offset(&cooked2), Some(20));
        cooked2[..2].copy_from_slice(&[0x81, 0]);
        cooked2.extend([0, 7, 0x86, 0xdd]);
        assert_eq!(LinkType::Cooked2.ip_offset(&cooked2), Some(24));
        assert_eq!(LinkType::Null.ip_offset(&[2, 0, 0, 0, 0x45]), Some(4));
        assert_eq!(LinkType::Loop.ip_offset(&[0, 0, 0, 24, 0x60]), Some(4));
        assert_eq!(LinkType::Loop.ip_offset(&[0, 0, 0, 7, 0x10]), None);
        assert_eq!(LinkType::from_number(101).ip_offset(&[]), Some(0));
        assert_eq!(LinkType::from_number(105).ip_offset(&ethernet(&[0x0800])), None, "802.11");
        for cut in 0..14 {
            assert_eq!(LinkType::Ethernet.ip_offset(&ethernet(&[0x0800])[..cut]), None);
        }
    }
}
