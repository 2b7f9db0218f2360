//! Socket addresses in bytes (`struct sockaddr_in`, `struct sockaddr_in6`), and those of connections.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ackclock_script::Ports;

/// Where the parts of an address are: a family, a port, and the address itself, over IPv6 behind a flow label.
const PORT: usize = 2;
const V4: usize = 4;
const V6: usize = 8;
/// The lengths of the two structures.
const LEN_V4: usize = 16;
const LEN_V6: usize = 28;

/// The family of an address; `None` where there is none.
pub(crate) fn family(bytes: &[u8]) -> Option<c_int> {
    let family = bytes.first_chunk::<2>()?;
    Some(c_int::from(u16::from_ne_bytes(*family)))
}

/// An address; IPv4 addresses within IPv6 ones as what they are.
pub(crate) fn read(bytes: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(*bytes.get(PORT..)?.first_chunk()?);
    let ip = match family(bytes)? {
        libc::AF_INET => IpAddr::from(*bytes.get(V4..)?.first_chunk::<4>()?),
        libc::AF_INET6 => IpAddr::from(*bytes.get(V6..)?.first_chunk::<16>()?).to_canonical(),
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// The bytes of an address for a socket of this family.
pub(crate) fn write(address: SocketAddr, family: c_int) -> Vec<u8> {
    let v6 = family == libc::AF_INET6;
    let mut bytes = vec![0; if v6 { LEN_V6 } else { LEN_V4 }];
    let number = if v6 { libc::AF_INET6 } else { libc::AF_INET };
    bytes[..PORT].copy_from_slice(&(number as u16).to_ne_bytes());
    bytes[PORT..PORT + 2].copy_from_slice(&address.port().to_be_bytes());
    match (v6, address.ip()) {
        (false, IpAddr::V4(ip)) => bytes[V4..V4 + 4].copy_from_slice(&ip.octets()),
        (true, IpAddr::V4(ip)) => bytes[V6..V6 + 16].copy_from_slice(&ip.to_ipv6_mapped().octets()),
        (true, IpAddr::V6(ip)) => bytes[V6..V6 + 16].copy_from_slice(&ip.octets()),
        (false, IpAddr::V6(_)) => {}
    }
    bytes
}

/// The addresses of connections. The host knows only ports, since it has one address and so has its peer.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// The tested host's and the peer's.
    known: BTreeMap<(u16, u16), (IpAddr, IpAddr)>,
}

impl Addresses {
    /// A packet came from `remote` to `local`, or a call connects the two.
    pub(crate) fn learn(&mut self, ports: Ports, local: IpAddr, remote: IpAddr) {
        self.known.insert((ports.local, ports.remote), (local, remote));
    }

    pub(crate) fn of(&self, ports: Ports) -> Option<(IpAddr, IpAddr)> {
        self.known.get(&(ports.local, ports.remote)).copied()
    }
}

/// Source and destination of a packet with its ports, IP header first; `None` where it has none.
pub(crate) fn of_packet(bytes: &[u8]) -> Option<(SocketAddr, SocketAddr)> {
    let (src, dst, rest) = match bytes.first()? >> 4 {
        4 => {
            let header = usize::from(bytes[0] & 15) * 4;
            let src = IpAddr::from(*bytes.get(12..)?.first_chunk::<4>()?);
            (src, IpAddr::from(*bytes.get(16..)?.first_chunk::<4>()?), bytes.get(header..)?)
        }
        6 => {
            let src = IpAddr::from(*bytes.get(8..)?.first_chunk::<16>()?);
            (src, IpAddr::from(*bytes.get(24..)?.first_chunk::<16>()?), bytes.get(40..)?)
        }
        _ => return None,
    };
    let [s0, s1, d0, d1] = *rest.first_chunk()?;
    let port = |high, low| u16::from_be_bytes([high, low]);
    Some((SocketAddr::new(src, port(s0, s1)), SocketAddr::new(dst, port(d0, d1))))
}

/// The address from which a client connects that is bound to none (RFC 5737, RFC 3849).
pub(crate) fn beside(remote: IpAddr) -> IpAddr {
    match remote {
        IpAddr::V4(_) => Ipv4Addr::new(192, 0, 2, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
    }
}
