//! The engine behind a port: one thread that turns packets to segments and back, and a small blocking
//! interface above it.
//!
//! The thread owns no connection: all of them lie in one [`core::Core`] under one lock, so that a program's
//! own thread writes, sends and arms timers itself, and the host's thread is woken only where it would sleep
//! too long.
//!
//! Whatever comes from the port may come from an enemy. What it can make the host do and keep has limits
//! ([`HostLimits`]), each with a file here.

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

/// A TCP host: the engine with addresses, a port and the real clock.
///
/// Dropping it resets what is still open.
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

    /// The same, with a thread that runs before all ordinary ones: for applications above it that time what
    /// they do and do little else.
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
    /// `ConnectionRefused`, `HostUnreachable` (an ICMP error says so), `TimedOut` (no answer to the SYNs),
    /// `AddrNotAvailable` (no own address of that family, or no free port).
    pub fn connect(&self, to: SocketAddr) -> io::Result<Stream> {
        Stream::connect(&self.shared, to)
    }

    /// OrphanWait for connections to a port, on every address; `backlog` of them may be half open, and as many
    /// wait to be accepted. Port 0 asks for a free one.
    ///
    /// # Errors
    /// `AddrInUse`, or `ConnectionAborted` once the host has ended.
    pub fn listen(&self, port: u16, backlog: usize) -> io::Result<Listener> {
        Listener::open(&self.shared, port, backlog)
    }

    /// Opens a connection to `to` with an application above it. False without an own address of that family,
    /// or a free port.
    pub(crate) fn launch(&self, to: SocketAddr, app: HostedApp) -> bool {
        self.shared.launch(to, app)
    }

    /// Puts an application above each connection to `port`, on every address.
    pub(crate) fn serve(&self, port: u16, backlog: usize, service: AppFactory) {
        self.shared.serve(port, backlog, service);
    }

    /// How many applications are above connections and not over.
    pub(crate) fn running_apps(&self) -> usize {
        self.shared.running_apps()
    }

    /// What became of all applications that were above connections.
    pub(crate) fn collect_reports(&self) -> Vec<AppReport> {
        self.shared.collect_reports()
    }

    /// Says whether it still works: it ends when its port fails, or when a thread panics in it. Every call
    /// fails with the same sentence then.
    ///
    /// # Errors
    /// Why it has ended.
    pub fn check(&self) -> Result<(), DriveError> {
        self.shared.lock().ended.as_ref().map_or(Ok(()), |e| Err(DriveError::Failed(e.why.clone())))
    }

    /// What it has seen so far.
    pub fn counters(&self) -> HostCounters {
        self.shared.lock().counters
    }

    /// Connections that exist, those in TIME-WAIT included.
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
