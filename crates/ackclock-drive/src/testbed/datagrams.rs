//! Datagrams of a scenario over UDP sockets.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ackclock_sim::scenario::Resolved;
use ackclock_sim::{DatagramSource, MeasuredSpan};
use ackclock_trace::{FlowRow, Label, Side};
use ackclock_units::{Bytes, Duration, Instant, Rng};

use super::flow_rows::rate;
use super::hosts::{Addresses, Hosts};
use crate::linux::wait::{be_punctual, wait};
use crate::sockets::RunControl;
use crate::{Clock, DriveError};

/// Bytes of a datagram's IP and UDP headers.
const HEADERS: u32 = 28;
/// Where datagrams go to.
const PORT: u16 = 5002;
/// How long a receiver waits before it asks whether the run is over.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(20);

/// Packets and bytes, headers included, from the moment that counts on.
#[derive(Debug, Default)]
struct Count {
    packets: AtomicU64,
    bytes: AtomicU64,
}

impl Count {
    fn add(&self, bytes: u32) {
        self.packets.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(u64::from(bytes), Ordering::Relaxed);
    }
}

/// One source of datagrams, ready to send.
pub(super) struct Sender {
    socket: UdpSocket,
    source: Box<dyn DatagramSource>,
    sent: Arc<Count>,
}

/// The receiver of a source.
pub(super) struct Receiver {
    socket: UdpSocket,
    received: Arc<Count>,
}

/// What is known of a source.
pub(super) struct SourceFacts {
    group: Arc<str>,
    nodes: [usize; 2],
    path_rtt: Duration,
    sent: Arc<Count>,
    received: Arc<Count>,
}

/// Opens the sockets of a source from one address to another.
pub(super) fn open(
    hosts: &Hosts,
    at: &Addresses,
    source: Box<dyn DatagramSource>,
    (group, nodes, path_rtt): (Arc<str>, [usize; 2], Duration),
    number: usize,
) -> Result<(Sender, Receiver, SourceFacts), DriveError> {
    let failed = DriveError::system("open a socket for datagrams");
    let [from, to] = at.hosts.map(|host| &hosts.namespaces[host]);
    let there = SocketAddr::new(at.to.ip(), PORT.saturating_add(u16::try_from(number).unwrap_or(u16::MAX)));
    let here = at.from;
    let receiver = to.run(|| UdpSocket::bind(there))?;
    let sender = from.run(|| {
        let socket = UdpSocket::bind(here)?;
        socket.connect(there)?;
        socket.set_nonblocking(true)?;
        Ok::<_, io::Error>(socket)
    })?;
    let (sender, receiver) = match (sender, receiver) {
        (Ok(sender), Ok(receiver)) => (sender, receiver),
        (Err(e), _) | (_, Err(e)) => return Err(failed(e)),
    };
    receiver.set_read_timeout(Some(PATIENCE)).map_err(DriveError::system("open a socket for datagrams"))?;
    let (sent, received) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let facts =
        SourceFacts { group, nodes, path_rtt, sent: Arc::clone(&sent), received: Arc::clone(&received) };
    Ok((Sender { socket: sender, source, sent }, Receiver { socket: receiver, received }, facts))
}

/// Sends the datagrams of all sources until `end` or until the run is stopped.
pub(super) fn send(mut all: Vec<Sender>, control: &RunControl, (from, end): (Instant, Instant)) {
    be_punctual();
    control.clock.wait_for_start();
    // Not drawn from: sources have streams of their own.
    let mut rng = Rng::stream(0, "datagrams", 0);
    let payload = vec![0_u8; usize::from(u16::MAX)];
    let mut next: Vec<_> = all.iter_mut().map(|sender| sender.source.next(&mut rng)).collect();
    loop {
        let first = (0..all.len()).filter_map(|i| Some((next[i]?.at, i))).min().filter(|(at, _)| *at < end);
        let Some((at, i)) = first else { return };
        while control.clock.now() < at {
            if control.is_stopped() {
                return;
            }
            wait(&control.clock, [], Some(at));
        }
        let Some(datagram) = next[i] else { return };
        let sender = &mut all[i];
        let bytes = datagram.bytes.saturating_sub(HEADERS) as usize;
        // What the kernel does not take is lost as behind a full queue of the host.
        let taken = sender.socket.send(&payload[..bytes.min(payload.len())]).is_ok();
        if taken && at >= from {
            sender.sent.add(datagram.bytes);
        }
        next[i] = sender.source.next(&mut rng);
    }
}

/// Receives the datagrams of one source until `over`.
pub(super) fn receive(receiver: &Receiver, clock: &Clock, from: Instant, over: &AtomicBool) {
    let mut buffer = vec![0; usize::from(u16::MAX)];
    while !over.load(Ordering::Acquire) {
        if let Ok(n) = receiver.socket.recv(&mut buffer)
            && clock.now() >= from
        {
            receiver.received.add(n as u32 + HEADERS);
        }
    }
}

impl SourceFacts {
    /// Its row in the table of flows.
    pub(super) fn row(
        &self,
        scenario: &Resolved,
        (run, stack, number): (&Label, &Label, u32),
        (measured, last): (MeasuredSpan, Instant),
    ) -> FlowRow {
        let from = match measured {
            MeasuredSpan::From(from) => from,
            _ => Instant::ZERO,
        };
        let value = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (sent, delivered): (u64, Bytes) = (value(&self.sent.packets), value(&self.received.bytes));
        let node = |i: usize| Label::from(scenario.path.nodes[self.nodes[i]].as_str());
        FlowRow {
            run: run.clone(),
            stack: stack.clone(),
            flow: number,
            group: self.group.clone(),
            protocol: "udp",
            client: node(0),
            server: node(1),
            sender: Side::Client,
            segments_sent: sent,
            data_segments_sent: sent,
            bytes_sent: value(&self.sent.bytes),
            bytes_delivered: delivered,
            measured_from: Some(from),
            goodput: rate(delivered, last.since(from)),
            path_rtt: Some(self.path_rtt),
            ..FlowRow::default()
        }
    }
}
