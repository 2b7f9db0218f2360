//! From packets to connections.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use ackclock_policy::{Chosen, Registry, RttEstimator};
use ackclock_units::Instant;
use ackclock_wire::Flags;

use crate::connection::Flow;
use crate::habits::Habits;
use crate::listing::Listing;
use crate::read::Unread;
use crate::report::Report;
use crate::segment::{CapturedSegment, NotASegment};
use crate::wanted::{Options, Wanted};
use crate::what_if::MOST_STALLS;
use crate::{Selection, outstanding};

/// Connections kept; segments of further ones are only counted. A connection takes about 2 kB.
pub const MOST_CONNECTIONS: usize = 1 << 16;
/// Pieces outstanding that are kept over all connections, about 100 bytes each.
pub const MOST_PIECES: usize = 1 << 20;
/// Retransmissions listed over all connections, about 300 bytes each; beyond they are only counted.
pub const MOST_LISTED: usize = 1 << 20;
/// Packets listed over all connections, about 250 bytes each; further ones are only counted.
pub const MOST_PACKETS: usize = 1 << 20;
/// Segments held back to put them in order of time.
const HELD_BACK: usize = 64;

/// Takes segments roughly in order of time and assembles connections.
pub struct Analysis {
    wanted: Wanted,
    estimator: Chosen<dyn RttEstimator>,
    pub(crate) flows: Vec<Flow>,
    by_ends: HashMap<(SocketAddr, SocketAddr), u32>,
    /// Connections looked up recently, hashed by their ports.
    recent: Vec<u32>,
    held: VecDeque<CapturedSegment>,
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
        let estimator =
            Registry::builtin().choose::<dyn RttEstimator>("rfc6298").expect("the registry has RFC 6298");
        Self {
            wanted: Wanted::new(options),
            estimator,
            flows: Vec::new(),
            by_ends: HashMap::new(),
            recent: vec![u32::MAX; RECENT],
            held: VecDeque::new(),
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
    #[inline]
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

    /// Takes one segment.
    #[inline]
    pub fn segment(&mut self, seen: CapturedSegment) {
        self.report.segments += 1;
        // Nearly always it is the latest.
        if self.held.back().is_none_or(|s| s.at <= seen.at) {
            self.held.push_back(seen);
        } else {
            let at = self.held.partition_point(|s| s.at <= seen.at);
            self.out_of_order += 1;
            self.held.insert(at, seen);
        }
        if self.held.len() > HELD_BACK {
            // Processed in place: a segment is large enough that moving it costs measurable time.
            let mut held = std::mem::take(&mut self.held);
            held.front_mut().into_iter().for_each(|next| self.in_order(next));
            held.pop_front();
            self.held = held;
        }
    }

    /// The connection of a segment, and which of its ends sent it. Most are found without the hash map, whose
    /// hash function resists chosen addresses.
    #[inline]
    fn find(&mut self, seen: &CapturedSegment) -> Option<(u32, usize)> {
        let (a, b) = (seen.src.port(), seen.dst.port());
        let place = usize::from((a ^ b).rotate_left(5) ^ a.wrapping_add(b)) % RECENT;
        let there = self.recent[place];
        if let Some(flow) = self.flows.get(there as usize).filter(|flow| !flow.reuse.followed) {
            if flow.ends[0] == seen.src && flow.ends[1] == seen.dst {
                return Some((there, 0));
            }
            if flow.ends[0] == seen.dst && flow.ends[1] == seen.src {
                return Some((there, 1));
            }
        }
        let found = *self.by_ends.get(&ends_of(seen))?;
        self.recent[place] = found;
        Some((found, usize::from(self.flows[found as usize].ends[0] != seen.src)))
    }

    fn in_order(&mut self, seen: &mut CapturedSegment) {
        // A segment that is later than the reorder buffer covers is processed at the latest time seen.
        seen.at = seen.at.max(self.latest);
        self.latest = seen.at;
        let mut known = self.find(seen);
        let before = known.map(|(i, _)| i);
        if seen.segment.flags.has(Flags::SYN) {
            // Reused ports.
            known = known.filter(|(i, side)| !self.flows[*i as usize].is_over_for(seen, *side));
        }
        if known.is_none() && self.replaces && self.flows.len() >= MOST_CONNECTIONS {
            self.make_room();
        }
        let (i, side) = match known {
            Some(known) => known,
            None if self.flows.len() >= MOST_CONNECTIONS => {
                self.too_many += 1;
                return;
            }
            None => {
                let mut flow = Flow::new(seen, &self.estimator, &self.wanted);
                let i = self.flows.len() as u32;
                if let Some((wanted, ..)) = &self.listing
                    && wanted.as_ref().is_none_or(|w| w.includes_ends(i as usize, flow.ends))
                {
                    flow.listing = Some(Listing::new(i));
                }
                flow.reuse.before = before;
                if let Some(b) = before {
                    self.flows[b as usize].reuse.followed = true;
                }
                self.flows.push(flow);
                self.by_ends.insert(ends_of(seen), i);
                (i, 0)
            }
        };
        let flow = &mut self.flows[i as usize];
        let before = flow
            .halves
            .iter()
            .map(|h| (h.pieces(), h.verdicts.retransmissions.len()))
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        flow.halves[side].verdicts.may_list = self.listed < MOST_LISTED;
        if let Some((_, most, listed)) = &mut self.listing
            && let Some(own) = &flow.listing
        {
            let before = own.len();
            flow.may_list_packets = *listed < *most;
            flow.on_segment(seen, side);
            *listed += flow.listing.as_ref().map_or(0, Listing::len) - before;
        } else {
            flow.on_segment(seen, side);
        }
        if self.pieces >= MOST_PIECES.max(outstanding::MOST_PIECES) {
            flow.halves[side].forget();
        }
        let after = flow
            .halves
            .iter()
            .map(|h| (h.pieces(), h.verdicts.retransmissions.len()))
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        self.pieces = (self.pieces + after.0).saturating_sub(before.0);
        self.listed += after.1 - before.1;
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
        while let Some(mut seen) = self.held.pop_front() {
            self.in_order(&mut seen);
        }
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

/// The two ends of a segment's connection, whichever sent it.
fn ends_of(seen: &CapturedSegment) -> (SocketAddr, SocketAddr) {
    if seen.src <= seen.dst { (seen.src, seen.dst) } else { (seen.dst, seen.src) }
}

/// Places for connections looked up lately.
const RECENT: usize = 1 << 13;

#[cfg(test)]
mod tests {
    use ackclock_wire::Segment;

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
