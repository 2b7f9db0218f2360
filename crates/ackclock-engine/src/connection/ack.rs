//! Processing of acknowledgments on the sending side: scoreboard, samples, phases, windows.

use ackclock_policy::{AckInfo, Deliveries, Phase, RateSample, TimerEvent};
use ackclock_units::{Duration, Instant, SeqRange, mostly, seldom};
use ackclock_wire::Segment;

use super::rare::RareState;
use super::{Connection, PendingEvents, State};
use crate::scoreboard::Acked;
use crate::timer::Timer;

impl Connection {
    /// Processes the ACK field, window and SACK blocks of a segment whose ACK field is acceptable (RFC 5961
    /// §5.2).
    #[inline(always)]
    pub(super) fn handle_ack(&mut self, now: Instant, segment: &Segment) {
        let opened = self.update_send_window(now, segment);
        let nothing_out = self.snd_una == self.snd_nxt
            && segment.options.sack.is_empty()
            && !self.rare.is_some_and(|r| r.copies.is_some());
        if nothing_out && self.can_skip(segment) {
            // The usual case at an end that only receives data, detected early.
            return;
        }
        if mostly(self.is_plain(segment)) {
            self.process_ack::<true>(now, segment, opened);
        } else {
            self.process_ack::<false>(now, segment, opened);
        }
    }

    /// True for the usual ack of new data, at a connection without rarely needed state that repairs nothing.
    /// [`Connection::process_ack`] is compiled for it without what such an ack cannot need.
    #[inline(always)]
    fn is_plain(&self, segment: &Segment) -> bool {
        !self.rare.is_allocated()
            & (self.phase == Phase::Open)
            & self.sack_on
            & !self.config.count_segments
            & segment.options.sack.is_empty()
            & (self.snd_una < segment.ack)
    }

    /// True when an ack that reports nothing new needs no processing.
    #[inline]
    fn can_skip(&self, segment: &Segment) -> bool {
        self.phase == Phase::Open && !self.may_report_marks(segment) && !self.sender.sent.keeps_deliveries()
    }

    /// Processes an ack that may report something. `opened`: it has changed the send window. `PLAIN`: as
    /// [`Connection::is_plain`] found it.
    #[inline(never)]
    fn process_ack<const PLAIN: bool>(&mut self, now: Instant, segment: &Segment, opened: bool) {
        if !self.sender.is_built() {
            // Nothing was sent that it could acknowledge.
            return;
        }
        if self.needs::<PLAIN>(|r| r.skip_test.is_some()) && self.check_skip_test(now, segment) {
            return;
        }
        if !PLAIN {
            self.rare.reset(|r| r.repairs_only = false);
        }
        let flight_before = self.flight_size();
        let undelivered = if PLAIN { 0 } else { self.undelivered_segments() };
        let advanced = segment.ack.bytes_since(self.snd_una);
        let dsack = if PLAIN { None } else { self.dsack_of(segment) };
        let mut dsack_sent_again = 0;
        if let Some(range) = dsack {
            let segments = range.len().div_ceil(self.smss);
            let reported = &mut self.sender.make_mut().duplicates_reported;
            *reported = reported.saturating_add(segments);
            self.stats.dsacks_received = *reported;
            dsack_sent_again = self.sender.sent.sent_again_inside(range, self.config.shared_marks);
        }

        let reduced =
            if self.needs::<PLAIN>(|r| r.suspect_episode.is_some()) { self.repair_window() } else { None };
        let missing =
            self.needs::<PLAIN>(|r| r.undecided_timeout.is_some()).then(|| self.missing_originals());

        let acked = if advanced > 0 { self.advance_una(now, segment) } else { Acked::default() };
        let newly_sacked = if !PLAIN && self.sack_on && !segment.options.sack.is_empty() {
            self.process_sack_blocks(segment, dsack)
        } else {
            0
        };
        if self.needs::<PLAIN>(|r| r.ecn.is_accurate()) {
            let delivered = acked.newly_delivered + newly_sacked;
            self.read_feedback(segment, advanced > 0 || newly_sacked > 0, delivered, flight_before);
        }
        let copied =
            self.needs::<PLAIN>(|r| r.copies.is_some()) && self.acknowledges_copy(segment, advanced, dsack);
        // The peer's reply to a window probe repeats the acknowledgment because the probe was discarded, not
        // because a segment arrived out of order.
        let is_dup = !PLAIN
            && advanced == 0
            && flight_before > 0
            && !self.probe_outstanding
            && !copied
            && self.is_duplicate(segment, newly_sacked, opened);
        let nothing_new = advanced == 0 && newly_sacked == 0 && !is_dup;
        let suspect = self.needs::<PLAIN>(|r| r.suspect_episode.is_some())
            && (dsack.is_some() || matches!(self.phase, Phase::Recovery | Phase::Loss));
        if nothing_new && !suspect && self.can_skip(segment) {
            return;
        }
        if advanced > 0 {
            self.sender.make_mut().dup_acks.count = 0;
            self.note_usage(now, flight_before);
        } else if is_dup {
            self.sender.make_mut().dup_acks.count += 1;
        }
        if advanced > 0 && self.needs::<PLAIN>(|r| r.timestamps.timeout_tsval.is_some()) {
            self.read_timestamp_echo(segment);
        }
        let sample = if advanced > 0 {
            self.sample_of(now, segment, &acked)
        } else if seldom(newly_sacked > 0) {
            self.sample_of_sack(now)
        } else {
            None
        };
        if PLAIN || self.phase == Phase::Open {
            self.sender.make_mut().sampling.on_ack(
                segment.ack,
                acked.segments,
                sample.is_some(),
                self.snd_nxt,
            );
        }
        if let Some(rtt) = sample {
            self.on_rtt_sample(now, rtt, flight_before);
        }
        if advanced > 0 {
            let weak = self.needs::<PLAIN>(|r| r.timed_out.is_some())
                && self.take_weak_sample(now, sample.is_some(), flight_before);
            self.on_progress(now, sample.is_some() || weak);
        } else if seldom(sample.is_some()) {
            self.on_sack_sample(now, sample);
        }
        let mut delivered = if PLAIN {
            u64::from(acked.newly_delivered)
        } else {
            self.counted_delivery(acked.newly_delivered + newly_sacked, undelivered, dsack)
        };
        let marked = if PLAIN { None } else { self.marked_bytes(segment, delivered) };
        if !PLAIN && seldom(!self.sack_on) {
            let before = u64::from(self.sender.dup_acks.delivered);
            let outstanding = if self.config.count_segments {
                undelivered.saturating_mul(self.smss)
            } else {
                flight_before
            };
            self.count_duplicates(now, is_dup, acked.segments, outstanding);
            // DeliveredData of RFC 9937 §6.2: a duplicate ack delivers a segment, and what it stood for does
            // not count again when it is acknowledged.
            delivered = (delivered + u64::from(self.sender.dup_acks.delivered)).saturating_sub(before);
            if advanced > 0 {
                // What acknowledges new data was elicited by a segment that no duplicate ack has stood for.
                let least = if self.config.count_segments { self.smss } else { advanced.min(self.smss) };
                delivered = delivered.max(u64::from(least));
            }
        }
        if advanced == 0 && self.needs::<PLAIN>(|r| r.skip_test.is_some()) && self.expects_duplicates(now) {
            self.sender.make_mut().dup_acks.count = 0;
            return;
        }
        let mut info = AckInfo {
            ack: segment.ack,
            newly_acked: u64::from(advanced),
            segments_acked: acked.segments,
            newly_sacked: u64::from(newly_sacked),
            delivered,
            is_dup,
            has_sack: !PLAIN && self.has_sound_block(segment),
            acks_original: false,
            reneged: false,
            dsack: dsack.filter(|_| !copied),
            dsack_sent_again,
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
        if seldom(!self.config.renege_wait.is_zero()) {
            info.reneged = self.has_reneged(advanced > 0);
        }
        // An ack that shows that the receiver has forgotten something undoes nothing (`tcp_check_sack_reneging`).
        let undone = missing
            .filter(|_| !info.reneged)
            .is_some_and(|missing| self.check_undecided_timeout(now, &info, missing));
        if seldom(suspect) && !info.reneged {
            self.check_suspect_episode(now, segment, &mut info, reduced);
        }
        let v = self.recover::<PLAIN>(now, &mut info, undone);
        if (advanced == 0 || self.phase != Phase::Open) && self.needs::<PLAIN>(|r| r.needs.sends) {
            self.note_waiting_data(now);
        }
        if seldom(measures) && self.sender.sent.keeps_rates() {
            self.check_app_limited();
        }
        if advanced > 0 {
            let e = if self.sender.sent.is_empty() { TimerEvent::AllAcked } else { TimerEvent::Acked };
            let inside = acked.partly && acked.segments == 1;
            if !seldom(inside && self.config.restart_by_segments) {
                self.run_retransmission_timer(now, e, &v);
                if seldom(info.deliveries.is_some()) {
                    self.plan_recovery(now, false);
                }
            }
            if seldom(info.reneged) {
                self.wait_for_reneger(now);
            }
            self.queue_progress_events();
        }
    }

    /// True for an ack with a SACK block that says something: one of what was not sent, or without a gap before it
    /// (RFC 2018 §3), does not.
    fn has_sound_block(&self, segment: &Segment) -> bool {
        let sound = |block: &SeqRange| block.end <= self.snd_nxt && block.start != segment.ack;
        segment.options.sack.as_slice().iter().any(sound)
    }

    /// Evaluates `predicate` on the rarely needed state, unless the ack is plain.
    #[inline(always)]
    pub(super) fn needs<const PLAIN: bool>(&self, predicate: impl FnOnce(&RareState) -> bool) -> bool {
        !PLAIN && self.rare.is_some_and(predicate)
    }

    /// The delivery rate sample that this ack completes.
    #[cold]
    fn rate_sample(&mut self, now: Instant) -> Option<RateSample> {
        let min_rtt = self.estimator.rtt().map_or(Duration::ZERO, |rtt| rtt.min_rtt);
        self.sender.make_mut().sent.rate_sample(now, min_rtt)
    }

    /// The transmissions that an ack reports as delivered, and the latest time at which our clock showed the
    /// timestamp that it echoes. `same`: it repeats the last acknowledgment number and window.
    #[cold]
    #[inline(never)]
    fn deliveries(&mut self, now: Instant, segment: &Segment, same: bool) -> Option<Deliveries> {
        let ts = segment.options.timestamps.filter(|ts| self.rare.timestamps.on && ts.tsecr != 0);
        let ago = ts.map(|ts| self.timestamp_clock(now).wrapping_sub(ts.tsecr)).filter(|ms| *ms < 1 << 30);
        // Our clock showed the echoed value until the next millisecond began.
        let next = |ms| (now.as_nanos() / 1_000_000 + 1).saturating_sub(u64::from(ms));
        let echoed = ago.map(|ms| Instant::from_nanos((next(ms) * 1_000_000).saturating_sub(1)));
        Some(Deliveries {
            echoed,
            repeats: same && segment.seq_len() == 0,
            ..self.sender.make_mut().sent.take_deliveries()?
        })
    }

    /// Updates the send window from the newest segment, unless its acknowledgment is old (RFC 9293
    /// §3.10.7.4). That takes segments in the order of their numbers: here data ahead of a gap may have set
    /// `snd_wl1`, and a segment behind it that acknowledges more is newer all the same. Returns true when the
    /// window changed.
    #[inline(always)]
    fn update_send_window(&mut self, now: Instant, segment: &Segment) -> bool {
        let newer =
            self.snd_wl1 < segment.seq || (self.snd_wl1 == segment.seq && self.snd_wl2 <= segment.ack);
        if seldom(!newer | (segment.ack < self.snd_una)) && segment.ack <= self.snd_una {
            return false;
        }
        let window = u32::from(segment.window) << self.snd_wnd_shift;
        let changed = if seldom(self.config.window_by_news) {
            let news = self.snd_wl1 < segment.seq || window > self.snd_wnd || window == 0;
            if !news && segment.ack == self.snd_una {
                return false;
            }
            news
        } else {
            window != self.snd_wnd
        };
        self.snd_wnd = window;
        self.max_snd_wnd = self.max_snd_wnd.max(window);
        (self.snd_wl1, self.snd_wl2) = (segment.seq, segment.ack);
        if window > 0 && self.rare.is_some_and(|r| r.probes > 0) {
            self.window_opened(segment);
        } else if window == 0 {
            // The peer responds, so it is alive: neither probes nor retransmissions count towards giving up
            // (RFC 9293 §3.8.6.1).
            self.rare.reset(|r| r.unanswered_probes = 0);
            self.waiting_since = now;
            self.expiries = 0;
        }
        changed
    }

    /// Removes what is acknowledged from the scoreboard and the send buffer.
    fn advance_una(&mut self, now: Instant, segment: &Segment) -> Acked {
        let data_from = self.first_unacked();
        let acked = self.sender.make_mut().sent.acknowledge(segment.ack);
        let bytes = u64::from(segment.ack.bytes_since(data_from)).min(self.send.len());
        self.send.advance(bytes);
        self.snd_una = segment.ack;
        if self.rare.is_some_and(|r| r.ecn.ends_reduction(segment.ack)) {
            self.rare.make_mut().ecn.clear_reduction();
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

    /// New data was acknowledged: resets the count of expiries, and the backoff; by Karn's rule the latter
    /// only with a valid sample.
    fn on_progress(&mut self, now: Instant, sampled: bool) {
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

    /// Queues the events that newly acknowledged data causes.
    pub(super) fn queue_progress_events(&mut self) {
        if seldom(self.send.len() == 0) {
            self.events.add(PendingEvents::FLUSHED);
        }
        if seldom(self.write_blocked) {
            self.note_room();
        }
    }

    /// Changes the state when our FIN is acknowledged (RFC 9293 §3.10.7.4).
    #[inline(always)]
    pub(super) fn after_ack_of_fin(&mut self, now: Instant) {
        if mostly(!self.fin_sent || self.snd_una != self.snd_nxt) {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.start_time_wait(now),
            State::LastAck => {
                self.events.add(PendingEvents::FINISHED);
                self.end(true, now);
            }
            _ => {}
        }
    }
}
