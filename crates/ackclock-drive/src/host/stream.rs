use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration as Time;

use ackclock_engine::{State, Stats};
use ackclock_policy::SenderView;
use ackclock_units::Instant;

use super::core::ConnEntry;
use super::ending::error_of;
use super::run::{HostShared, Locked};

/// A connection. Reads and writes block, and two threads may do them concurrently through a shared reference.
///
/// Dropping it closes it in the background while the host exists; data already written is still sent.
pub struct Stream {
    shared: Arc<HostShared>,
    id: u32,
    read_timeout: Mutex<Option<Time>>,
}

impl Stream {
    pub(super) fn held(shared: &Arc<HostShared>, id: u32) -> Self {
        Self { shared: shared.clone(), id, read_timeout: Mutex::default() }
    }

    pub(super) fn connect(shared: &Arc<HostShared>, to: SocketAddr) -> io::Result<Self> {
        let mut core = shared.lock();
        let now = shared.clock.now();
        if let Some(e) = core.end_error() {
            return Err(e);
        }
        let id = core.connect(now, &shared.port, to, None).ok_or(io::ErrorKind::AddrNotAvailable)?;
        shared.wake_if_needed(&mut core);
        drop(core);
        let stream = Self::held(shared, id);
        stream.until(None, |entry, _| entry.established.then_some(Ok(())))?;
        Ok(stream)
    }

    /// Its own address.
    pub fn local_addr(&self) -> SocketAddr {
        self.shared.lock().entry(self.id).local
    }

    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.shared.lock().entry(self.id).peer
    }

    /// How long a read waits before it fails with `WouldBlock`; `None`, the default, waits for ever.
    pub fn set_read_timeout(&self, timeout: Option<Time>) {
        *self.read_timeout.lock().unwrap_or_else(|e| e.into_inner()) = timeout;
    }

    /// Closes the sending direction, after the data written. Reading continues.
    pub fn shutdown_write(&self) {
        self.operate(|entry, now| entry.connection.close(now));
    }

    /// Closes the sending direction and waits until the peer has acknowledged everything, the FIN included.
    ///
    /// # Errors
    /// The reason of an abort, or `WouldBlock` after `timeout`.
    pub fn close(self, timeout: Option<Time>) -> io::Result<()> {
        self.shutdown_write();
        self.until(timeout, |entry, _| {
            matches!(entry.connection.state(), State::FinWait2 | State::TimeWait | State::Closed)
                .then_some(Ok(()))
        })
    }

    /// Resets the connection.
    pub fn abort(self) {
        self.operate(|entry, now| entry.connection.abort(now));
    }

    /// Holds small segments back while `corked`.
    pub fn set_cork(&self, corked: bool) {
        self.operate(|entry, now| entry.connection.set_cork(now, corked));
    }

    fn operate(&self, action: impl FnOnce(&mut ConnEntry, Instant)) {
        let mut core = self.shared.lock();
        let now = self.shared.clock.now();
        core.operate(now, &self.shared.port, self.id, |entry| action(entry, now));
        self.shared.wake_if_needed(&mut core);
    }

    /// The connection's counters.
    pub fn stats(&self) -> Stats {
        self.shared.lock().entry(self.id).connection.stats().clone()
    }

    /// The connection's state.
    pub fn state(&self) -> State {
        self.shared.lock().entry(self.id).connection.state()
    }

    /// The present view of its policies.
    pub fn view(&self) -> SenderView {
        let mut core = self.shared.lock();
        let now = self.shared.clock.now();
        core.entry(self.id).connection.view(now)
    }

    /// Bytes written and not acknowledged.
    pub fn unacked(&self) -> u64 {
        self.shared.lock().entry(self.id).connection.unacked()
    }

    /// Waits until `done` returns a result, the connection fails, or `timeout` has passed.
    fn until<T>(
        &self,
        timeout: Option<Time>,
        mut done: impl FnMut(&mut ConnEntry, Instant) -> Option<io::Result<T>>,
    ) -> io::Result<T> {
        let deadline = timeout.map(|t| std::time::Instant::now() + t);
        let mut core = self.shared.lock();
        loop {
            if let Some(e) = core.broken() {
                return Err(e);
            }
            let ended = core.end_error();
            let now = self.shared.clock.now();
            let entry = core.entry(self.id);
            if let Some(result) = done(entry, now) {
                self.shared.finish(&mut core, now, self.id);
                return result;
            }
            if let Some(e) = ended.or_else(|| entry.outcome.map(error_of)) {
                return Err(e);
            }
            core = self.wait(core, deadline)?;
        }
    }

    fn wait<'a>(&self, mut core: Locked<'a>, deadline: Option<std::time::Instant>) -> io::Result<Locked<'a>> {
        let entry = core.entry(self.id);
        entry.waiting += 1;
        let changed = entry.changed.clone();
        let left = deadline.map(|at| at.saturating_duration_since(std::time::Instant::now()));
        let (mut core, timed_out) = core.wait(&changed, left);
        core.entry(self.id).waiting -= 1;
        if timed_out && left.is_some_and(|left| left.is_zero()) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(core)
    }
}

impl Read for &Stream {
    /// Waits for data; returns 0 once the peer has closed its direction and everything was read.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let timeout = *self.read_timeout.lock().unwrap_or_else(|e| e.into_inner());
        self.until(timeout, |entry, now| match entry.connection.read(now, buffer) {
            0 if entry.connection.at_end() => Some(Ok(0)),
            0 if entry.outcome.is_none() && entry.connection.state() == State::Closed => Some(Ok(0)),
            0 => None,
            n => Some(Ok(n)),
        })
    }
}

impl Write for &Stream {
    /// Waits for buffer space; returns the number of bytes taken.
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if data.is_empty() {
            return Ok(0);
        }
        self.until(None, |entry, now| {
            if !matches!(
                entry.connection.state(),
                State::SynSent | State::SynReceived | State::Established | State::CloseWait
            ) {
                return entry.outcome.is_none().then(|| Err(io::ErrorKind::BrokenPipe.into()));
            }
            match entry.connection.write(now, data) {
                0 => None,
                n => Some(Ok(n)),
            }
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        (&*self).write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut core = self.shared.lock();
        let now = self.shared.clock.now();
        core.release(now, &self.shared.port, self.id);
        self.shared.wake_if_needed(&mut core);
    }
}
