//! A host in virtual time: sockets above connections of the engine, and the packets that leave it.

mod arriving;
mod bursts;
mod calls;
mod deferral;
mod early_calls;
mod fast_open;
mod flow;
mod freebsd;
mod icmp;
mod info;
mod leaving;
mod options;
mod pipes;
mod polling;
mod raw;
mod reading;
mod reordering;
mod reports;
mod sending;
mod settings;
mod socket;
mod stalls;
mod urgent;
mod write_queue;
mod writing;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

use ackclock_engine::{Connection, Stack, StackError, State, offload};
use ackclock_policy::Registry;
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::{Flags, Segment};

use fast_open::FastOpenSettings;
use flow::Flow;
use freebsd::{Buffers, FreeBsd};
use sending::{SendMemory, Sending};
use socket::{Socket, SocketKind};

use crate::ast::{Icmp, Tcp, TcpOptions};
use crate::code::TcpInfo;
use crate::constants as c;
use crate::constants::Errno;
use crate::dialect::Dialect;
use crate::host::{CLIENT_PORT, Call, Departure, Host, Listed, Ports, Returned, SERVER_PORT, Setting};
use crate::layout;
use crate::link::Link;

pub use settings::names as setting_names;

/// Most descriptors and connections of a script: far more than any needs.
const MAX_OPEN: usize = 1024;

/// What is heard of a connection that has ended without an orderly close.
const ENDED: i64 = c::POLLERR | c::POLLHUP;

/// The first port of a client.
const FIRST_EPHEMERAL_PORT: u16 = 49_152;

/// A host in virtual time.
#[derive(Debug)]
pub struct EngineHost {
    now: Instant,
    /// What new sockets run.
    stack: Stack,
    /// What its packets go over.
    link: Link,
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
    /// Segments that Linux puts at least into a packet for the device, where there are as many.
    least_segments: u64,
    send_memory: SendMemory,
    fast_open: FastOpenSettings,
    /// Unsent bytes below which a write may queue more, where a socket sets nothing else.
    notsent_lowat: u64,
    /// Bytes in each pipe.
    pipes: Vec<u64>,
    /// Connections that others open use ECN where these offer it, whatever the stack does by itself.
    accepts_ecn: bool,
    /// What FreeBSD keeps beside its stack; none of other hosts.
    freebsd: Option<FreeBsd>,
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
        let known = named.entries();
        for (key, value) in dialect.options_of_stack() {
            if known.iter().any(|(known, _)| known == key) {
                named.set(key, value)?;
            }
        }
        let mut random = Rng::stream(seed, "script Fast Open key", 0);
        let mut key = [0; 16];
        key.as_chunks_mut().0.iter_mut().for_each(|part| *part = random.next_u64().to_le_bytes());
        Ok(Self {
            now: Instant::ZERO,
            stack: named,
            link: Link::default(),
            dialect,
            sockets: BTreeMap::new(),
            flows: Vec::new(),
            flows_before_socket: 0,
            sent: VecDeque::new(),
            keepalive_time: options::KEEPALIVE_TIME,
            least_segments: offload::LEAST_SEGS,
            send_memory: SendMemory::DEFAULT,
            fast_open: FastOpenSettings::new(key),
            notsent_lowat: u64::from(u32::MAX),
            pipes: Vec::new(),
            // The default of Linux's `tcp_ecn` and of FreeBSD's `ecn.enable`, 2: it takes ECN, and does not offer
            // it (RFC 3168 §6.1.1 lets a host choose).
            accepts_ecn: dialect != Dialect::Plain && stack.is_none(),
            freebsd: (dialect == Dialect::FreeBsd).then_some(FreeBsd::DEFAULT),
            seed,
        })
    }

    /// Departs from the standards where the dialect's host does, from the next connection on.
    ///
    /// # Errors
    ///
    /// An option that the stack does not have.
    pub fn depart_from_standards(&mut self) -> Result<(), StackError> {
        self.dialect.departures().iter().try_for_each(|(key, value)| self.stack.set(key, value))
    }

    /// What packets go over from now on.
    pub fn set_link(&mut self, link: Link) {
        self.link = link;
    }

    /// A connection that does not exist yet; `ecn`: it uses ECN, even where the stack does not.
    fn make_flow(&self, ports: Ports, options: options::SocketOptions, ecn: bool) -> Flow {
        let index = self.flows.len() as u64;
        // Sequence numbers of scripts count from the SYN; the numbers on the wire are the same.
        let iss = SeqNumber(0);
        let rng = Rng::stream(self.seed, "script connection", index);
        let mut config = options.config(&self.stack, self.link);
        config.ecn |= ecn;
        // What leaves is kept back here, where packets are known.
        config.tso = false;
        if let Some(freebsd) = self.freebsd {
            freebsd.configure(&options, &mut config);
        }
        let buffers = self.freebsd.map(|_| Buffers::of(&config));
        let sending = (self.dialect == Dialect::Linux).then(|| {
            // Here packets are kept one by one, and their memory counted.
            (config.snd_buf, config.snd_autotune) = (options::MAX_BUFFER, false);
            Sending::new(options.send_memory(), self.send_memory)
        });
        let policies = options.policies(&self.stack, self.dialect);
        // What is written is all zeros, so that only its length counts.
        let connection = Connection::counted(Arc::new(config), policies, iss, rng);
        let mut flow = Flow::new(connection, ports, options, sending);
        flow.buffers = buffers;
        flow
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
            let before = flow.connection.stats().timeouts;
            // Other timers than that of pacing send again what was sent, or one new segment, and leave the rest as
            // it is.
            let paced = flow.connection.pacing_rate().is_some();
            let mut idle = true;
            while flow.connection.poll_timeout().is_some_and(|at| at <= self.now) {
                flow.connection.handle_timeout(self.now);
                idle &= !paced;
            }
            if let Some(sending) = &mut flow.sending {
                sending.idle = idle;
            }
            if flow.connection.stats().timeouts != before && flow.seems_black_holed(self.now) {
                self.fast_open.note_black_hole(self.now);
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
        self.receive(ports, &segment, layout::fast_open(list), ecn);
        Ok(())
    }

    fn inject_icmp(&mut self, ports: Ports, icmp: &Icmp) -> Result<(), String> {
        let error = icmp::error(icmp, ports, self.flows.last(), self.link.is_v6())?;
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

    fn set_addresses(&mut self, local: Option<IpAddr>, remote: Option<IpAddr>) -> bool {
        self.fast_open.local = local.unwrap_or(self.fast_open.local);
        self.fast_open.remote = remote.unwrap_or(self.fast_open.remote);
        true
    }

    fn forget_peers(&mut self) -> bool {
        self.fast_open.cache.clear();
        true
    }

    fn state(&self) -> &'static str {
        self.flows.last().map_or("no connection", |flow| info::state_name(flow.connection.state()))
    }

    fn connections(&self) -> Option<Vec<Listed>> {
        let listens = |s: &Socket| matches!(s.kind, SocketKind::Listener(_));
        let listening = self.sockets.values().filter(|s| listens(s)).map(|s| Listed {
            ports: Ports { local: s.port.unwrap_or_default(), remote: 0 },
            state: info::state_name(State::Listen),
            owned: true,
        });
        let of_flows = self.flows.iter().enumerate().map(|(i, flow)| Listed {
            ports: flow.ports,
            state: info::state_name(flow.connection.state()),
            owned: self.sockets.values().any(|s| matches!(s.kind, SocketKind::Stream(of) if of == i)),
        });
        // One that is over is there as long as a descriptor has it.
        let closed = info::state_name(State::Closed);
        Some(listening.chain(of_flows.filter(|c| c.owned || c.state != closed)).collect())
    }

    fn drop_connections(&mut self, state: &str) -> bool {
        for i in 0..self.flows.len() {
            if info::state_name(self.flows[i].connection.state()) == state {
                self.flows[i].connection.abort(self.now);
                self.run(i);
            }
        }
        true
    }

    fn set_sysctl(&mut self, name: &str, value: &str) -> Setting {
        self.set_of_freebsd(name, value)
    }

    fn set(&mut self, name: &str, value: &str) -> Setting {
        match self.fast_open.set(name, value) {
            Some(true) => return Setting::Done,
            Some(false) => return Setting::Refused,
            None => {}
        }
        if name == "tcp_notsent_lowat" {
            let Ok(bytes) = value.trim().parse::<u32>() else { return Setting::Refused };
            self.notsent_lowat = bytes.into();
            return Setting::Done;
        }
        if name == "tcp_keepalive_time" {
            let Ok(seconds) = value.trim().parse::<u32>() else { return Setting::Refused };
            self.keepalive_time = Duration::from_secs(seconds.into());
            return Setting::Done;
        }
        if name == "tcp_wmem" {
            let Some(memory) = SendMemory::read(value) else { return Setting::Refused };
            self.send_memory = memory;
        }
        if name == "tcp_min_tso_segs" {
            let Ok(segments) = value.trim().parse() else { return Setting::Refused };
            self.least_segments = segments;
            return Setting::Done;
        }
        if name == "tcp_ecn" {
            self.accepts_ecn = value.trim() == "2";
            if self.accepts_ecn {
                return settings::set(&mut self.stack, self.dialect, name, "0");
            }
        }
        settings::set(&mut self.stack, self.dialect, name, value)
    }
}
