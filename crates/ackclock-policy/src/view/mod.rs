//! Inputs and decisions of a connection's policies. All are `Copy`; the views may gain fields.

mod app_io;
mod deadline;
mod deliveries;
mod feedback;
mod playback;
mod queued;
mod receiver;
mod requests;

pub use ackclock_units::Ecn;
use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange};

pub use self::app_io::{AppIo, Wake};
pub use self::deadline::DeadlineAction;
pub use self::deliveries::{Deliveries, Transmission};
pub use self::feedback::{
    Congestion, Control, EpisodeEnd, Family, Feedback, Growth, LostSegment, Needs, Pacing, RateSample,
};
pub use self::playback::Playback;
pub use self::queued::{Admit, Backlog, Dequeued, PacketId, Queued};
pub use self::receiver::{AckAction, AckPending, ArrivedSegment, Forgery, ReceiverEvent, ReceiverView};
pub use self::requests::{Request, Requests, introduce};

/// Congestion window and slow-start threshold, bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Window {
    /// Congestion window (RFC 5681 §2).
    pub cwnd: Bytes,
    /// Slow-start threshold (RFC 5681 §2); [`Bytes::MAX`] until the first congestion.
    pub ssthresh: Bytes,
}

/// Where a sender is in its loss repair (Linux's and ns-3's names).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// No sign of loss or congestion.
    #[default]
    Open,
    /// Duplicate acks or SACKs arrived, too few to infer a loss.
    Disorder,
    /// The window was reduced on an ECN echo; nothing is known to be lost.
    Cwr,
    /// A loss was inferred from acks and is being repaired.
    Recovery,
    /// The retransmission timer expired (or Tahoe restarted from the loss window), and what was outstanding
    /// is being retransmitted.
    Loss,
}

/// What a loss recovery does to the window beyond the reduction that begins an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Adjustment {
    /// Nothing.
    Keep,
    /// Data of a second window was lost within the episode: the window is reduced again, and the episode no
    /// longer counts as clock-preserving.
    Reduce,
    /// Sets the window that the recovery's own reduction (rate-halving) has arrived at.
    SetWindow(Window),
    /// A tail loss probe repaired a loss before it was detected: the window is reduced as for any loss, and
    /// the episode is over (RFC 8985 §7.4.2).
    RepairedByProbe {
        /// Sent and not cumulatively acknowledged when the repair was sent, bytes.
        flight_size: Bytes,
    },
}

/// The state of a sender that its policies may read. Sizes in bytes.
#[derive(Clone, Copy, Debug)]
pub struct SenderView {
    /// Now.
    pub now: Instant,
    /// Oldest unacknowledged sequence number.
    pub snd_una: SeqNumber,
    /// Next new sequence number.
    pub snd_nxt: SeqNumber,
    /// End of the data that was sent: `snd_nxt`, or the sequence number of a FIN once that was sent.
    pub data_end: SeqNumber,
    /// Window in force. With [`Feedback::Congestion`], the one before the reduction.
    pub window: Window,
    /// Initial window that `start` chose.
    pub initial_window: Bytes,
    /// Sent and not cumulatively acknowledged.
    pub flight_size: Bytes,
    /// Estimate of what is in the network (RFC 6675), retransmissions included.
    pub pipe: Bytes,
    /// Window the peer advertises.
    pub rwnd: Bytes,
    /// Largest segment sent.
    pub smss: u32,
    /// Written by the application and not yet sent.
    pub unsent: Bytes,
    /// Less than a full segment of it is held back until everything outstanding is acknowledged, by Nagle's
    /// algorithm (RFC 9293 §3.7.4) or at the application's request.
    pub holds_small: bool,
    /// Phase before this event.
    pub phase: Phase,
    /// `snd_nxt` when the present or last episode began.
    pub recovery_point: SeqNumber,
    /// Consecutive duplicate acks (RFC 5681 §2) seen so far, this one included.
    pub dup_acks: u32,
    /// Consecutive timer expiries without progress.
    pub expiries: u32,
    /// Deadline of the running retransmission timer.
    pub rto_deadline: Option<Instant>,
    /// When the oldest outstanding segment was last sent.
    pub oldest_sent_at: Option<Instant>,
    /// Round-trip times of the estimator.
    pub rtt: Option<Rtt>,
    /// True when SACK was negotiated.
    pub sack: bool,
    /// True when timestamps were negotiated.
    pub timestamps: bool,
    /// True when the peer counts marks, and an ack reports how many (RFC 9768). Only in the view of
    /// [`CongestionControl::start`](crate::CongestionControl::start), since it does not change later.
    pub counts_marks: bool,
}

impl SenderView {
    /// Data sent and not cumulatively acknowledged: FlightSize of RFC 5681 §2, without a FIN.
    pub fn data_outstanding(&self) -> Bytes {
        u64::from(self.data_end.bytes_since(self.snd_una))
    }

    /// Bytes that the congestion window has room for: `cwnd` less `pipe`. The engine limits new data by the
    /// receiver's window too.
    pub fn room(&self) -> Bytes {
        self.window.cwnd.saturating_sub(self.pipe)
    }
}

/// What one ack reports.
#[derive(Clone, Copy, Debug)]
pub struct AckInfo {
    /// Cumulative acknowledgment number.
    pub ack: SeqNumber,
    /// Bytes newly acknowledged cumulatively.
    pub newly_acked: Bytes,
    /// Segments newly acknowledged cumulatively (a part counts as one).
    pub segments_acked: u32,
    /// Bytes newly SACKed.
    pub newly_sacked: Bytes,
    /// Bytes newly delivered: acknowledged or SACKed for the first time. Without SACK a duplicate ack
    /// delivers a segment, which does not count again when it is acknowledged (DeliveredData of RFC 9937
    /// §6.2).
    pub delivered: Bytes,
    /// True for a duplicate ack in the sense of RFC 5681 §2 (with SACK: one that SACKs something new or
    /// repeats, RFC 6675 §2).
    pub is_dup: bool,
    /// True when the ack carried SACK blocks (a DSACK block not counted).
    pub has_sack: bool,
    /// The range that a DSACK block (RFC 2883) reported.
    pub dsack: Option<SeqRange>,
    /// Segments inside `dsack` that were outstanding before this ack and had been sent more than once.
    pub dsack_sent_again: u32,
    /// Its timestamp shows that originals arrive of what a recovery has sent again, and more of that is missing (RFC
    /// 3522 §3.2). Set only where episodes are examined.
    pub acks_original: bool,
    /// The oldest outstanding segment is SACKed: the receiver has forgotten it (RFC 2018 §8). Set only where
    /// the stack does not leave that to the retransmission timer.
    pub reneged: bool,
    /// Round-trip time measured with this ack.
    pub rtt: Option<Duration>,
    /// ECN echo was set; with accurate feedback (RFC 9768), it reports marks that no ack before did.
    pub ece: bool,
    /// Bytes that the receiver reports as marked (CE) with this ack. Without accurate feedback an echo counts
    /// for all bytes that the ack newly acknowledges (RFC 8257 §3.3).
    pub ce_bytes: Bytes,
    /// The window may grow on this ack: it acknowledges new data in a phase in which the window is not held
    /// for a repair (RFC 5681 §3.2, RFC 6675 §5), carries no ECN echo (RFC 3168 §6.1.2), and did not undo a
    /// timeout. Set after the loss recovery was called; false until then.
    pub may_grow: bool,
    /// At least half of the congestion window was in use recently, so that growth is justified (the validated
    /// phase, RFC 7661 §4.3).
    pub validated: bool,
    /// The transmissions that it is the first ack to report; present exactly for a
    /// [time-based](crate::LossRecovery::is_time_based) loss recovery.
    pub deliveries: Option<Deliveries>,
    /// Bytes that were marked lost on this ack. Set after the loss recovery was called; 0 until then.
    pub newly_lost: Bytes,
    /// The delivery rate, where a congestion window [needs](Needs::rate_samples) it and something was
    /// delivered.
    pub rate: Option<RateSample>,
}

/// A timeout of which it is not yet known whether it was spurious.
#[derive(Clone, Copy, Debug)]
pub struct SuspectTimeout {
    /// Window before its reduction.
    pub window: Window,
    /// Sent and not cumulatively acknowledged when the timer expired.
    pub flight_size: Bytes,
    /// `snd_nxt` when the timer expired: everything below had been sent by then.
    pub recover: SeqNumber,
    /// End of what was retransmitted since.
    pub retransmitted_to: SeqNumber,
    /// Set on the first ack of new data after the timeout: true when its timestamp shows that it was elicited
    /// by a segment sent before the first retransmission (RFC 3522 §3.2). `None` on other acks and without
    /// timestamps.
    pub acks_original: Option<bool>,
    /// The ack reports, cumulatively or by SACK, a segment that no ack had reported before and that was sent
    /// once, before the timeout.
    pub sent_once_arrived: bool,
    /// The receiver has sent a DSACK (RFC 2883) before, and so would report a duplicate again (RFC 3522 §3.2,
    /// step 5).
    pub dsack_seen: bool,
}

/// What an ack shows about a timeout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeoutVerdict {
    /// Nothing yet: continue to repair.
    Unknown,
    /// Nothing yet: send new segments now, whatever the congestion window allows, and retransmit nothing
    /// until there is a verdict.
    SendNew {
        /// Number of new segments; `u32::MAX` for as many as the congestion window allows after all.
        segments: u32,
    },
    /// Nothing yet: what is lost is sent again all the same, although new segments were sent.
    Repair,
    /// Something was lost: continue to repair.
    Genuine,
    /// The timeout was spurious: nothing was lost.
    Spurious,
}

/// A loss episode of which it is not yet known whether its retransmissions were spurious.
#[derive(Clone, Copy, Debug)]
pub struct SuspectEpisode {
    /// Window before its reduction.
    pub window: Window,
    /// `snd_una` when it began.
    pub start: SeqNumber,
    /// `snd_nxt` when it began.
    pub recover: SeqNumber,
    /// True when the ack's timestamp shows that it was elicited by a segment sent before the first
    /// retransmission of the episode; `None` without timestamps.
    pub acks_original: Option<bool>,
}

/// What an ack shows about the retransmissions of an episode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpisodeVerdict {
    /// Nothing yet.
    Unknown,
    /// Nothing that acks could still show would undo the reduction.
    Genuine,
    /// Nothing was lost: the window is restored.
    Spurious,
    /// And what is marked lost, and was not sent again, is only late.
    AllLate,
    /// The reduction was not due. Where something else is lost, the loss recovery begins another one.
    Reported,
}

/// Round-trip times known to an estimator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rtt {
    /// Latest sample.
    pub latest: Duration,
    /// Smoothed.
    pub srtt: Duration,
    /// Smoothed mean deviation.
    pub rttvar: Duration,
    /// Smallest sample.
    pub min_rtt: Duration,
}

/// One valid round-trip time sample, with the state that scaled estimators need.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RttSample {
    /// When the ack arrived.
    pub now: Instant,
    /// The sample.
    pub rtt: Duration,
    /// Bytes in flight when the ack arrived, before it was processed.
    pub flight_size: Bytes,
    /// Window in force.
    pub window: Window,
    /// Largest segment sent.
    pub smss: u32,
    /// Samples per outstanding segment: 1 where every segment is timed and acked, 1/2 with delayed acks,
    /// 1/load where one segment per round trip is timed.
    pub sampling_rate: f64,
    /// From what is acknowledged to what has been sent, after the ack; none where sequence numbers are not
    /// known, as in a series of times.
    pub outstanding: Option<SeqRange>,
}

/// How new data is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Largest payload of the segment, bytes: at least one, and no more than `smss`. A segment of this size
    /// counts as full.
    pub most: u32,
    /// Copies sent back to back, at least one.
    pub copies: u32,
}

/// An event of the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerEvent {
    /// A segment was sent (`retransmission` or new); the timer may or may not be running.
    Sent {
        /// True for a retransmission.
        retransmission: bool,
    },
    /// New data was acknowledged and more is outstanding.
    Acked,
    /// Everything outstanding was acknowledged.
    AllAcked,
    /// The timer expired; the timeout is already backed off.
    Expired,
    /// A tail loss probe is sent, with which the timer restarts (RFC 8985 §7.3).
    Probed,
}

/// The state that a retransmission timer may read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimerView {
    /// Now.
    pub now: Instant,
    /// When the running timer expires.
    pub deadline: Option<Instant>,
    /// When the oldest outstanding segment was last sent.
    pub oldest_sent_at: Option<Instant>,
    /// When the timer last expired or was restarted with a probe.
    pub restarted_at: Instant,
    /// When a segment was last sent, new or again.
    pub last_sent_at: Instant,
    /// Segments sent and not cumulatively acknowledged.
    pub outstanding_segs: u32,
    /// Written by the application and not yet sent, bytes.
    pub unsent: Bytes,
    /// Largest segment sent, bytes.
    pub smss: u32,
    /// Phase of the loss repair.
    pub phase: Phase,
}

/// What to do with the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerAction {
    /// Leave it as it is.
    Keep,
    /// Let it expire at this moment (at once if that is in the past).
    Arm(Instant),
    /// Stop it.
    Disarm,
}

/// An expiry of the retransmission timer, with the state just before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expiry {
    /// Expiries in a row before this one, without progress.
    pub expiries: u32,
    /// Level of the backoff before it.
    pub level: u32,
    /// Sent and not cumulatively acknowledged, bytes.
    pub flight_size: Bytes,
    /// Largest segment sent, bytes.
    pub smss: u32,
}

/// An outstanding segment on the scoreboard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentSegment {
    /// Its bytes.
    pub range: SeqRange,
    /// When it was last sent.
    pub xmit_ts: Instant,
    /// Transmissions so far; the engine counts no further than four.
    pub transmissions: u32,
    /// SACKed.
    pub sacked: bool,
    /// Marked lost and not retransmitted since.
    pub lost: bool,
}

impl SentSegment {
    /// Its last transmission.
    pub fn transmission(&self) -> Transmission {
        Transmission { xmit_ts: self.xmit_ts, end_seq: self.range.end }
    }
}

/// Private state of a policy for a trace: named numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PrivateState(pub Vec<(&'static str, f64)>);

impl PrivateState {
    /// Adds a named number.
    pub fn number(&mut self, name: &'static str, value: f64) {
        self.0.push((name, value));
    }
}
