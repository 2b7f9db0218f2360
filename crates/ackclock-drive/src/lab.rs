//! A kernel and the engine with an emulated path between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ackclock_engine::Config;
use ackclock_sim::LinkSpec;

use crate::{
    AccessDelays, Capture, Clock, DriveError, Emulator, EmulatorOptions, Host, HostLimits, HostOptions,
    Namespace, PolicyFactory, Port, Tun, TunOptions,
};

/// Options of a [`Lab`].
pub struct LabOptions {
    /// Largest IP packet, bytes.
    pub mtu: u16,
    /// The link from the kernel to the engine.
    pub to_engine: LinkSpec,
    /// The link from the engine to the kernel.
    pub to_kernel: LinkSpec,
    /// Seed of the links' random streams.
    pub seed: u64,
    /// The clock shared by all parts.
    pub clock: Clock,
    /// Options of the engine's connections.
    pub config: Config,
    /// Policies of the engine's connections.
    pub policies: PolicyFactory,
    /// Capture at the kernel's end of the path.
    pub kernel_capture: Option<Capture>,
    /// Capture at the engine's end of the path.
    pub engine_capture: Option<Capture>,
}

/// A kernel's TCP in its own namespace and a [`Host`] on the engine, with the emulator between them.
///
/// Dropping it resets open connections and removes everything.
pub struct Lab {
    /// The engine's host, at [`Lab::ENGINE`] and [`Lab::ENGINE6`].
    pub host: Host,
    /// The path.
    pub emulator: Emulator,
    /// The kernel's namespace, with the address [`Lab::KERNEL`] and, if the MTU allows IPv6,
    /// [`Lab::KERNEL6`].
    pub namespace: Namespace,
}

impl Lab {
    /// The kernel's address.
    pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
    /// The engine's address.
    pub const ENGINE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
    /// The kernel's IPv6 address.
    pub const KERNEL6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1);
    /// The engine's IPv6 address.
    pub const ENGINE6: Ipv6Addr = Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2);

    /// Sets up the kernel, the path and the host.
    ///
    /// # Errors
    /// A right that is missing (see [`crate::check`]), or a system call that failed.
    pub fn new(options: LabOptions) -> Result<Self, DriveError> {
        let ipv6 = options.mtu >= IPV6_LEAST_MTU;
        let namespace = Namespace::new(ipv6)?;
        let tun = TunOptions {
            ipv4: (Self::KERNEL, 24),
            ipv6: ipv6.then_some((Self::KERNEL6, 64)),
            mtu: options.mtu,
            ..TunOptions::default()
        };
        let mut kernel = Port::from(Tun::new(&namespace, &tun)?);
        let (mut far, near) = Port::pair()?;
        if let Some(capture) = &options.kernel_capture {
            kernel.record(capture, "kernel")?;
        }
        if let Some(capture) = &options.engine_capture {
            far.record(capture, "engine")?;
        }
        let links = EmulatorOptions {
            forward: options.to_engine,
            backward: options.to_kernel,
            access: AccessDelays::default(),
            seed: options.seed,
            clock: options.clock,
        };
        let emulator = Emulator::start(kernel, far, links)?;
        let host = HostOptions {
            addresses: vec![Self::ENGINE.into(), Self::ENGINE6.into()],
            mtu: options.mtu,
            config: options.config,
            policies: options.policies,
            clock: options.clock,
            limits: HostLimits::default(),
        };
        Ok(Self { host: Host::start(near, host)?, emulator, namespace })
    }

    /// The kernel's address with a port.
    pub fn kernel(port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Self::KERNEL), port)
    }

    /// The engine's address with a port.
    pub fn engine(port: u16) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Self::ENGINE), port)
    }
}

/// Smallest MTU of IPv6 (RFC 8200 §5).
const IPV6_LEAST_MTU: u16 = 1280;
