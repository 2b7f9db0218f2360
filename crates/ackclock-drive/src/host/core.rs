//! The table of connections: look-up, timers, and the steps after each operation on a connection.

use std::cmp::Reverse;
use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar};

use ackclock_engine::{AbortReason, Config, Connection, State};
use ackclock_units::{Bytes, Instant, Rng, SeqNumber};

use super::apps::{AppReport, EventSummary, HostedApp, RunningApp};
use super::backlog::Listening;
use super::ending::HostEnd;
use super::limits::RateLimit;
use super::options::{HostCounters, HostOptions};
use super::orphan_table::{Orphan, OrphanTable};
use super::ports::{PORTS, Ports};
use crate::Port;

/// The state protected by the host's lock.
pub(super) struct Core {
    pub(super) options: HostOptions,
    pub(super) own: HashSet<IpAddr>,
    /// By IP version; in each pair the first for connections that are opened, the second for those accepted.
    pub(super) configs: [[Arc<Config>; 2]; 2],
    pub(super) by_pair: HashMap<(SocketAddr, SocketAddr), u32>,
    pub(super) entries: Vec<Option<ConnEntry>>,
    free: Vec<u32>,
    /// Deadlines with their connections. A connection has at most one valid deadline ([`ConnEntry::armed`]),
    /// which may fire early but never late.
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    pub(super) listeners: BTreeMap<u16, Listening>,
    /// Number of running applications, and reports of those that are over.
    pub(super) apps: usize,
    pub(super) app_reports: Vec<AppReport>,
    ports: Ports,
    /// Rate limit of resets to segments without a connection.
    pub(super) resets: RateLimit,
    /// Connections that no program holds.
    pub(super) orphans: OrphanTable,
    /// Memory of all connections' buffers, bytes.
    pub(super) held_bytes: Bytes,
    made: u64,
    pub(super) keys: RandomState,
    pub(super) scratch: Vec<u8>,
    /// When the host's thread will wake up; in the past while it is awake.
    pub(super) sleeps_until: Instant,
    /// Why the host has ended, if it has.
    pub(super) ended: Option<HostEnd>,
    pub(super) counters: HostCounters,
}

/// A connection with its users.
pub(super) struct ConnEntry {
    pub(super) connection: Connection,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    /// Notified when anything changes for which a program may wait.
    pub(super) changed: Arc<Condvar>,
    /// Number of threads that wait for it.
    pub(super) waiting: u32,
    /// Why it was aborted, if it was.
    pub(super) outcome: Option<AbortReason>,
    /// Its listener, until it is accepted.
    pub(super) listener: Option<u16>,
    pub(super) established: bool,
    /// A program holds it, or an application runs on it.
    pub(super) held: bool,
    /// The application.
    pub(super) app: Option<Box<RunningApp>>,
    /// Set while no program holds it.
    pub(super) orphan: Option<Orphan>,
    /// Memory of its buffers as counted in [`Core::held_bytes`].
    pub(super) held_bytes: Bytes,
    armed: Option<Instant>,
}

/// Whether a connection stays in the table after an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Retention {
    Stays,
    Gone,
}

/// IP and TCP headers without options, by IP version.
const HEADERS: [u32; 2] = [40, 60];
/// Segment size of a peer that announces none (RFC 9293 §3.7.1).
const DEFAULT_MSS: [u32; 2] = [536, 1220];

impl Core {
    pub(super) fn new(options: HostOptions) -> Self {
        let keys = RandomState::new();
        Self {
            configs: [false, true].map(|ipv6| {
                let opens = fitted(&options.config, &options, ipv6);
                let accepts = Config {
                    syn_retries: opens.syn_retries.min(options.limits.synack_retries),
                    ..Config::clone(&opens)
                };
                [opens, Arc::new(accepts)]
            }),
            ports: Ports::new(&keys),
            resets: RateLimit::per_second(options.limits.stray_resets),
            orphans: OrphanTable::default(),
            held_bytes: 0,
            own: options.addresses.iter().copied().collect(),
            options,
            by_pair: HashMap::new(),
            entries: Vec::new(),
            free: Vec::new(),
            timers: BinaryHeap::new(),
            listeners: BTreeMap::new(),
            apps: 0,
            app_reports: Vec::new(),
            made: 0,
            keys,
            scratch: Vec::new(),
            sleeps_until: Instant::ZERO,
            ended: None,
            counters: HostCounters::default(),
        }
    }

    pub(super) fn connections(&self) -> usize {
        self.by_pair.len()
    }

    /// The entry of a connection that a program holds, which therefore exists.
    pub(super) fn entry(&mut self, id: u32) -> &mut ConnEntry {
        self.entries[id as usize].as_mut().expect("a held connection stays in the table")
    }

    /// Opens a connection to `to`, optionally with an application, and sends its SYN; `None` without an
    /// address of that family or a free port.
    pub(super) fn connect(
        &mut self,
        now: Instant,
        port: &Port,
        to: SocketAddr,
        app: Option<HostedApp>,
    ) -> Option<u32> {
        let address = *self.options.addresses.iter().find(|a| a.is_ipv4() == to.is_ipv4())?;
        let local = (0..PORTS).find_map(|_| {
            let candidate = SocketAddr::new(address, self.ports.next(&self.keys, address, to));
            let taken =
                self.by_pair.contains_key(&(candidate, to)) || self.listeners.contains_key(&candidate.port());
            (!taken).then_some(candidate)
        })?;
        let iss = self.initial_number(now, local, to);
        let id = self.insert(now, local, to, iss, None, app);
        self.entry(id).held = true;
        self.operate(now, port, id, |entry| entry.connection.connect(now));
        Some(id)
    }

    /// A 4-microsecond clock plus a keyed hash of the addresses (RFC 6528 §3).
    pub(super) fn initial_number(&self, now: Instant, local: SocketAddr, peer: SocketAddr) -> SeqNumber {
        let clock = (self.options.clock.unix_nanos(now) / 4_000) as u32;
        SeqNumber(clock.wrapping_add(self.keys.hash_one((local, peer)) as u32))
    }

    pub(super) fn insert(
        &mut self,
        now: Instant,
        local: SocketAddr,
        peer: SocketAddr,
        iss: SeqNumber,
        listener: Option<u16>,
        app: Option<HostedApp>,
    ) -> u32 {
        let rng = Rng::stream(self.keys.hash_one("connection"), "connection", self.made);
        self.made += 1;
        self.apps += usize::from(app.is_some());
        let (config, policies, app) = match app {
            None => (
                self.configs[usize::from(local.is_ipv6())][usize::from(listener.is_some())].clone(),
                (self.options.policies)(),
                None,
            ),
            Some(g) => (
                fitted(&g.config, &self.options, local.is_ipv6()),
                g.policies,
                Some(Box::new(RunningApp::new(g.number, g.user, g.rng, now))),
            ),
        };
        let entry = ConnEntry {
            connection: Connection::new(config, policies, iss, rng),
            local,
            peer,
            changed: Arc::default(),
            waiting: 0,
            outcome: None,
            listener,
            established: false,
            held: app.is_some(),
            app,
            orphan: None,
            held_bytes: 0,
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

    /// Runs `action` on a connection and completes it: sends segments, arms the timer, notifies waiting
    /// threads, and removes the connection when it is closed.
    pub(super) fn operate(
        &mut self,
        now: Instant,
        port: &Port,
        id: u32,
        action: impl FnOnce(&mut ConnEntry),
    ) {
        if self.ended.as_ref().is_some_and(|e| e.broken) {
            return;
        }
        let Some(mut entry) = self.entries[id as usize].take() else { return };
        let pair = (entry.local, entry.peer);
        let done = catch_unwind(AssertUnwindSafe(|| {
            action(&mut entry);
            self.complete(now, port, id, &mut entry)
        }));
        match done {
            Ok(Retention::Gone) => self.forget(id, &entry),
            Ok(Retention::Stays) => self.entries[id as usize] = Some(entry),
            Err(panic) => {
                // Its holder still needs the entry.
                self.entries[id as usize] = Some(entry);
                return self.fail(now, port, HostEnd::panicked(pair, &*panic));
            }
        }
        self.keep_limits(now, port);
    }

    pub(super) fn finish(&mut self, now: Instant, port: &Port, id: u32) {
        self.operate(now, port, id, |_| ());
    }

    /// Releases what a connection removed from the table had.
    pub(super) fn forget(&mut self, id: u32, entry: &ConnEntry) {
        self.held_bytes -= entry.held_bytes;
        self.orphans.remove(entry.orphan);
        self.free.push(id);
    }

    fn complete(&mut self, now: Instant, port: &Port, id: u32, entry: &mut ConnEntry) -> Retention {
        let summary = self.pump(now, port, entry);
        entry.outcome = entry.outcome.or(summary.aborted);
        if summary.established {
            self.leave_half_open(id, entry);
        }
        if summary.any && entry.waiting > 0 {
            entry.changed.notify_all();
        }
        self.detach_app(entry);
        self.track_orphan(now, id, entry);
        let held_bytes = entry.connection.held_bytes();
        self.held_bytes = self.held_bytes - entry.held_bytes + held_bytes;
        entry.held_bytes = held_bytes;
        // A passive open that failed is back in Listen (RFC 9293 §3.10.7.4), and can be removed since the
        // listener is kept separately.
        let gone =
            matches!(entry.connection.state(), State::Closed | State::Listen) || entry.is_given_up(now);
        if gone {
            let pair = (entry.local, entry.peer);
            // Another connection may have taken the pair since this one ended.
            if self.by_pair.get(&pair) == Some(&id) {
                self.by_pair.remove(&pair);
            }
            if !entry.established {
                self.leave_listener(entry);
            }
        }
        if gone && !entry.held && entry.listener.is_none() {
            return Retention::Gone;
        }
        let app = entry.app.as_ref().and_then(|g| g.deadline());
        let deadlines = [entry.connection.poll_timeout(), app, entry.orphan.and_then(|a| a.deadline())];
        if let Some(at) = deadlines.into_iter().flatten().min()
            && entry.armed.is_none_or(|armed| at < armed)
        {
            entry.armed = Some(at);
            self.timers.push(Reverse((at, id)));
        }
        Retention::Stays
    }

    /// Sends segments and collects events; with an application, repeats until neither has anything to do.
    fn pump(&mut self, now: Instant, port: &Port, entry: &mut ConnEntry) -> EventSummary {
        let mut summary = EventSummary::default();
        let Some(mut app) = entry.app.take() else {
            self.transmit(now, port, entry);
            while let Some(event) = entry.connection.poll_event() {
                summary.take(event);
            }
            return summary;
        };
        // The application runs first, as in the simulator, so that data it writes in response to a segment is
        // sent with the acknowledgment.
        let mut first = true;
        while app.run(&mut entry.connection, now, first, &mut summary) || first {
            first = false;
            self.transmit(now, port, entry);
        }
        entry.app = Some(app);
        summary
    }

    /// Releases a connection that a program held: closes it, or resets it when unread data is left.
    pub(super) fn release(&mut self, now: Instant, port: &Port, id: u32) {
        self.operate(now, port, id, |entry| {
            entry.held = false;
            entry.connection.leave(now);
        });
    }

    /// Handles all expired deadlines.
    pub(super) fn expire(&mut self, now: Instant, port: &Port) {
        while let Some(&Reverse((at, id))) = self.timers.peek() {
            if at > now {
                break;
            }
            self.timers.pop();
            let Some(entry) = &mut self.entries[id as usize] else { continue };
            if entry.armed != Some(at) {
                // Stale: an earlier deadline replaced it, or the entry has a new connection.
                continue;
            }
            entry.armed = None;
            let overdue = entry.is_overdue(now);
            self.counters.orphans_ended += u64::from(overdue);
            self.operate(now, port, id, |entry| {
                if entry.connection.poll_timeout().is_some_and(|due| due <= now) {
                    entry.connection.handle_timeout(now);
                }
                if overdue && !entry.is_given_up(now) {
                    entry.connection.abort(now);
                }
            });
        }
    }

    /// The earliest deadline.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.timers.peek().map(|Reverse((at, _))| *at)
    }
}

/// The configuration with the segment size that the MTU allows.
fn fitted(config: &Config, options: &HostOptions, ipv6: bool) -> Arc<Config> {
    let version = usize::from(ipv6);
    let mss = config.mss.min(u32::from(options.mtu) - HEADERS[version]);
    Arc::new(Config {
        mss,
        default_mss: DEFAULT_MSS[version],
        min_pmtu: options.limits.min_pmtu,
        ..config.clone()
    })
}
