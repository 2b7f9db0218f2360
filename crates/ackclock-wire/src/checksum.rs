use std::net::IpAddr;

use etherparse::checksum::Sum16BitWords;

/// Internet checksum (RFC 1071) over the pseudo header (RFC 9293 §3.1, RFC 8200 §8.1) and `bytes`, in wire
/// order; zero when `bytes` hold a right one.
///
/// `len` is the transport length of the pseudo header. It may exceed `bytes.len()`: the rest counts as zero
/// bytes, which add nothing.
pub(crate) fn transport(src: IpAddr, dst: IpAddr, protocol: u8, len: usize, bytes: &[u8]) -> [u8; 2] {
    let mut sum = Sum16BitWords::new();
    for addr in [src, dst] {
        sum = match addr {
            IpAddr::V4(a) => sum.add_4bytes(a.octets()),
            IpAddr::V6(a) => sum.add_16bytes(a.octets()),
        };
    }
    // The IPv6 pseudo header spells length and protocol with leading zeros, which add nothing: the sum is the
    // same. Lengths here are below 65,536.
    let sum = sum.add_2bytes((len as u16).to_be_bytes()).add_2bytes([0, protocol]).add_slice(bytes);
    // The library sums words in the machine's order, so their complement has that order too.
    sum.ones_complement().to_ne_bytes()
}

/// Internet checksum (RFC 1071) over `bytes` alone, in wire order, as an IPv4 header and ICMP over IPv4 have
/// it; zero when they hold a right one.
pub fn internet(bytes: &[u8]) -> [u8; 2] {
    Sum16BitWords::new().add_slice(bytes).ones_complement().to_ne_bytes()
}
