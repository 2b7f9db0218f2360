//! The rules that every run keeps, judged from outside: by what the path saw and what the sender shows of
//! itself.

use ackclock_engine::{Connection, Transmit};
use ackclock_policy::{Phase, SenderView, Window};
use ackclock_trace::SendKind;
use ackclock_units::{Duration, Instant, SeqNumber};
use ackclock_wire::Segment;

use crate::patterns::Class;
use crate::stacks::{SEGMENT, Stack, iss};
use crate::transfer::Transfer;

macro_rules! rules {
    ($($name:ident: $text:literal;)*) => {
        /// A rule that a run can break.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Rule { $(#[doc = $text] $name,)* }

        /// All of them.
        pub const RULES: &[Rule] = &[$(Rule::$name,)*];

        impl Rule {
            /// What it asks for.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

rules! {
    Delivery: "the receiver has read exactly what has arrived without a gap, and in the end everything";
    Close: "both ends close in order, within bounds of time and events";
    WholeSegments: "every segment carries a full payload where only full ones were written";
    TimerRuns: "the retransmission timer runs while data is outstanding, and begins anew with an ack of new \
                data (RFC 6298 5.1, 5.3)";
    TimerFloor: "no deadline is nearer than the estimator's timeout, nor that than its floor, and none comes \
                 sooner (RFC 6298 2.4)";
    OneSegment: "a timeout resends the first segment alone, at once (RFC 6298 5.4, RFC 5681 3.1)";
    Ssthresh: "ssthresh is at least two segments, and after a reduction no more than what was outstanding \
               (RFC 5681 eq. 4)";
    Cwnd: "cwnd is at least one segment";
    CwndGrows: "after a timeout, each ack of new data below ssthresh widens cwnd (RFC 5681 3.1)";
    CwndStep: "after a timeout, no ack widens cwnd by more than a segment (RFC 5681 eq. 2, RFC 3465 2.3)";
    TimeoutPerLoss: "without delays neither end has more timeouts than packets were lost";
    SpuriousRetransmission: "with SACK and nothing but data lost, nothing is resent that arrived or will";
    ThreeSegments: "SACKs open a recovery when three segments arrived above a hole (RFC 6675 4, IsLost), or \
                    the fourth or a later one did (M-A7)";
    RecoveryAfterUndo: "with nothing lost, the ack that takes a timeout back does not open a recovery";
    FalseFastRetransmit: "where everything comes, in order, no duplicate acks of what was resent open a \
                          recovery (RFC 6582 3.2)";
}

/// A set of rules.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rules(u16);

impl Rules {
    /// Adds one.
    pub fn add(&mut self, rule: Rule) {
        self.0 |= 1 << rule as u16;
    }

    /// Those in it.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        RULES.iter().copied().filter(move |rule| self.0 >> *rule as u16 & 1 == 1)
    }
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Both ends closed, and everything arrived.
    Whole,
    /// Both ends closed, and something is missing.
    Short,
    /// An end gave up as it says it does: SYN or SYN-ACK were sent as often as `syn_retries` allows (RFC 9293
    /// §3.8.3).
    GivenUp,
    /// Neither.
    Stuck,
}

/// Lines of a timeline.
pub type Log = Option<Vec<String>>;

/// What the sender shows at one moment.
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

/// Follows one run.
pub struct Judge {
    /// Rules broken so far.
    pub broken: Rules,
    /// Packets lost so far, of all kinds and both sides.
    pub lost: u32,
    /// Copies of each segment on their way to the receiver, the FIN after the last one.
    pub in_flight: [u8; 128],
    class: Class,
    sack: bool,
    undoes: bool,
    by_time: bool,
    forward: bool,
    guarded: bool,
    has_window: bool,
    min_rto: Duration,
    total: usize,
    /// Segments that have arrived, a bit each.
    arrived: u128,
    /// Segments that have arrived without a gap.
    prefix: u32,
    /// Segments that were sent more than once, a bit each.
    sent_again: u128,
    seen: Option<Seen>,
    /// When the retransmission timer was last set.
    armed_at: Instant,
    /// The window from before the last timeout that began a repair.
    before_timeout: Option<Window>,
    /// What was sent since the timer expired; `None` when that is over.
    resent: Option<u32>,
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
            by_time: stack.by_time,
            forward: stack.recovery.ends_with("fack") || stack.recovery.ends_with("fack-rh"),
            guarded: stack.guarded,
            has_window: !stack.has_no_congestion_window(),
            min_rto: stack.min_rto,
            total: transfer.total(),
            arrived: 0,
            prefix: 0,
            sent_again: 0,
            seen: None,
            armed_at: Instant::ZERO,
            before_timeout: None,
            resent: None,
            rescued: 0,
            sent_at: [None; 128],
            ts_recent: None,
            last_ack_sent: iss(0),
        }
    }

    /// Notes that `rule` was broken.
    pub fn broke(&mut self, rule: Rule, now: Instant, log: &mut Log) {
        self.broken.add(rule);
        if let Some(log) = log {
            log.push(format!("{:>9.4} BROKEN {rule:?}: {}", now.as_secs_f64(), rule.text()));
        }
    }

    fn hold(&mut self, holds: bool, rule: Rule, now: Instant, log: &mut Log) {
        if !holds {
            self.broke(rule, now, log);
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

    /// RFC 7323 §5.3, R1 to R3: what is older than TS.Recent is dropped, be it that its data is missing.
    fn is_old(&mut self, segment: &Segment) -> bool {
        let Some(ts) = segment.options.timestamps else { return false };
        let old = self.ts_recent.is_some_and(|recent| (ts.tsval.wrapping_sub(recent) as i32) < 0);
        // What lies below the window sets no clock.
        let next = iss(0) + 1 + self.prefix.min(self.total as u32) * SEGMENT as u32;
        let acceptable = segment.end() > next || (segment.seq_len() == 0 && segment.seq >= next);
        if !old && acceptable && segment.seq <= self.last_ack_sent {
            self.ts_recent = Some(ts.tsval);
        }
        old
    }

    /// The receiver sends a packet.
    pub fn answering(&mut self, segment: &Segment) {
        self.last_ack_sent = segment.ack;
    }

    /// The receiving application has read so many bytes.
    pub fn after_reading(&mut self, now: Instant, read: u64, log: &mut Log) {
        let expected = u64::from(self.prefix).min(self.total as u64) * SEGMENT;
        self.hold(read == expected, Rule::Delivery, now, log);
    }

    /// The sender has taken in an ack and sent nothing yet.
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
        {
            self.hold(after.v.window.cwnd > before.v.window.cwnd, Rule::CwndGrows, now, log);
        }
        // Before its recovery point is reached, only a verdict of "spurious" ends a repair after a timeout.
        // It gives the window back from before the timeout; nothing else raises ssthresh.
        let after_timeout = before.v.phase == Phase::Loss;
        let restored = after.v.window.ssthresh > before.v.window.ssthresh
            || (self.undoes && self.before_timeout == Some(after.v.window));
        let undone = after_timeout
            && after.v.phase != Phase::Loss
            && (restored || after.v.snd_una < before.v.recovery_point);
        if after_timeout && !undone && slow_start && self.has_window {
            let grown = after.v.window.cwnd.saturating_sub(before.v.window.cwnd);
            self.hold(grown <= u64::from(after.v.smss), Rule::CwndStep, now, log);
        }
        if after.recoveries > before.recoveries {
            self.hold(!undone || self.lost > 0, Rule::RecoveryAfterUndo, now, log);
            if self.sack && !self.by_time && after.v.phase == Phase::Recovery {
                self.hold(self.is_third(&after, sender), Rule::ThreeSegments, now, log);
            }
            self.hold(self.class != Class::Spikes || !self.guarded, Rule::FalseFastRetransmit, now, log);
        }
        if news && after.v.flight_size > 0 {
            self.armed_at = now;
            // RFC 6298 §5.3.
            let anew = after.v.rto_deadline.is_some_and(|at| at >= now + sender.estimator().rto());
            self.hold(anew, Rule::TimerRuns, now, log);
        }
        self.timer(now, sender, &before, &after, log);
        self.seen = Some(after);
    }

    /// True when enough segments above the first hole are reported for it to be lost. A FIN takes a sequence
    /// number and is no data. A hole that FACK has resent in the recovery before, with everything below the
    /// forward-most SACK (M-A7), is known to be lost when that ends.
    fn is_third(&self, after: &Seen, sender: &Connection) -> bool {
        let first = u64::from(after.v.snd_una.bytes_since(iss(0) + 1)) / SEGMENT;
        let reported = |i: &u64| sender.has_arrived(i * SEGMENT, (i + 1) * SEGMENT);
        let above: Vec<u64> = (first + 1..self.total as u64).filter(reported).collect();
        let fin_alone = usize::from(self.arrived >> self.total & 1 == 1);
        let known = self.sent_again >> first & 1 == 1;
        above.len() + fin_alone >= 3
            || (self.forward && (known || above.last().is_some_and(|last| last - first >= 3)))
    }

    /// A deadline of the sender has come, and it has sent nothing yet.
    pub fn after_deadline(&mut self, now: Instant, sender: &Connection, log: &mut Log) {
        let Some(before) = self.seen else { return };
        let after = Seen::of(sender, now);
        self.windows(now, &before, &after, log);
        if after.timeouts > before.timeouts {
            let due =
                before.v.rto_deadline.is_some_and(|at| at <= now) && now >= self.armed_at + self.min_rto;
            self.hold(due, Rule::TimerFloor, now, log);
            self.resent = self.has_window.then_some(0);
            if before.v.phase != Phase::Loss {
                self.before_timeout = Some(before.v.window);
            }
        }
        self.timer(now, sender, &before, &after, log);
        self.seen = Some(after);
    }

    fn windows(&mut self, now: Instant, before: &Seen, after: &Seen, log: &mut Log) {
        let (window, smss) = (after.v.window, u64::from(after.v.smss));
        self.hold(window.cwnd >= smss, Rule::Cwnd, now, log);
        // Rate-halving sets the threshold a round trip after the signal, by what was acknowledged meanwhile
        // (M-A8).
        let signal = after.recoveries > before.recoveries || after.timeouts > before.timeouts;
        let reduced = signal && window.ssthresh < before.v.window.ssthresh;
        let most = before.v.flight_size.max(2 * smss);
        self.hold(
            window.ssthresh >= 2 * smss && (!reduced || window.ssthresh <= most),
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
            self.armed_at = now;
            let rto = sender.estimator().rto();
            self.hold(rto >= self.min_rto && at >= now + rto, Rule::TimerFloor, now, log);
        }
    }

    /// The sender sends a segment of the transfer, or its FIN alone.
    pub fn sending(&mut self, now: Instant, index: usize, t: &Transmit, sender: &Connection, log: &mut Log) {
        self.sent_again |= u128::from(t.retransmission) << index;
        if let (Some(resent), Some(seen)) = (&mut self.resent, &self.seen) {
            *resent += 1;
            let first = *resent == 1 && t.retransmission && t.segment.seq == seen.v.snd_una;
            self.hold(first, Rule::OneSegment, now, log);
        }
        let sent_before = self.sent_at[index].replace(now);
        if self.class != Class::Losses || !self.sack || !t.retransmission {
            return;
        }
        let needed = self.arrived >> index & 1 == 0 && self.in_flight[index] == 0;
        // RFC 8985 §7.3: a probe asks for an ack, whatever became of the segment.
        let probe = matches!(t.kind, SendKind::TailLossProbe { .. });
        // RFC 8985 §6.2, RACK_sent_after(): of what was sent at one moment, the higher number counts as
        // later, even if it left before.
        let tie = self.by_time && self.sent_at[index + 1..].contains(&sent_before);
        if !needed && !probe && !tie && !self.is_rescue(index, sender) {
            self.broke(Rule::SpuriousRetransmission, now, log);
        }
    }

    /// RFC 6675 §4 NextSeg rule 4: once in a recovery the highest outstanding segment that is not SACKed may
    /// be resent.
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

    /// The sender has sent what it had to send, if anything.
    pub fn after_sending(&mut self, now: Instant, sent: bool, sender: &Connection, log: &mut Log) {
        if sender.stats().established_at.get().is_none() {
            return;
        }
        if let Some(resent) = self.resent.take() {
            self.hold(resent == 1, Rule::OneSegment, now, log);
        }
        let after = match self.seen {
            Some(seen) if !sent => seen,
            _ => Seen::of(sender, now),
        };
        if after.v.flight_size > 0 {
            self.hold(after.v.rto_deadline.is_some(), Rule::TimerRuns, now, log);
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
        self.hold(ending != Ending::Stuck, Rule::Close, now, log);
        self.hold(ending != Ending::Short, Rule::Delivery, now, log);
        if matches!(self.class, Class::Losses | Class::LostAcks) {
            // One lost packet may carry what both ends wait for: data and the end of the handshake, a FIN and
            // an ack.
            self.hold(timeouts.iter().all(|n| *n <= self.lost), Rule::TimeoutPerLoss, now, log);
        }
    }
}
