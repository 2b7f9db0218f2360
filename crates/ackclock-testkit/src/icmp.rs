use std::net::IpAddr;

use ackclock_wire::{IcmpKind, internet_checksum};

/// A whole ICMP error packet of this type and code, with `word` in the second half of its header; `quoted` is
/// the start of the packet that it is about.
pub fn icmp_packet(src: IpAddr, dst: IpAddr, [kind, code]: [u8; 2], word: u32, quoted: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0];
    message.extend_from_slice(&word.to_be_bytes());
    message.extend_from_slice(quoted);
    let len = message.len() as u16;
    let mut pseudo = Vec::new();
    let mut packet = match (src, dst) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let mut header = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 1, 0, 0];
            header[2..4].copy_from_slice(&(len + 20).to_be_bytes());
            header.extend(src.octets().into_iter().chain(dst.octets()));
            let sum = internet_checksum(&header);
            header[10..12].copy_from_slice(&sum);
            header
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let mut header = vec![0x60, 0, 0, 0, 0, 0, 58, 64];
            header[4..6].copy_from_slice(&len.to_be_bytes());
            header.extend(src.octets().into_iter().chain(dst.octets()));
            pseudo.extend_from_slice(&header[8..]);
            pseudo.extend(u32::from(len).to_be_bytes().into_iter().chain([0, 0, 0, 58]));
            header
        }
        _ => panic!("{src} and {dst} are of different families"),
    };
    pseudo.extend_from_slice(&message);
    let sum = internet_checksum(&pseudo);
    message[2..4].copy_from_slice(&sum);
    packet.extend_from_slice(&message);
    packet
}

/// Type, code and word of this kind of error, for IPv4 or IPv6.
pub fn icmp_header(kind: IcmpKind, v6: bool) -> ([u8; 2], u32) {
    match (kind, v6) {
        (IcmpKind::Unreachable(code), _) => ([if v6 { 1 } else { 3 }, code], 0),
        (IcmpKind::TooBig { mtu }, _) => (if v6 { [2, 0] } else { [3, 4] }, mtu),
        (IcmpKind::TimeExceeded, _) => ([if v6 { 3 } else { 11 }, 0], 0),
        (IcmpKind::ParameterProblem, _) => ([if v6 { 4 } else { 12 }, 0], 0),
        (IcmpKind::SourceQuench, false) => ([4, 0], 0),
        (IcmpKind::SourceQuench, true) => panic!("IPv6 has no source quench"),
    }
}
