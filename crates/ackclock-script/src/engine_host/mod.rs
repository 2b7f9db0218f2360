//! A host in virtual time: sockets above connections of the engine, and the packets that leave it.

mod bursts;
mod calls;
mod early_calls;
mod fast_open;
mod flow;
mod icmp;
mod info;
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

use ackclock_engine::{AbortReason, Connection, ConnectionEvent, Stack, StackError, State};
use ackclock_policy::Registry;
use ackclock_units::{Duration, Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::{FastOpen, Flags, IcmpError, Segment};

use fast_open::FastOpenSettings;
use flow::Flow;
use options::SocketOptions;
use sending::{SendMemory, Sending};
use socket::{Socket, SocketKind};

use crate::ast::{Icmp, Tcp, TcpFlags, TcpOptions};
use crate::code::TcpInfo;
use crate::constants as c;
use crate::constants::Errno;
use crate::dialect::Dialect;
use crate::host::{CLIENT_PORT, Call, Departure, Host, Ports, Returned, SERVER_PORT, Setting};
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
            least_segments: bursts::LEAST_SEGMENTS,
            send_memory: SendMemory::DEFAULT,
            fast_open: FastOpenSettings::new(key),
            notsent_lowat: u64::from(u32::MAX),
            pipes: Vec::new(),
            // Linux's default of `tcp_ecn`, 2: it takes ECN, and does not offer it (RFC 3168 §6.1.1 lets a
            // host choose).
            accepts_ecn: dialect == Dialect::Linux && stack.is_none(),
            seed,
        })
    }

    /// What packets go over from now on.
    pub fn set_link(&mut self, link: Link) {
        self.link = link;
    }

    fn find(&self, ports: Ports) -> Option<usize> {
        // The newest first: an old connection in TIME-WAIT may have had the same ports.
        let alive = |f: &Flow| f.ports == ports && f.connection.state() != State::Closed;
        self.flows.iter().rposition(alive)
    }

    /// A segment arrives; `option`: that of Fast Open among its options.
    fn receive(&mut self, ports: Ports, segment: &Segment, option: Option<FastOpen>, ecn: Ecn) {
        let mut found = self.find(ports);
        if let Some(i) = found
            && self.flows[i].connection.may_be_replaced_by(segment)
            && self.listener(ports.local).is_some()
        {
            self.flows[i].connection.abort(self.now);
            found = None;
        }
        let mut changed = *segment;
        let mut segment = segment;
        if segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK) {
            let mut accepted = false;
            if found.is_none() {
                let opened = self.open_passively(ports, segment, option);
                (found, accepted) = (opened.map(|(i, _)| i), opened.is_some_and(|(_, accepts)| accepts));
                if found.is_none() && self.listener(ports.local).is_some() {
                    // No room: the peer will send it again (`tcp_conn_request`).
                    return;
                }
            }
            if found.is_some() && !accepted && self.dialect.drops_text_of_syns() {
                changed.len = 0;
                segment = &changed;
            }
        }
        let Some(i) = found else {
            // What neither opens nor acknowledges is dropped where somebody listens (RFC 9293 §3.10.7.2).
            if segment.flags.any(Flags::ACK | Flags::SYN) || self.listener(ports.local).is_none() {
                self.refuse(ports, segment);
            }
            return;
        };
        if self.is_held_back(i, segment) {
            return;
        }
        self.flows[i].arrived(self.now, segment);
        self.flows[i].release_more(self.now);
        let unread = self.flows[i].connection.readable();
        let begun = self.flows[i].connection.state() == State::SynSent;
        self.flows[i].connection.handle_segment(self.now, segment, &[], ecn);
        if begun && self.flows[i].connection.state() == State::Established {
            self.learn_from_syn_ack(i, segment, option);
        }
        if self.flows[i].connection.readable() > unread || segment.flags.has(Flags::FIN) {
            self.hear(i, c::POLLIN | c::POLLRDHUP);
        }
        self.run(i);
    }

    /// True for a segment that would establish a connection for which there is no room: the SYN-ACK is sent
    /// again later (`tcp_v4_syn_recv_sock`).
    fn is_held_back(&self, i: usize, segment: &Segment) -> bool {
        let flow = &self.flows[i];
        let completes = segment.flags.has(Flags::ACK) && !segment.flags.any(Flags::SYN | Flags::RST);
        let socket =
            flow.listener.filter(|_| completes && !flow.established).and_then(|fd| self.sockets.get(&fd));
        matches!(socket.map(|s| &s.kind), Some(SocketKind::Listener(l)) if l.queue.is_full())
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
            self.depart(&segment, None, Ecn::NotEct, ports);
        }
    }

    fn listener(&self, port: u16) -> Option<i32> {
        let listens = |s: &Socket| matches!(s.kind, SocketKind::Listener(_)) && s.port == Some(port);
        self.sockets.iter().find(|(_, s)| listens(s)).map(|(fd, _)| *fd)
    }

    /// Makes the connection for a SYN, where somebody listens and has room. Returns whether its text is
    /// delivered.
    fn open_passively(
        &mut self,
        ports: Ports,
        syn: &Segment,
        option: Option<FastOpen>,
    ) -> Option<(usize, bool)> {
        let fd = self.listener(ports.local)?;
        let (i, now) = (self.flows.len(), self.now);
        let socket = self.sockets.get_mut(&fd)?;
        let SocketKind::Listener(listener) = &mut socket.kind else { return None };
        if listener.queue.is_full() || i >= MAX_OPEN {
            return None;
        }
        let options = socket.options.clone();
        let verdict = self.fast_open.judge(syn, option, &options, &mut listener.fast_opens, now);
        if verdict.accepts {
            listener.queue.wait(i);
            listener.fast_opens.opening.push(i);
        } else {
            listener.queue.open();
        }
        let mut flow = self.make_flow(ports, options, self.accepts_ecn);
        flow.connection.listen();
        flow.listener = Some(fd);
        if verdict.accepts {
            flow.connection.accept_fast_open(verdict.answer);
            flow.established = true;
        } else if let Some(answer) = verdict.answer {
            flow.connection.offer_cookie(answer);
        }
        self.flows.push(flow);
        Some((i, verdict.accepts))
    }

    /// A connection that does not exist yet; `ecn`: it uses ECN, even where the stack does not.
    fn make_flow(&self, ports: Ports, options: options::SocketOptions, ecn: bool) -> Flow {
        let index = self.flows.len() as u64;
        // Sequence numbers of scripts count from the SYN; the numbers on the wire are the same.
        let iss = SeqNumber(0);
        let rng = Rng::stream(self.seed, "script connection", index);
        let mut config = options.config(&self.stack, self.link);
        config.ecn |= ecn;
        let sending = (self.dialect == Dialect::Linux).then(|| {
            config.snd_buf = options::MAX_BUFFER;
            Sending::new(options.send_memory(), self.send_memory)
        });
        let policies = options.policies(&self.stack, self.dialect);
        // What is written is all zeros, so that only its length counts.
        let connection = Connection::counted(Arc::new(config), policies, iss, rng);
        Flow::new(connection, ports, options, sending)
    }

    /// Sends what a connection has to send, and passes on what happened to it.
    fn run(&mut self, i: usize) {
        let mut burst = Vec::new();
        let flow = &mut self.flows[i];
        if let Some(sending) = &mut flow.sending {
            sending.free(&flow.connection, flow.reordering.degree, self.now);
        }
        let (mut option, mut reported) = (None, false);
        while let Some(t) = flow.connection.poll_transmit(self.now) {
            reported |= flow.departed(self.now, &t);
            if t.segment.flags.has(Flags::SYN) {
                option = flow.connection.take_syn_option();
            }
            burst.push(t);
        }
        let acked = flow.written.saturating_sub(flow.connection.unacked());
        reported |= flow.reports.acked(self.now, acked, &flow.options);
        if let Some(sending) = &mut flow.sending {
            let most = bursts::segments(&flow.connection, self.least_segments, self.now);
            sending.sent(&mut burst, flow.connection.smss(), most);
        }
        if reported {
            self.hear(i, c::POLLERR);
        }
        if self.flows[i].wants_room && self.is_writable(&self.flows[i]) {
            self.flows[i].wants_room = false;
            self.hear(i, c::POLLOUT);
        }
        let flow = &mut self.flows[i];
        let no_memory = flow.sending.as_ref().is_some_and(|s| s.waits);
        flow.stalls.note(&flow.connection, no_memory, self.now);
        let ports = flow.ports;
        for t in burst {
            let option = option.filter(|_| t.segment.flags.has(Flags::SYN));
            self.depart(&t.segment, option, t.ecn, ports);
        }
        while let Some(event) = self.flows[i].connection.poll_event() {
            self.flows[i].took(event, self.now);
            match event {
                ConnectionEvent::Urgent => {
                    self.flows[i].note_urgent(self.now);
                    self.hear(i, c::POLLPRI);
                }
                ConnectionEvent::Established => self.hear(i, c::POLLOUT),
                ConnectionEvent::Finished => self.hear(i, c::POLLHUP),
                ConnectionEvent::Aborted(_) => {
                    self.hear(i, c::POLLIN | c::POLLOUT | c::POLLRDHUP | ENDED);
                }
                _ => {}
            }
            let over = matches!(event, ConnectionEvent::Aborted(_));
            if event != ConnectionEvent::Established && !over {
                continue;
            }
            if self.ends_fast_open(i, event) {
                continue;
            }
            // One that waits already and ends is accepted all the same, and has an error.
            let Some(fd) = self.flows[i].listener else { continue };
            let Some(SocketKind::Listener(listener)) = self.sockets.get_mut(&fd).map(|s| &mut s.kind) else {
                continue;
            };
            if !over {
                listener.queue.establish(i);
                self.hear_of(fd, c::POLLIN);
            } else if !self.flows[i].established {
                listener.queue.leave();
                self.flows[i].listener = None;
            }
        }
    }

    /// True where the event ends the handshake of a connection that waits to be accepted since its SYN, or was
    /// accepted before.
    fn ends_fast_open(&mut self, i: usize, event: ConnectionEvent) -> bool {
        let accepted = self.flows[i].listener.is_none();
        for socket in self.sockets.values_mut() {
            let SocketKind::Listener(listener) = &mut socket.kind else { continue };
            if let Some(at) = listener.fast_opens.opening.iter().position(|o| *o == i) {
                listener.fast_opens.opening.remove(at);
                if event == ConnectionEvent::Aborted(AbortReason::Reset) && accepted {
                    listener.fast_opens.reset(self.now);
                }
                return true;
            }
        }
        false
    }

    fn depart(&mut self, segment: &Segment, option: Option<FastOpen>, ecn: Ecn, ports: Ports) {
        let tcp = Tcp {
            flags: TcpFlags { bits: segment.flags.0, ace: None },
            seq: segment.seq.0,
            len: segment.len,
            ack: segment.flags.has(Flags::ACK).then_some(segment.ack.0),
            window: Some(segment.window),
            urgent: segment.flags.has(Flags::URG).then_some(segment.urgent),
            options: TcpOptions::List(self.dialect.options(segment, option)),
        };
        let options = self.flows.iter().rfind(|f| f.ports == ports).map(|f| &f.options);
        let ip = match options {
            Some(options) => options.ip_fields(self.link, flow_label(self.seed, ports)),
            None => SocketOptions::new(self.keepalive_time).ip_fields(self.link, 0),
        };
        self.sent.push_back(Departure { at: self.now, tcp, ecn, ip, ports });
    }

    /// A client's SYN was acknowledged: notes what that says of the server.
    fn learn_from_syn_ack(&mut self, i: usize, syn_ack: &Segment, answer: Option<FastOpen>) {
        let Some(attempt) = self.flows[i].connection.fast_open() else { return };
        // RFC 9293 §3.7.1: without an option it is 536 bytes over IPv4.
        let mss = syn_ack.options.mss.map_or(536, u32::from);
        self.fast_open.cache.learn(self.fast_open.remote, mss, answer, &attempt);
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

/// The flow label of a connection, which is never zero (RFC 6437 §3).
fn flow_label(seed: u64, ports: Ports) -> u32 {
    let flow = u64::from(ports.local) << 16 | u64::from(ports.remote);
    (Rng::stream(seed, "flow label", flow).next_u64() as u32 & 0xf_ffff).max(1)
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
            while flow.connection.poll_timeout().is_some_and(|at| at <= self.now) {
                flow.connection.handle_timeout(self.now);
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
