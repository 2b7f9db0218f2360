//! What the other end's acknowledgments tell.

use ackclock_policy::{RttSample, Window};
use ackclock_units::{Duration, Instant, SeqRange};
use ackclock_wire::{Flags, Segment};

use super::Half;
use super::segments::FARTHEST;
use crate::report::Sample;
use crate::sent::Piece;
use crate::thresholds::THRESHOLDS;

/// An acknowledgment that moves forward.
pub(super) struct Heard {
    pub at: Instant,
    /// Its echo, and when it would have been seen without more than the least delay, by its own timestamp.
    pub tsecr: Option<u32>,
    pub sent: Option<Instant>,
    pub tsval: Option<u32>,
    /// It came without data.
    pub pure: bool,
    /// The duplicate SACK block in it.
    pub in_vain: Option<(u64, u64)>,
}

impl Half {
    /// Takes an acknowledgment of this direction's data.
    pub(crate) fn on_ack(&mut self, s: &Segment, at: Instant) {
        if !s.flags.has(Flags::ACK) || s.flags.has(Flags::RST) {
            return;
        }
        if self.base.is_none() {
            // The other direction begins the capture: this one starts at what it acknowledges.
            self.begin(s.ack);
        }
        let ack = self.coordinate(s.ack);
        if ack.abs_diff(self.max) > FARTHEST {
            return;
        }
        let scale = if s.flags.has(Flags::SYN) { 0 } else { self.peer_scale };
        let window = u64::from(s.window) << scale;
        let same_window = self.peer_window == Some(window);
        self.peer_window = Some(window);
        if ack > self.max {
            // Of data that the capture does not show.
            self.out.missing_bytes += ack - self.max;
            self.max = ack;
        }
        let before = self.una;
        let in_vain = self.dsacks(s, ack, at);
        let sacked = self.sacks(s, ack, at);
        let tsecr = s.options.timestamps.map(|t| t.tsecr);
        let sent = s.options.timestamps.and_then(|t| {
            self.peer_clock.note(t.tsval, at);
            self.peer_clock.sent_by(t.tsval)
        });
        if let Some(v) = tsecr {
            self.echo = self.timestamp_sample(v, at, ack > self.una);
        }
        if ack > self.una {
            self.overtaken_at = None;
            self.advance(
                ack,
                &Heard {
                    at,
                    tsecr,
                    sent,
                    tsval: s.options.timestamps.map(|t| t.tsval),
                    pure: s.seq_len() == 0,
                    in_vain,
                },
            );
        } else if ack == self.una
            && self.flight() > 0
            && s.len == 0
            && (sacked || same_window)
            && !s.flags.any(Flags::SYN | Flags::FIN)
        {
            self.dup_acks += 1;
            self.out.dup_acks += 1;
            (self.news_at, self.news_was_advance) = (Some(at), false);
            if self.dup_acks == THRESHOLDS.segments.dup_thresh {
                self.third_at = Some(at);
                self.called_for = s.options.timestamps.map(|t| t.tsval);
            }
        } else if sacked {
            (self.news_at, self.news_was_advance) = (Some(at), false);
        }
        if ack == before && s.seq_len() == 0 && !sacked && !self.covered_now.expiries.is_empty() {
            self.duplicate_behind(at, same_window);
        }
        if ack <= before && !self.doubts.is_empty() {
            self.late(ack, s.options.timestamps.map(|t| t.tsval), sent);
        }
        if ack == before
            && self.probe_again
            && s.seq_len() == 0
            && self.probed_to.is_some_and(|to| ack >= to)
            && (same_window || in_vain.is_some())
        {
            self.probed_to = None;
        }
        let whole = self.dup_acks == 0 && self.sacked.is_empty();
        if whole == self.telling {
            self.telling = !whole;
            let tsval = s.options.timestamps.map(|t| t.tsval);
            if whole { self.told_whole = tsval } else { (self.told_loss, self.told_whole) = (tsval, None) }
        }
        if ack > before && !self.sack_agreed {
            self.called_for = s.options.timestamps.map(|t| t.tsval);
        }
        if ack > before || !same_window {
            self.limits.acked(&self.standing(at), ack > before, self.syn == Some(before));
        }
        if self.overtaken_at.is_none()
            && self.outstanding.front().is_some_and(|p| self.delivered_sent > Some(p.last))
        {
            self.overtaken_at = Some(at);
        }
    }

    /// Marks what SACK blocks cover; true when any of it is new.
    fn sacks(&mut self, s: &Segment, ack: u64, at: Instant) -> bool {
        let (mut any, mut oldest) = (false, None::<Instant>);
        for block in s.options.sack.as_slice() {
            // Where the handshake is not in the capture, this tells that SACK was agreed on.
            self.sack_agreed = true;
            let (start, end) = self.block(*block);
            let plausible = start < end && start >= ack && end <= self.max;
            if !plausible {
                continue;
            }
            let (outstanding, delivered) = (&mut self.outstanding, &mut self.delivered_sent);
            let far = self.far;
            let room = self.sacked.add(start, end, |from, to| {
                any = true;
                for p in outstanding.overlapping(from, to) {
                    if p.copies == 1 && !p.sacked {
                        oldest = Some(oldest.map_or(p.first, |o| o.min(p.first)));
                    }
                    p.sacked = true;
                    note_delivered(delivered, p, at, far);
                }
            });
            self.overrun |= !room;
        }
        // An ack that moves forward gives a sample of its own.
        if let Some(first) = oldest.filter(|_| ack <= self.una) {
            self.linux.sample(at.since(first), self.una, self.max);
        }
        any
    }

    /// Duplicate SACK blocks (RFC 2883): what arrived twice. Returns the range of the block, if there is one.
    fn dsacks(&mut self, s: &Segment, ack: u64, at: Instant) -> Option<(u64, u64)> {
        let blocks = s.options.sack.as_slice();
        let (start, end) = self.block(*blocks.first()?);
        let inside = blocks.get(1).map(|b| self.block(*b)).is_some_and(|(s, e)| s <= start && end <= e);
        if start >= end || !(end <= ack || inside) || ack - start.min(ack) > FARTHEST {
            return None;
        }
        self.arrived_twice(start, end, at);
        Some((start, end))
    }

    fn block(&self, b: SeqRange) -> (u64, u64) {
        (self.coordinate(b.start), self.coordinate(b.end))
    }

    /// The acknowledgment number moves forward.
    fn advance(&mut self, ack: u64, heard: &Heard) {
        let at = heard.at;
        let news = self.asked.is_some().then(|| self.before_advance(ack, at));
        let calm = self.dup_acks == 0 && self.sacked.is_empty() && self.episode.is_none();
        let (mut newest, mut repeated) = (None::<Piece>, false);
        let (mut oldest, mut again) = (None::<Instant>, false);
        let mut gone = Vec::new();
        let size = u64::from(self.mss_or_usual());
        let (out, syn, fin) = (&mut self.out, self.syn, self.fin);
        let (delivered, far) = (&mut self.delivered_sent, self.far);
        // An ack may end within a super-segment.
        self.outstanding.acknowledge(ack, |p| {
            if p.copies > 1 || p.sacked || !p.seen {
                (repeated, again) = (true, again || p.copies > 1 || !p.seen);
            } else if oldest.is_none() {
                oldest = Some(p.first);
            }
            newest = Some(*p);
            note_delivered(delivered, p, at, far);
            let controls =
                u64::from(syn == Some(p.start)) + u64::from(fin.is_some_and(|f| p.start <= f && f < p.end));
            let bytes = (p.end - p.start).saturating_sub(controls);
            out.packets_acked += if bytes <= size { u64::from(bytes > 0) } else { bytes.div_ceil(size) };
            out.bytes_acked += bytes;
            if p.again.is_some() {
                gone.push(*p);
            }
        });
        for p in gone {
            self.judge_covered(p, ack, heard);
        }
        // Karn's rule: none of what is acknowledged was sent twice, and nothing was waited for.
        let sampled = newest.filter(|p| calm && !repeated && p.end == ack).map(|p| at.since(p.first));
        if let Some(rtt) = sampled {
            self.rtt_sample(rtt, at);
        }
        self.una = ack;
        // Linux times the oldest; where any was sent again, the echo of a timestamp tells.
        if let Some(rtt) = oldest.filter(|_| !again).map(|first| at.since(first)).or(self.echo) {
            self.linux.sample(rtt, ack, self.max);
        }
        if let Some(Some(news)) = news {
            self.follow_advance(&news, at);
        }
        self.sacked.forget_below(ack);
        // What was skipped, never came and is acknowledged all the same was sent past the capture.
        let missed: u64 = self.holes.iter().map(|h| h.end.min(ack).saturating_sub(h.start)).sum();
        self.out.missing_bytes += missed;
        self.holes.retain(|h| h.end > ack);
        for h in &mut self.holes {
            h.start = h.start.max(ack);
        }
        self.advanced_at = Some(at);
        (self.news_at, self.news_was_advance) = (Some(at), true);
        (self.dup_acks, self.third_at) = (0, None);
        self.chain += 1;
        self.expired_at = None;
        // One that was sent again is answered by an ack of more, or by a duplicate: until then there is no
        // other (RFC 8985 §7.3, §7.4).
        if self
            .probed_to
            .is_some_and(|to| if self.probe_again { ack > to || heard.in_vain.is_some() } else { ack >= to })
        {
            self.probed_to = None;
        }
        if let Some((i, point)) = self.episode
            && ack >= point
        {
            if let Some(e) = self.episodes.get_mut(i as usize) {
                e.ended = Some(at);
            }
            self.limits.repaired();
            (self.episode, self.episode_tsval) = (None, None);
            (self.last_round_flight, self.round_flight) = (0, self.pipe());
        }
        if self.samples {
            self.note_sample(at, sampled);
        }
        if ack >= self.round_end {
            (self.last_round_flight, self.round_flight) = (self.round_flight, self.pipe());
            self.round_end = self.max;
        }
    }

    fn rtt_sample(&mut self, rtt: Duration, at: Instant) {
        self.out.rtt.add(rtt);
        self.far = Some(self.far.map_or(rtt, |f| f.min(rtt)));
        let flight = self.flight();
        self.estimator.on_sample(RttSample {
            now: at,
            rtt,
            flight_size: flight,
            window: Window { cwnd: flight, ssthresh: u64::MAX },
            smss: self.mss.max(1),
            sampling_rate: 1.0,
        });
        self.smoothed = self.estimator.rtt();
    }

    /// A row for an ack that moved forward.
    fn note_sample(&mut self, at: Instant, rtt: Option<Duration>) {
        let (cwnd, flight) = (self.last_round_flight.max(self.round_flight), self.pipe());
        let known = self.smoothed;
        let sample =
            Sample { at, rtt, srtt: known.map(|r| r.srtt), rttvar: known.map(|r| r.rttvar), flight, cwnd };
        self.out.samples.push(sample);
    }

    /// The echo of a timestamp: the first one of each counts, and for the distribution only where data was
    /// acknowledged.
    fn timestamp_sample(&mut self, tsecr: u32, at: Instant, advances: bool) -> Option<Duration> {
        while let Some(&(v, sent, data)) = self.tsvals.front() {
            match (tsecr.wrapping_sub(v) as i32).cmp(&0) {
                std::cmp::Ordering::Less => break,
                std::cmp::Ordering::Greater => {
                    self.tsvals.pop_front();
                }
                std::cmp::Ordering::Equal => {
                    self.tsvals.pop_front();
                    let rtt = at.since(sent);
                    if data && advances {
                        self.out.rtt_timestamps.add(rtt);
                    }
                    self.far = Some(self.far.map_or(rtt, |f| f.min(rtt)));
                    return Some(rtt);
                }
            }
        }
        None
    }
}

/// The latest sending among copies that arrived; one that was acknowledged too soon to be the last copy tells
/// nothing (RFC 8985 §6.2 step 2).
fn note_delivered(delivered: &mut Option<Instant>, p: &Piece, at: Instant, far: Option<Duration>) {
    if p.copies == 1 || at.since(p.last) >= far.unwrap_or(Duration::ZERO) {
        *delivered = Some(delivered.map_or(p.last, |d| d.max(p.last)));
    }
}
