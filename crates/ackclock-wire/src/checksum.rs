use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;

/// Internet checksum (RFC 1071) over the pseudo header (RFC 9293 §3.1, RFC 8200 §8.1) and `bytes`, in wire
/// order; zero when `bytes` contain a correct checksum.
///
/// `len` is the transport length of the pseudo header. It may exceed `bytes.len()`: the rest counts as zeros,
/// which do not change the sum.
pub(crate) fn transport(src: IpAddr, dst: IpAddr, protocol: u8, len: usize, bytes: &[u8]) -> [u8; 2] {
    let mut sum = Sum16BitWords::new();
    for addr in [src, dst] {
        sum = match addr {
            IpAddr::V4(a) => sum.add_4bytes(a.octets()),
            IpAddr::V6(a) => sum.add_16bytes(a.octets()),
        };
    }
    // In the IPv6 pseudo header length and protocol have leading zeros, which do not change the sum. Lengths
    // here are below 65,536.
    let sum = sum.add_2bytes((len as u16).to_be_bytes()).add_2bytes([0, protocol]).add_slice(bytes);
    // The library sums words in native byte order, so their complement is in that order too.
    sum.ones_complement().to_ne_bytes()
}

/// Internet checksum (RFC 1071) over `bytes` alone, in wire order, for an IPv4 header and for ICMP over IPv4;
/// zero when they contain a correct checksum.
pub fn internet(bytes: &[u8]) -> [u8; 2] {
    Sum16BitWords::new().add_slice(bytes).ones_complement().to_ne_bytes()
}
