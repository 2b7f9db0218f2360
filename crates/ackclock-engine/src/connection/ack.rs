//! What an acknowledgment does to the sending side: scoreboard, samples, phases, windows.

use ackclock_policy::{AckInfo, Deliveries, Phase, RateSample, SenderView, TimerEvent};
use ackclock_units::{Bytes, Duration, Instant, SeqRange, mostly, seldom};
use ackclock_wire::Segment;

use super::sender::Sending;
use super::{Connection, News, State};
use crate::scoreboard::Acked;
use crate::timer::Timer;

/// The largest window there is (RFC 7323 §2.3): what lies further below an acknowledgment number is not of
/// this connection.
const MAX_WINDOW: u32 = 1 << 30;

impl Connection {
    /// Processes the ACK field, window and SACK blocks of a plausible segment.
    #[inline(always)]
    pub(super) fn take_ack(&mut self, now: Instant, segment: &Segment) {
        let opened = self.take_window(now, segment);
        let nothing_out = self.snd_una == self.snd_nxt
            && segment.options.sack.is_empty()
            && !self.rare.says(|r| r.copies.is_some());
        if nothing_out && self.is_untroubled(segment) {
            // The usual text at an end that only receives: found out cheaply.
            return;
        }
        self.take_news(now, segment, opened);
    }

    /// True when an ack that tells nothing new needs no further thought.
    #[inline]
    fn is_untroubled(&self, segment: &Segment) -> bool {
        self.phase == Phase::Open && !self.may_echo(segment) && !self.sender.sent.keeps_deliveries()
    }

    #[inline(never)]
    fn take_news(&mut self, now: Instant, segment: &Segment, opened: bool) {
        if !self.sender.is_made() {
            // Whatever it tells, it is not about anything that was sent.
            return;
        }
        if self.rare.says(|r| r.skip_test.is_some()) && self.judge_skipped(now, segment) {
            return;
        }
        let flight_before = self.flight_size();
        let advanced = segment.ack.bytes_since(self.snd_una);
        let dsack = self.dsack_of(segment);
        if seldom(dsack.is_some()) {
            self.sender.make().dsack_seen = true;
        }

        let acked = if advanced > 0 { self.advance_una(now, segment) } else { Acked::default() };
        let newly_sacked = if self.sack_on && !segment.options.sack.is_empty() {
            self.take_sacks(segment, dsack)
        } else {
            0
        };
        if self.rare.says(|r| r.ecn.is_accurate()) {
            let delivered = acked.newly_delivered + newly_sacked;
            self.read_feedback(segment, advanced > 0 || newly_sacked > 0, delivered, flight_before);
        }
        let copied = self.rare.says(|r| r.copies.is_some()) && self.answers_copy(segment, advanced, dsack);
        // The answer to a window probe repeats the acknowledgment because the probe was turned away, not
        // because something arrived out of order.
        let is_dup = advanced == 0
            && flight_before > 0
            && !self.probe_outstanding
            && !copied
            && self.is_duplicate(segment, newly_sacked, opened);
        let nothing_new = advanced == 0 && newly_sacked == 0 && !is_dup;
        if nothing_new && self.is_untroubled(segment) {
            return;
        }
        if advanced > 0 {
            self.sender.make().dups.count = 0;
            self.note_usage(now, flight_before);
        } else if is_dup {
            self.sender.make().dups.count += 1;
        }
        if advanced > 0 && self.rare.says(|r| r.timestamps.timeout_tsval.is_some()) {
            self.read_echo(segment);
        }
        let sample = if advanced > 0 { self.sample_of(now, segment, &acked) } else { None };
        if self.phase == Phase::Open {
            self.sender.make().sampling.on_ack(segment.ack, acked.segments, sample.is_some(), self.snd_nxt);
        }
        if let Some(rtt) = sample {
            self.sampled(now, rtt, flight_before);
        }
        if advanced > 0 {
            self.progress(now, sample.is_some());
        }
        if seldom(!self.sack_on) {
            self.count_duplicates(now, is_dup, acked.segments, flight_before);
        }
        if advanced == 0 && self.rare.says(|r| r.skip_test.is_some()) && self.expects_duplicates(now) {
            self.sender.make().dups.count = 0;
            return;
        }
        let delivered = u64::from(acked.newly_delivered + newly_sacked);
        let marked = self.marked_bytes(segment, delivered);
        let mut info = AckInfo {
            ack: segment.ack,
            newly_acked: u64::from(advanced),
            segments_acked: acked.segments,
            newly_sacked: u64::from(newly_sacked),
            delivered,
            is_dup,
            has_sack: !segment.options.sack.is_empty(),
            dsack: dsack.filter(|_| !copied),
            rtt: sample,
            ece: marked.is_some(),
            ce_bytes: marked.unwrap_or(0),
            may_grow: false,
            validated: self.sender.usage.validates(self.sender.window.cwnd),
            deliveries: None,
            newly_lost: 0,
            rate: None,
        };
        let measures = self.sender.sent.is_measured();
        if measures {
            info.deliveries = self.deliveries(now, segment, advanced == 0 && !opened);
            info.rate = self.rate_sample(now);
        }
        let undone = self.rare.says(|r| r.watched.is_some()) && self.judge_timeout(now, &info);
        let v = self.recover(now, &mut info, undone);
        if seldom(measures) && self.sender.sent.keeps_rates() {
            self.check_application_limited();
        }
        if advanced > 0 {
            let e = if self.sender.sent.is_empty() { TimerEvent::AllAcked } else { TimerEvent::Acked };
            self.run_retransmission_timer(now, e, &v);
            if seldom(info.deliveries.is_some()) {
                self.plan_recovery(now);
            }
            self.after_progress();
        }
    }

    /// The delivery rate by what the present ack reports.
    #[cold]
    fn rate_sample(&mut self, now: Instant) -> Option<RateSample> {
        let min_rtt = self.estimator.rtt().map_or(Duration::ZERO, |rtt| rtt.min_rtt);
        self.sender.make().sent.rate_sample(now, min_rtt)
    }

    /// The transmissions that an ack reports, and the latest moment of which its timestamp can tell. `same`:
    /// its number and window are.
    #[cold]
    #[inline(never)]
    fn deliveries(&mut self, now: Instant, segment: &Segment, same: bool) -> Option<Deliveries> {
        let ts = segment.options.timestamps.filter(|ts| self.rare.timestamps.on && ts.tsecr != 0);
        let ago = ts.map(|ts| self.timestamp_clock(now).wrapping_sub(ts.tsecr)).filter(|ms| *ms < 1 << 30);
        // Our clock showed what is echoed until the next millisecond began.
        let next = |ms| (now.as_nanos() / 1_000_000 + 1).saturating_sub(u64::from(ms));
        let echoed = ago.map(|ms| Instant::from_nanos((next(ms) * 1_000_000).saturating_sub(1)));
        Some(Deliveries {
            echoed,
            repeats: same && segment.seq_len() == 0,
            ..self.sender.make().sent.take_deliveries()?
        })
    }

    /// RFC 9293 §3.10.7.4: the send window follows the newest segment, unless its acknowledgment is an old
    /// one. Returns true when it changed.
    #[inline(always)]
    fn take_window(&mut self, now: Instant, segment: &Segment) -> bool {
        let newer =
            self.snd_wl1 < segment.seq || (self.snd_wl1 == segment.seq && self.snd_wl2 <= segment.ack);
        if seldom(!newer | (segment.ack < self.snd_una)) {
            return false;
        }
        let window = u32::from(segment.window) << self.snd_wnd_shift;
        let changed = window != self.snd_wnd;
        self.snd_wnd = window;
        self.max_snd_wnd = self.max_snd_wnd.max(window);
        (self.snd_wl1, self.snd_wl2) = (segment.seq, segment.ack);
        if window > 0 && self.rare.says(|r| r.probes > 0) {
            self.window_opened(segment);
        } else if window == 0 {
            // The peer answers: it is alive, so neither probes nor retransmissions count towards giving up
            // (RFC 9293 §3.8.6.1).
            self.rare.reset(|r| r.unanswered_probes = 0);
            self.waiting_since = now;
            self.expiries = 0;
        }
        changed
    }

    /// The window has opened after probes: what the probe carried was turned away unless acknowledged, so
    /// take it back and send in full segments.
    #[cold]
    fn window_opened(&mut self, segment: &Segment) {
        self.rare.reset(|r| r.probes = 0);
        self.timers.disarm(Timer::Persist);
        if std::mem::take(&mut self.probe_outstanding)
            && segment.ack < self.snd_nxt
            && self.flight_size() == 1
        {
            self.sender.make().sent.pop_back();
            self.snd_nxt = self.snd_nxt - 1;
            self.timers.disarm(Timer::Retransmission);
        }
    }

    /// RFC 2883 §4: the first block is a DSACK when it lies below the acknowledgment number or inside the
    /// second block.
    fn dsack_of(&self, segment: &Segment) -> Option<SeqRange> {
        let blocks = segment.options.sack.as_slice();
        let first = *blocks.first()?;
        let below = first.is_inside(SeqRange::new(segment.ack - MAX_WINDOW, segment.ack));
        let outstanding = SeqRange::new(segment.ack, self.snd_nxt);
        let inside =
            || blocks.get(1).is_some_and(|second| second.is_inside(outstanding) && first.is_inside(*second));
        (self.sack_on && (below || inside())).then_some(first)
    }

    #[inline(never)]
    fn take_sacks(&mut self, segment: &Segment, dsack: Option<SeqRange>) -> u32 {
        let blocks = segment.options.sack.as_slice();
        let blocks = if dsack.is_some() { &blocks[1..] } else { blocks };
        // A block that tells of what was never sent is wrong as a whole. Any number may stand in it.
        let outstanding = SeqRange::new(segment.ack, self.snd_nxt);
        blocks.iter().filter(|b| b.is_inside(outstanding)).map(|b| self.sender.make().sent.sack(*b)).sum()
    }

    /// RFC 5681 §2; with SACK, one that reports something new (RFC 6675 §2).
    fn is_duplicate(&self, segment: &Segment, newly_sacked: u32, window_changed: bool) -> bool {
        if self.sack_on {
            return newly_sacked > 0;
        }
        segment.ack == self.snd_una && segment.seq_len() == 0 && !window_changed
    }

    /// Takes what is acknowledged off the scoreboard and the send buffer.
    fn advance_una(&mut self, now: Instant, segment: &Segment) -> Acked {
        let data_from = self.first_unacked();
        let acked = self.sender.make().sent.acknowledge(segment.ack);
        let bytes = u64::from(segment.ack.bytes_since(data_from)).min(self.send.len());
        self.send.advance(bytes);
        self.snd_una = segment.ack;
        if self.rare.says(|r| r.ecn.outlives_reduction(segment.ack)) {
            self.rare.make().ecn.forget_reduction();
        }
        self.stats.bytes_acked += bytes;
        self.stats.segments_acked += u64::from(acked.segments);
        if std::mem::take(&mut self.probe_outstanding) {
            self.rare.reset(|r| r.probes = 0);
            self.timers.disarm(Timer::Persist);
        }
        self.waiting_since = now;
        acked
    }

    /// New data was acknowledged: counts of expiries end, the backed-off timeout by Karn's rule only with a
    /// valid sample.
    fn progress(&mut self, now: Instant, sampled: bool) {
        self.expiries = 0;
        if seldom(self.backoff_level > 0) && (sampled || !self.config.karn_backoff) {
            self.backoff_level = 0;
            self.update_timeout();
        }
        if seldom(!self.config.user_timeout.is_zero()) {
            if self.send.len() > 0 {
                self.timers.arm(Timer::User, now + self.config.user_timeout);
            } else {
                self.timers.disarm(Timer::User);
            }
        }
    }

    /// Asks the loss recovery what this ack means and carries out its phase. Returns how things stand then.
    /// `undone`: the ack has just given the window back, and does not widen it.
    fn recover(&mut self, now: Instant, info: &mut AckInfo, undone: bool) -> SenderView {
        if seldom(self.phase == Phase::Cwr) && self.snd_una >= self.sender.recovery_point {
            self.enter(now, Phase::Open);
        }
        let mut v = self.view(now);
        let before = self.phase;
        let Sending { policies, state } = self.sender.both();
        let phase = policies.recovery.on_ack(info, &state.sent, &v, &mut state.lost);
        // Making a view costs something: the same one serves while nothing changes but the window.
        let stale = !state.lost.is_empty()
            | (phase != Phase::Open)
            | (before != Phase::Open)
            | info.ece
            | (state.dups.delivered > 0);
        info.newly_lost = self.mark_lost(now);
        self.enter(now, phase);
        if seldom(self.sender.episode.is_some()) && !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            self.end_repaired(now);
        }
        if seldom(stale) && self.phase == Phase::Open {
            self.sender.make().dups.delivered = 0;
        }
        if seldom(info.ece) {
            self.echo(now, info.newly_acked);
        }
        info.may_grow = info.newly_acked > 0
            && matches!(self.phase, Phase::Open | Phase::Disorder | Phase::Loss)
            && before != Phase::Recovery
            && !undone
            && !info.ece;
        if mostly(info.may_grow) || self.rare.says(|r| r.needs.every_ack) {
            if seldom(before != self.phase) {
                // The ack belongs to the phase that it may have ended (RFC 3465 §2.3: what follows a timeout
                // grows by one segment at most).
                v = SenderView { phase: before, ..self.view(now) };
            }
            let Sending { policies, state } = self.sender.both();
            let control = policies.window_on_ack(info, &v);
            if control.window != state.window {
                self.set_window(control.window, now);
            }
            self.set_pacing(control.pacing, now);
            v.window = self.sender.window;
        }
        if seldom(info.deliveries.is_some()) {
            self.follow_recovery_deadline();
        }
        if seldom(stale) {
            v = self.view(now);
        }
        if seldom((self.phase != Phase::Open) | (before != Phase::Open) | info.deliveries.is_some()) {
            self.adjust(now, &mut v);
        }
        if seldom(self.phase != Phase::Open) {
            self.sender.make().quota = self.quota_after(info, &v);
        }
        self.trace_state(now);
        v
    }

    /// What may be sent on this ack's account, outside the Open phase.
    #[inline]
    fn quota_after(&mut self, info: &AckInfo, v: &SenderView) -> Bytes {
        let policies = self.sender.policies();
        if v.phase == Phase::Recovery
            && let Some(reduction) = policies.reduction()
        {
            return reduction.on_ack(info, v);
        }
        policies.recovery.quota(v)
    }

    /// Tells the application what new acknowledgments mean to it.
    fn after_progress(&mut self) {
        if seldom(self.send.len() == 0) {
            self.news.add(News::FLUSHED);
        }
        if seldom(self.write_blocked) && self.send.len() <= self.config.snd_buf / 2 {
            self.write_blocked = false;
            self.news.add(News::WRITABLE);
        }
    }

    /// What the acknowledgment of our FIN does to the state (RFC 9293 §3.10.7.4).
    #[inline(always)]
    pub(super) fn after_ack_of_fin(&mut self, now: Instant) {
        if mostly(!self.fin_sent || self.snd_una != self.snd_nxt) {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.start_time_wait(now),
            State::LastAck => {
                self.news.add(News::FINISHED);
                self.end(true, now);
            }
            _ => {}
        }
    }
}
