//! From a frame to the IP packet with a TCP segment in it, through tunnels and link headers.
//!
//! Each layer is a step that names the next one and where it begins. There are at most [`MOST_LAYERS`] of
//! them, so that no frame takes long.

mod ip;
mod link;
mod wifi;

use ackclock_wire::{WireError, parse_captured, parse_captured_ip};

use super::Packet;
use crate::segment::{CapturedSegment, NotASegment};

pub(crate) use link::is_read;

/// Layers in one frame. Chosen, because no network nests tunnels that deep.
const MOST_LAYERS: usize = 16;

/// Something whose contents are not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unread {
    /// IPsec's encrypted payload (RFC 4303).
    Esp,
    /// An 802.11 frame with encryption.
    EncryptedWifi,
    /// Several Ethernet frames in one of 802.11.
    Amsdu,
    /// MACsec (IEEE 802.1AE).
    Macsec,
    /// GRE with source routes (RFC 1701), or of a version other than 0 and 1.
    Gre,
    /// PPP with compressed or encrypted contents.
    Ppp,
    /// GTP-U other than version 1.
    Gtp,
    /// Layers beyond the limit.
    Deep,
}

impl Unread {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Esp,
        Self::EncryptedWifi,
        Self::Amsdu,
        Self::Macsec,
        Self::Gre,
        Self::Ppp,
        Self::Gtp,
        Self::Deep,
    ];

    /// Its name in notes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Esp => "ESP (IPsec), which is encrypted",
            Self::EncryptedWifi => "encrypted 802.11",
            Self::Amsdu => "A-MSDUs of 802.11, which are not taken apart",
            Self::Macsec => "MACsec, which is not read",
            Self::Gre => "GRE with source routes or of an unknown version, which is not read",
            Self::Ppp => "PPP with compressed or encrypted contents",
            Self::Gtp => "GTP of a version other than 1, which is not read",
            Self::Deep => "more than 16 layers, which are not read",
        }
    }
}

/// A layer: what begins at a cursor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layer {
    /// By link type.
    Link(u32),
    Ethernet,
    /// The contents of an EtherType.
    Type(u16),
    /// IEEE 802.2.
    Llc,
    Ppp,
    Hdlc,
    Wifi,
    Mpls,
    Gre,
    Ip,
    /// The payload of UDP between two ports.
    Udp(u16, u16),
}

/// The rest of a frame: the captured bytes, and how many there were on the wire.
#[derive(Clone, Copy, Debug)]
struct Rest<'a> {
    bytes: &'a [u8],
    on_wire: usize,
}

/// What ends the way through the layers.
enum Stop {
    /// It holds no TCP.
    Other,
    Unread(Unread),
    /// A header is cut or malformed.
    Cut,
}

impl Stop {
    /// What follows a tunnel's header was only taken for what is read: if it is not, it is something else.
    fn reason(self, tunnelled: bool) -> NotASegment {
        match self {
            Self::Unread(what) => NotASegment::Unread(what),
            Self::Cut if !tunnelled => NotASegment::Unreadable,
            Self::Other | Self::Cut => NotASegment::Other,
        }
    }
}

type Step<'a> = Result<(Layer, Rest<'a>), Stop>;

impl<'a> Rest<'a> {
    /// The layer `n` bytes farther on.
    fn then(self, n: usize, layer: Layer) -> Step<'a> {
        let bytes = self.bytes.get(n..).ok_or(Stop::Cut)?;
        Ok((layer, Self { bytes, on_wire: self.on_wire.saturating_sub(n) }))
    }

    fn byte(self, at: usize) -> Result<u8, Stop> {
        self.bytes.get(at).copied().ok_or(Stop::Cut)
    }

    /// In network order.
    fn half(self, at: usize) -> Result<u16, Stop> {
        Ok(u16::from_be_bytes([self.byte(at)?, self.byte(at + 1)?]))
    }

    /// In little-endian order.
    fn half_le(self, at: usize) -> Result<u16, Stop> {
        Ok(self.half(at)?.swap_bytes())
    }

    fn word_le(self, at: usize) -> Result<u32, Stop> {
        Ok(u32::from(self.half_le(at)?) | u32::from(self.half_le(at + 2)?) << 16)
    }
}

/// The IP packet with TCP in a frame whose link header does not lead to it.
///
/// # Errors
/// The reason if there is none.
#[cold]
pub(crate) fn find(p: &Packet<'_>) -> Result<CapturedSegment, NotASegment> {
    let rest = Rest { bytes: p.data, on_wire: p.original_len as usize };
    follow(p, (Layer::Link(p.link.number()), rest), false)
}

/// The same in an IP packet without TCP, which begins at an offset of the frame.
///
/// # Errors
/// The reason if there is none.
#[cold]
pub(crate) fn find_in(p: &Packet<'_>, offset: usize, on_wire: usize) -> Result<CapturedSegment, NotASegment> {
    let rest = Rest { bytes: p.data.get(offset..).unwrap_or_default(), on_wire };
    let outer = parse_captured(rest.bytes, on_wire).map_err(|_| NotASegment::Unreadable)?;
    follow(p, ip::contents(&outer, rest).map_err(|stop| stop.reason(true))?, true)
}

/// The bytes from the IP packet on that is a fragment, in a frame or in tunnels in it.
#[cold]
pub(crate) fn fragment<'a>(p: &Packet<'a>) -> Option<&'a [u8]> {
    let rest = Rest { bytes: p.data, on_wire: p.original_len as usize };
    let start = match p.link.ip_offset(p.data) {
        Some(n) => rest.then(n, Layer::Ip).ok()?,
        None => (Layer::Link(p.link.number()), rest),
    };
    let found = walk(start, false, |rest, _| match parse_captured_ip(rest.bytes, rest.on_wire) {
        Err(WireError::Fragment) => Ok(Some(rest.bytes)),
        Err(_) => Err(NotASegment::Other),
        Ok(_) => Ok(None),
    });
    found.ok()
}

fn follow<'a>(
    p: &Packet<'a>,
    start: (Layer, Rest<'a>),
    tunnelled: bool,
) -> Result<CapturedSegment, NotASegment> {
    walk(start, tunnelled, |rest, tunnelled| {
        let not = |e| reason(&e, tunnelled);
        let ip = parse_captured_ip(rest.bytes, rest.on_wire).map_err(not)?;
        let tcp = ip.tcp().transpose().map_err(not)?;
        Ok(tcp.map(|tcp| CapturedSegment::of(p, &ip, &tcp)))
    })
}

/// Why an IP packet is not read.
fn reason(e: &WireError, tunnelled: bool) -> NotASegment {
    match e {
        WireError::Fragment => NotASegment::Fragment,
        // What follows a tunnel's header was only taken for IP.
        _ if tunnelled => NotASegment::Other,
        _ => NotASegment::Unreadable,
    }
}

/// Goes through the layers until `at_ip` finds something in an IP packet.
fn walk<'a, T>(
    (mut layer, mut rest): (Layer, Rest<'a>),
    mut tunnelled: bool,
    mut at_ip: impl FnMut(Rest<'a>, bool) -> Result<Option<T>, NotASegment>,
) -> Result<T, NotASegment> {
    for _ in 0..MOST_LAYERS {
        let step = match layer {
            Layer::Link(n) => link::link(n, rest),
            Layer::Ethernet => link::ethernet(rest),
            Layer::Type(t) => link::ether_type(t, rest),
            Layer::Llc => link::llc(rest),
            Layer::Ppp => link::ppp(rest),
            Layer::Hdlc => link::hdlc(rest),
            Layer::Mpls => link::mpls(rest),
            Layer::Wifi => wifi::frame(rest),
            Layer::Gre => ip::gre(rest),
            Layer::Udp(from, to) => ip::in_udp(from, to, rest),
            Layer::Ip => {
                if let Some(found) = at_ip(rest, tunnelled)? {
                    return Ok(found);
                }
                let outer = parse_captured(rest.bytes, rest.on_wire).map_err(|e| reason(&e, tunnelled))?;
                tunnelled = true;
                ip::contents(&outer, rest)
            }
        };
        (layer, rest) = step.map_err(|stop| stop.reason(tunnelled))?;
    }
    Err(NotASegment::Unread(Unread::Deep))
}
