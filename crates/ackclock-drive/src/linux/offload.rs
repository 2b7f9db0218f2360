/// The header before each packet of a TUN device with offload: `struct virtio_net_hdr` in native byte order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Offload {
    flags: u8,
    kind: u8,
    header_len: u16,
    size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

/// The checksum covers only the pseudo header and must be completed (VIRTIO_NET_HDR_F_NEEDS_CSUM).
const NEEDS_CHECKSUM: u8 = 1;
/// The checksum was verified already (VIRTIO_NET_HDR_F_DATA_VALID).
const DATA_VALID: u8 = 2;
/// VIRTIO_NET_HDR_GSO_TCPV4.
const TCP_V4: u8 = 1;
/// VIRTIO_NET_HDR_GSO_TCPV6.
const TCP_V6: u8 = 4;
/// A flag in the kind (VIRTIO_NET_HDR_GSO_ECN).
const WITH_ECN: u8 = 0x80;

impl Offload {
    /// Length of the header, bytes.
    pub(crate) const LEN: usize = 10;

    /// For a TCP packet whose checksum must be completed. `segments` is (IPv6, payload of each, headers) for
    /// a packet of several segments.
    pub(crate) fn to_send(
        segments: Option<(bool, u16, u16)>,
        checksum_start: u16,
        checksum_offset: u16,
    ) -> Self {
        let plain = Self { flags: NEEDS_CHECKSUM, checksum_start, checksum_offset, ..Self::default() };
        match segments {
            None => plain,
            Some((ipv6, size, header_len)) => {
                Self { kind: if ipv6 { TCP_V6 } else { TCP_V4 }, size, header_len, ..plain }
            }
        }
    }

    /// Parses the header at the start of `bytes`; `None` when they are too short.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let b: &[u8; Self::LEN] = bytes.first_chunk()?;
        let word = |i: usize| u16::from_ne_bytes([b[i], b[i + 1]]);
        Some(Self {
            flags: b[0],
            kind: b[1],
            header_len: word(2),
            size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    /// Encodes the header.
    pub(crate) fn to_bytes(self) -> [u8; Self::LEN] {
        let [h, s, c, o] =
            [self.header_len, self.size, self.checksum_start, self.checksum_offset].map(u16::to_ne_bytes);
        [self.flags, self.kind, h[0], h[1], s[0], s[1], c[0], c[1], o[0], o[1]]
    }

    /// True when the packet's transport checksum must be verified.
    pub(crate) fn unchecked(self) -> bool {
        self.flags & (NEEDS_CHECKSUM | DATA_VALID) == 0
    }

    /// Payload of each segment, for a packet of several.
    pub(crate) fn segment_size(self) -> Option<u16> {
        (matches!(self.kind & !WITH_ECN, TCP_V4 | TCP_V6) && self.size > 0).then_some(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_parsed_as_it_was_encoded() {
        let several = Offload::to_send(Some((true, 1440, 60)), 40, 16);
        assert_eq!(Offload::from_bytes(&several.to_bytes()), Some(several));
        assert_eq!((several.segment_size(), several.unchecked()), (Some(1440), false));
        let one = Offload::to_send(None, 20, 16);
        assert_eq!((one.segment_size(), one.unchecked()), (None, false));
        assert!(Offload::default().unchecked());
        assert_eq!(Offload::from_bytes(&[0; 9]), None);
        // A segment size of zero would not terminate.
        assert_eq!(Offload { kind: TCP_V4, ..Offload::default() }.segment_size(), None);
    }
}
