//! One trait for each kind of rule that can be replaced.

use std::fmt::Debug;

use ackclock_units::{Bytes, Duration, Instant, Rng, SeqNumber, SeqRange};

use crate::view::*;

/// What every policy has: a name, and private state that a trace may show.
pub trait Policy: Send + Debug {
    /// The name under which the registry knows it.
    fn name(&self) -> &str;

    /// Shows private state to a trace, a named number at a time. Called only while tracing.
    fn private_state(&self, _state: &mut PrivateState) {}
}

/// Turns round-trip time samples into a retransmission timeout.
pub trait RttEstimator: Policy {
    /// Takes one valid sample. Karn's rule has been applied: an ambiguous sample never gets here.
    fn on_sample(&mut self, s: RttSample);

    /// Latest, smoothed, deviation and smallest round-trip time; `None` before the first sample.
    fn rtt(&self) -> Option<Rtt>;

    /// The retransmission timeout before backoff; the initial one before the first sample.
    fn rto(&self) -> Duration;

    /// The same with `floor` in place of the rule's own smallest timeout (I-A5); what follows from its
    /// clock's ticks still holds. By default the rule has no such floor.
    fn rto_above(&self, _floor: Duration) -> Duration {
        self.rto()
    }

    /// The retransmission timeout before the first sample (RFC 6298 §2.1), which a SYN uses.
    fn initial_rto(&self) -> Duration;

    /// Called when a timeout turns out to have been spurious (the original segment's ack arrived). Nothing by
    /// default.
    fn on_spurious_timeout(&mut self) {}

    /// Takes these for its smoothed round-trip time and deviation, whatever it had: what was kept from before
    /// a spurious timeout, or made of the first sample after it (RFC 4015 §3.6), or what a model begins with.
    /// The timeout follows by the rule's own formula. By default it has none to set.
    fn set_estimates(&mut self, _srtt: Duration, _rttvar: Duration) {}

    /// G, the granularity of its clock (RFC 6298 §2). Zero by default.
    fn granularity(&self) -> Duration {
        Duration::ZERO
    }

    /// Called when a timer expires for the `expiries`-th time in a row (1 for the first). Nothing by default.
    fn on_expiry(&mut self, _expiries: u32) {}
}

/// Stretches the timeout of a segment that has timed out before, and says when to give up.
///
/// It keeps no state: whoever runs a timer keeps the level of its backoff, so that a connection, a capture's
/// what-if and a table of timeouts ask the same questions and get the same answers. The level is 0 without
/// backoff, and 0 again after progress (by Karn's rule, after a valid sample).
pub trait Backoff: Policy {
    /// The level after an expiry of the timer of data. By default one more: the level is the number of
    /// expiries in a row.
    fn level(&self, e: &Expiry) -> u32 {
        e.level.saturating_add(1)
    }

    /// The timeout at a level; that of level 0 is `rto` itself.
    fn timeout(&self, rto: Duration, level: u32, rng: &mut Rng) -> Duration;

    /// The same for a SYN or SYN-ACK after so many expiries in a row. By default as for data at that level.
    fn syn_timeout(&self, rto: Duration, expiries: u32, rng: &mut Rng) -> Duration {
        self.timeout(rto, expiries, rng)
    }

    /// True when the connection should be given up after `expiries` consecutive expiries and `waited` since
    /// the first transmission (R2, RFC 9293 §3.8.3). SYNs have a limit of their own in the connection's
    /// configuration.
    fn give_up(&self, expiries: u32, waited: Duration) -> bool;
}

/// Decides when the retransmission timer runs: the countdown, not the timeout's length.
///
/// It keeps no state: whoever runs a timer keeps its deadline and when it was restarted, so that a connection
/// and a capture's what-if ask the same questions and get the same answers.
pub trait RetransmissionTimer: Policy {
    /// What an event does to the timer. `timeout` is the backed-off timeout now in force.
    fn on(&self, e: TimerEvent, timeout: Duration, v: &TimerView) -> TimerAction;
}

/// Read-only view of what has been sent and not yet cumulatively acknowledged. The engine keeps it.
pub trait ScoreboardView {
    /// Merged SACKed ranges above `snd_una`, ascending and disjoint. Empty without SACK.
    fn sacked(&self) -> &[SeqRange];

    /// First outstanding segment at or after `from` that is marked lost and neither SACKed nor retransmitted
    /// since it was marked.
    fn next_lost(&self, from: SeqNumber) -> Option<SeqRange>;

    /// First outstanding segment at or after `from` that is not SACKed (lost or not, retransmitted or not).
    fn next_unsacked(&self, from: SeqNumber) -> Option<SeqRange>;

    /// The outstanding segment that holds `seq`.
    fn segment(&self, seq: SeqNumber) -> Option<SentSegment>;
}

/// Decides which segments are lost and what is sent next while repairing.
///
/// The engine keeps marks (`lost`, SACKed, retransmitted) on the scoreboard and derives `pipe` from them; for
/// a connection without SACK it counts each duplicate ack as one segment that left the network, so the window
/// needs no inflation (RFC 5681 §3.2 and RFC 6582 in that form).
pub trait LossRecovery: Policy {
    /// Called for each acceptable ack, after the scoreboard took it in (cumulative part removed, SACK marks
    /// set). Ranges pushed to `lost` are marked (their un-SACKed segments). Returns the phase the sender is
    /// in from now on: answering [`Phase::Recovery`] when `v.phase` was not opens a loss episode (the engine
    /// then saves `recovery_point` and asks the window for its reduction); answering [`Phase::Loss`] outside
    /// a timeout restarts from the loss window (Tahoe). The engine leaves Recovery, Loss and Cwr only when
    /// told so here.
    fn on_ack(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase;

    /// Called when the retransmission timer expires. By default everything outstanding and un-SACKed is lost
    /// (RFC 6582 §4, RFC 6675 §5.1), and the phase becomes Loss with `recovery_point = snd_nxt`.
    fn on_rto(&mut self, _b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        lost.push(SeqRange::new(v.snd_una, v.snd_nxt));
    }

    /// Called when [`LossRecovery::deadline`] is reached (reordering or probe timer). `lost` as in
    /// [`LossRecovery::on_ack`].
    fn on_deadline(
        &mut self,
        _b: &dyn ScoreboardView,
        v: &SenderView,
        _lost: &mut Vec<SeqRange>,
    ) -> DeadlineAction {
        DeadlineAction { phase: v.phase, probe: None }
    }

    /// When [`LossRecovery::on_deadline`] wants to be called; asked of rules that [go by
    /// time](LossRecovery::is_time_based), after each of their answers.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// True for a rule that goes by time: acks tell it which transmissions they report
    /// ([`AckInfo::deliveries`]), and it is asked to [plan](LossRecovery::update_deadline). Asked once,
    /// before the first data is sent.
    fn is_time_based(&self) -> bool {
        false
    }

    /// For a rule that goes by time: new data was sent or acknowledged, and the retransmission timer was told
    /// of it (`v.rto_deadline`). The moment to set a [deadline](LossRecovery::deadline) beside it.
    fn update_deadline(&mut self, _b: &dyn ScoreboardView, _v: &SenderView) {}

    /// What to send next while something may be missing (called when the phase is not Open or lost marks
    /// remain): an outstanding range to retransmit, a range that starts at `v.snd_nxt` for new data (the
    /// engine fills in what it has), or `None` to send nothing.
    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange>;

    /// Tells that `sent` was (re)transmitted on this rule's advice.
    fn on_retransmit(&mut self, _sent: SeqRange, _v: &SenderView) {}

    /// What happens to the window beyond the reduction that opens an episode. Called after each ack on which
    /// the phase is or was not Open (after every ack for a rule that goes by time), when `v` shows everything
    /// else that the ack brought, and before [`LossRecovery::quota`].
    fn adjust(&mut self, _v: &SenderView) -> Adjustment {
        Adjustment::Keep
    }

    /// Bytes that may be sent now. Called after each ack and expiry outside the Open phase, in which
    /// `v.room()` holds; `v.room()` by default. The first retransmission of a repair goes out whatever the
    /// window says (RFC 5681 §3.2 step 3), so rules for fast recovery return at least one segment then;
    /// rate-halving overrides it too, and rules without Limited Transmit do in Disorder. A [`Reduction`] is
    /// asked in its stead after each ack during Recovery, where the stack has one.
    fn quota(&mut self, v: &SenderView) -> Bytes {
        v.room()
    }

    /// Called when the engine learns that the last timeout was spurious and its marks were taken back.
    fn on_undo(&mut self, _v: &SenderView) {}
}

/// Finds out whether a timeout was spurious, and says with what window the sender then resumes.
///
/// From an expiry for which [`SpuriousTimeout::on_rto`] answers true until a verdict, the engine keeps the
/// window, the phase and the scoreboard's marks from before it. On [`TimeoutVerdict::Spurious`] it takes back
/// what the timeout marked and resumes with new data.
pub trait SpuriousTimeout: Policy {
    /// Called when the retransmission timer expires, with `v` as it is before anything is reduced or marked
    /// (`v.expiries` is 0 for the first expiry). False when nothing is going to be found out about it;
    /// anything kept from before is dropped then.
    fn on_rto(&mut self, v: &SenderView) -> bool;

    /// Called for each acceptable ack after that until there is a verdict, before the loss recovery is asked.
    /// The scoreboard has taken the ack in.
    fn on_ack(
        &mut self,
        a: &AckInfo,
        t: &SuspectTimeout,
        b: &dyn ScoreboardView,
        v: &SenderView,
    ) -> TimeoutVerdict;

    /// The window to resume with after [`TimeoutVerdict::Spurious`].
    fn resume(&mut self, a: &AckInfo, t: &SuspectTimeout, v: &SenderView) -> Window;

    /// True when the first sample of data that was sent after [`TimeoutVerdict::Spurious`] shall set the
    /// estimator anew (RFC 4015 §3.6, step 11). By default the sample is one as any other.
    fn adapts_timer(&self) -> bool {
        false
    }
}

/// Decides the congestion window, and the rate at which segments leave where it paces.
///
/// A function of feedback: told what happened, it returns what holds from now on. The engine keeps the window
/// at one segment at least, paces and traces.
pub trait CongestionControl: Policy {
    /// Which laws it keeps, beside those of every window.
    fn family(&self) -> Family {
        Family::LossBased
    }

    /// What must be measured or reported for it. Asked once, before [`CongestionControl::start`].
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The window of a new connection; called once the segment size is known.
    fn start(&mut self, v: &SenderView) -> Control;

    /// What holds after this feedback. A rule that has nothing to say to a kind of it returns
    /// [`SenderView::window_after`].
    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control;
}

/// How much leaves while a loss is repaired, whatever the loss recovery: the reduction of the window spread
/// over the recovery (RFC 9937).
///
/// Asked in the Recovery phase alone. The congestion window has been reduced by its own rule before
/// (`v.window`), and is what holds when the recovery is over.
pub trait Reduction: Policy {
    /// Called when a recovery begins, after the reduction and before what is lost is sent again.
    fn begin(&mut self, v: &SenderView);

    /// Called for each ack during the recovery, the one that begins it included, with what it delivered
    /// ([`AckInfo::delivered`]) and found lost ([`AckInfo::newly_lost`]). Returns the bytes that may be sent
    /// now.
    fn on_ack(&mut self, a: &AckInfo, v: &SenderView) -> Bytes;

    /// So many bytes of payload were sent, new or again.
    fn on_sent(&mut self, bytes: u32);

    /// True when it leaves all this to the loss recovery: then nobody asks.
    fn is_default(&self) -> bool {
        false
    }
}

/// How a window below its threshold grows, and whether slow start ends before the threshold or a loss.
pub trait SlowStart: Policy {
    /// Called by a congestion window for each ack on which it may grow while it is below its threshold.
    /// `most`: bytes that the window's own byte counting lets this ack add (RFC 5681 §3.1 eq. 2, RFC 3465
    /// §2.2); a rule that counts by itself need not keep to it.
    fn on_ack(&mut self, a: &AckInfo, most: Bytes, v: &SenderView) -> Growth;

    /// True when it returns `most` for every ack: then nobody needs to ask.
    fn is_default(&self) -> bool {
        false
    }
}

/// Decides in what segments new data leaves, and how often each is sent.
pub trait Framing: Policy {
    /// Called for each segment of new data that is about to be cut; `v.unsent` holds what waits, and is not
    /// empty. The engine bounds the answer by what fits beside a segment's options, by the windows and by
    /// what waits; copies leave only as far as the congestion window holds them beside everything else.
    fn frame(&mut self, v: &SenderView) -> Frame;

    /// True when the answer is a full segment, sent once, whatever happens: then nobody needs to ask.
    fn is_default(&self) -> bool {
        false
    }
}

/// Decides when a receiver acknowledges.
pub trait AckPolicy: Policy {
    /// Called for each arriving segment that carries data in order, with no gap above it; everything else
    /// (out of order, gap filled, FIN) is acknowledged at once by the engine (RFC 5681 §4.2), unless
    /// [`AckPolicy::holds_out_of_order`] says otherwise.
    fn on_arrival(&mut self, s: &ArrivedSegment, p: &AckPending) -> AckAction;

    /// True when out-of-order segments are *not* acknowledged at once either (old receivers).
    fn holds_out_of_order(&self) -> bool {
        false
    }
}

/// Spaces the packets of a source that has no window (J-A15).
pub trait RateControl: Policy {
    /// Called with each packet sent; answers the time until the next one. Never zero.
    fn on_sent(&mut self) -> Duration;

    /// Called when the receiver has reported congestion: once for all the packets that were under way when
    /// the rate last fell.
    fn on_congestion(&mut self);
}

/// What runs above a connection.
pub trait Application: Policy {
    /// Called when the connection is established, whenever the wake-up it asked for has come, and may be
    /// called early.
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake;

    /// Memory that its lists take, bytes; those that grow as it runs. Runs that would hold too much end with
    /// an error.
    fn held_bytes(&self) -> u64 {
        0
    }
}

/// A queue in front of a link.
pub trait QueueDiscipline: Policy {
    /// Takes, marks or drops an arriving packet; `PushOut`, for queues with a scheduler, drops another one
    /// that is queued and takes this one.
    fn enqueue(&mut self, p: Queued, now: Instant, rng: &mut Rng) -> Admit;

    /// The oldest packet, of `bytes`, has gone into service. Never called where there is a scheduler.
    fn dequeued(&mut self, _bytes: u32, _now: Instant) {}

    /// What is queued now, the packet in service not included.
    fn backlog(&self) -> Backlog;

    /// `None` when packets leave in order of arrival and are dropped at arrival only: then the link keeps the
    /// packets and computes departures ahead.
    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        None
    }
}

/// The part of a queue that keeps its packets and chooses which goes next.
pub trait PacketScheduler {
    /// The next packet to serve, marked if that is the answer to how long it has waited, and in `shed` those
    /// dropped on the way to it (CoDel).
    fn dequeue(&mut self, now: Instant, shed: &mut Vec<PacketId>) -> Option<Dequeued>;
}
