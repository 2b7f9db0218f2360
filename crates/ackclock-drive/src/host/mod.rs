//! The engine behind a port: one thread that turns packets to segments and back, and a small blocking interface above it.
//!
//! The thread owns no connection: all of them lie in one [`core::Core`] under one lock, so that a program's own thread writes, sends and arms timers
//! itself, and the host's thread is woken only where it would sleep too long.

mod core;
mod guests;
mod icmp;
mod listener;
mod listening;
mod offload;
mod run;
mod stream;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use ackclock_engine::{AbortReason, Config};

pub use listener::Listener;
pub use stream::Stream;

use crate::{Clock, DriveError, PolicyFactory, Port};
pub(crate) use guests::{Guest, Left, Service};
use run::Shared;

/// What a host is made with.
#[derive(Clone)]
pub struct HostOptions {
    /// The host's own addresses. With a TUN device: addresses of its subnet that the kernel does not own.
    pub addresses: Vec<IpAddr>,
    /// Largest IP packet, bytes; the announced segment size fits into it.
    pub mtu: u16,
    /// Options of every connection.
    pub config: Config,
    /// Policies of every connection.
    pub policies: PolicyFactory,
    /// The clock, shared with whatever else is timed.
    pub clock: Clock,
}

impl fmt::Debug for HostOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostOptions")
            .field("addresses", &self.addresses)
            .field("mtu", &self.mtu)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// What a host has seen besides the counters of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HostCounters {
    /// Packets received.
    pub packets_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// ICMP errors directed to a connection.
    pub icmp_errors: u64,
    /// Packets dropped because they were damaged, neither TCP nor an ICMP error of a connection, or for somebody else.
    pub ignored: u64,
    /// Resets sent in answer to segments without a connection.
    pub resets_sent: u64,
    /// Packets that the port did not take.
    pub send_failures: u64,
    /// SYNs dropped because a listener's backlog was full.
    pub backlog_drops: u64,
}

/// A TCP host: the engine with addresses, a port and the real clock.
///
/// Dropping it resets what is still open.
pub struct Host {
    shared: Arc<Shared>,
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

    /// The same, with a thread that runs before all ordinary ones: for applications above it that time what they do and do little else.
    pub(crate) fn start_punctual(port: Port, options: HostOptions) -> Result<Self, DriveError> {
        Self::started(port, options, true)
    }

    fn started(port: Port, options: HostOptions, punctual: bool) -> Result<Self, DriveError> {
        let (least, most) = (576, u16::MAX);
        if options.addresses.is_empty() {
            return Err(DriveError::Input("a host needs at least one address, none was given".into()));
        }
        if options.mtu < least {
            return Err(DriveError::Input(format!("an MTU of {} bytes is too small: give {least} to {most}", options.mtu)));
        }
        let shared = Arc::new(Shared::new(port, options)?);
        let worker = shared.clone();
        let thread =
            std::thread::Builder::new().name("host".into()).spawn(move || worker.run(punctual)).map_err(DriveError::system("start a thread"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Opens a connection, and waits until it is established or has failed.
    ///
    /// # Errors
    /// `ConnectionRefused`, `HostUnreachable` (an ICMP error says so), `TimedOut` (no answer to the SYNs), `AddrNotAvailable` (no own address of that family, or no free port).
    pub fn connect(&self, to: SocketAddr) -> io::Result<Stream> {
        Stream::connect(&self.shared, to)
    }

    /// Waits for connections to a port, on every address; `backlog` of them may be half open or wait to be accepted. Port 0 asks for a free one.
    ///
    /// # Errors
    /// `AddrInUse`.
    pub fn listen(&self, port: u16, backlog: usize) -> io::Result<Listener> {
        Listener::open(&self.shared, port, backlog)
    }

    /// Opens a connection to `to` with an application above it. False without an own address of that family, or a free port.
    pub(crate) fn launch(&self, to: SocketAddr, guest: Guest) -> bool {
        self.shared.launch(to, guest)
    }

    /// Puts an application above each connection to `port`, on every address.
    pub(crate) fn serve(&self, port: u16, backlog: usize, service: Service) {
        self.shared.serve(port, backlog, service);
    }

    /// How many applications are above connections and not over.
    pub(crate) fn guests(&self) -> usize {
        self.shared.guests()
    }

    /// What became of all applications that were above connections.
    pub(crate) fn collect(&self) -> Vec<Left> {
        self.shared.collect()
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

/// The kernel's error for an end of this kind.
fn error_of(reason: AbortReason) -> io::Error {
    let (kind, text) = match reason {
        AbortReason::Refused => (io::ErrorKind::ConnectionRefused, "the peer refused the connection"),
        AbortReason::Reset => (io::ErrorKind::ConnectionReset, "the peer reset the connection"),
        AbortReason::SynTimeout => (io::ErrorKind::TimedOut, "the peer does not answer"),
        AbortReason::Timeout => (io::ErrorKind::TimedOut, "the peer no longer acknowledges"),
        AbortReason::Unreachable => (io::ErrorKind::HostUnreachable, "the peer cannot be reached"),
        AbortReason::KeepaliveTimeout => (io::ErrorKind::TimedOut, "the peer no longer answers keepalive probes"),
        AbortReason::Local => (io::ErrorKind::ConnectionAborted, "the connection was aborted on this side"),
    };
    io::Error::new(kind, text)
}
