//! The inputs of a congestion window, and what it returns.

use ackclock_units::{Bytes, Duration, Instant, Rate, SeqRange};

use super::{AckInfo, SenderView, Window};
use crate::SlowStart;

/// A congestion signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// A loss was inferred from acks.
    Loss,
    /// The retransmission timer expired, or Tahoe's duplicate-ack threshold was reached: the window falls to
    /// the loss window. `repeated` is true for the second and later expiries without progress, when
    /// `ssthresh` must stay as it is (RFC 5681 §3.1).
    Rto {
        /// True when the same data had timed out before.
        repeated: bool,
    },
    /// An ECN echo (RFC 3168 §6.1.2).
    Ecn,
}

/// How an episode ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpisodeEnd {
    /// Everything outstanding at its beginning was acknowledged.
    Completed,
    /// It was spurious: nothing had been lost, and the window was restored.
    Spurious,
}

/// What happened to a sender, as reported to its congestion window.
#[derive(Debug)]
pub enum Feedback<'a> {
    /// An acknowledgment. By default only one on which the window may grow ([`AckInfo::may_grow`]); with
    /// [`Needs::every_ack`] any ack in any phase, also one that acknowledges nothing new. The connection's
    /// slow start comes with it, for windows below their threshold.
    Ack(&'a AckInfo, &'a mut dyn SlowStart),
    /// A congestion signal, once per episode (the engine checks whether the window was already reduced). The
    /// view is from the moment of detection.
    Congestion(Congestion),
    /// An episode ended. After a spurious one the view has the restored window.
    EpisodeEnded(EpisodeEnd),
    /// Data was sent. Only with [`Needs::sends`].
    Sent {
        /// Bytes of payload.
        bytes: u32,
        /// True when they had been sent before.
        retransmission: bool,
        /// The application limited the data in flight until now (P.is_app_limited of draft-ietf-ccwg-bbr
        /// §4.1.2.2). Only with [`Needs::rate_samples`].
        app_limited: bool,
    },
    /// A segment was marked lost, before any [`Feedback::Congestion`] that this causes; at an expiry of the
    /// retransmission timer after it. Only with [`Needs::losses`].
    Lost(LostSegment),
    /// New data is about to be sent after an idle period of this length, longer than the timeout (J-A12, RFC
    /// 5681 §4.1).
    Idle(Duration),
}

/// What a congestion window returns: how much may be in the network, and how fast it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// Window and threshold. The engine keeps it at one segment at least.
    pub window: Window,
    /// Pacing; with `None` segments are sent as soon as the window allows.
    pub pacing: Option<Pacing>,
}

impl From<Window> for Control {
    /// A window that is not paced.
    fn from(window: Window) -> Self {
        Self { window, pacing: None }
    }
}

/// How slow start responds to an ack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Bytes by which the window grows.
    pub bytes: Bytes,
    /// Slow start is over: the threshold becomes the window that has grown.
    pub exit: bool,
}

impl Growth {
    /// The window in force after this growth.
    pub fn applied_to(self, v: &SenderView) -> Window {
        let cwnd = v.window.cwnd.saturating_add(self.bytes);
        Window { cwnd, ssthresh: if self.exit { cwnd } else { v.window.ssthresh } }
    }
}

/// A pacing rate. The engine spaces all segments by it, retransmissions included, but for what a timeout or a tail
/// loss probe sends when its timer expires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// Payload, bits per second. The engine sends at least one segment a second.
    pub rate: Rate,
    /// Bytes sent back to back, at least one segment. The next quantum leaves when the rate allows it.
    pub quantum: u32,
}

/// Which laws a congestion window keeps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Acks never shrink the window, congestion signals and idling never grow it, and in slow start it grows
    /// by at most what is acknowledged.
    LossBased,
    /// Growing delays shrink the window before anything is lost. Congestion signals and idling never grow it,
    /// an unused window does not grow, and in slow start it grows by at most what is acknowledged.
    DelayBased,
    /// The window follows a model of the path or marks on packets, and may shrink on any ack.
    ModelBased,
}

/// What must be measured or reported for a congestion window. What no policy needs is neither measured nor
/// reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Every acknowledgment, in every phase, rather than only those on which the window may grow.
    pub every_ack: bool,
    /// An ack that carries an ECN echo before the [`Congestion::Ecn`] that it causes, which otherwise comes
    /// first. Only with [`Needs::every_ack`].
    pub echo_after_ack: bool,
    /// [`AckInfo::rate`].
    pub rate_samples: bool,
    /// [`Feedback::Sent`].
    pub sends: bool,
    /// ECT(1) on its data rather than ECT(0), for queues of the L4S service (RFC 9331 §4.1). The engine sets
    /// it where the peer counts marks ([`SenderView::counts_marks`]).
    pub ect1: bool,
    /// [`Feedback::Lost`], with the state of delivery when the segment was sent.
    pub losses: bool,
    /// A stream of random numbers ([`CongestionControl::seed`](crate::CongestionControl::seed)).
    pub random: bool,
    /// It decides how much is sent during a repair too: a [`Reduction`](crate::Reduction) is not used beside
    /// it, and what a loss leaves of the window is its own.
    pub owns_repair: bool,
}

/// A segment that was marked lost (HandleLostPacket() of draft-ietf-ccwg-bbr §5.5.10.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LostSegment {
    /// Its bytes.
    pub range: SeqRange,
    /// Bytes in the network when it had been sent, including it (P.tx_in_flight).
    pub in_flight: Bytes,
    /// Bytes marked lost since it was sent, including it (C.lost - P.lost).
    pub lost: Bytes,
    /// All bytes delivered by the connection (C.delivered).
    pub total_delivered: Bytes,
    /// The application, not the network, limited the data in flight when it was sent (P.is_app_limited).
    pub app_limited: bool,
}

/// A sample of the delivery rate, taken for each ack that reports delivered data (draft-ietf-ccwg-bbr §4.1).
/// "That packet" is the one sent last of those that the ack delivered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: Bytes,
    /// Length of the interval: the longer of the time in which the flight of that packet was sent, and the
    /// time in which it was acknowledged. Zero where that is shorter than the smallest round-trip time: the
    /// rate would not be reliable.
    pub interval: Duration,
    /// All bytes delivered by the connection when that packet was sent; data sent later belongs to the next
    /// round trip.
    pub prior_delivered: Bytes,
    /// All bytes delivered by the connection.
    pub total_delivered: Bytes,
    /// The application, not the network, limited the data in flight when that packet was sent.
    pub app_limited: bool,
    /// Bytes marked lost since that packet was sent.
    pub lost: Bytes,
    /// Bytes in the network when that packet had been sent, including it.
    pub prior_in_flight: Bytes,
    /// When that packet was sent.
    pub sent_at: Instant,
    /// Its round-trip time, if it was sent only once.
    pub rtt: Option<Duration>,
}

impl RateSample {
    /// The delivery rate, bits per second; zero where it is not reliable.
    pub fn rate(&self) -> Rate {
        Rate::from_transfer(self.delivered, self.interval)
    }
}

impl SenderView {
    /// The window for feedback without a loss that a policy ignores: the window in force, or after idling the
    /// restart window `min(iw, cwnd)` (RFC 5681 §4.1).
    pub fn default_window(&self, f: &Feedback<'_>) -> Window {
        match f {
            Feedback::Idle(_) => Window { cwnd: self.window.cwnd.min(self.initial_window), ..self.window },
            _ => self.window,
        }
    }
}
