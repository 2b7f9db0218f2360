//! Segments below the highest sequence number sent: retransmissions, late originals, or copies.

use std::cmp::Ordering;

use ackclock_units::{Duration, Instant};

use super::Half;
use super::sent::Hole;
use crate::outstanding::Piece;
use crate::segment::CapturedSegment;
use crate::thresholds::THRESHOLDS;

/// What is known of earlier copies of a range.
pub(super) struct Before {
    pub(super) last: Option<Instant>,
    pub(super) copies: u32,
    pub(super) retransmission: Option<u32>,
    tsval: Option<u32>,
    pub(super) seen: bool,
    pub(super) sacked: bool,
    /// How much of it was outstanding.
    pub(super) bytes: u64,
}

/// The latest captured copy of a range.
#[derive(Clone, Copy)]
struct Captured {
    id: u16,
    tsval: Option<u32>,
}

/// Whether a packet fills holes in the capture, and with what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fills {
    Nothing,
    /// It was sent before what overtook it.
    Late,
    /// Its original is not in the capture.
    Repair,
}

impl Half {
    /// Processes sequence space below `max`: a retransmission, a late original, or a copy.
    pub(super) fn on_old(
        &mut self,
        seen: &CapturedSegment,
        start: u64,
        end: u64,
        tsval: Option<u32>,
        tick: Duration,
    ) {
        // Looked up first: what fills a hole is added as a piece below, and is not an earlier copy of itself.
        let captured = self.captured(start, end);
        let fills = self.fill_holes(seen, start, end, tsval);
        self.sent.outstanding.split(start);
        self.sent.outstanding.split(end);
        let mut before = Before {
            last: None,
            copies: 0,
            retransmission: None,
            tsval: None,
            seen: false,
            sacked: true,
            bytes: 0,
        };
        for p in self.sent.outstanding.overlapping(start, end) {
            before.last = before.last.max(Some(p.last));
            before.copies = before.copies.max(p.copies);
            before.retransmission = before.retransmission.max(p.retransmission);
            before.seen |= p.seen;
            before.sacked &= p.sacked;
            before.bytes += p.end - p.start;
            before.tsval = p.tsval;
        }
        before.sacked &= before.bytes > 0;
        if before.last.is_none()
            && let Some(p) = self.sent.outstanding.remembered(start, end)
        {
            (before.last, before.tsval, before.seen) = (Some(p.last), p.tsval, p.seen);
        }
        // The capture has the ack first: this is the original.
        if end <= self.space.una && captured.is_none() && self.sent.unseen.take(start, end) {
            let bytes = super::segments::payload(&seen.segment, start, end);
            self.out.missing_bytes = self.out.missing_bytes.saturating_sub(end - start);
            self.out.unique_bytes += bytes;
            self.out.reordered += 1;
            return;
        }
        // A later copy overtook it.
        let overtaken = fills == Fills::Nothing
            && captured.is_some_and(|copy| self.order(seen.id, tsval, copy).is_some_and(Ordering::is_lt));
        self.out.reordered += u64::from(overtaken);
        if overtaken
            || fills == Fills::Late
            || fills == Fills::Nothing && self.is_duplicate(seen, &before, captured, tsval)
        {
            return;
        }
        // By its sender's clock it may have been sent later than it was captured: the capturing machine may
        // have been busy.
        let apart = tsval
            .zip(before.tsval)
            .map_or(Duration::ZERO, |(t, before)| tick * u64::from(t.saturating_sub(before)));
        if apart <= tick * THRESHOLDS.copies.on_purpose_ticks
            && self.is_sent_on_purpose(seen, start, end, &before)
        {
            return self.list_copy(seen, start, end, &before);
        }
        self.repeated(seen, start, end, tsval, &before);
    }

    /// The latest copy of a range that was captured so far.
    fn captured(&mut self, start: u64, end: u64) -> Option<Captured> {
        let latest = self.sent.outstanding.overlapping(start, end).last().copied();
        latest
            .or_else(|| self.sent.outstanding.remembered(start, end).copied())
            .map(|p| Captured { id: p.id, tsval: p.tsval })
    }

    /// Which of two packets was sent first, if known: timestamps do not go back, nor do identifications that
    /// are counted up.
    fn order(&self, id: u16, tsval: Option<u32>, other: Captured) -> Option<Ordering> {
        let by_time = tsval
            .zip(other.tsval)
            .map(|(a, b)| (a.wrapping_sub(b) as i32).cmp(&0))
            .filter(|order| order.is_ne());
        let apart = id.wrapping_sub(other.id) as i16;
        let near = self.gaps.numbered()
            && id != 0
            && other.id != 0
            && apart != 0
            && apart.unsigned_abs() < THRESHOLDS.order.ids;
        by_time.or_else(|| near.then(|| apart.cmp(&0)))
    }

    /// Fills holes with what was skipped before: late, or retransmitted. A packet may fill several.
    fn fill_holes(&mut self, seen: &CapturedSegment, start: u64, end: u64, tsval: Option<u32>) -> Fills {
        let mut fills = Fills::Nothing;
        while let Some(i) = self.sent.holes.iter().position(|h| h.start < end && start < h.end) {
            let hole = self.sent.holes.swap_remove(i);
            let waited = seen.at.since(hole.at);
            let late = match self.order(seen.id, tsval, Captured { id: hole.id, tsval: hole.tsval }) {
                // It was sent before the packet that overtook it: it is late.
                Some(order) => order.is_lt(),
                None => {
                    let by = THRESHOLDS.order;
                    waited < self.path.rtt().map_or(by.late, |(srtt, _)| srtt / by.late_part)
                }
            };
            fills = if late && fills != Fills::Repair { Fills::Late } else { Fills::Repair };
            let (first, last) = (hole.start.max(start), hole.end.min(end));
            for (s, e) in [(hole.start, first), (last, hole.end)] {
                if s < e {
                    self.sent.holes.push(Hole { start: s, end: e, ..hole });
                }
            }
            self.out.unique_bytes += super::segments::payload(&seen.segment, first, last);
            let first = first.max(self.space.una);
            if first < last {
                let when = if late { seen.at } else { hole.at };
                let id = seen.id;
                let piece = Piece {
                    start: first,
                    end: last,
                    first: when,
                    last: when,
                    copies: 1,
                    tsval,
                    id,
                    retransmission: None,
                    seen: late,
                    sacked: false,
                };
                self.overrun |= !self.sent.outstanding.insert(piece);
            }
        }
        self.out.reordered += u64::from(fills == Fills::Late);
        fills
    }

    /// True for a copy that the network made: the sender did not retransmit.
    fn is_duplicate(
        &mut self,
        seen: &CapturedSegment,
        before: &Before,
        captured: Option<Captured>,
        tsval: Option<u32>,
    ) -> bool {
        let Some((last, captured)) = before.last.zip(captured) else { return false };
        let since = seen.at.since(last);
        let known = captured.id != 0 && seen.id != 0;
        let by = THRESHOLDS.order;
        let at_sender = self.path.far.is_none_or(|far| self.path.near < far / by.at_sender_part);
        let soon = match self.path.rtt() {
            // There is no network in between that could have made a copy.
            _ if at_sender => Duration::ZERO,
            Some((srtt, _)) => srtt.mul_f64(by.duplicate_part),
            None => by.duplicate,
        };
        let copy = captured.tsval == tsval && if known { captured.id == seen.id } else { since < soon };
        self.out.network_duplicates += u64::from(copy);
        copy
    }
}
