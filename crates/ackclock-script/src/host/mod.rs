//! A host in virtual time: sockets above connections of the engine, and the packets that leave it.

mod call;
mod flow;
mod options;
mod socket;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ackclock_engine::{Connection, ConnectionEvent, Stack, State};
use ackclock_units::{Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::{Flags, IcmpError, Segment};

pub(crate) use call::{Call, Returned};
pub(crate) use flow::{Flow, Ports};
pub(crate) use options::OptionValue;
pub(crate) use socket::{Socket, SocketKind};

use crate::constants::Errno;

/// Most descriptors and connections of a script: far more than any needs.
const MAX_OPEN: usize = 1024;

/// The port that a server binds to, and that a client's peer has, where a script names none.
pub(crate) const SERVER_PORT: u16 = 8080;

/// The first port of a client.
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

/// A packet that has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    /// When.
    pub at: Instant,
    /// Its segment.
    pub segment: Segment,
    /// The field of its IP header.
    pub ecn: Ecn,
    /// The connection that it belongs to.
    pub ports: Ports,
}

/// The host that is tested.
#[derive(Debug)]
pub(crate) struct Host {
    now: Instant,
    /// What new sockets run.
    pub(crate) stack: Stack,
    /// Open descriptors.
    sockets: BTreeMap<i32, Socket>,
    /// All connections, in the order of their making; those that are over too.
    flows: Vec<Flow>,
    sent: VecDeque<Departure>,
    /// Seed of initial sequence numbers and of connections' random streams.
    seed: u64,
}

impl Host {
    pub(crate) fn new(stack: Stack, seed: u64) -> Self {
        Self {
            now: Instant::ZERO,
            stack,
            sockets: BTreeMap::new(),
            flows: Vec::new(),
            sent: VecDeque::new(),
            seed,
        }
    }

    /// The present moment.
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    /// The earliest deadline of a connection.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.flows.iter().filter_map(|f| f.connection.poll_timeout()).min()
    }

    /// Lets time pass until `then`, which no deadline may precede, and runs what is due then.
    pub(crate) fn advance(&mut self, then: Instant) {
        self.now = self.now.max(then);
        for i in 0..self.flows.len() {
            let flow = &mut self.flows[i];
            while flow.connection.poll_timeout().is_some_and(|at| at <= self.now) {
                flow.connection.handle_timeout(self.now);
            }
            self.run(i);
        }
    }

    /// The packet that left first of those that nobody has looked at.
    pub(crate) fn take_sent(&mut self) -> Option<Departure> {
        self.sent.pop_front()
    }

    /// Those packets, in the order in which they left.
    pub(crate) fn sent(&self) -> &VecDeque<Departure> {
        &self.sent
    }

    /// The connection that a script means where it names no ports: the latest.
    pub(crate) fn latest(&self) -> Option<&Flow> {
        self.flows.last()
    }

    /// The same, to change it.
    pub(crate) fn latest_mut(&mut self) -> Option<&mut Flow> {
        self.flows.last_mut()
    }

    /// How many connections there were.
    pub(crate) fn connections(&self) -> usize {
        self.flows.len()
    }

    fn find(&self, ports: Ports) -> Option<usize> {
        // The newest first: an old connection in TIME-WAIT may have had the same ports.
        let alive = |f: &Flow| f.ports == ports && f.connection.state() != State::Closed;
        self.flows.iter().rposition(alive)
    }

    /// A segment arrives.
    pub(crate) fn receive(&mut self, ports: Ports, segment: &Segment, payload: &[u8], ecn: Ecn) {
        let mut found = self.find(ports);
        if let Some(i) = found
            && self.flows[i].connection.may_be_replaced_by(segment)
            && self.listener(ports.local).is_some()
        {
            self.flows[i].connection.abort(self.now);
            found = None;
        }
        if found.is_none() && segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            found = self.open_passively(ports);
        }
        let Some(i) = found else {
            self.refuse(ports, segment);
            return;
        };
        self.flows[i].arrived(self.now, segment);
        self.flows[i].connection.handle_segment(self.now, segment, payload, ecn);
        if self.flows[i].is_orphan() && self.flows[i].connection.readable() > 0 {
            // Nobody will read this (RFC 1122 §4.2.2.13).
            self.flows[i].connection.abort(self.now);
            while self.flows[i].connection.poll_transmit(self.now).is_some() {}
            self.refuse(ports, segment);
        }
        self.run(i);
    }

    /// An ICMP error arrives about a segment of a connection.
    pub(crate) fn receive_icmp(&mut self, ports: Ports, error: &IcmpError) {
        if let Some(i) = self.find(ports) {
            self.flows[i].noted(error);
            self.flows[i].connection.handle_icmp(self.now, error);
            self.run(i);
        }
    }

    /// Responds to a segment that belongs to no connection (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, ports: Ports, segment: &Segment) {
        if let Some(segment) = Connection::reset_for(segment) {
            self.sent.push_back(Departure { at: self.now, segment, ecn: Ecn::NotEct, ports });
        }
    }

    fn listener(&self, port: u16) -> Option<i32> {
        let listens = |s: &Socket| matches!(s.kind, SocketKind::Listener(_)) && s.port == Some(port);
        self.sockets.iter().find(|(_, s)| listens(s)).map(|(fd, _)| *fd)
    }

    /// Makes the connection for a SYN, where somebody listens and has room.
    fn open_passively(&mut self, ports: Ports) -> Option<usize> {
        let fd = self.listener(ports.local)?;
        let i = self.flows.len();
        let socket = self.sockets.get_mut(&fd)?;
        let SocketKind::Listener(listener) = &mut socket.kind else { return None };
        if listener.is_full() || i >= MAX_OPEN {
            return None;
        }
        listener.opening.push(i);
        let options = socket.options.clone();
        let mut flow = self.make_flow(ports, options);
        flow.connection.listen();
        self.flows.push(flow);
        Some(i)
    }

    fn make_flow(&self, ports: Ports, options: options::SocketOptions) -> Flow {
        let index = self.flows.len() as u64;
        // Sequence numbers of scripts count from the SYN; the numbers on the wire are the same.
        let iss = SeqNumber(0);
        let rng = Rng::stream(self.seed, "script connection", index);
        let config = Arc::new(options.config(&self.stack));
        let policies = options.policies(&self.stack);
        Flow::new(Connection::new(config, policies, iss, rng), ports, options)
    }

    /// Sends what a connection has to send, and passes on what happened to it.
    fn run(&mut self, i: usize) {
        let flow = &mut self.flows[i];
        while let Some(t) = flow.connection.poll_transmit(self.now) {
            flow.departed(&t);
            let (segment, ecn) = (t.segment, t.ecn);
            self.sent.push_back(Departure { at: self.now, segment, ecn, ports: flow.ports });
        }
        while let Some(event) = flow.connection.poll_event() {
            flow.took(event);
            let over = matches!(event, ConnectionEvent::Aborted(_));
            if event != ConnectionEvent::Established && !over {
                continue;
            }
            for socket in self.sockets.values_mut() {
                if let SocketKind::Listener(listener) = &mut socket.kind
                    && let Some(at) = listener.opening.iter().position(|o| *o == i)
                {
                    listener.opening.remove(at);
                    if !over {
                        listener.ready.push_back(i);
                    }
                }
            }
        }
    }

    fn free_port(&self) -> u16 {
        let taken = |port: &u16| self.flows.iter().any(|f| f.ports.local == *port);
        (FIRST_EPHEMERAL_PORT..=u16::MAX).find(|p| !taken(p)).unwrap_or(FIRST_EPHEMERAL_PORT)
    }

    fn open(&mut self, socket: Socket) -> Result<i32, Errno> {
        if self.sockets.len() >= MAX_OPEN {
            return Err(Errno::EMFILE);
        }
        let fd = (3..).find(|fd| !self.sockets.contains_key(fd)).ok_or(Errno::EMFILE)?;
        self.sockets.insert(fd, socket);
        Ok(fd)
    }
}
