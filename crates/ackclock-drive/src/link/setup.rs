//! What is there while a command runs behind a link.

use std::fs;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, PoisonError};

use ackclock_units::Instant;

use super::ends::{Addresses, End, port};
use super::relay::{Outside, Relay};
use super::resolver::Resolver;
use super::watch::{LastRows, LinkSample, Looker};
use super::{LinkOptions, LinkReport};
use crate::linux::wait::Waker;
use crate::{AccessDelays, Capture, Clock, DriveError, Emulator, EmulatorOptions, Namespace};

/// Both ends, the link between them, and what is behind it.
pub(super) struct Setup {
    pub(super) addresses: Addresses,
    /// The command's end.
    pub(super) near: Namespace,
    /// The far end, where a server is to run in it.
    pub(super) far: Option<Namespace>,
    /// What the command is to find in `/etc/resolv.conf`, if not the machine's.
    pub(super) resolver: Option<Vec<u8>>,
    /// What passed each second.
    pub(super) samples: Receiver<LinkSample>,
    relay: Option<Relay>,
    emulator: Emulator,
    captures: [Option<Capture>; 2],
    last: LastRows,
    clock: Clock,
}

impl Setup {
    /// Sets all up. `waker` is woken for each sample.
    pub(super) fn new(options: LinkOptions, waker: &Arc<Waker>) -> Result<Self, DriveError> {
        let (addresses, outside) = (Addresses::free()?, options.server.is_none());
        let (near, far) = (End::near(addresses)?, End::far(addresses, outside)?);
        let clock = Clock::start();
        let folder = options.captures.as_deref();
        let (near_port, near_capture) = port(near.tun, "near", folder, clock)?;
        let far_device = if outside { Some(far.tun.descriptor()?) } else { None };
        let (mut far_port, far_capture) = port(far.tun, "far", folder, clock)?;
        let (mut namespace, mut relay, mut resolver) = (Some(far.namespace), None, None);
        if let (Some(device), Some(far)) = (far_device, namespace.take_if(|_| outside)) {
            let file = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
            let found = Resolver::new(&file, addresses.far);
            let outside = Outside { gateway: addresses.far, resolver: found.server };
            let (started, door) = Relay::start(far, device, outside, clock)?;
            far_port.guard(door);
            (relay, resolver) = (Some(started), found.text);
        }
        let (looker, samples, last) = Looker::new(options.live.then(|| Arc::clone(waker)));
        let links = EmulatorOptions {
            forward: options.up,
            backward: options.down,
            access: AccessDelays::default(),
            seed: options.seed,
            clock,
        };
        Ok(Self {
            addresses,
            near: near.namespace,
            far: namespace,
            resolver,
            samples,
            relay,
            emulator: Emulator::start_watched(near_port, far_port, links, Box::new(looker))?,
            captures: [near_capture, far_capture],
            last,
            clock,
        })
    }

    /// True while packets are on the link, or bytes of the command on their way to the outside world.
    pub(super) fn is_carrying(&self) -> bool {
        self.emulator.inside() > 0 || self.relay.as_ref().is_some_and(Relay::is_sending)
    }

    /// Stops all, and returns what the link has carried.
    pub(super) fn finish(self, status: i32, unsent: bool) -> Result<LinkReport, DriveError> {
        let lasted = self.clock.now().since(Instant::ZERO);
        let emulator = self.emulator.stop();
        let relay = self.relay.map(Relay::stop);
        self.captures.iter().flatten().try_for_each(Capture::finish)?;
        let mut rows =
            std::mem::take(&mut *self.last.lock().unwrap_or_else(PoisonError::into_inner)).into_iter();
        let (Some(up), Some(down)) = (rows.next(), rows.next()) else {
            return Err(DriveError::Failed("the emulator ended before the command did".into()));
        };
        Ok(LinkReport { status, lasted, up, down, emulator, relay, unsent })
    }
}
