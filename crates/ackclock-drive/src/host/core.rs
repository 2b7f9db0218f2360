//! The table of connections: where packets find theirs, and what follows from each.

use std::cmp::Reverse;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Condvar};

use ackclock_engine::{AbortReason, Config, Connection, State};
use ackclock_units::{Ecn, Instant, Rng, SeqNumber};
use ackclock_wire::{Flags, Segment, Strictness, Transport, emit_tcp, parse_ip_as};

use super::guests::{Guest, Left, News, Seated};
use super::listening::Listening;
use super::offload::{Batch, split};
use super::{HostCounters, HostOptions};
use crate::{Offload, Port};

/// Everything that the host's lock protects.
pub(super) struct Core {
    options: HostOptions,
    own: HashSet<IpAddr>,
    configs: [Arc<Config>; 2],
    pub(super) by_pair: HashMap<(SocketAddr, SocketAddr), u32>,
    pub(super) entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    /// Deadlines with the connection that each belongs to. A connection has at most one that counts ([`Entry::armed`]); it may fire early, never late.
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    pub(super) listeners: BTreeMap<u16, Listening>,
    /// Applications above connections, and what became of those that are over.
    pub(super) guests: usize,
    pub(super) left: Vec<Left>,
    next_port: u16,
    made: u64,
    keys: RandomState,
    scratch: Vec<u8>,
    /// Until when the host's thread sleeps; in the past while it is awake.
    pub(super) sleeps_until: Instant,
    pub(super) stopped: bool,
    pub(super) counters: HostCounters,
}

/// A connection and those who care about it.
pub(super) struct Entry {
    pub(super) connection: Connection,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    /// Notified when anything changes that a waiting program may want to know.
    pub(super) changed: Arc<Condvar>,
    /// Threads that wait for it.
    pub(super) waiting: u32,
    /// Why it ended, when it did not end in order.
    pub(super) outcome: Option<AbortReason>,
    /// Its listener, until it is accepted.
    pub(super) listener: Option<u16>,
    pub(super) established: bool,
    /// A program holds it, or an application above it.
    pub(super) held: bool,
    /// The application.
    pub(super) guest: Option<Box<Seated>>,
    armed: Option<Instant>,
}

impl Entry {
    /// Resets the connection where there is data for a program that no longer reads: the peer has to know (RFC 9293 §3.10.4, RFC 2525 §2.17).
    fn abort_unread(&mut self, now: Instant) -> bool {
        let unread = !self.held && self.listener.is_none() && self.connection.readable() > 0;
        if unread {
            self.connection.abort(now);
        }
        unread
    }
}

/// First of the ports chosen for outgoing connections (RFC 6335 §6).
const FIRST_EPHEMERAL: u16 = 49_152;
/// IP and TCP headers without options, by IP version.
const HEADERS: [u32; 2] = [40, 60];
/// Segment size of a peer that announces none (RFC 9293 §3.7.1).
const DEFAULT_MSS: [u32; 2] = [536, 1220];

impl Core {
    pub(super) fn new(options: HostOptions) -> Self {
        let keys = RandomState::new();
        Self {
            configs: [false, true].map(|ipv6| fitted(&options.config, options.mtu, ipv6)),
            own: options.addresses.iter().copied().collect(),
            options,
            by_pair: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            listeners: BTreeMap::new(),
            guests: 0,
            left: Vec::new(),
            next_port: FIRST_EPHEMERAL + (keys.hash_one("port") % 10_000) as u16,
            made: 0,
            keys,
            scratch: Vec::new(),
            sleeps_until: Instant::ZERO,
            stopped: false,
            counters: HostCounters::default(),
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.by_pair.len()
    }

    /// A connection that a program holds, which therefore exists.
    pub(super) fn entry(&mut self, id: u32) -> &mut Entry {
        self.entries[id as usize].as_mut().expect("a held connection stays in the table")
    }

    /// Opens a connection to `to`, with an application above it if wanted, and sends its SYN; `None` without an address of that family or a free port.
    pub(super) fn connect(&mut self, now: Instant, port: &Port, to: SocketAddr, guest: Option<Guest>) -> Option<u32> {
        let address = *self.options.addresses.iter().find(|a| a.is_ipv4() == to.is_ipv4())?;
        let ports = u32::from(u16::MAX - FIRST_EPHEMERAL) + 1;
        let local = (0..ports).find_map(|_| {
            let candidate = SocketAddr::new(address, self.next_port);
            self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_EPHEMERAL);
            let taken = self.by_pair.contains_key(&(candidate, to)) || self.listeners.contains_key(&candidate.port());
            (!taken).then_some(candidate)
        })?;
        let id = self.insert(now, local, to, None, guest);
        self.entry(id).held = true;
        self.entry(id).connection.connect(now);
        self.settle(now, port, id);
        Some(id)
    }

    pub(super) fn insert(&mut self, now: Instant, local: SocketAddr, peer: SocketAddr, listener: Option<u16>, guest: Option<Guest>) -> u32 {
        // A 4-microsecond clock plus a keyed hash of the addresses (RFC 6528 §3).
        let clock = (self.options.clock.unix_nanos(now) / 4_000) as u32;
        let iss = SeqNumber(clock.wrapping_add(self.keys.hash_one((local, peer)) as u32));
        let rng = Rng::stream(self.keys.hash_one("connection"), "connection", self.made);
        self.made += 1;
        self.guests += usize::from(guest.is_some());
        let (config, policies, guest) = match guest {
            None => (self.configs[usize::from(local.is_ipv6())].clone(), (self.options.policies)(), None),
            Some(g) => (fitted(&g.config, self.options.mtu, local.is_ipv6()), g.policies, Some(Box::new(Seated::new(g.number, g.user, g.rng, now)))),
        };
        let entry = Entry {
            connection: Connection::new(config, policies, iss, rng),
            local,
            peer,
            changed: Arc::default(),
            waiting: 0,
            outcome: None,
            listener,
            established: false,
            held: guest.is_some(),
            guest,
            armed: None,
        };
        let id = self.free.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        self.entries[id as usize] = Some(entry);
        self.by_pair.insert((local, peer), id);
        id
    }

    /// Takes in a packet from the port.
    pub(super) fn packet(&mut self, now: Instant, port: &Port, bytes: &[u8]) {
        self.counters.packets_received += 1;
        let taken = if port.offload() { self.take_offloaded(now, port, bytes) } else { self.take(now, port, bytes, Strictness::FULL, None) };
        self.counters.ignored += u64::from(taken.is_none());
    }

    fn take_offloaded(&mut self, now: Instant, port: &Port, bytes: &[u8]) -> Option<()> {
        let about = Offload::from_bytes(bytes)?;
        let strict = if about.unchecked() { Strictness::FULL } else { Strictness::OFFLOAD };
        self.take(now, port, &bytes[Offload::LEN..], strict, about.segment_size())
    }

    /// `None` for what is not for us.
    fn take(&mut self, now: Instant, port: &Port, bytes: &[u8], strict: Strictness, size: Option<u16>) -> Option<()> {
        let packet = parse_ip_as(bytes, strict).ok()?;
        if !self.own.contains(&packet.dst) || !is_somebody(packet.src) {
            return None;
        }
        let Transport::Tcp(tcp) = &packet.transport else { return self.take_icmp(now, port, &packet, strict) };
        let (peer, local) = packet.endpoints();
        if let Some(id) = self.find(now, port, local, peer, &tcp.segment) {
            if let Some(entry) = &mut self.entries[id as usize] {
                match size {
                    // Like the kernel's own receive offload: the segments are taken one by one, and answered together.
                    Some(size) => split(tcp, size).for_each(|(segment, payload)| entry.connection.handle_segment(now, &segment, payload, packet.ecn)),
                    None => entry.connection.handle_segment(now, &tcp.segment, tcp.payload, packet.ecn),
                }
            }
            self.settle(now, port, id);
        }
        Some(())
    }

    /// The connection that a segment belongs to, a new one where it opens one. Answers it where there is none.
    fn find(&mut self, now: Instant, port: &Port, local: SocketAddr, peer: SocketAddr, segment: &Segment) -> Option<u32> {
        let flags = segment.flags;
        let opens = flags.has(Flags::SYN) && !flags.any(Flags::ACK | Flags::RST) && self.listeners.contains_key(&local.port());
        match self.by_pair.get(&(local, peer)) {
            Some(&id) if opens && self.may_be_replaced(id, segment) => {
                self.by_pair.remove(&(local, peer));
                if self.entries[id as usize].take_if(|e| !e.held).is_some() {
                    self.free.push(id);
                }
                self.half_open(now, local, peer)
            }
            Some(&id) => Some(id),
            None if opens => self.half_open(now, local, peer),
            // RFC 9293 §3.10.7.2: in LISTEN, what is neither RST, ACK nor SYN is dropped.
            None if self.listeners.contains_key(&local.port()) && !flags.has(Flags::ACK) => None,
            None => {
                self.refuse(port, local, peer, segment);
                None
            }
        }
    }

    /// True for a connection in TIME-WAIT that gives way to a new SYN (RFC 9293 §3.6.1).
    fn may_be_replaced(&self, id: u32, syn: &Segment) -> bool {
        self.entries[id as usize].as_ref().is_some_and(|e| e.connection.may_be_replaced_by(syn))
    }

    /// Answers a segment for which there is no connection (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, port: &Port, local: SocketAddr, peer: SocketAddr, segment: &Segment) {
        let Some(reset) = Connection::reset_for(segment) else { return };
        self.scratch.clear();
        if port.offload() {
            // Nothing is left to the other side.
            self.scratch.extend_from_slice(&Offload::default().to_bytes());
        }
        if emit_tcp(local, peer, &reset, &[], Ecn::NotEct, &mut self.scratch).is_ok() {
            self.counters.resets_sent += 1;
            self.send_scratch(port);
        }
    }

    fn send_scratch(&mut self, port: &Port) {
        match port.send(&self.scratch) {
            Ok(()) => self.counters.packets_sent += 1,
            Err(_) => self.counters.send_failures += 1,
        }
    }

    /// Brings to an end what an operation on a connection has begun: sends, arms its timer, tells those who wait, and removes it when it is done.
    pub(super) fn settle(&mut self, now: Instant, port: &Port, id: u32) {
        let Some(mut entry) = self.entries[id as usize].take() else { return };
        // Before anything is sent: data that nobody will read is not acknowledged.
        entry.abort_unread(now);
        let news = self.pump(now, port, &mut entry);
        entry.outcome = entry.outcome.or(news.aborted);
        if news.established {
            entry.established = true;
            if entry.guest.is_some() {
                self.leave_listener(&mut entry);
            } else if let Some(listening) = entry.listener.and_then(|p| self.listeners.get_mut(&p)) {
                listening.ready.push_back(id);
                listening.changed.notify_one();
            }
        }
        if news.any && entry.waiting > 0 {
            entry.changed.notify_all();
        }
        self.let_go(&mut entry);
        if entry.abort_unread(now) {
            self.transmit(now, port, &mut entry);
        }
        // A passive open that failed is back in Listen (RFC 9293 §3.10.7.4), which our listeners do not need.
        let gone = matches!(entry.connection.state(), State::Closed | State::Listen);
        if gone {
            let pair = (entry.local, entry.peer);
            // Another connection may have taken the pair since this one ended.
            if self.by_pair.get(&pair) == Some(&id) {
                self.by_pair.remove(&pair);
            }
            if !entry.established {
                self.leave_listener(&mut entry);
            }
        }
        if gone && !entry.held && entry.listener.is_none() {
            self.free.push(id);
            return;
        }
        let deadlines = [entry.connection.poll_timeout(), entry.guest.as_ref().and_then(|g| g.deadline())];
        if let Some(at) = deadlines.into_iter().flatten().min()
            && entry.armed.is_none_or(|armed| at < armed)
        {
            entry.armed = Some(at);
            self.timers.push(Reverse((at, id)));
        }
        self.entries[id as usize] = Some(entry);
    }

    /// Sends what there is to send, and learns what there is to tell; with an application above, until neither has anything more.
    fn pump(&mut self, now: Instant, port: &Port, entry: &mut Entry) -> News {
        let mut news = News::default();
        let Some(mut guest) = entry.guest.take() else {
            self.transmit(now, port, entry);
            while let Some(event) = entry.connection.poll_event() {
                news.take(event);
            }
            return news;
        };
        // The application first, as in the simulator: what it writes because of a segment leaves with the answer to that.
        let mut first = true;
        while guest.run(&mut entry.connection, now, first, &mut news) || first {
            first = false;
            self.transmit(now, port, entry);
        }
        entry.guest = Some(guest);
        news
    }

    fn transmit(&mut self, now: Instant, port: &Port, entry: &mut Entry) {
        let offload = port.offload();
        let mut batch: Option<Batch> = None;
        while let Some(out) = entry.connection.poll_transmit(now) {
            if offload && batch.as_mut().is_some_and(|b| b.add(&out)) {
                continue;
            }
            if let Some(ready) = batch.replace(Batch::new(out)) {
                self.send_batch(port, entry, &ready, offload);
            }
        }
        if let Some(ready) = batch {
            self.send_batch(port, entry, &ready, offload);
        }
    }

    fn send_batch(&mut self, port: &Port, entry: &Entry, batch: &Batch, offload: bool) {
        self.scratch.clear();
        match batch.emit(entry.local, entry.peer, &entry.connection, offload, &mut self.scratch) {
            Ok(()) => self.send_scratch(port),
            // The engine keeps segments within the MTU, so nothing of this kind happens; losing the packet is the safe answer.
            Err(_) => self.counters.send_failures += 1,
        }
    }

    /// A program lets go of a connection: closes it, or resets it when data was left unread.
    pub(super) fn release(&mut self, now: Instant, port: &Port, id: u32) {
        let entry = self.entry(id);
        entry.held = false;
        if entry.connection.readable() == 0 {
            entry.connection.close(now);
        }
        self.settle(now, port, id);
    }

    /// Resets everything, and wakes everyone.
    pub(super) fn abort_all(&mut self, now: Instant, port: &Port) {
        self.stopped = true;
        for id in 0..self.entries.len() as u32 {
            if let Some(entry) = &mut self.entries[id as usize] {
                entry.connection.abort(now);
                entry.changed.notify_all();
                self.settle(now, port, id);
            }
        }
        for listening in self.listeners.values() {
            listening.changed.notify_all();
        }
    }

    /// Acts on every deadline that has come.
    pub(super) fn expire(&mut self, now: Instant, port: &Port) {
        while let Some(&Reverse((at, id))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(entry) = &mut self.entries[id as usize] else { continue };
            if entry.armed != Some(at) {
                // An earlier deadline took its place, or the connection is another one now.
                continue;
            }
            entry.armed = None;
            if entry.connection.poll_timeout().is_some_and(|due| due <= now) {
                entry.connection.handle_timeout(now);
            }
            self.settle(now, port, id);
        }
    }

    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }
}

/// False for addresses that no segment can come from: what claims to is ignored, and never answered (RFC 9293 §3.9.2.3, RFC 1122 §3.2.1.3).
fn is_somebody(ip: IpAddr) -> bool {
    let everybody = matches!(ip, IpAddr::V4(v4) if v4.is_broadcast());
    !(everybody || ip.is_multicast() || ip.is_unspecified())
}

/// The options as packets of this size allow them.
fn fitted(config: &Config, mtu: u16, ipv6: bool) -> Arc<Config> {
    let version = usize::from(ipv6);
    Arc::new(Config { mss: config.mss.min(u32::from(mtu) - HEADERS[version]), default_mss: DEFAULT_MSS[version], ..config.clone() })
}
