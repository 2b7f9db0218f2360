//! Tunnels over IP.

use ackclock_wire::{IpPacket, Transport};

use super::{Layer, Rest, Step, Stop, Unread};

/// The layer in an IP packet without TCP; `rest` begins with the packet.
pub(super) fn contents<'a>(packet: &IpPacket<'a>, rest: Rest<'a>) -> Step<'a> {
    let here = packet.total_len.min(rest.bytes.len());
    match packet.transport {
        Transport::Udp(u) => {
            let rest = Rest { bytes: u.payload, on_wire: u.len as usize };
            Ok((Layer::Udp(u.src_port, u.dst_port), rest))
        }
        Transport::Other { protocol, payload } => {
            let on_wire = packet.total_len.saturating_sub(here.saturating_sub(payload.len()));
            let rest = Rest { bytes: payload, on_wire };
            match protocol {
                // IP in IP (RFC 2003), IPv6 (RFC 4213), and the older number of IP in IP.
                4 | 41 | 94 => rest.then(0, Layer::Ip),
                47 => rest.then(0, Layer::Gre),
                50 => Err(Stop::Unread(Unread::Esp)),
                // Ethernet in IP (RFC 3378), MPLS in IP (RFC 4023), Ethernet over SRv6 (RFC 8986).
                97 => rest.then(2, Layer::Ethernet),
                137 => rest.then(0, Layer::Mpls),
                143 => rest.then(0, Layer::Ethernet),
                _ => Err(Stop::Other),
            }
        }
        Transport::Tcp(_) => Err(Stop::Other),
    }
}

/// GRE (RFC 2784 §2, RFC 2890 §2), and that of PPTP (RFC 2637 §4.1).
pub(super) fn gre(rest: Rest<'_>) -> Step<'_> {
    let (flags, second, protocol) = (rest.byte(0)?, rest.byte(1)?, rest.half(2)?);
    let set = |bit: u8| usize::from(flags & bit != 0);
    let (checksum, routes, key, number) = (set(0x80), set(0x40), set(0x20), set(0x10));
    match second & 7 {
        0 if routes == 0 => {
            let len = 4 + 4 * (checksum + key + number);
            match protocol {
                // ERSPAN: type I has no header and no sequence number, type II one of 8 bytes.
                0x88be => rest.then(len + 8 * number, Layer::Ethernet),
                // Type III: 12 bytes, and 8 more where its last bit is set.
                0x22eb => {
                    let more = usize::from(rest.byte(len + 11)? & 1);
                    rest.then(len + 12 + 8 * more, Layer::Ethernet)
                }
                t => rest.then(len, Layer::Type(t)),
            }
        }
        1 => {
            // Key, sequence number, acknowledgment: an ack alone holds nothing.
            let acks = usize::from(second & 0x80 != 0);
            if number == 0 {
                return Err(Stop::Other);
            }
            rest.then(8 + 4 * (number + acks), Layer::Type(protocol))
        }
        _ => Err(Stop::Unread(Unread::Gre)),
    }
}

/// Tunnels over UDP, by their ports.
pub(super) fn in_udp(from: u16, to: u16, rest: Rest<'_>) -> Step<'_> {
    match (from, to) {
        // VXLAN (RFC 7348 §5), also at the port that Linux had before. Without the I bit it is something
        // else.
        (_, 4789 | 8472) => match rest.byte(0)? & 0x08 {
            0 => Err(Stop::Other),
            _ => rest.then(8, Layer::Ethernet),
        },
        // VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe): the last byte of the first word names what follows, if the P
        // bit is set.
        (_, 4790) => match (rest.byte(0)? & 0x04, rest.byte(3)?) {
            (0, _) | (_, 3) => rest.then(8, Layer::Ethernet),
            (_, 1 | 2) => rest.then(8, Layer::Ip),
            (_, 5) => rest.then(8, Layer::Mpls),
            _ => Err(Stop::Other),
        },
        // Geneve (RFC 8926 §3.4): the length of its options in words.
        (_, 6081) => match rest.byte(0)? {
            first if first >> 6 == 0 => {
                rest.then(8 + 4 * usize::from(first & 0x3f), Layer::Type(rest.half(2)?))
            }
            _ => Err(Stop::Other),
        },
        (2152, _) | (_, 2152) => gtp(rest),
        (3544, _) | (_, 3544) => teredo(rest),
        // GRE in UDP (RFC 8086), MPLS in UDP (RFC 7510).
        (_, 4754) => rest.then(0, Layer::Gre),
        (_, 6635) => rest.then(0, Layer::Mpls),
        (1701, _) | (_, 1701) => l2tp(rest),
        // ESP in UDP (RFC 3948 §2): four zeros mark key exchange, a single byte is a keepalive.
        (4500, _) | (_, 4500) => match rest.bytes {
            [0, 0, 0, 0, ..] => Err(Stop::Other),
            bytes if bytes.len() > 8 => Err(Stop::Unread(Unread::Esp)),
            _ => Err(Stop::Other),
        },
        _ => Err(Stop::Other),
    }
}

/// GTP-U (3GPP TS 29.281 §5.1, extension headers §5.2): a G-PDU holds IP.
fn gtp(rest: Rest<'_>) -> Step<'_> {
    let (flags, kind) = (rest.byte(0)?, rest.byte(1)?);
    // Version 1 and the protocol GTP, not GTP'.
    if flags >> 4 != 3 {
        return Err(if flags >> 5 == 0 { Stop::Unread(Unread::Gtp) } else { Stop::Other });
    }
    if kind != 255 {
        return Err(Stop::Other);
    }
    // Sequence number, N-PDU number and the type of the next extension come together.
    let mut at = if flags & 7 == 0 { 8 } else { 12 };
    let mut next = if flags & 4 == 0 { 0 } else { rest.byte(11)? };
    while next != 0 {
        // Its length in words of four bytes, of which the last byte names the next one.
        let len = 4 * usize::from(rest.byte(at)?);
        if len == 0 {
            return Err(Stop::Cut);
        }
        at += len;
        next = rest.byte(at - 1)?;
    }
    match rest.byte(at)? >> 4 {
        4 | 6 => rest.then(at, Layer::Ip),
        // A PDU session of Ethernet.
        _ => rest.then(at, Layer::Ethernet),
    }
}

/// Teredo (RFC 4380 §5.1): IPv6, perhaps behind an authentication and an origin indication.
fn teredo(rest: Rest<'_>) -> Step<'_> {
    let mut at = 0;
    if rest.half(at)? == 1 {
        at += 4 + usize::from(rest.byte(2)?) + usize::from(rest.byte(3)?) + 9;
    }
    if rest.half(at)? == 0 {
        at += 8;
    }
    match rest.byte(at)? >> 4 {
        6 => rest.then(at, Layer::Ip),
        _ => Err(Stop::Other),
    }
}

/// L2TP version 2 (RFC 2661 §3.1): data holds PPP.
fn l2tp(rest: Rest<'_>) -> Step<'_> {
    let flags = rest.half(0)?;
    if flags & 0x8000 != 0 || flags & 0xf != 2 {
        return Err(Stop::Other);
    }
    let with = |bit: u16, len: usize| if flags & bit != 0 { len } else { 0 };
    let mut at = 6 + with(0x4000, 2) + with(0x0800, 4);
    if flags & 0x0200 != 0 {
        at += 2 + usize::from(rest.half(at)?);
    }
    rest.then(at, Layer::Ppp)
}
