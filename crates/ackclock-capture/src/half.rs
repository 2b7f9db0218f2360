//! One direction of a connection: what its sender sent, what was acknowledged, and what is derived from both.

mod acks;
mod agreed;
mod copies;
mod covered;
mod covering_ack;
mod estimators;
mod expiry;
mod follow;
mod heard;
mod old;
mod on_purpose;
mod path;
mod reached;
mod records;
mod retransmission;
mod segments;
mod sent;
mod situation;
mod space;
mod third_step;
mod unseen;
mod verdicts;

use std::sync::Arc;

use ackclock_units::{Duration, Instant, SeqNumber};

use self::agreed::Agreed;
pub(crate) use self::agreed::segment_size;
pub(crate) use self::estimators::Estimators;
use self::follow::Following;
use self::heard::Heard;
use self::path::Path;
use self::reached::Reached;
pub(crate) use self::records::{ExpiryRecord, RetransmissionRecord};
use self::sent::Sent;
use self::space::SequenceSpace;
use self::verdicts::Verdicts;
use crate::gaps::Gaps;
use crate::limits::{Limits, SendState};
use crate::report::Direction;
use crate::wanted::Wanted;

/// What the other direction and the connection know about a direction's sender and receiver.
pub(crate) struct PeerTimes {
    /// When the current packet would have been seen with the least delay, by its sender's clock.
    pub due: Option<Instant>,
    /// The ticks of the sender's and the receiver's timestamp clock.
    pub tick: Duration,
    pub receiver_tick: Duration,
    /// The round-trip time of the handshake.
    pub handshake: Option<Duration>,
    /// The smoothed round-trip time of the other direction; zero unless `quiet`.
    pub smoothed: Duration,
    /// When the first segment with the timestamp was seen that the current packet echoes, and what it
    /// acknowledged.
    pub echoed: Option<(Instant, SeqNumber)>,
    /// The current packet acknowledges all that the receiver has sent.
    pub acks_all: bool,
    /// A silence may have ended.
    pub quiet: bool,
}

/// One direction of a connection.
#[derive(Debug)]
pub(crate) struct Half {
    /// Counts and results so far.
    pub out: Direction,
    pub space: SequenceSpace,
    pub agreed: Agreed,
    pub sent: Sent,
    pub heard: Heard,
    pub path: Path,
    pub verdicts: Verdicts,
    pub limits: Limits,
    /// What of the acks has reached its sender.
    pub reached: Reached,
    /// Silences as the receiver sees them.
    pub gaps: Gaps,
    pub following: Following,
    /// The number of the current packet in its file.
    pub frame: u64,
    /// The current segment was sent upon an ack.
    pub upon_ack: bool,
    /// Samples are kept.
    samples: bool,
    /// More was outstanding than is kept.
    pub overrun: bool,
}

impl Half {
    pub(crate) fn new(start: Instant, estimators: &Estimators, wanted: &Wanted) -> Self {
        Self {
            out: Direction::default(),
            space: SequenceSpace::default(),
            agreed: Agreed::default(),
            sent: Sent::default(),
            heard: Heard::default(),
            path: Path::new(start, estimators),
            verdicts: Verdicts { known: Arc::clone(&wanted.causes), ..Verdicts::default() },
            limits: Limits::default(),
            reached: Reached::default(),
            gaps: Gaps::default(),
            following: Following::new(wanted),
            frame: 0,
            upon_ack: false,
            samples: wanted.samples,
            overrun: false,
        }
    }

    /// From the connection's first packet to when data was last sent.
    pub(crate) fn lasted(&self) -> Duration {
        self.sent.sent_at.map_or(Duration::ZERO, |at| at.since(self.path.capture_start))
    }

    fn begin(&mut self, seq: SeqNumber) {
        if self.space.begin(seq) {
            self.sent.rounds.end = self.space.una;
        }
    }

    /// Outstanding pieces kept.
    pub(crate) fn pieces(&self) -> usize {
        self.sent.outstanding.len()
    }

    /// Drops the oldest piece, because more is outstanding than is kept.
    pub(crate) fn forget(&mut self) {
        self.overrun |= self.sent.outstanding.forget();
    }

    /// What is in the network: outstanding and not known to have arrived.
    fn pipe(&self) -> u64 {
        let arrived = if self.heard.sacked.is_empty() {
            u64::from(self.heard.dup_acks) * u64::from(self.agreed.mss_or_usual())
        } else {
            self.heard.sacked.bytes_above(self.space.una)
        };
        self.space.flight().saturating_sub(arrived)
    }

    /// The segment size by the handshake, or the largest seen.
    fn mss_or_largest(&self) -> u32 {
        if self.agreed.mss > 0 { self.agreed.mss } else { self.out.mss.max(1) }
    }

    /// The state that decides what its sender may send.
    fn send_state(&self, at: Instant) -> SendState {
        let space = &self.space;
        let (una, window) = self.known_to_sender();
        let room = window.map_or(u64::MAX, |w| (una + w).saturating_sub(space.max));
        SendState {
            at,
            frame: self.frame,
            full: room < u64::from(self.mss_or_largest()),
            repairing: self.verdicts.open_episode.is_some(),
            flight: space.max.saturating_sub(una),
            una,
            max: space.max,
        }
    }

    /// Time in which its sender neither sent nor received anything; `None` if the capture shows neither
    /// before.
    fn quiet_for(&self, at: Instant) -> Option<Duration> {
        let heard = self.heard.news_at.map(|n| at.since(n).saturating_sub(self.path.near));
        let sent = self.sent.sent_at.map(|s| at.since(s));
        heard.into_iter().chain(sent).min()
    }
}
