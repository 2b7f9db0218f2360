//! Both ends of the link: a namespace for the command and one behind the link, each with a device that the
//! emulator serves.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;

use crate::{Capture, Clock, DriveError, Namespace, Port, Tun, TunOptions};

/// The addresses of both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Addresses {
    pub(super) near: Ipv4Addr,
    pub(super) far: Ipv4Addr,
}

/// Networks that a link may take, within RFC 6598's space for translators. One link inside another needs its own.
const NETWORKS: u8 = 255;
/// Both ends are in a network of this prefix.
const PREFIX: u8 = 30;
/// Largest IP packet.
const MTU: u16 = 1500;

impl Addresses {
    /// The first addresses that are not in use in the network of this process.
    pub(super) fn free() -> Result<Self, DriveError> {
        let all = (0..NETWORKS)
            .map(|n| Self { near: Ipv4Addr::new(100, 64, n, 1), far: Ipv4Addr::new(100, 64, n, 2) });
        // Only an address of one's own can be bound to.
        let taken = |a: &Self| [a.near, a.far].into_iter().any(|at| UdpSocket::bind((at, 0)).is_ok());
        all.into_iter().find(|a| !taken(a)).ok_or_else(|| {
            DriveError::Missing("all of the addresses 100.64.0.0 to 100.64.254.255 are in use here".into())
        })
    }
}

/// One end.
pub(super) struct End {
    pub(super) namespace: Namespace,
    pub(super) tun: Tun,
}

impl End {
    fn new(address: Ipv4Addr) -> Result<Self, DriveError> {
        let namespace = Namespace::new(false)?;
        let options = TunOptions { ipv4: (address, PREFIX), mtu: MTU, ..TunOptions::default() };
        let tun = Tun::new(&namespace, &options)?;
        // What one connection has learned would change the next one.
        namespace.set_sysctl("net.ipv4.tcp_no_metrics_save", "1")?;
        Ok(Self { namespace, tun })
    }

    /// The command's end. All addresses are reached over the link.
    pub(super) fn near(addresses: Addresses) -> Result<Self, DriveError> {
        let end = Self::new(addresses.near)?;
        end.namespace.route_all_by(&end.tun)?;
        // Pings without rights, as most systems allow: for all groups, of which a user namespace may have but one.
        for groups in ["0 2147483647", "0 0"] {
            if end.namespace.try_sysctl("net.ipv4.ping_group_range", groups)?.is_ok() {
                break;
            }
        }
        Ok(end)
    }

    /// The other end. `outside`: all addresses are its own.
    pub(super) fn far(addresses: Addresses, outside: bool) -> Result<Self, DriveError> {
        let end = Self::new(addresses.far)?;
        if outside {
            end.namespace.own_all_but(addresses.near, &end.tun)?;
        }
        // A reply to every ping, however many there are.
        end.namespace.set_sysctl("net.ipv4.icmp_ratelimit", "0")?;
        Ok(end)
    }
}

/// The port of an end, whose packets are captured if a folder is given.
pub(super) fn port(
    tun: Tun,
    name: &str,
    folder: Option<&Path>,
    clock: Clock,
) -> Result<(Port, Option<Capture>), DriveError> {
    let mut port = Port::from(tun);
    let capture = folder.map(|f| Capture::create(&f.join(format!("{name}.pcapng")), clock)).transpose()?;
    if let Some(capture) = &capture {
        port.record(capture, name)?;
    }
    Ok((port, capture))
}
