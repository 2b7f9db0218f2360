//! Datagrams of a scenario over UDP sockets: all sources on one thread, all receivers on another.

mod receive;
mod rows;
mod send;

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ackclock_sim::DatagramSpec;
use ackclock_units::{Bytes, Duration};

pub(super) use self::receive::Receivers;
pub(super) use self::rows::{SourceFacts, series};
pub(super) use self::send::{Sample, Senders, Span};
use super::hosts::{Addresses, Hosts};
use crate::DriveError;
use crate::linux::wait::Waker;

/// Bytes of a datagram's IP and UDP headers (RFC 791 §3.1, RFC 768).
const HEADERS: u32 = 28;
/// Smallest datagram that has room for its number.
pub(super) const LEAST_NUMBERED: Bytes = HEADERS as Bytes + NUMBER as Bytes;
/// Bytes of a number.
const NUMBER: usize = 8;
/// Where datagrams go to.
const PORT: u16 = 5002;
/// Room for datagrams that arrive while their receiver is busy, bytes.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Packets and bytes, headers included: all, and those from the moment that counts on.
#[derive(Debug, Default)]
struct Count {
    bytes: AtomicU64,
    counted_packets: AtomicU64,
    counted_bytes: AtomicU64,
}

impl Count {
    fn add(&self, bytes: u32, counts: bool) {
        self.bytes.fetch_add(u64::from(bytes), Ordering::Relaxed);
        if counts {
            self.counted_packets.fetch_add(1, Ordering::Relaxed);
            self.counted_bytes.fetch_add(u64::from(bytes), Ordering::Relaxed);
        }
    }
}

/// Both ends of a source.
#[derive(Debug, Default)]
struct Counts {
    sent: Count,
    received: Count,
}

/// Ends a thread.
pub(super) struct Stop {
    over: AtomicBool,
    waker: Waker,
}

impl Stop {
    pub(super) fn new() -> Result<Self, DriveError> {
        Ok(Self { over: AtomicBool::new(false), waker: Waker::new()? })
    }

    /// Ends it soon.
    pub(super) fn stop(&self) {
        self.over.store(true, Ordering::Release);
        self.waker.wake();
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// All sources of a run, ready to send, and their receivers.
pub(super) struct Datagrams {
    pub(super) senders: Senders,
    pub(super) receivers: Receivers,
    pub(super) facts: Vec<SourceFacts>,
}

impl Datagrams {
    pub(super) fn new() -> Result<Self, DriveError> {
        Ok(Self { senders: Senders::new()?, receivers: Receivers::new()?, facts: Vec::new() })
    }

    /// Opens the sockets of a source from one address to another.
    pub(super) fn open(
        &mut self,
        hosts: &Hosts,
        at: &Addresses,
        spec: DatagramSpec,
        path_rtt: Duration,
    ) -> Result<(), DriveError> {
        let number = u16::try_from(self.facts.len()).unwrap_or(u16::MAX);
        let there = SocketAddr::new(at.to.ip(), PORT.saturating_add(number));
        let [from, to] = at.hosts.map(|host| &hosts.namespaces[host]);
        let receiver = to.run(|| receiving(there))?;
        let sender = from.run(|| sending(at.from, there))?;
        let (sender, receiver) = match (sender, receiver) {
            (Ok(sender), Ok(receiver)) => (sender, receiver),
            (Err(e), _) | (_, Err(e)) => return Err(DriveError::system("open a socket for datagrams")(e)),
        };
        let counts = Arc::new(Counts::default());
        self.facts.push(SourceFacts {
            group: spec.group,
            nodes: [spec.from, spec.to].map(|node| node.0 as usize),
            path_rtt,
            counts: Arc::clone(&counts),
        });
        self.receivers.add(receiver, spec.reports, Arc::clone(&counts))?;
        self.senders.add(sender, spec.source, spec.reports.is_some(), counts)
    }
}

fn receiving(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(at)?;
    socket.set_nonblocking(true)?;
    // Without the right to exceed `net.core.rmem_max` it stays as it is.
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, RECEIVE_BUFFER);
    Ok(socket)
}

fn sending(from: SocketAddr, to: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(from)?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// The number at the beginning of a payload.
fn number_in(payload: &[u8]) -> Option<u64> {
    payload.first_chunk().map(|bytes| u64::from_be_bytes(*bytes))
}

/// Puts a number at the beginning of a payload, which must have room for it.
fn put_number(payload: &mut [u8], number: u64) {
    payload[..NUMBER].copy_from_slice(&number.to_be_bytes());
}
