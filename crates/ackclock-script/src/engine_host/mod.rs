//! A host in virtual time: sockets above connections of the engine, and the packets that leave it.

mod bursts;
mod calls;
mod flow;
mod icmp;
mod info;
mod options;
mod raw;
mod settings;
mod socket;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use ackclock_engine::{Connection, ConnectionEvent, Stack, StackError, State};
use ackclock_policy::Registry;
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::{Flags, IcmpError, Segment};

use flow::Flow;
use socket::{Socket, SocketKind};

use crate::ast::{Icmp, Tcp, TcpFlags, TcpOptions};
use crate::code::TcpInfo;
use crate::constants::Errno;
use crate::dialect::Dialect;
use crate::host::{CLIENT_PORT, Call, Departure, Host, Ports, Returned, SERVER_PORT, Setting};
use crate::layout;

pub use settings::names as setting_names;

/// Most descriptors and connections of a script: far more than any needs.
const MAX_OPEN: usize = 1024;

/// The first port of a client.
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

/// A host in virtual time.
#[derive(Debug)]
pub struct EngineHost {
    now: Instant,
    /// What new sockets run.
    stack: Stack,
    dialect: Dialect,
    /// Open descriptors.
    sockets: BTreeMap<i32, Socket>,
    /// All connections, in the order of their making; those that are over too.
    flows: Vec<Flow>,
    /// How many there were when the latest socket was made.
    flows_before_socket: usize,
    sent: VecDeque<Departure>,
    /// How long a connection with keep-alives is idle before the first, where it sets nothing else.
    keepalive_time: Duration,
    /// Connections that others open use ECN where these offer it, whatever the stack does by itself.
    accepts_ecn: bool,
    /// Seed of initial sequence numbers and of connections' random streams.
    seed: u64,
}

impl EngineHost {
    /// A host whose sockets run `stack`, that of the dialect where there is none.
    ///
    /// # Errors
    ///
    /// Names what is not known of the stack.
    pub fn new(
        registry: &Registry,
        dialect: Dialect,
        stack: Option<&str>,
        seed: u64,
    ) -> Result<Self, StackError> {
        let mut named = Stack::named(registry, stack.unwrap_or(dialect.stack()))?;
        for (key, value) in dialect.options_of_stack() {
            named.set(key, value)?;
        }
        Ok(Self {
            now: Instant::ZERO,
            stack: named,
            dialect,
            sockets: BTreeMap::new(),
            flows: Vec::new(),
            flows_before_socket: 0,
            sent: VecDeque::new(),
            keepalive_time: options::KEEPALIVE_TIME,
            // Linux's default of `tcp_ecn`, 2: it takes ECN, and does not offer it (RFC 3168 §6.1.1 lets a
            // host choose).
            accepts_ecn: dialect == Dialect::Linux && stack.is_none(),
            seed,
        })
    }

    fn find(&self, ports: Ports) -> Option<usize> {
        // The newest first: an old connection in TIME-WAIT may have had the same ports.
        let alive = |f: &Flow| f.ports == ports && f.connection.state() != State::Closed;
        self.flows.iter().rposition(alive)
    }

    fn receive(&mut self, ports: Ports, segment: &Segment, ecn: Ecn) {
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
            // What neither opens nor acknowledges is dropped where somebody listens (RFC 9293 §3.10.7.2).
            if segment.flags.any(Flags::ACK | Flags::SYN) || self.listener(ports.local).is_none() {
                self.refuse(ports, segment);
            }
            return;
        };
        self.flows[i].arrived(self.now, segment);
        let unread = self.flows[i].connection.readable();
        self.flows[i].connection.handle_segment(self.now, segment, &[], ecn);
        if self.flows[i].is_done() && self.flows[i].connection.readable() > unread {
            // Nobody will read this (RFC 1122 §4.2.2.13).
            self.flows[i].connection.abort(self.now);
            while self.flows[i].connection.poll_transmit(self.now).is_some() {}
            self.refuse(ports, segment);
        }
        self.run(i);
    }

    fn receive_icmp(&mut self, ports: Ports, error: &IcmpError) {
        if let Some(i) = self.find(ports) {
            self.flows[i].noted(error);
            self.flows[i].connection.handle_icmp(self.now, error);
            self.run(i);
        }
    }

    /// Responds to a segment that belongs to no connection (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, ports: Ports, segment: &Segment) {
        if let Some(segment) = Connection::reset_for(segment) {
            self.depart(&segment, Ecn::NotEct, ports);
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
        let mut flow = self.make_flow(ports, options, self.accepts_ecn);
        flow.connection.listen();
        self.flows.push(flow);
        Some(i)
    }

    /// A connection that does not exist yet; `ecn`: it uses ECN, even where the stack does not.
    fn make_flow(&self, ports: Ports, options: options::SocketOptions, ecn: bool) -> Flow {
        let index = self.flows.len() as u64;
        // Sequence numbers of scripts count from the SYN; the numbers on the wire are the same.
        let iss = SeqNumber(0);
        let rng = Rng::stream(self.seed, "script connection", index);
        let mut config = options.config(&self.stack);
        config.ecn |= ecn;
        let config = Arc::new(config);
        let policies = options.policies(&self.stack);
        // What is written is all zeros, so that only its length counts.
        Flow::new(Connection::counted(config, policies, iss, rng), ports, options)
    }

    /// Sends what a connection has to send, and passes on what happened to it.
    fn run(&mut self, i: usize) {
        let mut burst = Vec::new();
        while let Some(t) = self.flows[i].connection.poll_transmit(self.now) {
            self.flows[i].departed(&t);
            burst.push(t);
        }
        if self.dialect == Dialect::Linux {
            bursts::push(&mut burst, &self.flows[i].connection, self.now);
        }
        let ports = self.flows[i].ports;
        for t in burst {
            self.depart(&t.segment, t.ecn, ports);
        }
        let flow = &mut self.flows[i];
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

    fn depart(&mut self, segment: &Segment, ecn: Ecn, ports: Ports) {
        let tcp = Tcp {
            flags: TcpFlags { bits: segment.flags.0, ace: None },
            seq: segment.seq.0,
            len: segment.len,
            ack: segment.flags.has(Flags::ACK).then_some(segment.ack.0),
            window: Some(segment.window),
            urgent: segment.flags.has(Flags::URG).then_some(segment.urgent),
            options: TcpOptions::List(self.dialect.options(segment)),
        };
        self.sent.push_back(Departure { at: self.now, tcp, ecn, ports });
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

impl Host for EngineHost {
    fn now(&self) -> Instant {
        self.now
    }

    fn deadline(&self) -> Option<Instant> {
        self.flows.iter().filter_map(|f| f.connection.poll_timeout()).min()
    }

    fn advance(&mut self, then: Instant) {
        self.now = self.now.max(then);
        for i in 0..self.flows.len() {
            let flow = &mut self.flows[i];
            while flow.connection.poll_timeout().is_some_and(|at| at <= self.now) {
                flow.connection.handle_timeout(self.now);
            }
            self.run(i);
        }
    }

    fn inject(&mut self, ports: Ports, tcp: &Tcp, ecn: Ecn) -> Result<(), String> {
        let ace = u16::from(tcp.flags.ace.unwrap_or(0));
        // ECE, CWR and AE are bits 0, 1 and 2 of the counter (RFC 9768 §3.2).
        let counter = ace << 6;
        let list = match &tcp.options {
            TcpOptions::List(list) => list.as_slice(),
            TcpOptions::Any => &[],
        };
        let segment = Segment {
            seq: SeqNumber(tcp.seq),
            ack: SeqNumber(tcp.ack.unwrap_or(0)),
            len: tcp.len,
            window: tcp.window.unwrap_or(0),
            flags: Flags(tcp.flags.bits | counter),
            urgent: tcp.urgent.unwrap_or(0),
            options: layout::engine(list),
        };
        self.receive(ports, &segment, ecn);
        Ok(())
    }

    fn inject_icmp(&mut self, ports: Ports, icmp: &Icmp) -> Result<(), String> {
        let error = icmp::error(icmp, ports, self.flows.last())?;
        self.receive_icmp(ports, &error);
        Ok(())
    }

    fn sent(&mut self) -> &mut VecDeque<Departure> {
        &mut self.sent
    }

    fn ports(&self, opens: bool) -> Ports {
        match self.flows.last() {
            // A SYN opens another connection where another socket was made since the latest one.
            Some(f) if !opens || self.flows.len() > self.flows_before_socket => f.ports,
            _ => {
                let others = u16::try_from(self.flows.len()).unwrap_or(0);
                Ports { local: SERVER_PORT, remote: CLIENT_PORT.saturating_add(others) }
            }
        }
    }

    fn call(&mut self, call: &mut Call) -> Option<Returned> {
        self.try_call(call).unwrap_or_else(|errno| Some(Returned::Error(errno)))
    }

    fn info(&mut self) -> Option<TcpInfo> {
        let now = self.now;
        self.flows.last_mut().map(|flow| info::of(flow, now))
    }

    fn state(&self) -> &'static str {
        self.flows.last().map_or("no connection", |flow| info::state_name(flow.connection.state()))
    }

    fn set(&mut self, name: &str, value: &str) -> Setting {
        if name == "tcp_keepalive_time" {
            let Ok(seconds) = value.trim().parse::<u32>() else { return Setting::Refused };
            self.keepalive_time = Duration::from_secs(seconds.into());
            return Setting::Done;
        }
        if name == "tcp_ecn" {
            self.accepts_ecn = value.trim() == "2";
            if self.accepts_ecn {
                return settings::set(&mut self.stack, name, "0");
            }
        }
        settings::set(&mut self.stack, name, value)
    }
}
