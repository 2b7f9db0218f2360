//! The rules that every run keeps, checked from outside: by the packets on the path and the public state of
//! the sender.

use ackclock_engine::{Connection, Transmit};
use ackclock_policy::{Phase, SenderView, Window};
use ackclock_trace::SendKind;
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::Segment;

use crate::patterns::Class;
use crate::rules::{Rule, Rules};
use crate::stacks::{SEGMENT, Stack, iss};
use crate::transfer::Transfer;

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Both ends closed, and everything arrived.
    Whole,
    /// Both ends closed, and something is missing.
    Short,
    /// An end aborted as documented: SYN or SYN-ACK were sent as often as `syn_retries` allows (RFC 9293
    /// §3.8.3).
    GivenUp,
    /// Neither.
    Stuck,
}

/// Lines of a timeline.
pub type Log = Option<Vec<String>>;

/// The public state of the sender at one time.
#[derive(Clone, Copy)]
struct Seen {
    v: SenderView,
    timeouts: u32,
    recoveries: u32,
}

impl Seen {
    fn of(sender: &Connection, now: Instant) -> Self {
        let stats = sender.stats();
        Self { v: sender.view(now), timeouts: stats.timeouts, recoveries: stats.fast_recoveries }
    }
}

/// Checks one run.
pub struct Judge {
    /// Rules broken so far.
    pub broken: Rules,
    /// Packets lost so far, of all kinds and both sides.
    pub lost: u32,
    /// Copies of each segment in flight to the receiver, the FIN after the last one.
    pub in_flight: [u8; 128],
    class: Class,
    sack: bool,
    undoes: bool,
    time_based: bool,
    forward: bool,
    limited: bool,
    guarded: bool,
    has_window: bool,
    loss_based: bool,
    measures_bandwidth: bool,
    undoes_episodes: bool,
    rearms: bool,
    min_rto: Duration,
    total: usize,
    /// Segments that have arrived, a bit each.
    arrived: u128,
    /// Segments that have arrived without a gap.
    prefix: u32,
    /// Segments that were sent more than once, a bit each.
    retransmitted: u128,
    seen: Option<Seen>,
    /// When the retransmission timer was last set.
    armed_at: Instant,
    /// The window before the last timeout that began a repair.
    before_timeout: Option<Window>,
    /// Segments sent at this expiry of the timer; `None` at other times.
    sent_after_timeout: Option<u32>,
    /// Segments that had arrived or will, without a report of it, when the timer of a paced sender expired.
    under_way: u128,
    /// Recoveries that have had their rescue retransmission.
    rescued: u32,
    /// When each segment was last sent.
    sent_at: [Option<Instant>; 128],
    /// The receiver's TS.Recent and Last.ACK.sent (RFC 7323 §4.3).
    ts_recent: Option<u32>,
    last_ack_sent: SeqNumber,
}

impl Judge {
    /// For one run.
    pub fn new(stack: &Stack, transfer: &Transfer, class: Class) -> Self {
        Self {
            broken: Rules::default(),
            lost: 0,
            in_flight: [0; 128],
            class,
            sack: stack.sack,
            undoes: stack.undo != "none",
            time_based: stack.time_based,
            forward: stack.forward,
            limited: stack.limited,
            guarded: stack.guarded,
            has_window: !stack.has_no_congestion_window(),
            loss_based: stack.loss_based,
            measures_bandwidth: stack.measures_bandwidth,
            undoes_episodes: stack.undoes_episodes,
            rearms: stack.rearms,
            min_rto: stack.min_rto,
            total: transfer.total(),
            arrived: 0,
            prefix: 0,
            retransmitted: 0,
            seen: None,
            armed_at: Instant::ZERO,
            before_timeout: None,
            sent_after_timeout: None,
            under_way: 0,
            rescued: 0,
            sent_at: [None; 128],
            ts_recent: None,
            last_ack_sent: iss(0),
        }
    }

    /// Records that `rule` was broken.
    pub fn record_broken(&mut self, rule: Rule, now: Instant, log: &mut Log) {
        self.broken.add(rule);
        if let Some(log) = log {
            log.push(format!("{:>9.4} BROKEN {rule:?}: {}", now.as_secs_f64(), rule.text()));
        }
    }

    fn check(&mut self, holds: bool, rule: Rule, now: Instant, log: &mut Log) {
        if !holds {
            self.record_broken(rule, now, log);
        }
    }

    /// A packet reached the receiver: a segment of the transfer if it has a number.
    pub fn arrived(&mut self, segment: &Segment, index: Option<usize>) {
        let old = self.is_old(segment);
        let Some(index) = index else { return };
        self.in_flight[index] -= 1;
        if old {
            return;
        }
        self.arrived |= 1 << index;
        while self.arrived >> self.prefix & 1 == 1 {
            self.prefix += 1;
        }
    }

    /// RFC 7323 §5.3, R1 to R3: a segment older than TS.Recent is dropped, even if its data is missing.
    fn is_old(&mut self, segment: &Segment) -> bool {
        let Some(ts) = segment.options.timestamps else { return false };
        let old = self.ts_recent.is_some_and(|recent| (ts.tsval.wrapping_sub(recent) as i32) < 0);
        // A segment below the window does not update TS.Recent.
        let next = iss(0) + 1 + self.prefix.min(self.total as u32) * SEGMENT as u32;
        let acceptable = segment.end() > next || (segment.seq_len() == 0 && segment.seq >= next);
        if !old && acceptable && segment.seq <= self.last_ack_sent {
            self.ts_recent = Some(ts.tsval);
        }
        old
    }

    /// The receiver sends a packet.
    pub fn on_receiver_sends(&mut self, segment: &Segment) {
        self.last_ack_sent = segment.ack;
    }

    /// The receiving application has read `read` bytes in total.
    pub fn after_reading(&mut self, now: Instant, read: u64, log: &mut Log) {
        let expected = u64::from(self.prefix).min(self.total as u64) * SEGMENT;
        self.check(read == expected, Rule::Delivery, now, log);
    }

    /// The sender has processed an ack and sent nothing yet.
    pub fn after_ack(&mut self, now: Instant, sender: &Connection, log: &mut Log) {
        let Some(before) = self.seen else { return };
        let after = Seen::of(sender, now);
        self.windows(now, &before, &after, log);
        let news = after.v.snd_una > before.v.snd_una;
        let slow_start = before.v.window.cwnd < before.v.window.ssthresh;
        if news
            && before.v.phase == Phase::Loss
            && after.v.phase == Phase::Loss
            && slow_start
            && self.has_window
            && self.loss_based
        {
            self.check(after.v.window.cwnd > before.v.window.cwnd, Rule::CwndGrows, now, log);
        }
        // Before its recovery point is reached, only the verdict "spurious" ends a repair after a timeout. It
        // restores the window from before the timeout; nothing else raises ssthresh.
        let after_timeout = before.v.phase == Phase::Loss;
        // An ack that undoes an episode grows the window as any ack does.
        let grown = if self.undoes_episodes { u64::from(after.v.smss) } else { 0 };
        let is_back = |w: Window| {
            let now = after.v.window;
            w.ssthresh == now.ssthresh && (w.cwnd..=w.cwnd + grown).contains(&now.cwnd)
        };
        let restored = after.v.window.ssthresh > before.v.window.ssthresh
            || (self.undoes && self.before_timeout.is_some_and(is_back));
        let undone = self.undoes
            && after_timeout
            && after.v.phase != Phase::Loss
            && (restored || after.v.snd_una < before.v.recovery_point);
        if after_timeout && !undone && slow_start && self.has_window && self.loss_based && self.limited {
            let grown = after.v.window.cwnd.saturating_sub(before.v.window.cwnd);
            self.check(grown <= u64::from(after.v.smss), Rule::CwndStep, now, log);
        }
        if after_timeout && !self.undoes && after.v.snd_una < before.v.recovery_point {
            let lost_again = self.time_based && after.v.phase == Phase::Recovery;
            self.check(after.v.phase == Phase::Loss || lost_again, Rule::RepairLasts, now, log);
        }
        if after.recoveries > before.recoveries {
            self.check(!undone || self.undoes_episodes || self.lost > 0, Rule::RecoveryAfterUndo, now, log);
            if self.sack && !self.time_based && after.v.phase == Phase::Recovery {
                self.check(self.is_third(&after, sender), Rule::ThreeSegments, now, log);
            }
            self.check(self.class != Class::Spikes || !self.guarded, Rule::FalseFastRetransmit, now, log);
        }
        if news && after.v.flight_size > 0 {
            self.armed_at = now;
            // RFC 6298 §5.3.
            let anew = after.v.rto_deadline.is_some_and(|at| at >= now + sender.estimator().rto());
            self.check(anew, Rule::TimerRuns, now, log);
        }
        self.timer(now, sender, &before, &after, log);
        self.seen = Some(after);
    }

    /// True when enough segments above the first hole are reported for it to be lost. A FIN takes a sequence
    /// number and is no data. A hole that FACK retransmitted in the recovery before, with everything below
    /// the forward-most SACK (M-A7), is known to be lost when that recovery ends.
    fn is_third(&self, after: &Seen, sender: &Connection) -> bool {
        let first = u64::from(after.v.snd_una.bytes_since(iss(0) + 1)) / SEGMENT;
        let reported = |i: &u64| sender.has_arrived(i * SEGMENT, (i + 1) * SEGMENT);
        let above: Vec<u64> = (first + 1..self.total as u64).filter(reported).collect();
        let fin_alone = usize::from(self.arrived >> self.total & 1 == 1);
        let known = self.retransmitted >> first & 1 == 1;
        above.len() + fin_alone >= 3
            || (self.forward && (known || above.last().is_some_and(|last| last - first >= 3)))
    }

    /// A deadline of the sender has fired, and it has sent nothing yet.
    pub fn after_deadline(&mut self, now: Instant, sender: &Connection, log: &mut Log) {
        let Some(before) = self.seen else { return };
        let after = Seen::of(sender, now);
        self.windows(now, &before, &after, log);
        if after.timeouts > before.timeouts {
            let due =
                before.v.rto_deadline.is_some_and(|at| at <= now) && now >= self.armed_at + self.min_rto;
            self.check(due, Rule::TimerFloor, now, log);
            self.sent_after_timeout = self.has_window.then_some(0);
            if sender.pacing_rate().is_some() && !self.time_based {
                self.under_way = self.unreported(sender);
            }
            if before.v.phase != Phase::Loss {
                self.before_timeout = Some(before.v.window);
            }
        }
        self.timer(now, sender, &before, &after, log);
        self.seen = Some(after);
    }

    /// Segments that have arrived or will, of which the sender does not know it.
    fn unreported(&self, sender: &Connection) -> u128 {
        let bit = |i: usize| {
            let there = self.arrived >> i & 1 == 1 || self.in_flight[i] > 0;
            u128::from(there && !sender.has_arrived(i as u64 * SEGMENT, (i as u64 + 1) * SEGMENT)) << i
        };
        (0..self.total).map(bit).sum()
    }

    fn windows(&mut self, now: Instant, before: &Seen, after: &Seen, log: &mut Log) {
        let (window, smss) = (after.v.window, u64::from(after.v.smss));
        self.check(window.cwnd >= smss, Rule::Cwnd, now, log);
        // Rate-halving sets the threshold a round trip after the signal, by what was acknowledged in between
        // (M-A8).
        let signal = after.recoveries > before.recoveries || after.timeouts > before.timeouts;
        let reduced = signal && window.ssthresh < before.v.window.ssthresh;
        let at_most = if self.measures_bandwidth { before.v.window.cwnd } else { before.v.flight_size };
        let most = at_most.max(2 * smss);
        self.check(
            !self.loss_based || window.ssthresh >= 2 * smss && (!reduced || window.ssthresh <= most),
            Rule::Ssthresh,
            now,
            log,
        );
    }

    fn timer(&mut self, now: Instant, sender: &Connection, before: &Seen, after: &Seen, log: &mut Log) {
        if after.v.rto_deadline == before.v.rto_deadline {
            return;
        }
        if let Some(at) = after.v.rto_deadline {
            let (rto, oldest) = (sender.estimator().rto(), after.v.oldest_sent_at.filter(|_| self.rearms));
            self.armed_at = oldest.unwrap_or(now);
            self.check(rto >= self.min_rto && at >= self.armed_at + rto, Rule::TimerFloor, now, log);
        }
    }

    /// The sender sends a segment of the transfer, or its FIN alone.
    pub fn sending(&mut self, now: Instant, index: usize, t: &Transmit, sender: &Connection, log: &mut Log) {
        self.retransmitted |= u128::from(t.retransmission) << index;
        if let (Some(resent), Some(seen)) = (&mut self.sent_after_timeout, &self.seen) {
            *resent += 1;
            let first = *resent == 1 && t.retransmission && t.segment.seq == seen.v.snd_una;
            self.check(first, Rule::OneSegment, now, log);
        }
        let sent_before = self.sent_at[index].replace(now);
        if self.class != Class::Losses || !self.sack || !t.retransmission {
            return;
        }
        let needed = self.arrived >> index & 1 == 0 && self.in_flight[index] == 0;
        // RFC 8985 §7.3: a probe elicits an ack, even if the segment arrived.
        let probe = matches!(t.kind, SendKind::TailLossProbe { .. });
        // RFC 8985 §6.2, RACK_sent_after(): of two segments sent at one time, the higher sequence number
        // counts as later, even if it was sent first.
        let tie = self.time_based && self.sent_at[index + 1..].contains(&sent_before);
        let presumed_lost =
            self.under_way >> index & 1 == 1 && self.seen.is_some_and(|seen| seen.v.phase == Phase::Loss);
        if !needed && !probe && !tie && !presumed_lost && !self.is_rescue(index, sender) {
            self.record_broken(Rule::SpuriousRetransmission, now, log);
        }
    }

    /// RFC 6675 §4 NextSeg rule 4: once in a recovery the highest outstanding segment that is not SACKed may
    /// be retransmitted.
    fn is_rescue(&mut self, index: usize, sender: &Connection) -> bool {
        let Some(seen) = self.seen else { return false };
        let reported = |i: usize| sender.has_arrived(i as u64 * SEGMENT, (i as u64 + 1) * SEGMENT);
        let sent = ((seen.v.snd_nxt.bytes_since(iss(0) + 1)) as u64).div_ceil(SEGMENT) as usize;
        let highest = (index + 1..sent.min(self.total)).all(reported);
        let rescue = seen.v.phase == Phase::Recovery && highest && self.rescued < seen.recoveries;
        if rescue {
            self.rescued = seen.recoveries;
        }
        rescue
    }

    /// The sender has sent every packet that was due.
    pub fn after_sending(&mut self, now: Instant, sent: bool, sender: &Connection, log: &mut Log) {
        if sender.stats().established_at.get().is_none() {
            return;
        }
        if let Some(resent) = self.sent_after_timeout.take() {
            self.check(resent == 1, Rule::OneSegment, now, log);
        }
        let after = match self.seen {
            Some(seen) if !sent => seen,
            _ => Seen::of(sender, now),
        };
        if after.v.flight_size > 0 {
            self.check(after.v.rto_deadline.is_some(), Rule::TimerRuns, now, log);
        }
        if let Some(before) = self.seen {
            self.timer(now, sender, &before, &after, log);
        } else {
            self.armed_at = now;
        }
        self.seen = Some(after);
    }

    /// The run is over.
    pub fn end(&mut self, now: Instant, ending: Ending, timeouts: [u32; 2], log: &mut Log) {
        self.check(ending != Ending::Stuck, Rule::Close, now, log);
        self.check(ending != Ending::Short, Rule::Delivery, now, log);
        if matches!(self.class, Class::Losses | Class::LostAcks) {
            // Both ends may wait for one lost packet: data with the end of the handshake, a FIN with an ack.
            self.check(timeouts.iter().all(|n| *n <= self.lost), Rule::TimeoutPerLoss, now, log);
        }
    }
}
