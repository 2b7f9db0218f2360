//! Segments sent again: why, and whether that was needed.

use std::cmp::Ordering;

use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::Flags;

use super::{Again, Expiry, Half};
use crate::cause::{Situation, span};
use crate::report::{Episode, Retransmission, TimedOut};
use crate::segment::Seen;
use crate::sent::Piece;
use crate::thresholds::THRESHOLDS;
use crate::{Cause, cause};

const DUP_THRESH: u32 = THRESHOLDS.segments.dup_thresh;

/// What is known of earlier copies of a range.
pub(super) struct Before {
    pub(super) last: Option<Instant>,
    copies: u32,
    pub(super) again: Option<u32>,
    tsval: Option<u32>,
    pub(super) seen: bool,
    pub(super) sacked: bool,
    /// What of it was outstanding.
    pub(super) bytes: u64,
}

/// The latest copy in the capture of what a packet carries.
#[derive(Clone, Copy)]
struct Captured {
    id: u16,
    tsval: Option<u32>,
}

/// Whether a packet fills holes, and with what.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fills {
    Nothing,
    /// It was sent before what overtook it.
    Late,
    /// Its original is not in the capture.
    Repair,
}

impl Half {
    /// Sequence space below what was sent: sent again, late, or a copy.
    pub(super) fn on_old(&mut self, seen: &Seen, start: u64, end: u64, tsval: Option<u32>, tick: Duration) {
        // Looked up first: what fills a hole enters the books with it, and is no earlier copy of itself.
        let captured = self.captured(start, end);
        let fills = self.fill_holes(seen, start, end, tsval);
        self.outstanding.split(start);
        self.outstanding.split(end);
        let mut before =
            Before { last: None, copies: 0, again: None, tsval: None, seen: false, sacked: true, bytes: 0 };
        for p in self.outstanding.overlapping(start, end) {
            before.last = before.last.max(Some(p.last));
            before.copies = before.copies.max(p.copies);
            before.again = before.again.max(p.again);
            before.seen |= p.seen;
            before.sacked &= p.sacked;
            before.bytes += p.end - p.start;
            before.tsval = p.tsval;
        }
        before.sacked &= before.bytes > 0;
        if before.last.is_none()
            && let Some(p) = self.outstanding.remembered(start, end)
        {
            (before.last, before.tsval, before.seen) = (Some(p.last), p.tsval, p.seen);
        }
        // A copy of it overtook it.
        let overtaken = fills == Fills::Nothing
            && captured.is_some_and(|copy| self.order(seen.id, tsval, copy).is_some_and(Ordering::is_lt));
        self.out.reordered += u64::from(overtaken);
        if overtaken
            || fills == Fills::Late
            || fills == Fills::Nothing && self.is_duplicate(seen, &before, captured, tsval)
        {
            return;
        }
        // By its sender's own clock it may have come later than it looks: the capture's machine was busy.
        let apart = tsval
            .zip(before.tsval)
            .map_or(Duration::ZERO, |(t, before)| tick * u64::from(t.saturating_sub(before)));
        if apart <= tick * THRESHOLDS.copies.on_purpose_ticks
            && self.is_sent_on_purpose(seen, start, end, &before)
        {
            return self.copied(seen, start, end, &before);
        }
        self.repeated(seen, start, end, tsval, &before);
    }

    /// The latest copy of a range that was captured so far.
    fn captured(&mut self, start: u64, end: u64) -> Option<Captured> {
        let latest = self.outstanding.overlapping(start, end).last().copied();
        latest
            .or_else(|| self.outstanding.remembered(start, end).copied())
            .map(|p| Captured { id: p.id, tsval: p.tsval })
    }

    /// Which of two packets was sent first, where that is plain: timestamps do not go back, and
    /// identifications that are counted up do not either.
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

    /// What was skipped and comes now: late, or sent again. A packet may fill several holes.
    fn fill_holes(&mut self, seen: &Seen, start: u64, end: u64, tsval: Option<u32>) -> Fills {
        let mut fills = Fills::Nothing;
        while let Some(i) = self.holes.iter().position(|h| h.start < end && start < h.end) {
            let hole = self.holes.swap_remove(i);
            let waited = seen.at.since(hole.at);
            let late = match self.order(seen.id, tsval, Captured { id: hole.id, tsval: hole.tsval }) {
                // What was sent before the one that overtook it is merely late.
                Some(order) => order.is_lt(),
                None => {
                    let by = THRESHOLDS.order;
                    waited < self.rtt().map_or(by.late, |(srtt, _)| srtt / by.late_part)
                }
            };
            fills = if late && fills != Fills::Repair { Fills::Late } else { Fills::Repair };
            let (first, last) = (hole.start.max(start), hole.end.min(end));
            for (s, e) in [(hole.start, first), (last, hole.end)] {
                if s < e {
                    self.holes.push(super::Hole { start: s, end: e, ..hole });
                }
            }
            self.out.unique_bytes += super::segments::payload(&seen.segment, first, last);
            let first = first.max(self.una);
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
                    again: None,
                    seen: late,
                    sacked: false,
                };
                self.overrun |= !self.outstanding.insert(piece);
            }
        }
        self.out.reordered += u64::from(fills == Fills::Late);
        fills
    }

    /// The same segment once more, without its sender having sent it again.
    fn is_duplicate(
        &mut self,
        seen: &Seen,
        before: &Before,
        captured: Option<Captured>,
        tsval: Option<u32>,
    ) -> bool {
        let Some((last, captured)) = before.last.zip(captured) else { return false };
        let since = seen.at.since(last);
        let known = captured.id != 0 && seen.id != 0;
        let by = THRESHOLDS.order;
        let at_sender = self.far.is_none_or(|far| self.near < far / by.at_sender_part);
        let soon = match self.rtt() {
            // No network lies between that could have made a copy.
            _ if at_sender => Duration::ZERO,
            Some((srtt, _)) => srtt.mul_f64(by.duplicate_part),
            None => by.duplicate,
        };
        let copy = captured.tsval == tsval && if known { captured.id == seen.id } else { since < soon };
        self.out.network_duplicates += u64::from(copy);
        copy
    }

    /// Data, SYN or FIN that was sent before.
    fn repeated(&mut self, seen: &Seen, start: u64, end: u64, tsval: Option<u32>, before: &Before) {
        let (at, s) = (seen.at, &seen.segment);
        let situation = self.situation(at, start, end, before);
        let syn = s.flags.has(Flags::SYN);
        let answer = syn && s.flags.has(Flags::ACK) && self.answers_a_syn(at);
        let judged = match () {
            () if syn => cause::Judged { cause: Cause::Syn, probe_or_timeout: false },
            () if s.len <= 1 && end - start <= 1 && self.closed_window() && !s.flags.has(Flags::FIN) => {
                cause::Judged { cause: Cause::ZeroWindowProbe, probe_or_timeout: false }
            }
            () if s.len <= 1
                && end == self.una
                && end == self.max
                && !s.flags.has(Flags::FIN)
                && self.quiet_for(at).is_none_or(|q| q >= THRESHOLDS.probe.keepalive) =>
            {
                cause::Judged { cause: Cause::Keepalive, probe_or_timeout: false }
            }
            () => situation.judge(),
        };
        let cause = judged.cause;
        let evidence = match cause {
            Cause::Syn if answer => "the SYN-ACK again, in answer to a SYN that was sent again".into(),
            Cause::Syn => format!("the SYN again, {} after the one before", span(situation.since_set)),
            Cause::ZeroWindowProbe => "one byte while the receiver's window is closed".into(),
            Cause::Keepalive => format!("an acknowledged byte{}", silence(self.quiet_for(at))),
            _ => situation.evidence(cause),
        };
        let payload = super::segments::payload(s, start, end);
        let packets = if cause.counts() { self.packets_with(s, payload as u32) } else { 0 };
        if cause.counts() {
            self.out.retransmitted_packets += u64::from(packets);
            self.out.retransmitted_bytes += payload;
        }
        if cause.counts() && !syn {
            self.in_episode(at, tsval);
        }
        let needless = if situation.below {
            Some("it was acknowledged already")
        } else if before.sacked {
            Some("SACK had covered it")
        } else {
            None
        };
        let again = Again {
            row: Retransmission {
                at,
                seq: SeqNumber(start as u32),
                offset: self.offset(start),
                len: payload as u32,
                packets,
                cause,
                needed: needless.map(|_| false),
                original_seen: before.seen || situation.below,
                evidence: needless.map_or(evidence.clone(), |why| format!("{evidence}; not needed: {why}")),
            },
            start,
            end,
            tsval,
            before: before.again,
            episode: self.episode.map(|e| e.0).filter(|_| cause.counts() && !syn),
            expiry: None,
            covered: false,
            twice: false,
        };
        let place = self.list(again);
        for p in self.outstanding.overlapping(start, end) {
            (p.last, p.copies, p.tsval, p.id) = (at, p.copies + 1, tsval, seen.id);
            p.again = place.or(p.again);
        }
        if situation.head {
            self.overtaken_at = None;
        }
        match cause {
            Cause::Syn if answer => {}
            Cause::Timeout | Cause::Syn | Cause::TailLossProbe if !situation.below => {
                self.limits.expired(&self.standing(at), situation.since_set);
            }
            _ => {}
        }
        match cause {
            Cause::Syn if answer => {}
            Cause::Timeout | Cause::Syn => {
                self.expired(at, start, judged.probe_or_timeout, &situation, place, syn)
            }
            Cause::TailLossProbe => {
                (self.probed_at, self.probed_to, self.probe_again) = (Some(at), Some(self.max), true)
            }
            // A recovery ends the wait for its answer.
            _ if cause.counts() => self.probed_to = None,
            _ => {}
        }
        if self.asked.is_some() && cause.counts() {
            let called_for = situation.dup_acks >= DUP_THRESH
                || situation.sacked_above >= u64::from(DUP_THRESH) * u64::from(situation.mss);
            self.follow_again(at, cause, situation.head, called_for);
        }
    }

    pub(super) fn list(&mut self, again: Again) -> Option<u32> {
        if !self.may_list {
            self.out.unlisted += 1;
            return None;
        }
        self.agains.push(again);
        Some(self.agains.len() as u32 - 1)
    }

    fn situation(&self, at: Instant, start: u64, end: u64, before: &Before) -> Situation {
        // What was heard reached the sender later by half the round trip between, and its answer took the
        // other half.
        let heard = |i: Option<Instant>| i.map(|i| at.since(i).saturating_sub(self.near));
        let done = |i: Option<Instant>| i.map(|i| at.since(i));
        // Where nothing of it is in the capture, the timer was set before that began.
        let least = |times: &[Option<Duration>]| {
            times.iter().flatten().min().copied().unwrap_or_else(|| at.since(self.start))
        };
        let head = start <= self.una && self.una < end;
        let first = self.outstanding.front().filter(|_| head).map(|p| p.first);
        let by = THRESHOLDS.timer;
        // What was no probe after all: no timer expires so soon after one.
        let soonest = self.rtt().map_or(Duration::ZERO, |(srtt, _)| {
            if self.identified { srtt + by.linux_margin } else { srtt.mul_f64(by.shortest_rtts) }
        });
        let probed = done(self.probed_at).filter(|d| self.probe_again || *d >= soonest);
        let progress = [heard(self.advanced_at), done(self.expired_at), probed, done(first)];
        // Of several segments sent again in one, the first is what the timer is for.
        let last = self.outstanding.front().filter(|_| head).map(|p| p.last).or(before.last);
        let timeout = if self.linux.samples > 0 { self.linux.waits(self.near).1 } else { Duration::ZERO };
        // After its probe, Linux's timer goes on from when the oldest segment was sent last, whatever has
        // been acknowledged since (`tcp_rearm_rto`).
        let goes_on = head && self.identified && self.probed_to.is_some() && !timeout.is_zero();
        let since_last = done(last).filter(|d| goes_on && *d >= timeout.mul_f64(by.part_after_probe));
        let set = since_last.unwrap_or_else(|| least(&[progress[0], progress[1], progress[2], done(last)]));
        let probed_last = since_last.is_some() && self.probed_at >= self.sent_at;
        Situation {
            head,
            tail: end >= self.max,
            sole: self.packets((self.max - self.una.min(self.max)).min(u64::from(u32::MAX)) as u32) <= 1
                && self.outstanding.len() <= 1,
            below: end <= self.una,
            rtt: self.rtt(),
            since_news: heard(self.news_at).unwrap_or(set),
            since_sent: done(self.sent_at).filter(|_| !probed_last),
            since_set: set,
            since_progress: since_last.unwrap_or_else(|| least(&progress)),
            dup_acks: self.dup_acks,
            since_third: heard(self.third_at),
            sack: self.sack_agreed,
            sacked_above: self.sacked.bytes_above(end),
            highest_sack: self.sacked.last_end().map_or(0, |e| e.saturating_sub(start)),
            overtaken: self.delivered_sent.zip(before.last).is_some_and(|(d, last)| d > last),
            since_overtaken: heard(self.overtaken_at),
            again: before.copies > 1,
            recovering: self.episode.is_some(),
            after_timeout: self
                .episode
                .is_some_and(|e| self.episodes.get(e.0 as usize).is_some_and(|e| e.timeouts > 0)),
            partial: self.news_was_advance,
            probed: self.probed_to.is_some(),
            kernel: self.identified,
            timeout,
            mss: self.mss_or_usual(),
        }
    }

    /// Counts a retransmission into the episode that is under way, or begins one (M-U1).
    fn in_episode(&mut self, at: Instant, tsval: Option<u32>) {
        if self.episode.is_none() && self.flight() > 0 {
            self.episodes.push(Episode {
                began: at,
                flight: self.flight(),
                recovery_point: SeqNumber(self.max as u32),
                ..Episode::default()
            });
            self.episode = Some((self.episodes.len() as u32 - 1, self.max));
            self.episode_tsval = tsval;
        }
        if let Some(e) = self.episode.and_then(|e| self.episodes.get_mut(e.0 as usize)) {
            e.retransmissions += 1;
        }
    }

    fn expired(
        &mut self,
        at: Instant,
        start: u64,
        maybe_probe: bool,
        s: &Situation,
        place: Option<u32>,
        syn: bool,
    ) {
        // A whole window is gone without a trace: nothing of it was acknowledged, singly or selectively
        // (M-F11).
        let outage = !syn && s.dup_acks == 0 && s.sacked_above == 0 && s.head && !s.tail;
        let Some(again) = place else { return };
        let episode = self.episode.map(|e| e.0).filter(|_| !syn);
        self.expiries.push(Expiry {
            at,
            seq: SeqNumber(start as u32),
            of: if syn { TimedOut::Syn } else { TimedOut::Data },
            waited: s.since_set,
            waited_longer: s.since_progress,
            chain: self.chain,
            maybe_probe,
            certain: true,
            again,
            episode,
            eifel_spurious: s.below.then(|| {
                self.advanced_at.is_some_and(|a| at.since(a) < self.near.mul_f64(THRESHOLDS.doubt.under_way))
            }),
            doubt: Some(if s.below { "an ack of it was under way" } else { "no ack of it was seen" }),
            filled: false,
            covered_at: None,
            outage,
            repairing: s.recovering && s.again
                || s.dup_acks >= DUP_THRESH
                || s.sacked_above >= u64::from(DUP_THRESH) * u64::from(s.mss),
            outstanding: self.packets(self.flight().min(u64::from(u32::MAX)) as u32),
            dup_acks: s.dup_acks.max(
                self.packets(s.sacked_above.min(u64::from(u32::MAX)) as u32) * u32::from(s.sacked_above > 0),
            ),
            no_probe: s.probed || !s.sack,
            pto: s.rtt.map(|(srtt, _)| {
                srtt * 2 + if s.sole { THRESHOLDS.probe.delayed_ack } else { Duration::ZERO }
            }),
            max: self.max,
            news: s.dup_acks > 0 || s.sacked_above > 0,
            unprobed: s.sack
                && !s.recovering
                && s.head
                && !s.sole
                && !s.probed
                && !s.again
                && s.dup_acks == 0
                && s.sacked_above == 0
                && !syn,
            probe_after: self.linux.waits(self.near).0,
            timeout_after: self.linux.waits(self.near).1,
            samples: self.linux.samples,
        });
        self.agains[again as usize].expiry = Some(self.expiries.len() as u32 - 1);
        self.expired_at = Some(at);
        // RFC 5681 §3.1: the loss window is one segment.
        (self.last_round_flight, self.round_flight) = (0, u64::from(s.mss));
        if let Some((_, point)) = self.episode.as_mut().filter(|_| !syn) {
            // Everything outstanding now is in doubt (RFC 6582 §4).
            *point = self.max;
        }
        (self.probed_to, self.probe_again) = (maybe_probe.then_some(self.max), true);
        if let Some(e) = episode.and_then(|e| self.episodes.get_mut(e as usize)).filter(|_| !maybe_probe) {
            e.timeouts += 1;
        }
    }

    /// An empty segment just below what is acknowledged.
    pub(super) fn probe_without_data(&mut self, seen: &Seen, start: u64) {
        let quiet = self.quiet_for(seen.at);
        let cause = if self.closed_window() { Cause::ZeroWindowProbe } else { Cause::Keepalive };
        if cause == Cause::Keepalive && quiet.is_some_and(|q| q < THRESHOLDS.probe.keepalive) {
            return;
        }
        let evidence = match cause {
            Cause::ZeroWindowProbe => "an empty segment below the window while it is closed".into(),
            _ => format!("an empty segment below the window{}", silence(quiet)),
        };
        let row = Retransmission {
            at: seen.at,
            seq: seen.segment.seq,
            offset: self.offset(start),
            cause,
            original_seen: true,
            evidence,
            ..Retransmission::default()
        };
        self.list(Again {
            row,
            start,
            end: start,
            tsval: None,
            before: None,
            episode: None,
            expiry: None,
            covered: true,
            twice: false,
        });
    }
}

/// A silence in words.
fn silence(quiet: Option<Duration>) -> String {
    quiet.map_or_else(
        || ", the first that the capture shows of its sender".to_owned(),
        |quiet| format!(" after {} of silence", span(quiet)),
    )
}
