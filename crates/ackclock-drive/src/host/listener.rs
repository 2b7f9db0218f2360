use std::collections::btree_map::Entry;
use std::io;
use std::sync::Arc;

use super::backlog::Listening;
use super::run::HostShared;
use super::stream::Stream;

/// A listening port. Dropping it resets connections that were not accepted.
pub struct Listener {
    shared: Arc<HostShared>,
    port: u16,
}

impl Listener {
    pub(super) fn open(shared: &Arc<HostShared>, port: u16, backlog: usize) -> io::Result<Self> {
        let mut core = shared.lock();
        if let Some(e) = core.end_error() {
            return Err(e);
        }
        let port = match port {
            0 => {
                (1024..=u16::MAX).find(|p| !core.listeners.contains_key(p)).ok_or(io::ErrorKind::AddrInUse)?
            }
            port => port,
        };
        match core.listeners.entry(port) {
            Entry::Occupied(_) => Err(io::ErrorKind::AddrInUse.into()),
            Entry::Vacant(place) => {
                place.insert(Listening::new(backlog, None));
                Ok(Self { shared: shared.clone(), port })
            }
        }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// `ConnectionAborted` with the reason, when the host ends.
    pub fn accept(&self) -> io::Result<Stream> {
        let mut core = self.shared.lock();
        loop {
            if let Some(e) = core.end_error() {
                return Err(e);
            }
            if let Some(id) = core.accept(self.port) {
                drop(core);
                return Ok(Stream::held(&self.shared, id));
            }
            let Some(changed) = core.listeners.get(&self.port).map(|l| l.changed.clone()) else {
                return Err(io::ErrorKind::ConnectionAborted.into());
            };
            core = core.wait(&changed, None).0;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut core = self.shared.lock();
        core.unlisten(self.shared.clock.now(), &self.shared.port, self.port);
    }
}
