//! The engine behind a port: a thread that turns packets to segments and back, and a small blocking
//! interface.
//!
//! All connections are in one [`core::Core`] under one lock, not owned by the thread. So a program's thread
//! writes, sends and arms timers itself, and the host's thread is woken only when it would sleep too long.
//!
//! Packets may come from an attacker. [`HostLimits`] bounds the work and the memory that they can cause.

mod app_service;
mod apps;
mod arriving;
mod backlog;
mod cookies;
mod core;
mod ending;
mod icmp;
mod limits;
mod listener;
mod listening;
mod offload;
mod options;
mod orphan_table;
mod orphans;
mod ports;
mod run;
mod sending;
mod stopping;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

pub use listener::Listener;
pub use options::{HostCounters, HostLimits, HostOptions};
pub use stream::Stream;

use crate::{DriveError, Port};
pub(crate) use apps::{AppFactory, AppReport, HostedApp};
use run::HostShared;

/// A TCP host: the engine with addresses, a port and a real clock. Dropping it resets open connections.
pub struct Host {
    shared: Arc<HostShared>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Host {
    /// Starts a host on a port.
    ///
    /// # Errors
    /// No address, an MTU that no TCP segment fits into, or a system call that failed.
    pub fn start(port: impl Into<Port>, options: HostOptions) -> Result<Self, DriveError> {
        Self::started(port.into(), options, false)
    }

    /// As [`Host::start`], with a thread that is scheduled before ordinary ones: for applications that depend
    /// on timing and do little work.
    pub(crate) fn start_punctual(port: Port, options: HostOptions) -> Result<Self, DriveError> {
        Self::started(port, options, true)
    }

    fn started(port: Port, options: HostOptions, punctual: bool) -> Result<Self, DriveError> {
        options.check()?;
        let shared = Arc::new(HostShared::new(port, options)?);
        let worker = shared.clone();
        let thread = std::thread::Builder::new()
            .name("host".into())
            .spawn(move || worker.run(punctual))
            .map_err(DriveError::system("start a thread"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Opens a connection, and waits until it is established or has failed.
    ///
    /// # Errors
    /// `ConnectionRefused`, `HostUnreachable` (after an ICMP error), `TimedOut` (no response to the SYNs),
    /// `AddrNotAvailable` (no own address of that family, or no free port).
    pub fn connect(&self, to: SocketAddr) -> io::Result<Stream> {
        Stream::connect(&self.shared, to)
    }

    /// Listens at a port on every address. Up to `backlog` connections may be half open, and as many may wait
    /// to be accepted. Port 0 selects a free one.
    ///
    /// # Errors
    /// `AddrInUse`, or `ConnectionAborted` once the host has ended.
    pub fn listen(&self, port: u16, backlog: usize) -> io::Result<Listener> {
        Listener::open(&self.shared, port, backlog)
    }

    /// Opens a connection to `to` and runs an application on it. False without an own address of that family,
    /// or a free port.
    pub(crate) fn launch(&self, to: SocketAddr, app: HostedApp) -> bool {
        self.shared.launch(to, app)
    }

    /// Listens at `port` on every address and runs an application on each connection.
    pub(crate) fn serve(&self, port: u16, backlog: usize, service: AppFactory) {
        self.shared.serve(port, backlog, service);
    }

    /// Number of running applications.
    pub(crate) fn running_apps(&self) -> usize {
        self.shared.running_apps()
    }

    /// Stops all applications and returns the results of all that ever ran.
    pub(crate) fn collect_reports(&self) -> Vec<AppReport> {
        self.shared.collect_reports()
    }

    /// Returns an error if the host has ended, because its port failed or a thread panicked. Every other call
    /// then fails with the same message.
    ///
    /// # Errors
    /// Why it has ended.
    pub fn check(&self) -> Result<(), DriveError> {
        self.shared.lock().ended.as_ref().map_or(Ok(()), |e| Err(DriveError::Failed(e.why.clone())))
    }

    /// Its counters.
    pub fn counters(&self) -> HostCounters {
        self.shared.lock().counters
    }

    /// Number of connections, those in TIME-WAIT included.
    pub fn connections(&self) -> usize {
        self.shared.lock().connections()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.shared.halt();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
