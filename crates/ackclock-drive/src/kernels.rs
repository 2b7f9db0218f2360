//! Two kernels and an emulated path between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ackclock_sim::LinkSpec;

use crate::{
    AccessDelays, Capture, Clock, DriveError, Emulator, EmulatorOptions, Namespace, Port, Tun, TunOptions,
};

/// Options of [`Kernels`].
pub struct KernelsOptions {
    /// Largest IP packet, bytes.
    pub mtu: u16,
    /// The link from the near kernel to the far one.
    pub there: LinkSpec,
    /// The link back.
    pub back: LinkSpec,
    /// Delays between the far kernel's hosts ([`Kernels::host`]) and the links.
    pub access: AccessDelays,
    /// Seed of the links' random streams.
    pub seed: u64,
    /// The clock of the emulator.
    pub clock: Clock,
    /// Captures the packets at the near kernel's device.
    pub capture: Option<Capture>,
}

/// Two kernels, each in a namespace of its own, with the emulator between them.
///
/// The far kernel is also a router on the path to [`Kernels::BEYOND`], an address without a host. Dropping
/// this removes everything.
pub struct Kernels {
    /// The near kernel's namespace, with the addresses [`Kernels::NEAR`] and [`Kernels::NEAR6`].
    pub near: Namespace,
    /// The far kernel's namespace, with the addresses [`Kernels::FAR`] and [`Kernels::FAR6`].
    pub far: Namespace,
    /// The path.
    pub emulator: Emulator,
}

impl Kernels {
    /// The near kernel's address.
    pub const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 1));
    /// The far kernel's address.
    pub const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 0, 2));
    /// An address behind the far kernel.
    pub const BEYOND: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 78, 1, 9));
    /// The network of the far kernel's hosts, addresses that it has beside its own.
    const HOSTS: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 0);
    /// Number of its hosts.
    pub const MOST_HOSTS: usize = 65_000;
    /// The near kernel's IPv6 address.
    pub const NEAR6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 1));
    /// The far kernel's IPv6 address.
    pub const FAR6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd78, 0, 0, 0, 0, 0, 0, 2));

    /// Address of host `n` of the far kernel; `n` is below [`Kernels::MOST_HOSTS`].
    pub fn host(n: u16) -> IpAddr {
        // Skips the network's own address and that of the loopback device.
        IpAddr::V4(Ipv4Addr::from_bits(Self::HOSTS.to_bits() + 256 + u32::from(n)))
    }

    /// The number of a host, by its address.
    pub fn host_number(address: IpAddr) -> Option<usize> {
        let IpAddr::V4(v4) = address else { return None };
        v4.to_bits()
            .checked_sub(Self::HOSTS.to_bits() + 256)
            .map(|n| n as usize)
            .filter(|n| *n < Self::MOST_HOSTS)
    }

    /// Sets up the kernels and the path.
    ///
    /// # Errors
    /// A right that is missing (see [`crate::check`]), or a system call that failed.
    pub fn new(options: KernelsOptions) -> Result<Self, DriveError> {
        let (near, mut near_port) = near(options.mtu)?;
        if let Some(capture) = &options.capture {
            near_port.record(capture, "near")?;
        }
        let (far, far_port) = far(options.mtu)?;
        let links = EmulatorOptions {
            forward: options.there,
            backward: options.back,
            access: options.access,
            seed: options.seed,
            clock: options.clock,
        };
        let emulator = Emulator::start(near_port, far_port, links)?;
        Ok(Self { near, far, emulator })
    }
}

/// The near kernel, and its end of the path.
pub(crate) fn near(mtu: u16) -> Result<(Namespace, Port), DriveError> {
    kernel((Kernels::NEAR, Kernels::NEAR6), mtu)
}

/// The far kernel with its hosts, and its end of the path.
pub(crate) fn far(mtu: u16) -> Result<(Namespace, Port), DriveError> {
    let (far, port) = kernel((Kernels::FAR, Kernels::FAR6), mtu)?;
    far.own(Kernels::HOSTS, 16)?;
    far.set_sysctl("net.ipv4.ip_forward", "1")?;
    // No rate limit on responses to probes, unless a test sets one.
    far.set_sysctl("net.ipv4.icmp_ratelimit", "0")?;
    far.set_sysctl("net.ipv6.icmp.ratelimit", "0")?;
    // Fails where this parameter is global to the machine.
    let _ = far.set_sysctl("net.ipv4.icmp_msgs_per_sec", "1000000");
    let _ = far.set_sysctl("net.ipv4.icmp_msgs_burst", "1000000");
    Ok((far, port))
}

fn kernel((v4, v6): (IpAddr, IpAddr), mtu: u16) -> Result<(Namespace, Port), DriveError> {
    let (IpAddr::V4(v4), IpAddr::V6(v6)) = (v4, v6) else { unreachable!("constants above") };
    let namespace = Namespace::new(true)?;
    // The prefix includes [`Kernels::BEYOND`] and the hosts, so that packets to them go through the device.
    let tun = TunOptions { ipv4: (v4, 15), ipv6: Some((v6, 64)), mtu, ..TunOptions::default() };
    let port = Port::from(Tun::new(&namespace, &tun)?);
    Ok((namespace, port))
}
