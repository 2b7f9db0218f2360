mod linux;
mod reordering;

pub(super) use self::linux::LINUX;
pub(super) use self::reordering::PERSIST;

use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};

use super::min_rtt::MinRtt;
use super::quic;
use super::retransmitted::Retransmitted;
use crate::{
    AckInfo, Deliveries, Param, Params, Phase, PrivateState, ScoreboardView, SenderView, SentSegment,
    Transmission,
};

/// RACK (RFC 8985 §6): a segment is lost when one sent later was delivered and a round trip plus the
/// reordering window have passed since it was sent.
#[derive(Debug)]
pub(super) struct Detection {
    dup_thresh: u32,
    /// Recoveries without a DSACK after which the reordering window is reset.
    persist: u32,
    /// As Linux does it: [`LINUX`].
    linux: bool,
    /// The thresholds are QUIC's.
    quic: bool,
    min_rtt: MinRtt,
    /// False until the first event initialized the sequence numbers.
    initialized: bool,
    /// RACK.xmit_ts and RACK.end_seq: the most recently sent of the delivered segments.
    latest: Option<Transmission>,
    /// RACK.rtt: its round-trip time.
    rtt: Duration,
    /// Both as they were before the timer expired.
    before_rto: (Option<Transmission>, Duration),
    /// RACK.fack: the highest number delivered; never behind `snd_una`.
    fack: SeqNumber,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// Something has come later than more segments that were sent after it than duplicate acks tell of a loss.
    reordered_far: bool,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// RACK.dsack_round: a DSACK has widened the reordering window in the round trip that ends there.
    dsack_round: Option<SeqNumber>,
    /// Segments below it that were sent once were found to be SACKed or lost, or were retransmitted; never
    /// behind `snd_una`.
    examined_to: SeqNumber,
    retransmitted: Retransmitted,
    /// The last call of [`Detection::detect`] has found a retransmission to be lost, which no probe was.
    lost_again: bool,
    /// What a probe has sent again, and nothing else since.
    probed: Option<SeqRange>,
    /// That is about to be sent.
    probing: bool,
    /// Something was delivered since an ack was last examined for losses.
    advanced: bool,
    /// The ack that is being processed has undone a timeout.
    undone: bool,
    /// The end of the highest segment that was found lost, and that at the last undo: see
    /// [`Detection::undo`]. Never behind `snd_una`.
    found_to: SeqNumber,
    settled_to: SeqNumber,
}

impl Detection {
    /// Reads [`PERSIST`], [`LINUX`], [`MIN_RTT_SPAN`], [`THRESHOLDS`](quic::THRESHOLDS) and the
    /// duplicate-ack threshold.
    pub fn new(p: &Params) -> Self {
        Self {
            dup_thresh: p.count("dup_thresh") as u32,
            persist: p.count("reo_wnd_persist") as u32,
            linux: p.flag("linux"),
            quic: p.choice("thresholds") == "rfc9002",
            min_rtt: MinRtt::over(p.duration("min_rtt_span")),
            initialized: false,
            latest: None,
            rtt: Duration::ZERO,
            before_rto: (None, Duration::ZERO),
            fack: SeqNumber(0),
            reordering_seen: false,
            reordered_far: false,
            reo_wnd_mult: 1,
            reo_wnd_persist: p.count("reo_wnd_persist") as u32,
            dsack_round: None,
            examined_to: SeqNumber(0),
            retransmitted: Retransmitted::default(),
            lost_again: false,
            probed: None,
            probing: false,
            advanced: false,
            undone: false,
            found_to: SeqNumber(0),
            settled_to: SeqNumber(0),
        }
    }

    /// Adds its private numbers to a trace.
    pub fn private_state(&self, state: &mut PrivateState) {
        state.number("rack_rtt", self.rtt.as_secs_f64());
        state.number("reo_wnd_mult", f64::from(self.reo_wnd_mult));
        state.number("reordering_seen", f64::from(u8::from(self.reordering_seen)));
    }

    fn initialize(&mut self, before: SeqNumber) {
        if !self.initialized {
            (self.fack, self.examined_to, self.initialized) = (before, before, true);
            (self.found_to, self.settled_to) = (before, before);
        }
    }

    /// Steps 1 to 3 of RFC 8985 §6.2, and the part of step 4 that an ack decides.
    pub fn process_ack(&mut self, a: &AckInfo, b: &dyn ScoreboardView, v: &SenderView, repaired: bool) {
        self.initialize(v.snd_una - a.newly_acked as u32);
        // Step 1. The sample of the handshake counts as well.
        let before = v.rtt.filter(|_| self.min_rtt.get().is_none()).map(|r| r.min_rtt);
        for rtt in before.into_iter().chain(self.newest_sample(a, v)) {
            self.min_rtt.add(rtt, v.now);
        }
        if let Some(d) = &a.deliveries {
            self.advance(d, v);
            // Step 3: a segment that was sent once and is delivered below the highest delivered one was
            // reordered.
            self.reordering_seen |= d.lowest_sent_once.is_some_and(|end_seq| end_seq < self.fack);
            self.note_distance(a, d, b, v);
        }
        let delivered_to = b.sacked().last().map_or(v.snd_una, |range| range.end);
        self.fack = self.fack.max(delivered_to).max(v.snd_una);
        for at in [&mut self.examined_to, &mut self.found_to, &mut self.settled_to] {
            *at = (*at).max(v.snd_una);
        }
        self.retransmitted.forget_below(v.snd_una);
        self.update_reo_wnd(a, v, repaired);
        self.reordering_seen |= self.linux && self.linux_sees_reordering(a, b);
    }

    /// Step 2.
    fn advance(&mut self, d: &Deliveries, v: &SenderView) {
        let now = v.now;
        // The ack of a retransmission may have been elicited by an earlier transmission, as its timestamp
        // shows or its arrival within less than the smallest round-trip time. The timestamp of an ack that
        // SACKs the segment above a hole echoes data from before the hole (RFC 7323 §4.3), and shows nothing.
        let soonest = self.min_rtt.get().unwrap_or(Duration::ZERO);
        let echo_allows =
            |t: &Transmission| t.end_seq > v.snd_una || d.echoed.is_none_or(|echoed| t.xmit_ts <= echoed);
        let elicited = |t: &Transmission| echo_allows(t) && now.since(t.xmit_ts) >= soonest;
        let valid = d.retransmitted.filter(elicited);
        // The later one of the two.
        let last = match (d.sent_once, valid) {
            (Some(once), Some(again)) if once.is_after(again) => Some(once),
            (once, again) => again.or(once),
        };
        if let Some(t) = last {
            self.advanced = true;
            // Also of a segment that arrives after one that was sent later: RACK.rtt is then more than the
            // round-trip time of the latter.
            self.rtt = now.since(t.xmit_ts);
            if self.latest.is_none_or(|latest| t.is_after(latest)) {
                self.latest = Some(t);
            }
        }
        if let Some((highest, sent_once)) = d.highest_acked.or(d.highest_sacked)
            && self.linux
            && (sent_once || elicited(&highest))
        {
            self.rtt = now.since(highest.xmit_ts);
        }
    }

    /// Step 5, RACK_detect_loss(): adds lost segments, and returns until when the other segments sent before
    /// `latest` may still arrive. Segments are examined in the order of their last transmission: those sent
    /// once by sequence number, retransmitted ones by a list.
    pub fn detect(
        &mut self,
        b: &dyn ScoreboardView,
        v: &SenderView,
        repairing: bool,
        lost: &mut Vec<SeqRange>,
    ) -> Option<Instant> {
        self.lost_again = false;
        let latest = self.latest?;
        let wait = self.wait(b, v, repairing);
        let (before, mut next) = (lost.len(), self.detect_first_sent(latest, wait, b, v, lost));
        let resent_from = lost.len();
        let (quic, rule) = (self.quic, self.rule(latest, wait));
        let (found_to, probed, mut lost_again) = (&mut self.found_to, self.probed, false);
        self.retransmitted.retain_waiting(latest, b, v, |s| {
            let until = rule.until(s, b, v);
            if until.is_none() {
                add(s.range, lost);
                *found_to = (*found_to).max(s.range.end);
                lost_again |= probed != Some(s.range);
            } else {
                next = sooner_or_later(quic, next, until);
            }
            until.is_some()
        });
        self.lost_again = lost_again;
        if resent_from < lost.len() {
            in_order(lost, before);
        }
        #[cfg(debug_assertions)]
        if self.settled_to <= v.snd_una {
            assert_is_step_5(&rule, quic, b, v, &lost[before..], next);
        }
        next
    }

    /// How long after its transmission a segment counts as lost, once one sent later was delivered.
    fn wait(&self, b: &dyn ScoreboardView, v: &SenderView, repairing: bool) -> Duration {
        if self.quic { quic::loss_delay(v) } else { self.rtt + self.reo_wnd(b, v, repairing) }
    }

    fn rule(&self, latest: Transmission, wait: Duration) -> Rule {
        Rule { latest, wait, packets: self.quic.then_some(self.dup_thresh), fack: self.fack }
    }

    /// Lets losses that were found but not marked be found again.
    pub fn reset_examined(&mut self, v: &SenderView) {
        self.examined_to = v.snd_una;
    }

    /// Step 5 for the segments that were sent once.
    fn detect_first_sent(
        &mut self,
        latest: Transmission,
        wait: Duration,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Option<Instant> {
        let (mut at, mut waits) = (self.examined_to.max(self.settled_to).max(v.snd_una), None);
        let rule = self.rule(latest, wait);
        while let Some(s) = next(b, v, at) {
            if s.transmissions > 1 && !s.lost {
                self.retransmitted.insert(s);
            } else if !s.lost {
                if !latest.is_after(s.transmission()) {
                    break;
                }
                match rule.until(s, b, v) {
                    None => {
                        add(s.range, lost);
                        self.found_to = self.found_to.max(s.range.end);
                    }
                    until => waits = sooner_or_later(self.quic, waits, until),
                }
            }
            at = s.range.end;
            if waits.is_none() {
                self.examined_to = at;
            }
        }
        waits
    }

    /// RFC 8985 §6.3, RACK_mark_losses_on_RTO(): the first segment is lost, and all that were sent longer ago
    /// than a round trip plus the reordering window.
    pub fn expired(&mut self, b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.initialize(v.snd_una);
        if v.expiries <= 1 {
            self.before_rto = (self.latest, self.rtt);
        }
        self.forget_distance(b, v);
        // SACK marks may have been dropped (RFC 2018 §8), so that nothing is known to be delivered.
        self.reset_examined(v);
        if b.sacked().is_empty() {
            self.fack = v.snd_una;
        }
        let wait = self.wait(b, v, matches!(v.phase, Phase::Recovery | Phase::Loss));
        let mut at = v.snd_una;
        while let Some(s) = next(b, v, at) {
            at = s.range.end;
            if s.range.start <= v.snd_una || s.xmit_ts + wait <= v.now {
                add(s.range, lost);
            }
        }
    }

    /// The last timeout was spurious: the ack counted for its retransmission was elicited by the original, so
    /// that nothing sent later is known to have been delivered. Linux leaves that as it is, but looks no more at what
    /// it had found lost by time, until that is sent again (`tcp_rack_detect_loss` takes it off its list).
    pub fn undo(&mut self, v: &SenderView) {
        if self.linux {
            self.settled_to = self.found_to;
        } else {
            (self.latest, self.rtt) = self.before_rto;
        }
        (self.advanced, self.undone) = (true, true);
        // The marks of the timeout were undone.
        self.reset_examined(v);
    }

    /// A probe is about to send `range` again. Linux does not count that as a retransmission (`tcp_send_loss_probe`).
    pub fn note_probe(&mut self, range: Option<SeqRange>) {
        if range.is_some() {
            (self.probed, self.probing) = (range, true);
        }
    }

    /// `sent` was retransmitted.
    pub fn on_retransmit(&mut self, sent: SeqRange, v: &SenderView) {
        self.initialize(v.snd_una);
        if !std::mem::take(&mut self.probing) && self.probed == Some(sent) {
            self.probed = None;
        }
        self.retransmitted.push(sent, v.now);
    }
}

/// When a segment that was sent before `latest` is lost.
#[derive(Clone, Copy)]
struct Rule {
    latest: Transmission,
    wait: Duration,
    /// QUIC's packet threshold.
    packets: Option<u32>,
    fack: SeqNumber,
}

impl Rule {
    /// Until when the segment may still arrive; `None` if it is lost.
    #[inline]
    fn until(&self, s: SentSegment, b: &dyn ScoreboardView, v: &SenderView) -> Option<Instant> {
        let until = s.xmit_ts + self.wait;
        let overtaken = |n| quic::is_overtaken(n, s, self.latest, self.fack, b, v);
        (until > v.now && !self.packets.is_some_and(overtaken)).then_some(until)
    }
}

/// The reordering timer waits for the last segment that may still arrive (RFC 8985 §6.2 step 5), QUIC's for
/// the first (RFC 9002 Appendix A.10, loss_time).
fn sooner_or_later(quic: bool, next: Option<Instant>, until: Option<Instant>) -> Option<Instant> {
    if quic { next.into_iter().chain(until).min() } else { next.max(until) }
}

/// The first outstanding segment from `at` on that is not SACKed.
fn next(b: &dyn ScoreboardView, v: &SenderView, at: SeqNumber) -> Option<SentSegment> {
    let range = b.next_unsacked(at).filter(|range| range.end <= v.snd_nxt)?;
    b.segment(range.start)
}

/// Sorts the ranges from index `from` on by sequence number, and merges those that overlap or touch.
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

/// Checks the result of [`Detection::detect`] against step 5 as written in RFC 8985 §6.2, over everything
/// outstanding.
#[cfg(debug_assertions)]
fn assert_is_step_5(
    rule: &Rule,
    quic: bool,
    b: &dyn ScoreboardView,
    v: &SenderView,
    lost: &[SeqRange],
    until: Option<Instant>,
) {
    let (mut at, mut bytes, mut last) = (v.snd_una, 0, None);
    while let Some(s) = next(b, v, at) {
        at = s.range.end;
        if s.lost || !rule.latest.is_after(s.transmission()) {
            continue;
        }
        match rule.until(s, b, v) {
            None => {
                assert!(lost.iter().any(|range| range.covers(s.range)), "{s:?} is lost");
                bytes += s.range.len();
            }
            until => last = sooner_or_later(quic, last, until),
        }
    }
    assert_eq!(
        (lost.iter().map(|range| range.len()).sum::<u32>(), until),
        (bytes, last),
        "RFC 8985 §6.2 step 5"
    );
}

/// Adds a segment to the lost ranges.
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

/// Span of the windowed minimum RACK.min_RTT.
pub(super) const MIN_RTT_SPAN: Param = Param::duration(
    "min_rtt_span",
    Duration::from_secs(300),
    Duration::from_secs(1)..=Duration::from_secs(86_400),
    "span over which the smallest RTT is taken: samples count for at least this long, and for less than \
     twice as long (RFC 8985 6.2)",
);
