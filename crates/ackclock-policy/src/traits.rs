//! One trait for each kind of policy that can be replaced.

use std::fmt::Debug;

use ackclock_units::{Bytes, Duration, Instant, Rng, SeqNumber, SeqRange};

use crate::view::*;

/// What every policy has: a name, and private state that a trace may record.
pub trait Policy: Send + Debug {
    /// Its name in the registry.
    fn name(&self) -> &str;

    /// Adds private state to `state`, one named number at a time. Called only while tracing.
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

    /// [`RttEstimator::rto`] with `floor` in place of the estimator's own smallest timeout (I-A5); bounds
    /// that follow from the ticks of its clock still apply. By default there is no such floor.
    fn rto_above(&self, _floor: Duration) -> Duration {
        self.rto()
    }

    /// The retransmission timeout before the first sample (RFC 6298 §2.1), which a SYN uses.
    fn initial_rto(&self) -> Duration;

    /// Called when a timeout turns out to have been spurious (the original segment was acknowledged). Does
    /// nothing by default.
    fn on_spurious_timeout(&mut self) {}

    /// Sets the smoothed round-trip time and the deviation: to values saved before a spurious timeout, to
    /// values made from the first sample after it (RFC 4015 §3.6), or to the initial values of a model. The
    /// timeout follows by the estimator's own formula. Does nothing by default.
    fn set_estimates(&mut self, _srtt: Duration, _rttvar: Duration) {}

    /// G, the granularity of its clock (RFC 6298 §2). Zero by default.
    fn granularity(&self) -> Duration {
        Duration::ZERO
    }

    /// Called when a timer expires for the `expiries`-th time in a row (1 for the first). Does nothing by
    /// default.
    fn on_expiry(&mut self, _expiries: u32) {}

    /// Called when a connection is established of whose handshake there is no round-trip time: SYN or SYN-ACK was
    /// sent more than once, and no timestamp tells which is acknowledged. Does nothing by default.
    fn on_unmeasured_handshake(&mut self) {}

    /// True when it takes samples of retransmitted segments too ([`RttEstimator::on_weak_sample`]). Read when
    /// the retransmission timer expires.
    fn takes_weak_samples(&self) -> bool {
        false
    }

    /// Takes a sample that Karn's rule forbids: the time from the first transmission of a segment that was
    /// sent again by `retransmissions` timeouts until its ack. Does nothing by default.
    fn on_weak_sample(&mut self, _s: RttSample, _retransmissions: u32) {}

    /// Called when new data is about to be sent after an idle period, longer than the timeout. Does nothing
    /// by default.
    fn on_idle(&mut self, _now: Instant) {}
}

/// Backs off the timeout of a segment that has timed out before, and decides when to give up.
///
/// It keeps no state. The caller keeps the level of the backoff, so that a connection, a what-if over a
/// capture and a table of timeouts compute the same values. The level is 0 without backoff, and returns to 0
/// after progress (by Karn's rule, after a valid sample).
pub trait Backoff: Policy {
    /// The level after an expiry of the retransmission timer. By default one more: the level is then the
    /// number of expiries in a row.
    fn level(&self, e: &Expiry) -> u32 {
        e.level.saturating_add(1)
    }

    /// The timeout at `level`; at level 0 it is `rto` itself.
    fn timeout(&self, rto: Duration, level: u32, rng: &mut Rng) -> Duration;

    /// The timeout of a SYN or SYN-ACK after `expiries` expiries in a row. By default that of data at the
    /// same level.
    fn syn_timeout(&self, rto: Duration, expiries: u32, rng: &mut Rng) -> Duration {
        self.timeout(rto, expiries, rng)
    }

    /// Returns true when an attempt to connect should be given up at an expiry, after `sent_again`
    /// retransmissions of the SYN and `waited` since the first one. `most`: the limit of the connection's
    /// configuration. By default the limit is a count.
    fn give_up_syn(&self, sent_again: u32, most: u32, _rto: Duration, _waited: Duration) -> bool {
        sent_again >= most
    }

    /// The timeout of a SYN-ACK, where that of a SYN is another one. By default it is the same.
    fn syn_ack_timeout(&self, rto: Duration, expiries: u32, rng: &mut Rng) -> Duration {
        self.syn_timeout(rto, expiries, rng)
    }

    /// Returns true when the connection should be given up after `expiries` consecutive expiries and `waited`
    /// since the first transmission (R2, RFC 9293 §3.8.3). SYNs have a limit of their own in the connection's
    /// configuration.
    fn give_up(&self, expiries: u32, waited: Duration) -> bool;
}

/// Decides when the retransmission timer is started, restarted and stopped. The length of the timeout is not
/// its concern.
///
/// It keeps no state. The caller keeps the deadline and the time of the last restart, so that a connection
/// and a what-if over a capture compute the same deadlines.
pub trait RetransmissionTimer: Policy {
    /// What to do with the timer at an event. `timeout` is the timeout in force, backoff included.
    fn on(&self, e: TimerEvent, timeout: Duration, v: &TimerView) -> TimerAction;

    /// Called when the deadline is reached. Returns a later one that is waited for instead, for timers that
    /// count from the last transmission: new data sent while the timer runs is not reported to them. By
    /// default the timer expires.
    fn postponed(&self, _timeout: Duration, _v: &TimerView) -> Option<Instant> {
        None
    }
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

    /// True when a segment is marked lost and not SACKed, whether it was retransmitted since or not.
    fn has_marked_lost(&self) -> bool;

    /// True when retransmissions count as in the network, or the oldest segment was sent more than once.
    fn has_retransmissions(&self) -> bool;
}

/// Decides which segments are lost, and what is sent next while losses are repaired.
///
/// The engine keeps the marks of segments (lost, SACKed, retransmitted) on the scoreboard and computes `pipe`
/// from them. On a connection without SACK it counts each duplicate ack as one segment that left the network,
/// so that the window is not inflated (an equivalent form of RFC 5681 §3.2 and RFC 6582).
pub trait LossRecovery: Policy {
    /// Called for each acceptable ack, after the scoreboard was updated (cumulatively acknowledged segments
    /// removed, SACK marks set). The engine marks as lost the un-SACKed segments in the ranges pushed to
    /// `lost`. Returns the phase of the sender from now on. Returning [`Phase::Recovery`] from another phase
    /// begins a loss episode: the engine saves `recovery_point` and the window is reduced. Returning
    /// [`Phase::Loss`] outside a timeout restarts from the loss window (Tahoe). The phases Recovery, Loss and
    /// Cwr end only by the return value of this method.
    fn on_ack(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase;

    /// True when the ack that has ended a recovery, by [`LossRecovery::on_ack`], begins another one at once, with a
    /// reduction of its own. Read once after each such ack of a [time-based](LossRecovery::is_time_based) recovery.
    fn begins_another(&mut self) -> bool {
        false
    }

    /// Called when the retransmission timer expires. By default everything outstanding and un-SACKed is
    /// marked lost (RFC 6582 §4, RFC 6675 §5.1). The phase becomes Loss with `recovery_point = snd_nxt`.
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
        DeadlineAction { phase: v.phase, probe: None, rearms: false, repairs_only: false }
    }

    /// When [`LossRecovery::on_deadline`] is to be called. Read after each call of a
    /// [time-based](LossRecovery::is_time_based) recovery.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// True for a recovery that detects losses by time (RFC 8985). It gets the transmissions that an ack
    /// reports ([`AckInfo::deliveries`]), and [`LossRecovery::update_deadline`] is called on it. Read once,
    /// before the first data is sent.
    fn is_time_based(&self) -> bool {
        false
    }

    /// Called on a time-based recovery when new data was sent or acknowledged, after the retransmission timer
    /// was updated (`v.rto_deadline`), to set its own [deadline](LossRecovery::deadline). `sent`: new data was sent,
    /// while this retransmission timeout was in force.
    fn update_deadline(&mut self, _b: &dyn ScoreboardView, _v: &SenderView, _sent: Option<Duration>) {}

    /// True where the [deadline](LossRecovery::deadline) takes the place of the retransmission timer's, which
    /// then does not fire before it. RFC 8985 §6.3 and §7.2 leave that open; Linux has one timer for both.
    fn shares_timer(&self) -> bool {
        false
    }

    /// True where an ack that acknowledges nothing new may grow the window by what it SACKs, outside of a
    /// reduction. RFC 5681 §3.1 counts what is acknowledged.
    fn grows_out_of_order(&self) -> bool {
        false
    }

    /// What to send next; called while the phase is not Open or segments are marked lost: an outstanding
    /// range to retransmit, a range that starts at `v.snd_nxt` for new data (the engine cuts it to the data
    /// there is), or `None` to send nothing.
    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange>;

    /// Called when `sent` was transmitted or retransmitted as [`LossRecovery::next_seg`] returned it.
    fn on_retransmit(&mut self, _sent: SeqRange, _v: &SenderView) {}

    /// A change of the window beyond the reduction that begins an episode. Called after each ack before or
    /// after which the phase is not Open (for a time-based recovery after every ack), once all other effects
    /// of the ack are in `v`, and before [`LossRecovery::quota`].
    fn adjust(&mut self, _v: &SenderView) -> Adjustment {
        Adjustment::Keep
    }

    /// Bytes that may be sent now. Called after each ack and expiry outside the Open phase; in Open the quota
    /// is `v.room()`, which is also the default. Fast retransmit is sent whatever the window allows (RFC 5681
    /// §3.2 step 3), so that fast recoveries return at least one segment then. Rate-halving overrides this,
    /// and so do recoveries without Limited Transmit in Disorder. In a stack with a [`Reduction`], that
    /// decides during Recovery.
    fn quota(&mut self, v: &SenderView) -> Bytes {
        v.room()
    }

    /// Called when the last timeout turned out to be spurious, after its marks were undone.
    fn on_undo(&mut self, _v: &SenderView) {}
}

/// Detects spurious timeouts (the original segment had arrived or was on its way), and decides with what
/// window the sender resumes after one.
///
/// From an expiry for which [`SpuriousTimeout::on_rto`] returns true until a verdict, the engine saves the
/// window, the phase and the scoreboard's marks from before it. On [`TimeoutVerdict::Spurious`] it restores
/// the marks and continues with new data.
pub trait SpuriousTimeout: Policy {
    /// Called when the retransmission timer expires, with `v` as it is before anything is reduced or marked
    /// (`v.expiries` is 0 for the first expiry). Returns false when this timeout will not be examined; state
    /// saved for an earlier one is then dropped. By default no timeout is examined.
    fn on_rto(&mut self, _v: &SenderView) -> bool {
        false
    }

    /// Called for each acceptable ack from then on until there is a verdict, after the scoreboard was updated
    /// and before the loss recovery. By default every timeout counts as a loss.
    fn on_ack(
        &mut self,
        _a: &AckInfo,
        _t: &SuspectTimeout,
        _b: &dyn ScoreboardView,
        _v: &SenderView,
    ) -> TimeoutVerdict {
        TimeoutVerdict::Genuine
    }

    /// The window to resume with after [`TimeoutVerdict::Spurious`]; by default the one in force.
    fn resume(&mut self, _a: &AckInfo, _t: &SuspectTimeout, v: &SenderView) -> Window {
        v.window
    }

    /// True when the first round-trip time sample of data sent after [`TimeoutVerdict::Spurious`] sets the
    /// estimates anew (RFC 4015 §3.6, step 11). By default it is an ordinary sample.
    fn adapts_timer(&self) -> bool {
        false
    }

    /// True when it also examines whole episodes, by the duplicates that the receiver reports or by
    /// timestamps. The methods below are called on such a policy only. Always the same; read as an episode
    /// begins and at each retransmission.
    fn examines_episodes(&self) -> bool {
        false
    }

    /// A loss episode begins: a recovery, or a timeout outside of one. `v` is from before its reduction.
    fn on_episode(&mut self, _b: &dyn ScoreboardView, _v: &SenderView) {}

    /// `sent` was retransmitted, in an episode or as a tail loss probe.
    fn on_retransmit(&mut self, _sent: SeqRange, _v: &SenderView) {}

    /// Called for acks after the scoreboard was updated and before the loss recovery, until there is a verdict
    /// or another episode begins: for all of them during the episode, and for those with a DSACK afterwards.
    fn on_episode_ack(
        &mut self,
        _a: &AckInfo,
        _e: &SuspectEpisode,
        _b: &dyn ScoreboardView,
        _v: &SenderView,
    ) -> EpisodeVerdict {
        EpisodeVerdict::Genuine
    }
}

/// Windows that a send buffer holds which grows with them (`tcp_sndbuf_expand`): what is outstanding, and as much again
/// for a round trip of repairs.
pub const BUFFERED_WINDOWS: u64 = 2;

/// Decides the congestion window, and the pacing rate if it paces.
///
/// A function of feedback: it is called on each event and returns the window from now on. The engine keeps
/// the window at one segment at least, paces and traces.
pub trait CongestionControl: Policy {
    /// Which family's laws it keeps, in addition to those of every window.
    fn family(&self) -> Family {
        Family::LossBased
    }

    /// What must be measured or reported for it. Read once, before [`CongestionControl::start`].
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Gives it random numbers of its own, a stream of the run's seed. Called before
    /// [`CongestionControl::start`], only with [`Needs::random`].
    fn seed(&mut self, _rng: Rng) {}

    /// The window of a new connection; called once the segment size is known.
    fn start(&mut self, v: &SenderView) -> Control;

    /// The window and pacing after this feedback. For kinds of feedback that it ignores, a policy returns
    /// [`SenderView::default_window`].
    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control;

    /// How many of its windows a send buffer holds that grows with them (Linux's `sndbuf_expand`).
    fn buffered_windows(&self) -> u64 {
        BUFFERED_WINDOWS
    }

    /// The pacing gain, while the times of its gains are drawn at random; `None` otherwise.
    fn drawn_gain(&self) -> Option<f64> {
        None
    }

    /// A sender that is followed has paced with `gain` for a round trip, while
    /// [`drawn_gain`](CongestionControl::drawn_gain) was another one: it has drawn another time, from which this goes
    /// on.
    fn follow_gain(&mut self, _gain: f64, _now: Instant) {}
}

/// Decides how much is sent while a loss is repaired, independent of the loss recovery: the reduction of the
/// window is spread over the recovery (RFC 9937).
///
/// Called in the Recovery phase only. The congestion window has already reduced (`v.window`); that window
/// applies again when the recovery is over.
pub trait Reduction: Policy {
    /// Called when a recovery begins, after the window was reduced and before the first retransmission.
    /// `before`: the window before it was reduced.
    fn begin(&mut self, before: Window, v: &SenderView);

    /// Called for each ack during the recovery, the one that begins it included, with what it delivered
    /// ([`AckInfo::delivered`]) and found lost ([`AckInfo::newly_lost`]). Returns the bytes that may be sent
    /// now.
    fn on_ack(&mut self, a: &AckInfo, v: &SenderView) -> Bytes;

    /// Called when a timer of the loss recovery, rather than an ack, has begun the recovery (RFC 8985 §6.2)
    /// and found `newly_lost` bytes lost. Returns the bytes that may be sent now; by default what the window
    /// has room for.
    fn on_timer(&mut self, _newly_lost: Bytes, v: &SenderView) -> Bytes {
        v.room()
    }

    /// Called when a segment of `bytes` bytes of payload was sent, new data or a retransmission. `smss`: the
    /// largest segment.
    fn on_sent(&mut self, bytes: u32, smss: u32);

    /// True when it leaves the quota to the loss recovery. The engine then calls none of its methods.
    fn is_default(&self) -> bool {
        false
    }
}

/// Decides how a window below its threshold grows, and whether slow start ends before the threshold or a
/// loss.
pub trait SlowStart: Policy {
    /// Called by a congestion window for each ack on which it may grow while it is below its threshold.
    /// `most`: bytes that the window's own byte counting lets this ack add (RFC 5681 §3.1 eq. 2, RFC 3465
    /// §2.2); a policy with its own counting need not use it.
    fn on_ack(&mut self, a: &AckInfo, most: Bytes, v: &SenderView) -> Growth;

    /// True when it returns `most` for every ack. The engine then need not call it.
    fn is_default(&self) -> bool {
        false
    }
}

/// Decides into what segments new data is cut, and how many copies of each are sent.
pub trait Framing: Policy {
    /// Called for each segment of new data before it is cut; `v.unsent` is not zero. The engine limits the
    /// result by the room that the options leave in a segment, by the windows and by the unsent data. Copies
    /// are sent only as far as the congestion window has room for them.
    fn frame(&mut self, v: &SenderView) -> Frame;

    /// True when it always returns a full segment, sent once. The engine then need not call it.
    fn is_default(&self) -> bool {
        false
    }
}

/// Decides when a receiver acknowledges.
pub trait AckPolicy: Policy {
    /// Called for each arriving segment that carries data in order, with no gap above it; everything else
    /// (out of order, gap filled, FIN) is acknowledged at once by the engine (RFC 5681 §4.2), unless
    /// [`AckPolicy::holds_out_of_order`] is true.
    fn on_arrival(&mut self, s: &ArrivedSegment, p: &AckPending) -> AckAction;

    /// True when out-of-order segments are *not* acknowledged at once either (old receivers).
    fn holds_out_of_order(&self) -> bool {
        false
    }

    /// True for a policy that needs more than arrivals: [`AckPolicy::on_event`] is then called in place of
    /// [`AckPolicy::on_arrival`]. Read once, before the connection opens.
    fn follows_events(&self) -> bool {
        false
    }

    /// Called on each [`ReceiverEvent`], if the policy follows events. `p`: what is unacknowledged, a FIN not
    /// counted; after [`ReceiverEvent::Acked`] nothing is.
    fn on_event(&mut self, _e: ReceiverEvent, _p: &AckPending, _v: &ReceiverView) -> AckAction {
        AckAction::Hold
    }
}

/// Spaces the packets of a source that has no window (J-A15).
pub trait RateControl: Policy {
    /// Called with each packet sent. Returns the time until the next one, which is never zero.
    fn on_sent(&mut self) -> Duration;

    /// Called when the receiver has reported congestion: once for all packets that were in flight when the
    /// rate was last reduced.
    fn on_congestion(&mut self);
}

/// What runs above a connection.
pub trait Application: Policy {
    /// Called when the connection is established and at each wake-up that it requested. It may be called
    /// early.
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, rng: &mut Rng) -> Wake;

    /// Called before all else in a world whose clock does not begin with the run: when the run began. Without
    /// a call that is [`Instant::ZERO`].
    fn run_began(&mut self, _at: Instant) {}

    /// The contents of the requests that it will make, for the application at the other end.
    fn requests(&self) -> Option<Requests> {
        None
    }

    /// Called before the connection is established, with the contents of the requests that the other end will
    /// make. Returns false if it does not respond to requests.
    fn serve(&mut self, _requests: Requests) -> bool {
        false
    }

    /// True if it waits for the clients of other flows ([`Wake::Barrier`]), which not every world supports.
    fn waits_for_others(&self) -> bool {
        false
    }

    /// What it has played until `now`, if it is a player.
    fn playback(&self, _now: Instant) -> Option<Playback> {
        None
    }

    /// Memory of the lists that grow as it runs, bytes. A run that would hold too much ends with an error.
    fn held_bytes(&self) -> u64 {
        0
    }
}

/// A queue in front of a link.
pub trait QueueDiscipline: Policy {
    /// Queues, marks or drops an arriving packet. `PushOut`, for queues with a scheduler, drops another
    /// packet from the queue and queues this one.
    fn enqueue(&mut self, p: Queued, now: Instant, rng: &mut Rng) -> Admit;

    /// Called when the oldest packet, of `bytes`, leaves the queue for transmission. Never called on a queue
    /// with a scheduler.
    fn dequeued(&mut self, _bytes: u32, _now: Instant) {}

    /// What is queued now, without the packet being transmitted.
    fn backlog(&self) -> Backlog;

    /// Returns `None` when packets leave in order of arrival and are dropped at arrival only. The link then
    /// keeps the packets and computes their departures in advance.
    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        None
    }

    /// Memory of what it keeps for packets and flows, bytes. A run that would hold too much ends with an
    /// error.
    fn held_bytes(&self) -> u64 {
        0
    }
}

/// The part of a queue that keeps its packets and chooses which one leaves next.
pub trait PacketScheduler {
    /// The next packet to transmit, possibly marked for its sojourn time, and in `shed` the packets dropped
    /// before it (CoDel).
    fn dequeue(&mut self, now: Instant, shed: &mut Vec<PacketId>) -> Option<Dequeued>;

    /// Called after an [`Admit::PushOut`]: the packets dropped together with the one that it names. By
    /// default there are none.
    fn pushed_out(&mut self, _shed: &mut Vec<PacketId>) {}

    /// When to call [`PacketScheduler::dequeue`] again after it returned nothing although packets wait, as a
    /// scheduler that paces does. An arrival makes the link try earlier. By default the next arrival is
    /// awaited.
    fn next_release(&self) -> Option<Instant> {
        None
    }
}
