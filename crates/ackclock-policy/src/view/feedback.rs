//! What a congestion window is told, and what it returns.

use ackclock_units::{Bytes, Duration, Instant, Rate};

use super::{AckInfo, SenderView, Window};
use crate::SlowStart;

/// A congestion signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Congestion {
    /// A loss was inferred from acks.
    Loss,
    /// The retransmission timer expired, or Tahoe's duplicate-ack threshold was reached: the window falls to
    /// the loss window. `repeated` is true for the second and later expiries without progress, when
    /// `ssthresh` must be left alone (RFC 5681 §3.1).
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
    /// It was spurious: nothing had been lost.
    Spurious,
}

/// What happened to a sender, as its congestion window is told.
#[derive(Debug)]
pub enum Feedback<'a> {
    /// An acknowledgment. By default only those on which a window may grow ([`AckInfo::may_grow`]); in every
    /// phase, and those that acknowledge nothing new, where [`Needs::every_ack`] asks for them. With the
    /// connection's rule of slow start, for windows below their threshold to ask.
    Ack(&'a AckInfo, &'a mut dyn SlowStart),
    /// A congestion signal; once per episode (the engine tests "already reduced"). The view is from the
    /// moment of detection.
    Congestion(Congestion),
    /// An episode ended. After a spurious one the view holds the restored window.
    EpisodeEnded(EpisodeEnd),
    /// Data was sent: so many bytes of payload. Only where [`Needs::sends`] asks for it.
    Sent {
        /// Bytes of payload.
        bytes: u32,
        /// True when they had been sent before.
        retransmission: bool,
    },
    /// New data is about to be sent after an idle period of this length, which exceeded the timeout (J-A12,
    /// RFC 5681 §4.1).
    Idle(Duration),
}

/// What a congestion window returns: how much may be in the network, and how fast it leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// Window and threshold. The engine keeps it at one segment at least.
    pub window: Window,
    /// At what rate segments leave; `None` sends as soon as the window allows.
    pub pacing: Option<Pacing>,
}

impl From<Window> for Control {
    /// A window that is not paced.
    fn from(window: Window) -> Self {
        Self { window, pacing: None }
    }
}

/// What slow start makes of an ack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Growth {
    /// Bytes by which the window grows.
    pub bytes: Bytes,
    /// Slow start is over: the threshold becomes the window that has grown.
    pub exit: bool,
}

impl Growth {
    /// The window in force, grown by this.
    pub fn applied_to(self, v: &SenderView) -> Window {
        let cwnd = v.window.cwnd.saturating_add(self.bytes);
        Window { cwnd, ssthresh: if self.exit { cwnd } else { v.window.ssthresh } }
    }
}

/// A pacing rate. The engine spaces what it sends by it, retransmissions included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacing {
    /// Payload, bits per second. The engine sends a segment a second at least.
    pub rate: Rate,
    /// Bytes that leave back to back, a segment at least: one departure is a quantum, and the next one
    /// follows when the rate has paid for it.
    pub quantum: u32,
}

/// To which laws a congestion window holds itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Acks widen it and never narrow it, congestion and idling narrow it and never widen it, and in slow
    /// start it grows by what is acknowledged at most.
    LossBased,
    /// It follows a model of the path or marks on packets, which may narrow it at any ack.
    ModelBased,
}

/// What must be measured or reported for a congestion window. Nothing is kept or called that is not asked
/// for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Needs {
    /// Every acknowledgment, in every phase, rather than those alone on which a window may grow.
    pub every_ack: bool,
    /// [`AckInfo::rate`].
    pub rate_samples: bool,
    /// [`Feedback::Sent`].
    pub sends: bool,
}

/// A sample of the delivery rate, made for each ack that reports delivered data (draft-ietf-ccwg-bbr §4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: Bytes,
    /// Its length: the longer of the time that the newest delivered packet's flight took to send and the time
    /// that its acks took to arrive.
    pub interval: Duration,
    /// All bytes delivered by the connection when that packet was sent: data sent after it belongs to the
    /// next round trip.
    pub prior_delivered: Bytes,
    /// All bytes delivered by the connection.
    pub total_delivered: Bytes,
    /// The application, and not the network, limited what was in flight when that packet was sent.
    pub app_limited: bool,
    /// Bytes marked lost since that packet was sent.
    pub lost: Bytes,
    /// Bytes in the network when that packet had been sent, it included.
    pub prior_in_flight: Bytes,
    /// When that packet was sent.
    pub sent_at: Instant,
}

impl RateSample {
    /// Bytes per time, bits per second. Never reliable over less than the smallest round-trip time, of which
    /// the engine makes no sample.
    pub fn rate(&self) -> Rate {
        Rate::from_transfer(self.delivered, self.interval)
    }
}

impl SenderView {
    /// The window for loss-free feedback of which a rule takes no notice: the one in force, or after idling
    /// the restart window `min(iw, cwnd)` (RFC 5681 §4.1).
    pub fn default_window(&self, f: &Feedback<'_>) -> Window {
        match f {
            Feedback::Idle(_) => Window { cwnd: self.window.cwnd.min(self.initial_window), ..self.window },
            _ => self.window,
        }
    }
}
