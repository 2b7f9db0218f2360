//! A probe run as a state machine without clock or sockets: background probes, the test, the check for a
//! limit on replies, background probes again.

use ackclock_engine::Stats;
use ackclock_policy::replay::Distribution;
use ackclock_units::{Duration, Instant, Rate};
use ackclock_wire::Segment;

use super::background::{Pinger, When};
use super::limit::{LimitSign, ProbeFate, ReplyLimit, Suspicion, even_replies, losses_without_queue};
use super::options::{PING_PAYLOAD, ProbeOptions};
use super::probe_table::{ProbeTable, ReplyMatch};
use super::report::{Measured, ProbePhase, ProbeProgress, ProbeReport, Replies};
use super::treno::Treno;

/// What a probe carries.
#[derive(Clone, Copy, Debug)]
enum ProbeContent {
    Segment(Segment),
    Ping(When),
}

/// A probe to send now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct OutgoingProbe {
    /// Its number, which its reply contains.
    pub number: u64,
    /// Payload, bytes.
    pub payload: u32,
}

/// Counters of the test's probes.
#[derive(Clone, Debug, Default)]
struct ProbeCounts {
    /// Number of the first probe.
    from: u64,
    sent: u64,
    answered: u64,
    rtt: Distribution,
}

/// The counters at a point in time, from which results count.
#[derive(Debug)]
struct Snapshot {
    at: Instant,
    stats: Stats,
    held: Duration,
    tally: ProbeCounts,
}

/// The check for a limit on replies, at half the rate.
#[derive(Debug)]
struct Check {
    suspicion: Suspicion,
    from: u64,
    until: Instant,
}

pub(super) struct Session {
    options: ProbeOptions,
    headers: u32,
    treno: Treno,
    pinger: Pinger,
    table: ProbeTable<ProbeContent>,
    replies: Replies,
    phase: ProbePhase,
    phase_began: Instant,
    /// Until when outstanding replies are waited for, in phases that wait.
    waits_until: Option<Instant>,
    longest_rtt: Duration,
    /// The counters at the start of the test.
    whole: Option<Snapshot>,
    /// The counters at the end of the initial slow start.
    steady: Option<Snapshot>,
    /// When the test ended, and its counters then.
    ended: Option<(Instant, Stats, Duration)>,
    check: Option<Check>,
    limit: Option<ReplyLimit>,
}

/// Time to wait for replies: this multiple of the longest round-trip time, within bounds.
const PATIENCE: u64 = 3;
const LEAST_PATIENCE: Duration = Duration::from_millis(100);
const MOST_PATIENCE: Duration = Duration::from_secs(2);
/// Duration of the check for a limit, unless half of the test is longer.
const CHECK_AT_MOST: Duration = Duration::from_secs(10);
/// Number of background probes without any reply after which the run ends.
const SILENT: u64 = 10;

impl Session {
    /// `headers` is the size of a probe's headers on the wire, bytes.
    pub fn new(options: ProbeOptions, headers: u32, seed: u64) -> Self {
        let policies = [(options.policies)(), (options.policies)()];
        Self {
            treno: Treno::new(&options.engine_config(), policies, options.max_rate, headers, seed),
            pinger: Pinger::new(options.interval),
            options,
            headers,
            table: ProbeTable::new(),
            replies: Replies::default(),
            phase: ProbePhase::Done,
            phase_began: Instant::ZERO,
            waits_until: None,
            longest_rtt: Duration::ZERO,
            whole: None,
            steady: None,
            ended: None,
            check: None,
            limit: None,
        }
    }

    /// Starts the run.
    pub fn start(&mut self, now: Instant) {
        if self.options.background > 0 {
            self.enter(now, ProbePhase::Before);
            self.pinger.start(now, When::Before, self.options.background);
        } else {
            self.begin_test(now);
        }
    }

    /// True when the run is over.
    pub fn is_done(&self) -> bool {
        self.phase == ProbePhase::Done
    }

    /// Ends the run early.
    pub fn stop(&mut self, now: Instant) {
        if self.phase == ProbePhase::Test {
            self.end_test(now);
        }
        self.enter(now, ProbePhase::Done);
    }

    /// The next probe to send now, if any.
    pub fn poll_send(&mut self, now: Instant) -> Option<OutgoingProbe> {
        if let Some(when) = self.pinger.poll(now) {
            if self.pinger.is_done() {
                self.waits_until = Some(now + self.patience());
            }
            return Some(OutgoingProbe {
                number: self.table.send(now, ProbeContent::Ping(when)),
                payload: PING_PAYLOAD,
            });
        }
        if !matches!(self.phase, ProbePhase::Test | ProbePhase::Check) {
            return None;
        }
        let segment = self.treno.poll_segment(now)?;
        let number = self.table.send(now, ProbeContent::Segment(segment));
        if self.phase == ProbePhase::Test {
            [&mut self.whole, &mut self.steady].into_iter().flatten().for_each(|mark| mark.tally.sent += 1);
        }
        // The SYN is sent in a probe of full size, so that it sees the same path as data segments.
        Some(OutgoingProbe { number, payload: if segment.len > 0 { segment.len } else { self.options.mss } })
    }

    /// Handles a reply to probe `number`.
    pub fn reply(&mut self, now: Instant, number: u64) {
        let sent = match self.table.on_reply(now, number) {
            ReplyMatch::First(sent) => sent,
            ReplyMatch::Again => return self.replies.again += 1,
            ReplyMatch::Unknown => return self.replies.unknown += 1,
        };
        let rtt = sent.rtt.unwrap_or_default();
        self.longest_rtt = self.longest_rtt.max(rtt);
        match sent.content {
            ProbeContent::Ping(when) => self.pinger.on_reply(when, rtt),
            ProbeContent::Segment(segment) => {
                self.replies.late += u64::from(self.treno.has_acked(now, &segment));
                for mark in [&mut self.whole, &mut self.steady].into_iter().flatten() {
                    if number >= mark.tally.from && self.check.is_none() {
                        mark.tally.answered += 1;
                        mark.tally.rtt.add(rtt.as_secs_f64());
                    }
                }
                self.treno.arrive(now, &segment);
                self.detect_steady_state(now);
            }
        }
    }

    /// The number that the next probe will have.
    pub fn next_number(&self) -> u64 {
        self.table.next()
    }

    /// Notes that a probe could not be sent; it counts as lost.
    pub fn not_sent(&mut self) {
        self.replies.not_sent += 1;
    }

    /// When [`Session::handle_timeout`] must be called next.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let treno = matches!(self.phase, ProbePhase::Test | ProbePhase::Check)
            .then(|| self.treno.poll_timeout())
            .flatten();
        let phase = match self.phase {
            ProbePhase::Test => Some(self.phase_began + self.options.duration),
            ProbePhase::Check => self.check.as_ref().map(|c| c.until),
            _ => self.waits_until,
        };
        [treno, phase, self.pinger.poll_timeout()].into_iter().flatten().min()
    }

    /// Handles expired deadlines.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.phase {
            ProbePhase::Before if self.has_waited(now) => self.end_before(now),
            ProbePhase::Test => {
                self.drive(now);
                if now >= self.phase_began + self.options.duration || self.treno.ended().is_some() {
                    self.end_test(now);
                }
            }
            ProbePhase::Drain if self.has_waited(now) => self.end_drain(now),
            ProbePhase::Check => {
                self.drive(now);
                let c = self.check.as_ref().expect("set on entering");
                if now >= c.until
                    || self.table.next() - c.from >= u64::from(c.suspicion.probes_needed())
                    || self.treno.ended().is_some()
                {
                    self.enter(now, ProbePhase::Drain);
                }
            }
            ProbePhase::After if self.has_waited(now) => self.enter(now, ProbePhase::Done),
            _ => {}
        }
    }

    /// The progress of the run.
    pub fn progress(&self, now: Instant) -> ProbeProgress {
        ProbeProgress {
            phase: self.phase,
            elapsed: now.since(self.phase_began),
            of: if self.phase == ProbePhase::Test {
                self.options.duration
            } else {
                self.options.interval * self.options.background
            },
            window_segs: self.treno.cwnd(now) as f64 / f64::from(self.options.mss),
            background: self.pinger.before.clone(),
            measured: self.measured(now),
        }
    }

    /// The results of the run.
    pub fn report(&self, now: Instant) -> ProbeReport {
        ProbeReport {
            mss: self.options.mss,
            headers: self.headers,
            measured: self.measured(now),
            replies: self.replies,
            before: self.pinger.before.clone(),
            during: self.pinger.during.clone(),
            after: self.pinger.after.clone(),
            limit: self.limit,
            gave_up: self.treno.ended(),
            answered: self.treno.stats().established_at.get().is_some() || self.pinger.before.answered > 0,
        }
    }

    fn drive(&mut self, now: Instant) {
        if self.treno.poll_timeout().is_some_and(|at| at <= now) {
            self.treno.handle_timeout(now);
        }
    }

    fn enter(&mut self, now: Instant, phase: ProbePhase) {
        (self.phase, self.phase_began, self.waits_until) = (phase, now, None);
        if matches!(phase, ProbePhase::Drain | ProbePhase::Done) {
            self.pinger.stop();
        }
        if phase == ProbePhase::Drain {
            self.waits_until = Some(now + self.patience());
        }
    }

    fn patience(&self) -> Duration {
        if self.longest_rtt.is_zero() {
            MOST_PATIENCE
        } else {
            (self.longest_rtt * PATIENCE).clamp(LEAST_PATIENCE, MOST_PATIENCE)
        }
    }

    /// True once the time to wait for replies has passed.
    fn has_waited(&self, now: Instant) -> bool {
        self.waits_until.is_some_and(|at| at <= now)
    }

    fn end_before(&mut self, now: Instant) {
        let b = &self.pinger.before;
        if b.sent >= SILENT && b.answered == 0 {
            return self.enter(now, ProbePhase::Done);
        }
        let answered: Vec<bool> = self.table.since(0).map(|s| s.rtt.is_some()).collect();
        self.limit = even_replies(&answered, self.options.interval);
        self.begin_test(now);
    }

    fn begin_test(&mut self, now: Instant) {
        self.enter(now, ProbePhase::Test);
        self.whole = Some(self.mark(now));
        if self.options.background > 0 {
            self.pinger.start(now, When::During, u64::MAX);
        }
        self.treno.start(now);
    }

    fn mark(&self, now: Instant) -> Snapshot {
        let tally = ProbeCounts { from: self.table.next(), ..ProbeCounts::default() };
        Snapshot { at: now, stats: self.treno.stats().clone(), held: self.treno.held(), tally }
    }

    /// Detects the end of the initial slow start: the end of the repair after the first congestion signal
    /// (M-U1).
    fn detect_steady_state(&mut self, now: Instant) {
        let over = self.phase == ProbePhase::Test
            && self.steady.is_none()
            && now.since(self.phase_began) >= self.options.warmup
            && self.treno.is_past_slow_start(now);
        if over {
            self.steady = Some(self.mark(now));
        }
    }

    fn end_test(&mut self, now: Instant) {
        self.ended = Some((now, self.treno.stats().clone(), self.treno.held()));
        self.enter(now, ProbePhase::Drain);
    }

    /// All probes of the test or of the check have a reply or are lost: decides about a limit on replies.
    fn end_drain(&mut self, now: Instant) {
        match &self.check {
            Some(c) => {
                let probes = self.table.since(c.from).count() as u32;
                if probes >= c.suspicion.probes_needed() && self.table.since(c.from).all(|s| s.rtt.is_some())
                {
                    let sign = LimitSign::NoneAtHalfRate { probes };
                    self.limit = Some(ReplyLimit { per_second: c.suspicion.per_second, sign });
                }
            }
            None if self.limit.is_none() && self.treno.ended().is_none() => {
                let from = self.mark_of_test().map_or(0, |m| m.tally.from);
                let fates: Vec<ProbeFate> = self
                    .table
                    .since(from)
                    .filter(|s| matches!(s.content, ProbeContent::Segment(_)))
                    .map(probe_fate)
                    .collect();
                if let Some(suspicion) = losses_without_queue(&fates) {
                    return self.begin_check(now, suspicion);
                }
            }
            None => {}
        }
        if self.options.background > 0 {
            self.enter(now, ProbePhase::After);
            self.pinger.start(now, When::After, self.options.background);
        } else {
            self.enter(now, ProbePhase::Done);
        }
    }

    fn begin_check(&mut self, now: Instant, suspicion: Suspicion) {
        self.enter(now, ProbePhase::Check);
        let bits = f64::from(self.options.mss + self.headers) * 8.0;
        let half = Rate::from_bits_per_sec((bits * suspicion.per_second / 2.0).max(1.0) as u64);
        self.treno.set_max_rate(half);
        let until = now + CHECK_AT_MOST.max(self.options.duration / 2);
        self.check = Some(Check { suspicion, from: self.table.next(), until });
    }

    fn mark_of_test(&self) -> Option<&Snapshot> {
        self.steady.as_ref().or(self.whole.as_ref())
    }

    fn measured(&self, now: Instant) -> Option<Measured> {
        let mark = self.mark_of_test()?;
        let (end, stats, held) = match &self.ended {
            Some((end, stats, held)) => (*end, stats, *held),
            None => (now, self.treno.stats(), self.treno.held()),
        };
        Some(Measured {
            after: mark.at.since(self.whole.as_ref().map_or(mark.at, |w| w.at)),
            slow_start_excluded: self.steady.is_some(),
            time: end.since(mark.at),
            bytes_acked: stats.bytes_acked - mark.stats.bytes_acked,
            segments_acked: stats.segments_acked - mark.stats.segments_acked,
            // A recovery that fails is no longer a CA event, even if it was counted as one before the
            // snapshot.
            ca_events: stats.ca_events.saturating_sub(mark.stats.ca_events),
            non_ca_events: stats.non_ca_events.saturating_sub(mark.stats.non_ca_events),
            other_losses: stats.other_losses - mark.stats.other_losses,
            timeouts: stats.timeouts - mark.stats.timeouts,
            rtt_samples: stats.rtt_samples - mark.stats.rtt_samples,
            rtt_sum: stats.rtt_sum.saturating_sub(mark.stats.rtt_sum),
            sent: mark.tally.sent,
            answered: mark.tally.answered,
            rtt: mark.tally.rtt.clone(),
            held: held.saturating_sub(mark.held),
            rto: self.treno.rto(),
        })
    }
}

fn probe_fate(sent: &super::probe_table::Sent<ProbeContent>) -> ProbeFate {
    ProbeFate { at: sent.at, rtt: sent.rtt }
}
