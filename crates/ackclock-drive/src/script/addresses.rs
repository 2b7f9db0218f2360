//! The addresses of the kernel and of the script.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;

use ackclock_script::{IpVersion, Link};
use ackclock_units::{Duration, Instant};
use ackclock_wire::parse_ip;
use rustix::net::AddressFamily;

use crate::linux::wait;
use crate::{Clock, DriveError, Namespace, Tun};

/// The kernel's address, which is packetdrill's, and as the engine's host has it: Fast Open cookies depend on
/// it.
pub(super) const LOCAL_V4: Ipv4Addr = Ipv4Addr::new(192, 168, 0, 1);
/// The address of the script.
const REMOTE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Bits that both addresses have in common, so that the device leads to the script.
pub(super) const PREFIX_V4: u8 = 8;

/// The same over IPv6: local addresses (RFC 4193 §3.1).
pub(super) const LOCAL_V6: Ipv6Addr = Ipv6Addr::new(0xfd76, 0, 0, 0, 0, 0, 0, 1);
const REMOTE_V6: Ipv6Addr = Ipv6Addr::new(0xfd76, 0, 0, 0, 0, 0, 0, 2);

/// The two addresses as packets have them: the kernel's and the script's.
pub(super) fn of_packets(link: Link, port: [u16; 2]) -> [SocketAddr; 2] {
    let [local, remote]: [IpAddr; 2] = match link.ip {
        IpVersion::V6 => [LOCAL_V6.into(), REMOTE_V6.into()],
        IpVersion::V4 | IpVersion::V4Mapped => [LOCAL_V4.into(), REMOTE_V4.into()],
    };
    [SocketAddr::new(local, port[0]), SocketAddr::new(remote, port[1])]
}

/// The same as sockets have them: an address of IPv4 within one of IPv6 (RFC 4291 §2.5.5.2), where scripts
/// want that.
pub(super) fn of_sockets(link: Link, port: [u16; 2]) -> [SocketAddr; 2] {
    of_packets(link, port).map(|address| match (link.ip, address.ip()) {
        (IpVersion::V4Mapped, IpAddr::V4(ip)) => SocketAddr::new(ip.to_ipv6_mapped().into(), address.port()),
        _ => address,
    })
}

/// Waits until packets of IPv6 leave: a device that has just come up keeps them for some milliseconds.
///
/// # Errors
///
/// A system call that failed.
pub(super) fn warm_up(namespace: &Namespace, tun: &Tun) -> Result<(), DriveError> {
    /// Nothing listens there (RFC 863).
    const DISCARD: u16 = 9;
    /// Long enough for any device.
    const PATIENCE: Duration = Duration::from_secs(1);
    let send = || UdpSocket::bind((LOCAL_V6, 0)).and_then(|s| s.send_to(&[0], (REMOTE_V6, DISCARD)));
    namespace.run(send)?.map_err(DriveError::system("send over IPv6"))?;
    let clock = Clock::start();
    let mut buffer = [0; 2048];
    while wait::wait(&clock, [tun.as_fd()], Some(Instant::ZERO + PATIENCE))[0] {
        let n = tun.recv(&mut buffer).unwrap_or(0);
        let sent = parse_ip(buffer.get(..n).unwrap_or_default());
        if sent.is_ok_and(|p| p.src == LOCAL_V6 && p.dst == REMOTE_V6) {
            break;
        }
    }
    Ok(())
}

/// The family of sockets.
pub(super) fn family(link: Link) -> AddressFamily {
    match link.ip {
        IpVersion::V4 => AddressFamily::INET,
        IpVersion::V6 | IpVersion::V4Mapped => AddressFamily::INET6,
    }
}
