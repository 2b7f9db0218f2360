//! Link headers, and what is carried behind EtherTypes.

use super::{Layer, Rest, Step, Stop, Unread};

/// Link types that are read, beside those of [`LinkType`](crate::read::LinkType)
/// (tcpdump.org/linktypes.html).
const READ: [u32; 21] =
    [9, 11, 50, 51, 104, 105, 109, 117, 119, 127, 138, 163, 166, 192, 204, 239, 258, 1, 0, 113, 276];

/// True if frames of this link type are read.
pub(crate) fn is_read(number: u32) -> bool {
    READ.contains(&number) || matches!(number, 12 | 14 | 101 | 108 | 228 | 229)
}

/// The first layer of a link type.
pub(super) fn link(number: u32, rest: Rest<'_>) -> Step<'_> {
    match number {
        1 => rest.then(0, Layer::Ethernet),
        12 | 14 | 101 | 228 | 229 => rest.then(0, Layer::Ip),
        // BSD loopback; the address family is in the byte order of the machine, and the IP version decides.
        0 | 108 => match rest.byte(4)? >> 4 {
            4 | 6 => rest.then(4, Layer::Ip),
            _ => Err(Stop::Other),
        },
        // Linux cooked, versions 1 and 2.
        113 => match rest.half(14)? {
            // LLC, by Linux's own number (`ETH_P_802_2`).
            4 => rest.then(16, Layer::Llc),
            t => rest.then(16, Layer::Type(t)),
        },
        276 => match rest.half(0)? {
            4 => rest.then(20, Layer::Llc),
            t => rest.then(20, Layer::Type(t)),
        },
        // PPP, with or without HDLC framing; with a byte for the direction; of pppd.
        9 | 50 => rest.then(0, Layer::Ppp),
        204 => rest.then(1, Layer::Ppp),
        166 => rest.then(2, Layer::Ppp),
        // PPPoE without Ethernet.
        51 => rest.then(0, Layer::Type(0x8864)),
        // Cisco HDLC.
        104 => rest.then(0, Layer::Hdlc),
        // RFC 1483 over ATM, without its VPI and VCI.
        11 => rest.then(0, Layer::Llc),
        // OpenBSD: IPsec's interface; the packet filter, whose header has its length, less padding.
        109 => rest.then(12, Layer::Ip),
        117 => rest.then(usize::from(rest.byte(0)?).next_multiple_of(4), Layer::Ip),
        // IP over IEEE 1394.
        138 => rest.then(18, Layer::Type(rest.half(16)?)),
        105 => rest.then(0, Layer::Wifi),
        127 => super::wifi::radiotap(rest),
        // Prism and AVS: the length of the header is in it.
        119 | 163 => super::wifi::prism(rest),
        // Per-packet information: its length, and the link type of what follows.
        192 => rest.then(usize::from(rest.half_le(2)?).max(8), Layer::Link(rest.word_le(4)?)),
        // Apple's PKTAP: the same in words.
        258 => {
            let len = usize::try_from(rest.word_le(0)?).map_err(|_| Stop::Cut)?;
            rest.then(len.max(12), Layer::Link(rest.word_le(8)?))
        }
        239 => nflog(rest),
        _ => Err(Stop::Other),
    }
}

pub(super) fn ethernet(rest: Rest<'_>) -> Step<'_> {
    match rest.half(12)? {
        // A length (IEEE 802.3): LLC follows.
        len if len <= 1500 => rest.then(14, Layer::Llc),
        t => rest.then(14, Layer::Type(t)),
    }
}

pub(super) fn ether_type(number: u16, rest: Rest<'_>) -> Step<'_> {
    match number {
        0x0800 | 0x86dd => rest.then(0, Layer::Ip),
        // VLAN tags: two bytes of tag, and the next type.
        0x8100 | 0x88a8 | 0x9100 => match rest.half(2)? {
            len if len <= 1500 => rest.then(4, Layer::Llc),
            t => rest.then(4, Layer::Type(t)),
        },
        0x8847 | 0x8848 => rest.then(0, Layer::Mpls),
        // A PPPoE session (RFC 2516 §4): version and type, code, session, length.
        0x8864 => rest.then(6, Layer::Ppp),
        0x6558 => rest.then(0, Layer::Ethernet),
        0x880b => rest.then(0, Layer::Ppp),
        0x88e5 => Err(Stop::Unread(Unread::Macsec)),
        _ => Err(Stop::Other),
    }
}

/// LLC with SNAP (RFC 1042), or with the SAP of IP.
pub(super) fn llc(rest: Rest<'_>) -> Step<'_> {
    match (rest.byte(0)?, rest.byte(1)?, rest.byte(2)?) {
        (0xaa, 0xaa, 3) => match (rest.byte(3)?, rest.byte(4)?, rest.half(6)?) {
            // An EtherType; or a bridged Ethernet frame (RFC 2684 §5.2), with its check sequence or without.
            (0, 0, t) => rest.then(8, Layer::Type(t)),
            (0, 0x80, 1 | 7) => rest.then(10, Layer::Ethernet),
            _ => Err(Stop::Other),
        },
        (6, 6, 3) => rest.then(3, Layer::Ip),
        // PPP (RFC 2364 §6), and IP by its NLPID.
        (0xfe, 0xfe, 3) => match rest.byte(3)? {
            0xcf => rest.then(4, Layer::Ppp),
            0xcc | 0x8e => rest.then(4, Layer::Ip),
            _ => Err(Stop::Other),
        },
        _ => Err(Stop::Other),
    }
}

/// PPP (RFC 1661 §2), where address and control (RFC 1662 §3.1) and the first byte of the protocol may be
/// left out (RFC 1661 §6.6, §6.5).
pub(super) fn ppp(rest: Rest<'_>) -> Step<'_> {
    let framed = rest.byte(0)? == 0xff && rest.byte(1)? == 3;
    let at = if framed { 2 } else { 0 };
    let first = rest.byte(at)?;
    let (protocol, len) = match first & 1 {
        1 => (u16::from(first), 1),
        _ => (rest.half(at)?, 2),
    };
    match protocol {
        0x21 | 0x57 => rest.then(at + len, Layer::Ip),
        0x281 | 0x283 => rest.then(at + len, Layer::Mpls),
        // Van Jacobson's and ROHC's compressed headers, multilink fragments, compressed or encrypted packets.
        0x2d | 0x2f | 0x03 | 0x05 | 0x3d | 0x53 | 0x55 | 0xfb | 0xfd => Err(Stop::Unread(Unread::Ppp)),
        _ => Err(Stop::Other),
    }
}

/// Cisco HDLC: address, control, EtherType.
pub(super) fn hdlc(rest: Rest<'_>) -> Step<'_> {
    // PPP in HDLC framing is captured with this link type too.
    if rest.byte(0)? == 0xff {
        return rest.then(0, Layer::Ppp);
    }
    rest.then(4, Layer::Type(rest.half(2)?))
}

/// Labels (RFC 3032 §2.1) up to the one with the bottom bit. What follows has no type: IP by its version (RFC
/// 4928 §3), a control word of zeros before Ethernet (RFC 4448 §4.6), or Ethernet itself.
pub(super) fn mpls(rest: Rest<'_>) -> Step<'_> {
    let mut at = 0;
    while rest.byte(at + 2)? & 1 == 0 {
        at += 4;
    }
    match rest.byte(at + 4)? >> 4 {
        4 | 6 => rest.then(at + 4, Layer::Ip),
        // An address of Ethernet may begin with a zero too: the type behind it decides.
        0 if !is_ethernet(rest, at + 4) => rest.then(at + 8, Layer::Ethernet),
        _ => rest.then(at + 4, Layer::Ethernet),
    }
}

/// True if an Ethernet frame with contents that are read begins here.
fn is_ethernet(rest: Rest<'_>, at: usize) -> bool {
    rest.half(at + 12).is_ok_and(|t| matches!(t, 0x0800 | 0x86dd | 0x8100 | 0x88a8 | 0x8847 | 0x8864))
}

/// Linux's packet filter: a header of four bytes, and attributes in the byte order of the machine.
fn nflog(rest: Rest<'_>) -> Step<'_> {
    /// The attribute with the packet (`NFULA_PAYLOAD`).
    const PAYLOAD: u16 = 9;
    let mut at = 4;
    loop {
        // Little-endian first: lengths of big-endian machines are too large then.
        let (len, kind) = (rest.half_le(at)?, rest.half_le(at + 2)?);
        let (len, kind) = if len < 4 || usize::from(len) > rest.on_wire.saturating_sub(at) {
            (len.swap_bytes(), kind.swap_bytes())
        } else {
            (len, kind)
        };
        if kind & 0x7fff == PAYLOAD {
            return rest.then(at + 4, Layer::Ip);
        }
        if len < 4 {
            return Err(Stop::Cut);
        }
        at += usize::from(len).next_multiple_of(4);
    }
}
