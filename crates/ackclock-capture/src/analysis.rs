//! From packets to connections.

mod order;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use ackclock_units::Instant;

use self::order::{Order, RECENT};
use crate::Selection;
use crate::connection::Flow;
use crate::habits::Habits;
use crate::half::Estimators;
use crate::read::Unread;
use crate::report::Report;
use crate::segment::{CapturedSegment, NotASegment};
use crate::wanted::{Options, Wanted};
use crate::what_if::MOST_STALLS;

/// Connections kept; segments of further ones are only counted. A connection takes about 2 kB.
pub const MOST_CONNECTIONS: usize = 1 << 16;
/// Pieces outstanding that are kept over all connections, about 100 bytes each.
pub const MOST_PIECES: usize = 1 << 20;
/// Retransmissions listed over all connections, about 300 bytes each; beyond they are only counted.
pub const MOST_LISTED: usize = 1 << 20;
/// Packets listed over all connections, about 250 bytes each; further ones are only counted.
pub const MOST_PACKETS: usize = 1 << 20;

/// Takes segments roughly in order of time and assembles connections.
pub struct Analysis {
    wanted: Wanted,
    estimators: Estimators,
    pub(crate) flows: Vec<Flow>,
    by_ends: HashMap<(SocketAddr, SocketAddr), u32>,
    /// Connections looked up recently, hashed by their ports.
    recent: Vec<u32>,
    order: Order,
    latest: Instant,
    pieces: usize,
    listed: usize,
    /// If packets are listed: of which connections (all without a selection), at most how many, and how many
    /// so far.
    listing: Option<(Option<Selection>, usize, usize)>,
    report: Report,
    others: u64,
    fragments: u64,
    unreadable: u64,
    /// By what they are in.
    unread: [u64; Unread::ALL.len()],
    out_of_order: u64,
    too_many: u64,
    /// Connections that are over are dropped for new ones, and how many were.
    pub(crate) replaces: bool,
    pub(crate) replaced: u64,
    /// Link types that are not understood.
    pub(crate) links: Vec<u32>,
    /// Fragments that belong to no whole packet, and packets that were put together.
    pub(crate) pieces_left: (u64, u64),
}

impl Analysis {
    /// An analysis that has seen no packet.
    pub fn new(options: Options) -> Self {
        Self {
            wanted: Wanted::new(options),
            estimators: Estimators::new(),
            flows: Vec::new(),
            by_ends: HashMap::new(),
            recent: vec![u32::MAX; RECENT],
            order: Order::default(),
            latest: Instant::ZERO,
            pieces: 0,
            listed: 0,
            listing: None,
            report: Report::default(),
            others: 0,
            fragments: 0,
            unreadable: 0,
            unread: Default::default(),
            out_of_order: 0,
            too_many: 0,
            replaces: false,
            replaced: 0,
            links: Vec::new(),
            pieces_left: (0, 0),
        }
    }

    /// Lists the packets of the connections that `wanted` chooses, or of all: the first `most`, which should
    /// not be above [`MOST_PACKETS`].
    pub fn list_packets(&mut self, wanted: Option<Selection>, most: usize) {
        self.listing = Some((wanted, most, 0));
    }

    /// Adds a note to the report.
    pub(crate) fn note(&mut self, note: String) {
        self.report.notes.push(note);
    }

    /// Takes one packet.
    // Inlined, as the next: a segment is large, and is moved once at most.
    #[inline(always)]
    pub fn packet(&mut self, at: Instant, seen: Result<CapturedSegment, NotASegment>) {
        self.report.packets += 1;
        let (first, last) = self.report.span.unwrap_or((at, at));
        self.report.span = Some((first.min(at), last.max(at)));
        match seen {
            Ok(seen) => self.segment(seen),
            Err(NotASegment::Other) => self.others += 1,
            Err(NotASegment::Fragment) => self.fragments += 1,
            // Counted by those who put fragments together.
            Err(NotASegment::Piece) => {}
            Err(NotASegment::Unreadable) => self.unreadable += 1,
            Err(NotASegment::Unread(what)) => self.unread[what as usize] += 1,
        }
    }

    /// Drops half of the connections: those that are over first, and of the others those that are silent for
    /// longest.
    fn make_room(&mut self) {
        let mut order: Vec<_> = self.flows.iter().map(|f| (!f.is_over(), f.latest())).collect();
        let half = order.len() / 2;
        let (_, &mut least, _) = order.select_nth_unstable(half);
        let before = self.flows.len();
        self.flows.retain(|f| (!f.is_over(), f.latest()) >= least);
        self.replaced += (before - self.flows.len()) as u64;
        // Places have changed.
        self.recent.fill(u32::MAX);
        self.by_ends.clear();
        for (i, f) in self.flows.iter_mut().enumerate() {
            f.reuse.before = None;
            let ends = if f.ends[0] <= f.ends[1] { (f.ends[0], f.ends[1]) } else { (f.ends[1], f.ends[0]) };
            self.by_ends.insert(ends, i as u32);
        }
        let halves = self.flows.iter().flat_map(|f| &f.halves);
        self.pieces = halves.clone().map(|h| h.pieces()).sum();
        self.listed = halves.map(|h| h.verdicts.retransmissions.len()).sum();
    }

    /// Ends the analysis and returns its report.
    pub fn finish(mut self) -> Report {
        self.take_all();
        let mut report = self.report;
        if self.replaced > 0 {
            report.notes.push(format!(
                "{} earlier connections, which had ended or were silent, made room for later ones",
                self.replaced
            ));
        }
        let links = self.links.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        for (n, what) in [
            (self.others, "packets are not TCP over IP"),
            (self.fragments + self.pieces_left.0, "packets are fragments, which are left out"),
            (self.pieces_left.1, "segments came in fragments, which were put together"),
            (self.unreadable, "packets are cut before the end of the TCP header or are malformed"),
            (self.out_of_order, "packets are out of their order of time; they were put in order"),
            (self.too_many, "segments belong to connections beyond the first 65536, which are not analysed"),
        ] {
            if n > 0 {
                report.notes.push(format!("{n} {what}"));
            }
        }
        for (what, n) in Unread::ALL.into_iter().zip(self.unread).filter(|(_, n)| *n > 0) {
            report.notes.push(format!("{n} packets are in {}", what.name()));
        }
        if !links.is_empty() {
            report.notes.push(format!(
                "packets of link type {links} are not understood; Ethernet, Linux cooked, raw IP, loopback, \
                 PPP, HDLC, 802.11 and those of packet filters are"
            ));
        }
        if self.listed >= MOST_LISTED {
            report.notes.push(format!(
                "the first {MOST_LISTED} retransmissions are listed, further ones are only counted"
            ));
        }
        if self.wanted.what_if.as_ref().is_some_and(|a| a.is_full()) {
            report.notes.push(format!(
                "what-if evaluates the first {MOST_STALLS} stalls; for further ones, every timer is reported \
                 to have waited as the sender did"
            ));
        }
        let left_out: u64 = self.flows.iter().filter_map(|f| f.listing.as_ref()).map(|l| l.left_out).sum();
        if left_out > 0 {
            let listed = self.listing.map_or(0, |l| l.2);
            report.notes.push(format!(
                "the first {listed} packets are listed, {left_out} further ones are only counted"
            ));
        }
        // Whether a host sends tail loss probes is derived from all of its connections together.
        let mut hosts: HashMap<IpAddr, Habits> = HashMap::new();
        for flow in &self.flows {
            for (end, half) in flow.ends.iter().zip(&flow.halves) {
                hosts.entry(end.ip()).or_default().add(Habits::backoff(half));
            }
        }
        for flow in &self.flows {
            for (end, half) in flow.ends.iter().zip(&flow.halves) {
                let host = hosts.entry(end.ip()).or_default();
                host.add(host.probing(half));
            }
        }
        let mut all = Habits::default();
        hosts.values().for_each(|h| all.add(*h));
        let habits = |end: &SocketAddr| hosts.get(&end.ip()).copied().unwrap_or_default();
        report.connections = self.flows.into_iter().map(|flow| flow.finish(habits, all)).collect();
        report
    }
}

#[cfg(test)]
mod tests {
    use ackclock_wire::{Flags, Segment};

    use super::order::HELD_BACK;
    use super::*;
    use crate::Beginning;

    #[test]
    fn connections_that_are_over_make_room_for_others() {
        let mut analysis = Analysis::new(Options::default());
        let packet = |port: u16, ms: u64, flags| {
            let at = Instant::from_nanos(ms * 1_000_000);
            let [src, dst] = [port, 80].map(|port| SocketAddr::from(([10, 0, 0, 1], port)));
            let segment = Segment { flags, ..Segment::default() };
            let (id, hops, interface, frame) = (0, 64, 0, ms);
            let beginning = Beginning::default();
            (
                at,
                Ok(CapturedSegment {
                    at,
                    src,
                    dst,
                    id,
                    hops,
                    interface,
                    options_cut: false,
                    frame,
                    beginning,
                    segment,
                }),
            )
        };
        let mut ms = 0;
        let mut give = |analysis: &mut Analysis, port, flags| {
            ms += 1;
            let (at, seen) = packet(port, ms, flags);
            analysis.packet(at, seen);
        };
        for port in 1000..1100 {
            give(&mut analysis, port, Flags::SYN);
        }
        for port in 1040..1100 {
            give(&mut analysis, port, Flags::RST | Flags::ACK);
        }
        // What is held back to be put in order comes too.
        for _ in 0..HELD_BACK {
            give(&mut analysis, 1000, Flags::ACK);
        }
        analysis.make_room();
        assert_eq!(analysis.counted(), (50, 50));
        let kept: Vec<u16> = analysis.flows.iter().map(|f| f.ends[0].port()).collect();
        assert_eq!(
            kept,
            (1000..1040).chain(1090..1100).collect::<Vec<_>>(),
            "the open ones, and the latest others"
        );
        for _ in 0..=HELD_BACK {
            give(&mut analysis, 1007, Flags::ACK);
        }
        assert_eq!(analysis.counted().0, 50, "a kept connection goes on");
    }
}
