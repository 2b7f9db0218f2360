//! Processing of the other end's acknowledgments.

use ackclock_units::{Duration, Instant, SeqRange};
use ackclock_wire::{Flags, Segment};

use super::Half;
use super::segments::FARTHEST;
use super::sent::Stamped;
use crate::observed::Place;
use crate::outstanding::Piece;
use crate::peer_clock::PeerClock;
use crate::report::Sample;
use crate::thresholds::THRESHOLDS;

/// A cumulative acknowledgment of new data.
pub(super) struct NewAck {
    pub at: Instant,
    /// Its echo, and when it would have been seen with the least delay, by its own timestamp.
    pub tsecr: Option<u32>,
    pub sent: Option<Instant>,
    pub tsval: Option<u32>,
    /// It carries no data.
    pub pure: bool,
    /// The duplicate SACK block in it.
    pub dsack: Option<(u64, u64)>,
    /// By how much the clock of its timestamps may be off.
    pub slack: Duration,
}

impl Half {
    /// Takes an acknowledgment of this direction's data; `clock` is its sender's.
    pub(crate) fn on_ack(&mut self, s: &Segment, at: Instant, clock: &mut PeerClock) {
        if !s.flags.has(Flags::ACK) || s.flags.has(Flags::RST) {
            return;
        }
        if self.space.base.is_none() {
            // The capture begins with the other direction: this one starts at what that acknowledges.
            self.begin(s.ack);
        }
        let ack = self.space.coordinate(s.ack);
        if ack.abs_diff(self.space.max) > FARTHEST {
            return;
        }
        let scale = if s.flags.has(Flags::SYN) { 0 } else { self.agreed.window_scale };
        let window = u64::from(s.window) << scale;
        let same_window = self.heard.window == Some(window);
        // RFC 7323 §2.2: the window of a SYN is not scaled.
        self.heard.scaled = self.agreed.scale_known || s.flags.has(Flags::SYN);
        self.heard.window = Some(window);
        let here = Place { at, frame: self.frame };
        self.out.observed.closures.offered(window == 0, here);
        if ack > self.space.max {
            // It acknowledges data that is not in the capture.
            self.out.missing_bytes += ack - self.space.max;
            self.sent.unseen.add(self.space.max, ack);
            self.space.max = ack;
        }
        let before = self.space.una;
        let dsack = self.dsacks(s, ack, at);
        let sacked = self.sacks(s, ack, at);
        let tsecr = s.options.timestamps.map(|t| t.tsecr);
        let sent = s.options.timestamps.and_then(|t| clock.note(t.tsval, at));
        if let Some(v) = tsecr {
            self.heard.echo = self.timestamp_sample(v, at, ack > self.space.una);
        }
        if ack > self.space.una {
            self.heard.overtaken_at = None;
            self.advance(
                ack,
                &NewAck {
                    at,
                    tsecr,
                    sent,
                    tsval: s.options.timestamps.map(|t| t.tsval),
                    pure: s.seq_len() == 0,
                    dsack,
                    slack: slack(clock),
                },
            );
        } else if ack == self.space.una
            && self.space.flight() > 0
            && s.len == 0
            && (sacked || same_window)
            && !s.flags.any(Flags::SYN | Flags::FIN)
        {
            // RFC 5682 §2.1, step 3a.
            self.verdicts.only_copy = None;
            if sacked {
                self.follow_sack(at);
            }
            self.heard.dup_acks += 1;
            self.out.dup_acks += 1;
            (self.heard.news_at, self.heard.news_advanced) = (Some(at), false);
            if self.heard.dup_acks == THRESHOLDS.segments.dup_thresh {
                self.heard.third_dup_at = Some(at);
                self.heard.loss.repair_due = s.options.timestamps.map(|t| t.tsval);
            }
        } else if sacked {
            self.follow_sack(at);
            (self.heard.news_at, self.heard.news_advanced) = (Some(at), false);
        }
        if ack == before && s.seq_len() == 0 && !sacked && !self.verdicts.covered.expiries.is_empty() {
            self.duplicate_behind(at, same_window);
        }
        if ack <= before && !self.verdicts.doubts.is_empty() {
            self.late(ack, s.options.timestamps.map(|t| t.tsval), sent, slack(clock));
        }
        if ack == before
            && self.sent.probe.repeats
            && s.seq_len() == 0
            && self.sent.probe.end.is_some_and(|to| ack >= to)
            && (same_window || dsack.is_some())
        {
            self.sent.probe.end = None;
        }
        let whole = self.heard.nothing_lost();
        if whole == self.heard.loss.reported {
            self.heard.loss.reported = !whole;
            let tsval = s.options.timestamps.map(|t| t.tsval);
            if whole {
                self.heard.loss.until = tsval
            } else {
                (self.heard.loss.since, self.heard.loss.until) = (tsval, None)
            }
        }
        if ack > before && !self.agreed.sack {
            self.heard.loss.repair_due = s.options.timestamps.map(|t| t.tsval);
        }
        if ack > before {
            let alone = s.len == 0 && self.space.flight() == 0;
            let far = self.path.far.unwrap_or(Duration::ZERO);
            self.out.observed.held_back.acked(here, ack, alone, far);
        }
        if ack > before || !same_window {
            let tsval = s.options.timestamps.map(|t| t.tsval);
            self.pass_ack(at, ack > before, self.space.syn == Some(before), tsval);
        }
        if self.heard.overtaken_at.is_none()
            && self.sent.outstanding.front().is_some_and(|p| self.heard.delivered_sent > Some(p.last))
        {
            self.heard.overtaken_at = Some(at);
        }
    }

    /// Marks what SACK blocks cover; true when any of it is new.
    fn sacks(&mut self, s: &Segment, ack: u64, at: Instant) -> bool {
        let (mut any, mut oldest) = (false, None::<Instant>);
        for block in s.options.sack.as_slice() {
            // Without a handshake in the capture, blocks show that SACK was negotiated.
            self.agreed.sack = true;
            let (start, end) = self.block(*block);
            let plausible = start < end && start >= ack && end <= self.space.max;
            if !plausible {
                continue;
            }
            let (outstanding, delivered) = (&mut self.sent.outstanding, &mut self.heard.delivered_sent);
            let far = self.path.far;
            let room = self.heard.sacked.add(start, end, |from, to| {
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
        // A cumulative ack gives its own sample.
        if let Some(first) = oldest.filter(|_| ack <= self.space.una) {
            self.path.linux.sample(at.since(first), at, self.space.una, self.space.max);
        }
        any
    }

    /// Processes a duplicate SACK block (RFC 2883) and returns its range, if there is one.
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
        (self.space.coordinate(b.start), self.space.coordinate(b.end))
    }

    /// The acknowledgment number moves forward.
    fn advance(&mut self, ack: u64, news: &NewAck) {
        let at = news.at;
        self.third_step(ack, at);
        let followed = self.following.request.is_some().then(|| self.before_advance(ack, at));
        let undisturbed = self.heard.nothing_lost() && self.verdicts.open_episode.is_none();
        let (mut newest, mut repeated) = (None::<Piece>, false);
        let (mut oldest, mut resent) = (None::<Instant>, false);
        let mut gone = Vec::new();
        let size = u64::from(self.agreed.mss_or_usual());
        let (out, syn, fin) = (&mut self.out, self.space.syn, self.space.fin);
        let (delivered, far) = (&mut self.heard.delivered_sent, self.path.far);
        // An ack may end within a super-segment.
        self.sent.outstanding.acknowledge(ack, |p| {
            if p.copies > 1 || p.sacked || !p.seen {
                (repeated, resent) = (true, resent || p.copies > 1 || !p.seen);
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
            if p.retransmission.is_some() {
                gone.push(*p);
            }
        });
        for p in gone {
            self.judge_covered(p, ack, news);
        }
        // Karn's rule: nothing that is acknowledged was sent twice, and no loss was under repair.
        let sampled = newest.filter(|p| undisturbed && !repeated && p.end == ack).map(|p| at.since(p.first));
        if let Some(rtt) = sampled {
            self.rtt_sample(rtt, at);
        }
        self.space.una = ack;
        // Linux measures the oldest segment, or by the echoed timestamp if any was retransmitted.
        if let Some(rtt) = oldest.filter(|_| !resent).map(|first| at.since(first)).or(self.heard.echo) {
            self.path.linux.sample(rtt, at, ack, self.space.max);
        }
        if let Some(Some(before)) = followed {
            self.follow_advance(&before, at);
        }
        self.heard.sacked.forget_below(ack);
        // What was skipped and never captured, yet is acknowledged, did not pass the capture.
        let missed: u64 = self.sent.holes.iter().map(|h| h.end.min(ack).saturating_sub(h.start)).sum();
        self.out.missing_bytes += missed;
        self.sent.holes.retain(|h| h.end > ack);
        for h in &mut self.sent.holes {
            h.start = h.start.max(ack);
        }
        self.heard.advanced_at = Some(at);
        (self.heard.news_at, self.heard.news_advanced) = (Some(at), true);
        (self.heard.dup_acks, self.heard.third_dup_at) = (0, None);
        self.sent.chain += 1;
        self.sent.expired_at = None;
        // A probe that was a retransmission ends with an ack beyond it or a duplicate SACK; until then no
        // other is sent (RFC 8985 §7.3, §7.4).
        if self.sent.probe.end.is_some_and(|to| {
            if self.sent.probe.repeats { ack > to || news.dsack.is_some() } else { ack >= to }
        }) {
            self.sent.probe.end = None;
        }
        if self.verdicts.end_episode(ack, at) {
            self.limits.repaired();
            (self.sent.rounds.last_flight, self.sent.rounds.flight) = (0, self.pipe());
        }
        if self.samples {
            self.note_sample(at, sampled);
        }
        if ack >= self.sent.rounds.end {
            (self.sent.rounds.last_flight, self.sent.rounds.flight) = (self.sent.rounds.flight, self.pipe());
            self.sent.rounds.end = self.space.max;
        }
    }

    fn rtt_sample(&mut self, rtt: Duration, at: Instant) {
        self.out.rtt.add(rtt);
        self.path.sample(rtt, at, self.space.flight(), self.agreed.mss);
    }

    /// Adds a row for a cumulative ack.
    fn note_sample(&mut self, at: Instant, rtt: Option<Duration>) {
        let (cwnd, flight) = (self.sent.rounds.last_flight.max(self.sent.rounds.flight), self.pipe());
        let known = self.path.smoothed;
        let sample =
            Sample { at, rtt, srtt: known.map(|r| r.srtt), rttvar: known.map(|r| r.rttvar), flight, cwnd };
        self.out.samples.push(sample);
    }

    /// Takes a round-trip sample from an echoed timestamp. Only the first echo of each counts, and it enters
    /// the distribution only if data is acknowledged.
    fn timestamp_sample(&mut self, tsecr: u32, at: Instant, advances: bool) -> Option<Duration> {
        self.heard.echoed_ack = None;
        while let Some(&Stamped { tsval, at: sent, data, ack, window }) = self.sent.timestamps.recent.front()
        {
            match (tsecr.wrapping_sub(tsval) as i32).cmp(&0) {
                std::cmp::Ordering::Less => break,
                std::cmp::Ordering::Greater => {
                    self.sent.timestamps.recent.pop_front();
                }
                std::cmp::Ordering::Equal => {
                    self.sent.timestamps.recent.pop_front();
                    let rtt = at.since(sent);
                    self.heard.echoed_ack = Some((ack, window));
                    self.heard.echoed = Some((tsval, sent, ack));
                    if data && advances {
                        self.out.rtt_timestamps.add(rtt);
                    }
                    let of_syn = |syn: u32| tsval.wrapping_sub(syn) as i32 <= 0;
                    if !self.sent.timestamps.syn_again.is_some_and(of_syn) {
                        self.path.note_far(rtt);
                    }
                    return Some(rtt);
                }
            }
        }
        None
    }
}

/// Updates the latest send time of a delivered copy. A piece acknowledged too soon after its last copy is
/// left out, since an earlier copy may have been delivered (RFC 8985 §6.2 step 2).
fn note_delivered(delivered: &mut Option<Instant>, p: &Piece, at: Instant, far: Option<Duration>) {
    if p.copies == 1 || at.since(p.last) >= far.unwrap_or(Duration::ZERO) {
        *delivered = Some(delivered.map_or(p.last, |d| d.max(p.last)));
    }
}

/// By how much a clock may be off: its ticks, and the delays of a busy machine.
fn slack(clock: &PeerClock) -> Duration {
    clock.tick() * THRESHOLDS.acked.clock_ticks + THRESHOLDS.acked.clock
}

#[cfg(test)]
mod tests {
    use ackclock_units::SeqNumber;

    use super::*;
    use crate::wanted::Wanted;

    #[test]
    fn the_echo_of_a_syn_that_was_sent_again_is_no_shortest_round_trip() {
        let ms = |n: u64| Instant::ZERO + Duration::from_millis(n);
        let shortest = |syn_again: Option<u32>| {
            let mut half =
                Half::new(ms(0), &crate::half::Estimators::new(), &Wanted::new(crate::Options::default()));
            half.sent.timestamps.syn_again = syn_again;
            for (tsval, at) in [(7, 0), (9, 3100)] {
                let stamped = Stamped { tsval, at: ms(at), data: false, ack: SeqNumber(0), window: 0 };
                half.sent.timestamps.recent.push_back(stamped);
            }
            assert_eq!(half.timestamp_sample(7, ms(3040), false), Some(Duration::from_millis(3040)));
            let first = half.path.far;
            half.timestamp_sample(9, ms(3120), false);
            (first, half.path.far)
        };
        let far = |n: u64| Some(Duration::from_millis(n));
        assert_eq!(shortest(None), (far(3040), far(20)));
        assert_eq!(shortest(Some(7)), (None, far(20)));
    }
}
