//! The order in which segments are analysed: that of time, as far as they come roughly in it.
//!
//! Connections do not depend on each other. In a file, segments of one connection are therefore analysed one after
//! the other, 2048 packets at a time: what is known of the connection is brought from memory once for
//! them.

use std::collections::VecDeque;
use std::net::SocketAddr;

use ackclock_wire::Flags;

use super::{Analysis, MOST_CONNECTIONS, MOST_LISTED, MOST_PIECES};
use crate::connection::Flow;
use crate::listing::Listing;
use crate::outstanding;
use crate::segment::CapturedSegment;

/// Segments held back to put them in order of time.
pub(super) const HELD_BACK: usize = 64;
/// Segments analysed together, of a file.
const TOGETHER: usize = 2048;
/// What one segment may add to what is limited over all connections, but for hostile ones.
const MOST_OF_ONE: usize = 64;
/// No segment.
const NONE: u32 = u32::MAX;
/// Places for connections looked up lately.
pub(super) const RECENT: usize = 1 << 13;

/// Segments that are not analysed yet.
#[derive(Default)]
pub(super) struct Order {
    held: VecDeque<CapturedSegment>,
    /// So many at the front are in their final order.
    ready: usize,
    /// How many of these are waited for.
    together: usize,
    /// The chain of each connection: its first and its last segment, by their places in `held`.
    chains: Vec<(u32, u32)>,
    /// The connections that have a chain, in order of its first segment.
    chained: Vec<u32>,
    /// Of each segment: the end that sent it, and the next of its chain.
    links: Vec<(u8, u32)>,
}

impl Analysis {
    /// Segments come from a file, so that nobody looks at connections meanwhile.
    pub(crate) fn take_together(&mut self) {
        self.order.together = TOGETHER;
    }

    /// Takes one segment.
    #[inline(always)]
    pub fn segment(&mut self, seen: CapturedSegment) {
        self.report.segments += 1;
        let order = &mut self.order;
        // Nearly always it is the latest.
        if order.held.back().is_none_or(|s| s.at <= seen.at) {
            order.held.push_back(seen);
        } else {
            self.out_of_order += 1;
            order.insert(seen);
        }
        if order.held.len() > order.ready + HELD_BACK {
            order.ready += 1;
            if order.ready >= order.together {
                self.take_ready();
            }
        }
    }

    /// Takes all that were held back.
    pub(super) fn take_all(&mut self) {
        self.order.ready = self.order.held.len();
        self.take_ready();
    }

    /// Analyses the segments that are in their final order.
    fn take_ready(&mut self) {
        // Processed in place: a segment is large enough that moving it costs measurable time.
        let mut order = std::mem::take(&mut self.order);
        let ready = std::mem::take(&mut order.ready);
        if self.may_take_together(ready) {
            self.chain(&mut order, ready);
            for i in std::mem::take(&mut order.chained) {
                self.take_chain(&mut order, i);
            }
        } else {
            for seen in order.held.iter_mut().take(ready) {
                self.in_time(seen);
                let known = self.find(seen);
                if let Some((i, side)) = self.connection(seen, known) {
                    self.take(seen, i, side);
                }
            }
        }
        order.held.drain(..ready);
        self.order = order;
    }

    /// Limits over all connections must not be reached within a group: they apply in order of time.
    fn may_take_together(&self, ready: usize) -> bool {
        let room = |used: usize, most: usize| used + MOST_OF_ONE * ready < most;
        ready > 1
            && self.listing.is_none()
            && !self.replaces
            && room(self.pieces, MOST_PIECES.max(outstanding::MOST_PIECES))
            && room(self.listed, MOST_LISTED)
    }

    /// Sorts segments into the chains of their connections.
    fn chain(&mut self, order: &mut Order, ready: usize) {
        order.links.clear();
        order.links.resize(ready, (0, NONE));
        for k in 0..ready {
            let seen = &mut order.held[k];
            self.in_time(seen);
            let mut known = self.find(seen);
            if known.is_none() || seen.segment.flags.has(Flags::SYN) {
                if let Some((i, _)) = known {
                    // Whether it begins another connection depends on what came before it.
                    self.take_chain(order, i);
                }
                known = self.connection(&order.held[k], known);
            }
            if let Some((i, side)) = known {
                order.append(k as u32, i, side);
            }
        }
    }

    fn take_chain(&mut self, order: &mut Order, i: u32) {
        let Some(chain) = order.chains.get_mut(i as usize).filter(|c| c.0 != NONE) else { return };
        let (mut k, _) = std::mem::replace(chain, (NONE, NONE));
        let flow = &mut self.flows[i as usize];
        let before = kept(flow);
        flow.halves.iter_mut().for_each(|h| h.verdicts.may_list = true);
        while let Some(&(side, next)) = order.links.get(k as usize) {
            flow.on_segment(&order.held[k as usize], usize::from(side));
            k = next;
        }
        let after = kept(flow);
        self.count(before, after);
    }

    /// A segment that is later than the reorder buffer covers is processed at the latest time seen.
    fn in_time(&mut self, seen: &mut CapturedSegment) {
        seen.at = seen.at.max(self.latest);
        self.latest = seen.at;
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

    /// The same, made if it is not `known`; `None` if there are too many.
    fn connection(
        &mut self,
        seen: &CapturedSegment,
        mut known: Option<(u32, usize)>,
    ) -> Option<(u32, usize)> {
        let before = known.map(|(i, _)| i);
        if seen.segment.flags.has(Flags::SYN) {
            // Reused ports.
            known = known.filter(|(i, side)| !self.flows[*i as usize].is_over_for(seen, *side));
        }
        if known.is_none() && self.replaces && self.flows.len() >= MOST_CONNECTIONS {
            self.make_room();
        }
        Some(match known {
            Some(known) => known,
            None if self.flows.len() >= MOST_CONNECTIONS => {
                self.too_many += 1;
                return None;
            }
            None => {
                let mut flow = Flow::new(seen, &self.estimators, &self.wanted);
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
        })
    }

    /// Analyses a segment of a connection.
    fn take(&mut self, seen: &CapturedSegment, i: u32, side: usize) {
        let flow = &mut self.flows[i as usize];
        let before = kept(flow);
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
        let after = kept(flow);
        self.count(before, after);
    }

    /// Takes what a connection kept before some segments and after them.
    fn count(&mut self, before: (usize, usize), after: (usize, usize)) {
        self.pieces = (self.pieces + after.0).saturating_sub(before.0);
        self.listed += after.1 - before.1;
    }
}

/// How many pieces and retransmissions a connection keeps.
fn kept(flow: &Flow) -> (usize, usize) {
    flow.halves
        .iter()
        .map(|h| (h.pieces(), h.verdicts.retransmissions.len()))
        .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
}

impl Order {
    /// Inserts a segment that is not the latest.
    fn insert(&mut self, seen: CapturedSegment) {
        let open = self.held.range(self.ready..);
        let at = open.take_while(|s| s.at <= seen.at).count();
        self.held.insert(self.ready + at, seen);
    }

    fn append(&mut self, k: u32, i: u32, side: usize) {
        self.links[k as usize].0 = side as u8;
        if self.chains.len() <= i as usize {
            self.chains.resize(i as usize + 1, (NONE, NONE));
        }
        let (first, last) = &mut self.chains[i as usize];
        if *first == NONE {
            *first = k;
            self.chained.push(i);
        } else {
            self.links[*last as usize].1 = k;
        }
        *last = k;
    }
}

/// The two ends of a segment's connection, whichever sent it.
fn ends_of(seen: &CapturedSegment) -> (SocketAddr, SocketAddr) {
    if seen.src <= seen.dst { (seen.src, seen.dst) } else { (seen.dst, seen.src) }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::path::Path;

    use ackclock_units::Duration;

    use super::*;
    use crate::read::{Packets, open};
    use crate::{Options, Report};

    /// The segments of all kept captures of kernels, as if they had been captured together: each in three
    /// connections that begin a little later than the one before, the third on the ports of the first.
    fn together() -> Vec<CapturedSegment> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
        files.retain(|f| f.to_string_lossy().contains("kernel-") && f.extension().is_some_and(|e| e == "gz"));
        files.sort();
        let mut all = Vec::new();
        for (n, file) in files.iter().enumerate() {
            let mut packets = Packets::new(open(file).unwrap()).unwrap();
            let mut segments = Vec::new();
            while let Ok(Some(p)) = packets.next_packet() {
                segments.extend(CapturedSegment::in_packet(&p));
            }
            let (first, last) = (segments[0].at, segments.last().unwrap().at);
            for copy in 0..3_u8 {
                let start = last.since(first) * u64::from(copy) + Duration::from_millis(n as u64);
                all.extend(segments.iter().map(|s| {
                    let moved = |end: SocketAddr| {
                        let ip = IpAddr::from([10, n as u8, copy % 2, (end == segments[0].src).into()]);
                        SocketAddr::new(ip, end.port())
                    };
                    let at = ackclock_units::Instant::ZERO + s.at.since(first) + start;
                    CapturedSegment { at, src: moved(s.src), dst: moved(s.dst), ..*s }
                }));
            }
        }
        all.sort_by_key(|s| s.at);
        all
    }

    fn analysed(segments: &[CapturedSegment], in_groups: bool) -> Report {
        let mut analysis = Analysis::new(Options::default());
        if in_groups {
            analysis.take_together();
        }
        segments.iter().for_each(|s| analysis.packet(s.at, Ok(*s)));
        analysis.finish()
    }

    #[test]
    fn connections_analysed_in_groups_are_those_analysed_packet_by_packet() {
        let mut segments = together();
        assert!(segments.len() > 10 * TOGETHER);
        // Some are late, a few by more than is held back.
        for i in (100..segments.len() - 200).step_by(997) {
            segments.swap(i, i + i % 130);
        }
        let (single, grouped) = (analysed(&segments, false), analysed(&segments, true));
        assert!(single.connections.len() > 100, "{}", single.connections.len());
        assert_eq!(format!("{grouped:?}"), format!("{single:?}"));
    }
}
