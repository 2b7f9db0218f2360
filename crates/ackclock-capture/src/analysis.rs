//! From packets to connections.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::ops::ControlFlow;

use ackclock_policy::{Chosen, Registry, RttEstimator};
use ackclock_units::Instant;
use ackclock_wire::Flags;

use crate::connection::Flow;
use crate::read::Packets;
use crate::report::Report;
use crate::segment::{Seen, Unseen};
use crate::{CaptureError, sent};

/// What of a capture is looked at, and how closely.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep a sample of round-trip time and flight for every ack that gives one.
    pub samples: bool,
}

/// Connections kept; segments of further ones are only counted. A connection takes about 2 kB.
pub const MOST_CONNECTIONS: usize = 1 << 16;
/// Pieces outstanding that are kept over all connections, about 100 bytes each.
pub const MOST_PIECES: usize = 1 << 20;
/// Retransmissions listed over all connections, about 300 bytes each; beyond they are only counted.
pub const MOST_LISTED: usize = 1 << 20;
/// Segments held back to put them in order of time.
const HELD_BACK: usize = 64;

/// Takes segments, in about the order of their times, and makes connections of them.
pub struct Analysis {
    options: Options,
    estimator: Chosen<dyn RttEstimator>,
    flows: Vec<Flow>,
    by_ends: HashMap<(SocketAddr, SocketAddr), u32>,
    held: VecDeque<Seen>,
    latest: Instant,
    pieces: usize,
    listed: usize,
    report: Report,
    others: u64,
    fragments: u64,
    unreadable: u64,
    out_of_order: u64,
    too_many: u64,
    links: Vec<u32>,
}

impl Analysis {
    /// Nothing seen yet.
    pub fn new(options: Options) -> Self {
        let estimator = Registry::builtin().choose::<dyn RttEstimator>("rfc6298").expect("the registry has RFC 6298");
        Self {
            options,
            estimator,
            flows: Vec::new(),
            by_ends: HashMap::new(),
            held: VecDeque::new(),
            latest: Instant::ZERO,
            pieces: 0,
            listed: 0,
            report: Report::default(),
            others: 0,
            fragments: 0,
            unreadable: 0,
            out_of_order: 0,
            too_many: 0,
            links: Vec::new(),
        }
    }

    /// Takes a whole capture. Damage ends it, with a note; so does `progress`, which gets the bytes used up after every few thousand packets.
    ///
    /// # Errors
    /// Those before the first packet.
    pub fn read<R: std::io::Read>(
        &mut self,
        packets: &mut Packets<R>,
        mut progress: impl FnMut(u64) -> ControlFlow<()>,
    ) -> Result<bool, CaptureError> {
        loop {
            match packets.next_packet() {
                Ok(Some(p)) => {
                    if let crate::read::LinkType::Other(n) = p.link
                        && !self.links.contains(&n)
                        && self.links.len() < 16
                    {
                        self.links.push(n);
                    }
                    let seen = Seen::in_packet(&p);
                    let at = p.at;
                    self.packet(at, seen);
                }
                Ok(None) => return Ok(true),
                Err(e) => {
                    self.report.notes.push(e.to_string());
                    return Ok(true);
                }
            }
            if packets.packets().is_multiple_of(PROGRESS) && progress(packets.offset()).is_break() {
                return Ok(false);
            }
        }
    }

    /// Takes one packet.
    pub fn packet(&mut self, at: Instant, seen: Result<Seen, Unseen>) {
        self.report.packets += 1;
        let (first, last) = self.report.span.unwrap_or((at, at));
        self.report.span = Some((first.min(at), last.max(at)));
        match seen {
            Ok(seen) => self.segment(seen),
            Err(Unseen::Other) => self.others += 1,
            Err(Unseen::Fragment) => self.fragments += 1,
            Err(Unseen::Unreadable) => self.unreadable += 1,
        }
    }

    /// Takes one segment.
    pub fn segment(&mut self, seen: Seen) {
        self.report.segments += 1;
        let at = self.held.partition_point(|s| s.at <= seen.at);
        self.out_of_order += u64::from(at < self.held.len());
        self.held.insert(at, seen);
        if self.held.len() > HELD_BACK
            && let Some(next) = self.held.pop_front()
        {
            self.in_order(next);
        }
    }

    fn in_order(&mut self, mut seen: Seen) {
        // What comes later than it could be held back for is taken as it comes.
        seen.at = seen.at.max(self.latest);
        self.latest = seen.at;
        let ends = if seen.src <= seen.dst { (seen.src, seen.dst) } else { (seen.dst, seen.src) };
        let mut known = self.by_ends.get(&ends).copied();
        if let Some(i) = known
            && seen.segment.flags.has(Flags::SYN)
        {
            let flow = &self.flows[i as usize];
            // Reused ports.
            known = known.filter(|_| !flow.is_over_for(&seen, usize::from(flow.ends[0] != seen.src)));
        }
        let i = match known {
            Some(i) => i,
            None if self.flows.len() >= MOST_CONNECTIONS => {
                self.too_many += 1;
                return;
            }
            None => {
                self.flows.push(Flow::new(&seen, &self.estimator, self.options.samples));
                let i = self.flows.len() as u32 - 1;
                self.by_ends.insert(ends, i);
                i
            }
        };
        let flow = &mut self.flows[i as usize];
        let side = usize::from(flow.ends[0] != seen.src);
        let before = flow.halves.iter().map(|h| (h.pieces(), h.agains.len())).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        flow.halves[side].may_list = self.listed < MOST_LISTED;
        flow.on_segment(&seen, side);
        if self.pieces >= MOST_PIECES.max(sent::MOST_PIECES) {
            flow.halves[side].forget();
        }
        let after = flow.halves.iter().map(|h| (h.pieces(), h.agains.len())).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        self.pieces = (self.pieces + after.0).saturating_sub(before.0);
        self.listed += after.1 - before.1;
    }

    /// Puts the sum under it.
    pub fn finish(mut self) -> Report {
        while let Some(seen) = self.held.pop_front() {
            self.in_order(seen);
        }
        let mut report = self.report;
        let links = self.links.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        for (n, what) in [
            (self.others, "packets are not TCP over IP"),
            (self.fragments, "packets are fragments, which are left out"),
            (self.unreadable, "packets are cut before the end of the TCP header or make no sense"),
            (self.out_of_order, "packets are out of their order of time; they were put in order"),
            (self.too_many, "segments belong to connections beyond the first 65536, which are not analysed"),
        ] {
            if n > 0 {
                report.notes.push(format!("{n} {what}"));
            }
        }
        if !links.is_empty() {
            report.notes.push(format!("packets of link type {links} are not understood; Ethernet, Linux cooked, raw IP and loopback are"));
        }
        if self.listed >= MOST_LISTED {
            report.notes.push(format!("the first {MOST_LISTED} retransmissions are listed, further ones are only counted"));
        }
        report.connections = self.flows.into_iter().map(Flow::finish).collect();
        report
    }
}

/// Packets between two reports of progress.
const PROGRESS: u64 = 1 << 14;
