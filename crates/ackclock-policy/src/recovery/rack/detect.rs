use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};

use super::min_rtt::MinRtt;
use super::resent::Resent;
use crate::{
    AckInfo, Deliveries, Param, Params, Phase, PrivateState, ScoreboardView, SenderView, Transmission,
};

/// RACK (RFC 8985 §6): a segment is lost when one sent later has arrived and, since it was sent, a round trip
/// and the reordering window have passed.
#[derive(Debug)]
pub(super) struct Detection {
    dup_thresh: u32,
    /// Recoveries without a DSACK until the window is what it was.
    persist: u32,
    min_rtt: MinRtt,
    /// False until the first event told where the sequence numbers are.
    following: bool,
    /// RACK.xmit_ts and RACK.end_seq: of what arrived, that which was sent last.
    latest: Option<Transmission>,
    /// RACK.rtt: how long that was under way.
    rtt: Duration,
    /// Both as they were before the timer expired.
    before_rto: (Option<Transmission>, Duration),
    /// RACK.fack: the highest number delivered; never behind `snd_una`.
    fack: SeqNumber,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// RACK.dsack_round: a DSACK has widened the window in the round trip that ends there.
    dsack_round: Option<SeqNumber>,
    /// What was sent once and lies below it was SACKed, taken for lost, or resent; never behind `snd_una`.
    judged_to: SeqNumber,
    /// What was resent.
    resent: Resent,
}

impl Detection {
    /// Reads [`PERSIST`], [`MIN_RTT_SPAN`] and the duplicate-ack threshold.
    pub fn new(p: &Params) -> Self {
        Self {
            dup_thresh: p.count("dup_thresh") as u32,
            persist: p.count("reo_wnd_persist") as u32,
            min_rtt: MinRtt::over(p.duration("min_rtt_span")),
            following: false,
            latest: None,
            rtt: Duration::ZERO,
            before_rto: (None, Duration::ZERO),
            fack: SeqNumber(0),
            reordering_seen: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: p.count("reo_wnd_persist") as u32,
            dsack_round: None,
            judged_to: SeqNumber(0),
            resent: Resent::default(),
        }
    }

    /// Adds its private numbers to a trace.
    pub fn private_state(&self, state: &mut PrivateState) {
        state.number("rack_rtt", self.rtt.as_secs_f64());
        state.number("reo_wnd_mult", f64::from(self.reo_wnd_mult));
        state.number("reordering_seen", f64::from(u8::from(self.reordering_seen)));
    }

    fn follow(&mut self, before: SeqNumber) {
        if !self.following {
            (self.fack, self.judged_to, self.following) = (before, before, true);
        }
    }

    /// Steps 1 to 3 of RFC 8985 §6.2, and the part of step 4 that an ack decides.
    pub fn take(&mut self, a: &AckInfo, b: &dyn ScoreboardView, v: &SenderView, repaired: bool) {
        self.follow(v.snd_una - a.newly_acked as u32);
        // Step 1. What came before the first ack of data counts as well: the handshake's.
        let before = v.rtt.filter(|_| self.min_rtt.get().is_none()).map(|r| r.min_rtt);
        for rtt in before.into_iter().chain(a.rtt) {
            self.min_rtt.take(rtt, v.now);
        }
        if let Some(d) = &a.deliveries {
            self.advance(d, v);
            // Step 3: what was sent once and arrives below the highest delivered was overtaken.
            self.reordering_seen |= d.lowest_sent_once.is_some_and(|end_seq| end_seq < self.fack);
        }
        let delivered_to = b.sacked().last().map_or(v.snd_una, |range| range.end);
        self.fack = self.fack.max(delivered_to).max(v.snd_una);
        self.judged_to = self.judged_to.max(v.snd_una);
        self.resent.forget_below(v.snd_una);
        self.adapt(a, v, repaired);
    }

    /// Step 2.
    fn advance(&mut self, d: &Deliveries, v: &SenderView) {
        let now = v.now;
        // The ack of a retransmission may answer an earlier transmission: its timestamp tells, or it comes
        // sooner than any answer can. That of an ack which SACKs it above a hole echoes what came before the
        // hole (RFC 7323 §4.3), and tells nothing.
        let soonest = self.min_rtt.get().unwrap_or(Duration::ZERO);
        let echo_allows =
            |t: &Transmission| t.end_seq > v.snd_una || d.echoed.is_none_or(|echoed| t.xmit_ts <= echoed);
        let answered = |t: &Transmission| echo_allows(t) && now.since(t.xmit_ts) >= soonest;
        for t in d.sent_once.into_iter().chain(d.resent.filter(answered)) {
            if self.latest.is_none_or(|latest| t.is_after(latest)) {
                (self.latest, self.rtt) = (Some(t), now.since(t.xmit_ts));
            }
        }
    }

    /// RACK_update_reo_wnd(): the window grows once in each round trip in which a DSACK shows a needless
    /// retransmission, until it has not been needed in so many recoveries.
    fn adapt(&mut self, a: &AckInfo, v: &SenderView, repaired: bool) {
        if self.dsack_round.is_some_and(|end| v.snd_una >= end) {
            self.dsack_round = None;
        }
        if a.dsack.is_some() && self.dsack_round.is_none() {
            self.dsack_round = Some(v.snd_nxt);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = self.persist;
        } else if repaired {
            self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
            if self.reo_wnd_persist == 0 {
                self.reo_wnd_mult = 1;
            }
        }
    }

    /// RACK.reo_wnd: quarters of the smallest round-trip time, at most a smoothed one. Nothing while no
    /// reordering has been seen and losses are certain.
    pub fn reo_wnd(&self, b: &dyn ScoreboardView, v: &SenderView, repairing: bool) -> Duration {
        if !self.reordering_seen && (repairing || at_least_sacked(self.dup_thresh, b)) {
            return Duration::ZERO;
        }
        let quarter = self.min_rtt.get().unwrap_or(self.rtt) / 4;
        quarter.saturating_mul(u64::from(self.reo_wnd_mult)).min(v.rtt.map_or(Duration::MAX, |r| r.srtt))
    }

    /// Step 5, RACK_detect_loss(): adds what is lost, and returns until when the rest of what was sent before
    /// `latest` may still arrive. It looks at segments in the order of their last transmission: what was sent
    /// once in that of the numbers, what was resent by a list.
    pub fn detect(
        &mut self,
        b: &dyn ScoreboardView,
        v: &SenderView,
        repairing: bool,
        lost: &mut Vec<SeqRange>,
    ) -> Option<Instant> {
        let latest = self.latest?;
        let wait = self.rtt + self.reo_wnd(b, v, repairing);
        let (before, mut last) = (lost.len(), self.detect_first_sent(latest, wait, b, v, lost));
        let resent_from = lost.len();
        self.resent.retain_waiting(latest, b, v, |s| {
            let until = s.xmit_ts + wait;
            let is_lost = until <= v.now;
            if is_lost {
                add(s.range, lost);
            } else {
                last = last.max(Some(until));
            }
            !is_lost
        });
        if resent_from < lost.len() {
            in_order(lost, before);
        }
        #[cfg(debug_assertions)]
        assert_is_step_5(latest, wait, b, v, &lost[before..], last);
        last
    }

    /// What was found to be lost was not marked: it is found again.
    pub fn forget_judgements(&mut self, v: &SenderView) {
        self.judged_to = v.snd_una;
    }

    /// The same for what was sent once.
    fn detect_first_sent(
        &mut self,
        latest: Transmission,
        wait: Duration,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Option<Instant> {
        let (mut at, mut last) = (self.judged_to.max(v.snd_una), None);
        while let Some(s) = next(b, v, at) {
            if s.transmissions > 1 && !s.lost {
                self.resent.insert(s);
            } else if !s.lost {
                if !latest.is_after(s.transmission()) {
                    break;
                }
                let until = s.xmit_ts + wait;
                if until <= v.now {
                    add(s.range, lost);
                } else {
                    last = last.max(Some(until));
                }
            }
            at = s.range.end;
            if last.is_none() {
                self.judged_to = at;
            }
        }
        last
    }

    /// RFC 8985 §6.3, RACK_mark_losses_on_RTO(): the first segment is lost, and what was sent as long ago as
    /// an answer may take.
    pub fn expired(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.follow(v.snd_una);
        if v.expiries <= 1 {
            self.before_rto = (self.latest, self.rtt);
        }
        // SACKs may have been forgotten (RFC 2018 §8).
        self.forget_judgements(v);
        let wait = self.rtt + self.reo_wnd(b, v, matches!(v.phase, Phase::Recovery | Phase::Loss));
        let mut at = v.snd_una;
        while let Some(s) = next(b, v, at) {
            at = s.range.end;
            if s.range.start <= v.snd_una || s.xmit_ts + wait <= v.now {
                add(s.range, lost);
            }
        }
    }

    /// The last timeout was spurious, so that what was taken for the answer to its retransmission answers an
    /// original: nothing is known to have overtaken what was outstanding then.
    pub fn undo(&mut self, v: &SenderView) {
        (self.latest, self.rtt) = self.before_rto;
        // What the timeout marked is not marked any more.
        self.forget_judgements(v);
    }

    /// `sent` was sent again.
    pub fn resent(&mut self, sent: SeqRange, v: &SenderView) {
        self.follow(v.snd_una);
        self.resent.push(sent, v.now);
    }
}

/// The first outstanding segment from `at` on that is not SACKed.
fn next(b: &dyn ScoreboardView, v: &SenderView, at: SeqNumber) -> Option<crate::SentSegment> {
    let range = b.next_unsacked(at).filter(|range| range.end <= v.snd_nxt)?;
    b.segment(range.start)
}

/// Puts the ranges from place `from` on in order of their numbers, each byte once.
fn in_order(ranges: &mut Vec<SeqRange>, from: usize) {
    ranges[from..].sort_unstable_by(|a, b| a.start.diff(b.start).cmp(&0));
    let mut last = from;
    for i in from + 1..ranges.len() {
        if ranges[i].start <= ranges[last].end {
            ranges[last].end = ranges[last].end.max(ranges[i].end);
        } else {
            last += 1;
            ranges[last] = ranges[i];
        }
    }
    ranges.truncate(last + 1);
}

/// Holds what [`Detection::detect`] has found against step 5 as RFC 8985 §6.2 writes it, over everything
/// outstanding.
#[cfg(debug_assertions)]
fn assert_is_step_5(
    latest: Transmission,
    wait: Duration,
    b: &dyn ScoreboardView,
    v: &SenderView,
    lost: &[SeqRange],
    until: Option<Instant>,
) {
    let (mut at, mut bytes, mut last) = (v.snd_una, 0, None);
    while let Some(s) = next(b, v, at) {
        at = s.range.end;
        if s.lost || !latest.is_after(s.transmission()) {
            continue;
        }
        if s.xmit_ts + wait <= v.now {
            assert!(lost.iter().any(|range| range.covers(s.range)), "{s:?} was overtaken");
            bytes += s.range.len();
        } else {
            last = last.max(Some(s.xmit_ts + wait));
        }
    }
    assert_eq!(
        (lost.iter().map(|range| range.len()).sum::<u32>(), until),
        (bytes, last),
        "RFC 8985 §6.2 step 5"
    );
}

/// Adds a segment to those that are lost.
fn add(segment: SeqRange, lost: &mut Vec<SeqRange>) {
    match lost.last_mut().filter(|last| last.end == segment.start) {
        Some(last) => last.end = segment.end,
        None => lost.push(segment),
    }
}

/// RACK.segs_sacked >= `n`.
fn at_least_sacked(n: u32, b: &dyn ScoreboardView) -> bool {
    let mut left = n;
    for range in b.sacked() {
        let mut at = range.start;
        while at < range.end {
            left = left.saturating_sub(1);
            if left == 0 {
                return true;
            }
            let Some(s) = b.segment(at) else { break };
            at = s.range.end;
        }
    }
    false
}

/// RACK.reo_wnd_persist.
pub(super) const PERSIST: Param = Param::count(
    "reo_wnd_persist",
    16,
    1..=1000,
    "recoveries without a DSACK after which the reordering window is a quarter of the smallest RTT again \
     (RFC 8985 6.2)",
);
/// How long a round-trip time counts for RACK.min_RTT.
pub(super) const MIN_RTT_SPAN: Param = Param::duration(
    "min_rtt_span",
    Duration::from_secs(300),
    Duration::from_secs(1)..=Duration::from_secs(86_400),
    "how long a round-trip time counts for the smallest one, at least, and less than twice as long (RFC 8985 \
     6.2)",
);
