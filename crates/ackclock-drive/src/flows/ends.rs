//! The two ends of a path, each a kernel or the engine.

use std::net::IpAddr;
use std::sync::Arc;

use ackclock_engine::{Config, Stack};
use ackclock_policy::Registry;
use ackclock_units::Bytes;

use crate::{
    Clock, DriveError, Emulator, EmulatorOptions, Host, HostLimits, HostOptions, Kernels, KernelsOptions,
    Namespace, Port, kernels,
};

/// Which TCP is at one end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndKind {
    /// The TCP of a kernel in its own namespace.
    Kernel,
    /// The engine: each connection has its stack from the scenario.
    Engine,
}

/// One end of the path.
pub(super) enum EndSystem {
    Kernel(Namespace),
    Engine(Host),
}

/// Two ends and the emulated path between them. Dropping it removes everything.
///
/// With the engine at both ends, no rights are needed.
pub struct FlowTestbed {
    pub(super) near: EndSystem,
    pub(super) far: EndSystem,
    pub(super) emulator: Emulator,
    pub(super) clock: Clock,
}

impl EndSystem {
    pub(super) fn kernel(&self) -> Option<&Namespace> {
        match self {
            Self::Kernel(namespace) => Some(namespace),
            Self::Engine(_) => None,
        }
    }

    /// The engine with these addresses, and its end of the path.
    fn engine(options: &KernelsOptions, addresses: Vec<IpAddr>) -> Result<(Self, Port), DriveError> {
        let (outer, inner) = Port::pair()?;
        // Applications have their own stacks; this one is never used.
        let stack = Stack::named(&Registry::builtin(), "sack").expect("the stack is built in");
        // Both ends belong to the run, so there is no need for limits.
        let limits = HostLimits {
            orphans: usize::MAX,
            time_wait: usize::MAX,
            held_bytes: Bytes::MAX,
            stray_resets: u32::MAX,
            ..HostLimits::default()
        };
        let host = HostOptions {
            addresses,
            mtu: options.mtu,
            config: Config::default(),
            policies: Arc::new(move || stack.build()),
            clock: options.clock,
            limits,
        };
        Ok((Self::Engine(Host::start_punctual(inner, host)?), outer))
    }
}

impl FlowTestbed {
    /// Sets up both ends: the near end is [`Kernels::NEAR`], the far end the first `hosts` of
    /// [`Kernels::host`].
    ///
    /// # Errors
    /// A right that is missing (see [`crate::check`]), or a system call that failed.
    pub fn new(
        (near, far): (EndKind, EndKind),
        hosts: u16,
        options: KernelsOptions,
    ) -> Result<Self, DriveError> {
        let kernel = |(namespace, port)| (EndSystem::Kernel(namespace), port);
        let (near, mut near_port) = match near {
            EndKind::Kernel => kernel(kernels::near(options.mtu)?),
            EndKind::Engine => EndSystem::engine(&options, vec![Kernels::NEAR])?,
        };
        if let Some(capture) = &options.capture {
            near_port.record(capture, "near")?;
        }
        let (far, far_port) = match far {
            EndKind::Kernel => kernel(kernels::far(options.mtu)?),
            EndKind::Engine => EndSystem::engine(&options, (0..hosts).map(Kernels::host).collect())?,
        };
        let links = EmulatorOptions {
            forward: options.there,
            backward: options.back,
            access: options.access,
            seed: options.seed,
            clock: options.clock,
        };
        let emulator = Emulator::start(near_port, far_port, links)?;
        Ok(Self { near, far, emulator, clock: options.clock })
    }
}
