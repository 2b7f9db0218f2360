//! Processing of a direction's segments: its outstanding pieces, and the silences that its receiver sees.

use ackclock_units::{Duration, Instant};
use ackclock_wire::{Flags, Segment};

use super::sent::{Hole, Stamped};
use super::{Half, PeerTimes};
use crate::gaps::{Arrival, Content, Ending};
use crate::outstanding::Piece;
use crate::segment::CapturedSegment;
use crate::thresholds::THRESHOLDS;

/// Holes remembered; a capture with more is too incomplete.
const MOST_HOLES: usize = 1024;
/// Timestamps remembered for round-trip times.
const MOST_TSVALS: usize = 4096;
/// No window reaches farther from what was sent last (RFC 7323 §2.3: below 2^30).
pub(super) const FARTHEST: u64 = 1 << 30;

impl Half {
    /// Takes a segment of this direction.
    pub(crate) fn on_segment(&mut self, seen: &CapturedSegment, peer: &PeerTimes) {
        let (s, at) = (&seen.segment, seen.at);
        self.begin(s.seq);
        let start = self.space.coordinate(s.seq);
        if start.abs_diff(self.space.max) > FARTHEST {
            return;
        }
        let syn = s.flags.has(Flags::SYN);
        if !s.flags.has(Flags::RST) {
            let arrival = self.arrival(seen, start, peer);
            if self.awaits_repair() {
                self.note_repair_due(s);
            }
            let ending = peer.quiet.then(|| self.ending(seen, arrival.content, start, peer));
            if start > self.space.highest_seen.max(self.space.max) {
                self.gaps.skips();
            }
            self.gaps.arrival(&arrival, ending.as_ref());
            self.space.highest_seen = self.space.highest_seen.max(start + u64::from(s.seq_len()));
        }
        self.sent.identified |= seen.id != 0;
        if s.flags.has(Flags::RST) {
            return;
        }
        if syn {
            let again = self.space.syn.is_some();
            self.space.syn.get_or_insert(start);
            self.sent.timestamps.syn_again = self.sent.timestamps.last.filter(|_| again);
            if !seen.options_cut {
                self.out.options.get_or_insert(s.options);
            }
        }
        let packets = self.agreed.packets_with(s, s.len);
        self.out.packets += u64::from(packets);
        if s.len > 0 {
            self.out.data_packets += u64::from(packets);
            self.out.bytes += u64::from(s.len);
            self.out.super_segments += u64::from(packets > 1);
            self.out.mss = self.out.mss.max(if packets > 1 { s.len / packets } else { s.len });
        }
        let end = start + u64::from(s.seq_len());
        if s.flags.has(Flags::FIN) {
            self.space.fin.get_or_insert(end - 1);
        }
        let tsval = s.options.timestamps.map(|t| t.tsval);
        if end == start {
            if start + 1 == self.space.una && (self.space.una == self.space.max || self.heard.window_closed())
            {
                self.probe_without_data(seen, start);
            }
            self.note_tsval(s, at, false);
            return;
        }
        if start >= self.space.max {
            self.on_new(seen, start, end, tsval, peer);
        } else {
            self.on_old(seen, start, end.min(self.space.max), tsval, peer.tick);
            if end > self.space.max {
                self.on_new(seen, self.space.max, end, tsval, peer);
            }
        }
        self.note_tsval(s, at, true);
        self.sent.sent_at = Some(at);
        self.out.max_flight = self.out.max_flight.max(self.space.flight());
        self.sent.rounds.flight = self.sent.rounds.flight.max(self.pipe());
    }

    /// Classifies a segment as its receiver sees it.
    fn arrival(&self, seen: &CapturedSegment, start: u64, peer: &PeerTimes) -> Arrival {
        let s = &seen.segment;
        let end = start + u64::from(s.seq_len());
        let content = match () {
            () if end == start => Content::Nothing,
            () if start > self.space.max => Content::Beyond,
            () if start == self.space.max && self.space.highest_seen > start => {
                Content::Overdue { newest: end >= self.space.highest_seen }
            }
            () if start == self.space.max => Content::Next,
            () if self.sent.holes.iter().any(|h| h.start < end && start < h.end) => Content::Missing,
            () => Content::Known { newest: end >= self.space.max },
        };
        let known = if peer.quiet { self.path.rtt().map_or(Duration::ZERO, |r| r.0) } else { Duration::ZERO };
        Arrival {
            at: seen.at,
            frame: seen.frame,
            seq: s.seq,
            content,
            syn: s.flags.has(Flags::SYN),
            id: (seen.id != 0).then_some(seen.id),
            packets: self.agreed.packets_with(s, s.len),
            tsval: s.options.timestamps.map(|t| t.tsval),
            due: peer.due,
            tsecr: s.options.timestamps.map(|t| t.tsecr),
            rtt: peer.handshake.unwrap_or(known),
            acks_all: peer.acks_all,
            highest: self.space.max,
        }
    }

    /// Further facts about a segment that may end a silence.
    fn ending(&self, seen: &CapturedSegment, content: Content, start: u64, peer: &PeerTimes) -> Ending {
        let s = &seen.segment;
        let (times, known) = (s.options.timestamps, self.path.rtt().map_or(Duration::ZERO, |r| r.0));
        let repair =
            times.filter(|_| content == Content::Missing && !self.agreed.sack && start <= self.space.una);
        Ending {
            fin: s.flags.has(Flags::FIN),
            tick: peer.tick,
            unprompted: times.is_some_and(|t| self.unprompted(t.tsecr)),
            unanswered: repair.map_or(Duration::ZERO, |t| {
                self.unanswered(t.tsecr, peer.receiver_tick).max(self.waited_with(t.tsval, peer.tick))
            }),
            least: self
                .path
                .far
                .map(|far| far + self.path.near)
                .into_iter()
                .chain(peer.handshake)
                .min()
                .unwrap_or_default(),
            smoothed: peer.handshake.unwrap_or_default().max(known).max(peer.smoothed),
            echoed: peer.echoed.map(|(at, _)| seen.at.since(at)),
            knew: peer.echoed.map_or(0, |(_, ack)| self.space.coordinate(ack)),
            named: self.heard.advanced_at.filter(|_| start == self.space.una).map(|at| seen.at.since(at)),
            sack: self.agreed.sack,
        }
    }

    /// Without SACK, duplicate acks have asked for a retransmission. It may come after a silence during which
    /// other packets arrive.
    pub(crate) fn awaits_repair(&self) -> bool {
        !self.agreed.sack && self.heard.dup_acks > 0
    }

    /// By the echoed timestamp `tsecr`, the last ack that the sender had received was sent before the
    /// receiver reported a loss, or after it reported that nothing was missing any more.
    fn unprompted(&self, tsecr: u32) -> bool {
        let before = |a: u32, b: u32| (a.wrapping_sub(b) as i32) < 0;
        self.heard.loss.since.is_none_or(|since| {
            before(tsecr, since)
                || self.heard.loss.until.is_some_and(|whole| whole != since && !before(tsecr, whole))
        })
    }

    /// By the receiver's clock: time from the ack that triggers a retransmission (the third duplicate, RFC
    /// 5681 §3.2, or the last cumulative one) to the latest ack that the sender had received when it
    /// retransmitted.
    fn unanswered(&self, tsecr: u32, tick: Duration) -> Duration {
        let called = self
            .heard
            .loss
            .repair_due
            .filter(|_| self.heard.dup_acks > 0)
            .map(|called| tsecr.wrapping_sub(called));
        tick * u64::from(called.filter(|ticks| *ticks < 1 << 30).unwrap_or(0))
    }

    /// Takes a segment whose echo may show that its sender has the ack that triggers a retransmission.
    fn note_repair_due(&mut self, s: &Segment) {
        let loss = &mut self.heard.loss;
        if let Some((due, t)) = loss.repair_due.zip(s.options.timestamps)
            && t.tsecr.wrapping_sub(due) as i32 >= 0
            && loss.had.is_none_or(|(had, _)| had != due)
        {
            loss.had = Some((due, t.tsval));
        }
    }

    /// By its sender's clock: time from when it had the ack that triggers a retransmission to this timestamp.
    /// That would have retransmitted at once.
    fn waited_with(&self, tsval: u32, tick: Duration) -> Duration {
        let since = self.heard.loss.had.filter(|(due, _)| self.heard.loss.repair_due == Some(*due));
        let ticks = since.map_or(0, |(_, then)| tsval.wrapping_sub(then));
        tick * u64::from(if ticks < 1 << 30 { ticks } else { 0 })
    }

    fn note_tsval(&mut self, s: &Segment, at: Instant, data: bool) {
        let Some(v) = s.options.timestamps.map(|t| t.tsval) else { return };
        // Only the first segment of each tick is kept: an echo does not show which one it is for.
        if self.sent.timestamps.last.is_some_and(|last| (v.wrapping_sub(last) as i32) <= 0) {
            if let Some(same) = self.sent.timestamps.recent.back_mut().filter(|same| same.tsval == v) {
                (same.ack, same.window) = (s.ack, s.window);
            }
            return;
        }
        self.sent.timestamps.last = Some(v);
        if self.sent.timestamps.recent.len() == MOST_TSVALS {
            self.sent.timestamps.recent.pop_front();
        }
        self.sent.timestamps.recent.push_back(Stamped { tsval: v, at, data, ack: s.ack, window: s.window });
    }

    /// Takes data that was not sent before, as far as the capture shows.
    fn on_new(&mut self, seen: &CapturedSegment, start: u64, end: u64, tsval: Option<u32>, peer: &PeerTimes) {
        let at = seen.at;
        let prompt = self.path.prompt();
        let (sent, reaction) = self.sent_by(at, prompt, peer);
        self.reach_echoed(sent, seen.segment.options.timestamps.map(|t| t.tsecr));
        if start > self.space.max && self.sent.holes.len() < MOST_HOLES {
            self.sent.holes.push(Hole { start: self.space.max, end: start, at, id: seen.id, tsval });
        }
        // No probe is due sooner: nearly always this decides.
        let quiet = self.quiet_for(at).filter(|quiet| *quiet >= THRESHOLDS.probe.soonest);
        if self.space.flight() > 0
            && quiet.is_some_and(|quiet| self.path.probe_wait().is_some_and(|wait| quiet >= wait))
        {
            // New data after a silence while other data is outstanding: it may be a probe, which sets the
            // timer anew (RFC 8985 §7.3).
            self.sent.probe.at = Some(at);
            (self.sent.probe.end, self.sent.probe.repeats) = (Some(end), false);
        }
        self.space.max = end;
        if !self.heard.scaled {
            self.heard.note_under_way(end.saturating_sub(self.space.una));
        }
        let bytes = payload(&seen.segment, start, end);
        self.out.unique_bytes += bytes;
        self.out.observed.throughput.add(at, bytes);
        let piece = Piece {
            start,
            end,
            first: at,
            last: at,
            copies: 1,
            tsval,
            id: seen.id,
            retransmission: None,
            seen: true,
            sacked: false,
        };
        self.overrun |= !self.sent.outstanding.insert(piece);
        // Options of their own make some full segments shorter.
        let mss = self.mss_or_largest();
        let rest = if seen.segment.len < mss { seen.segment.len } else { seen.segment.len % mss };
        let whole = seen.segment.len > 0 && (rest == 0 || rest + 40 > mss);
        self.upon_ack = self.limits.sent(&self.send_state(sent), whole, reaction) && bytes > 0;
        if bytes > 0 {
            self.out.observed.held_back.sent(seen.place(), end, whole, prompt);
        }
        if self.following.request.is_some() {
            self.follow_new(at, start);
        }
    }
}

/// Payload of a segment in `start..end`: its SYN and FIN are not.
pub(super) fn payload(s: &Segment, start: u64, end: u64) -> u64 {
    let syn = u64::from(s.flags.has(Flags::SYN) && s.seq.0 == start as u32);
    let fin = u64::from(s.flags.has(Flags::FIN) && s.end().0 == end as u32);
    (end - start).saturating_sub(syn + fin)
}

#[cfg(test)]
mod tests {
    use ackclock_units::SeqNumber;
    use ackclock_wire::{Options, Timestamps};

    use super::*;
    use crate::wanted::Wanted;

    #[test]
    fn a_sender_that_has_the_ack_and_does_not_repair_waits_for_its_timer() {
        let mut half = Half::new(
            Instant::ZERO,
            &crate::half::Estimators::new(),
            &Wanted::new(crate::Options::default()),
        );
        let sent = |tsval, tsecr| Segment {
            seq: SeqNumber(0),
            options: Options { timestamps: Some(Timestamps { tsval, tsecr }), ..Options::default() },
            ..Segment::default()
        };
        let tick = Duration::from_millis(1);
        half.heard.loss.repair_due = Some(1000);
        half.note_repair_due(&sent(70, 999));
        assert_eq!(half.waited_with(300, tick), Duration::ZERO, "it had not received that ack");
        half.note_repair_due(&sent(80, 1000));
        half.note_repair_due(&sent(200, 1100));
        assert_eq!(half.waited_with(300, tick), Duration::from_millis(220));
        half.heard.loss.repair_due = Some(1200);
        assert_eq!(half.waited_with(300, tick), Duration::ZERO, "a later ack triggers it");
    }
}
