//! What few connections ever need, out of line: there are many connections, and most of them are plain.

use std::ops::Deref;

use ackclock_policy::Needs;
use ackclock_units::{Instant, SeqNumber, SeqRange, seldom};
use ackclock_wire::Segment;

use super::copies::Copies;
use super::ecn::EcnState;
use super::forge::Forged;
use super::icmp::ClaimedSize;
use super::skip_test::SkipTest;
use super::undo::{Rebase, Watched};
use crate::Pacer;

/// Reads as its initial value until [`Rare::make`] allocates it. What only clears something uses
/// [`Rare::reset`], which allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Rare(Option<Box<RareState>>);

impl Deref for Rare {
    type Target = RareState;

    #[inline]
    fn deref(&self) -> &RareState {
        static INITIAL: RareState = RareState::INITIAL;
        self.0.as_deref().unwrap_or(&INITIAL)
    }
}

impl Rare {
    /// The state, to change it; allocated by the first change.
    #[inline]
    pub(super) fn make(&mut self) -> &mut RareState {
        self.0.get_or_insert_with(Self::allocate)
    }

    #[cold]
    #[inline(never)]
    fn allocate() -> Box<RareState> {
        Box::new(RareState::INITIAL)
    }

    /// Tests the state; false for the initial value, for which one comparison decides.
    #[inline(always)]
    pub(super) fn says(&self, question: impl FnOnce(&RareState) -> bool) -> bool {
        seldom(self.0.is_some()) && self.0.as_deref().is_some_and(question)
    }

    /// The state, where it is allocated.
    #[inline(always)]
    pub(super) fn changed(&mut self) -> Option<&mut RareState> {
        if self.is_changed() { self.0.as_deref_mut() } else { None }
    }

    /// Sets parts back to their initial value.
    #[inline]
    pub(super) fn reset(&mut self, change: impl FnOnce(&mut RareState)) {
        if let Some(state) = self.changed() {
            change(state);
        }
    }

    /// An optional part, to change it.
    #[inline]
    pub(super) fn part<T>(&mut self, part: impl FnOnce(&mut RareState) -> Option<&mut T>) -> Option<&mut T> {
        self.changed().and_then(part)
    }

    /// Takes an optional part out.
    #[inline]
    pub(super) fn take<T>(&mut self, part: impl FnOnce(&mut RareState) -> &mut Option<T>) -> Option<T> {
        self.changed().and_then(|state| part(state).take())
    }

    /// True when the state is allocated.
    #[inline(always)]
    pub(super) fn is_changed(&self) -> bool {
        seldom(self.0.is_some())
    }

    /// The timeout about which the verdict is out, if there is one.
    #[inline]
    pub(super) fn watched_mut(&mut self) -> Option<&mut Watched> {
        self.0.as_mut()?.watched.as_deref_mut()
    }
}

#[derive(Debug)]
pub(super) struct RareState {
    /// A reset to send.
    pub(super) reset: Option<Box<Segment>>,
    /// A probe to send (RFC 8985 §7.3).
    pub(super) loss_probe: Option<SeqRange>,
    /// The test whether the peer acknowledges what it has not got.
    pub(super) skip_test: Option<Box<SkipTest>>,
    /// Acks of a receiver that cheats.
    pub(super) forged: Option<Box<Forged>>,
    /// Most bytes that one of them acknowledged before they arrived.
    pub(super) acked_early: u32,
    /// What the congestion window asks for, and a reduction that is spread over the recovery.
    pub(super) needs: Needs,
    /// When segments may leave, where the window paces.
    pub(super) pacer: Option<Box<Pacer>>,
    /// A timeout about which the verdict is out.
    pub(super) watched: Option<Box<Watched>>,
    pub(super) rebase: Option<Box<Rebase>>,
    /// What was sent several times.
    pub(super) copies: Option<Box<Copies>>,
    /// The timeout in force has the floor of a thin flow.
    pub(super) thin: bool,
    /// One timing at a time: what it waits for, and since when.
    pub(super) timed: Option<(SeqNumber, Instant)>,
    pub(super) keepalives: u32,
    /// Window probes since the window closed, and those since the peer last answered.
    pub(super) probes: u32,
    pub(super) unanswered_probes: u32,
    /// Where a FIN stands that arrived before the data below it.
    pub(super) fin_at: Option<SeqNumber>,
    pub(super) timestamps: TimestampState,
    pub(super) ecn: EcnState,
    /// Our SYN or SYN-ACK was sent again, though its timer has not expired.
    pub(super) syn_repeated: bool,
    /// When an ICMP error last said that the peer cannot be reached.
    pub(super) unreachable_at: Option<Instant>,
    /// A packet size that an ICMP error claims, until the segment that it quotes times out.
    pub(super) claimed_size: Option<ClaimedSize>,
    /// Challenge ACKs in the second that began then.
    pub(super) challenge_since: Instant,
    pub(super) challenges: u32,
}

impl RareState {
    const INITIAL: Self = Self {
        reset: None,
        loss_probe: None,
        skip_test: None,
        forged: None,
        acked_early: 0,
        needs: Needs { every_ack: false, rate_samples: false, sends: false },
        pacer: None,
        watched: None,
        rebase: None,
        copies: None,
        thin: false,
        timed: None,
        keepalives: 0,
        probes: 0,
        unanswered_probes: 0,
        fin_at: None,
        timestamps: TimestampState {
            on: false,
            offset: 0,
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
            last_ack_sent: SeqNumber(0),
            timeout_tsval: None,
        },
        ecn: EcnState::INITIAL,
        syn_repeated: false,
        unreachable_at: None,
        claimed_size: None,
        challenge_since: Instant::ZERO,
        challenges: 0,
    };
}

/// Timestamps in use (RFC 7323 §4.3, §5).
#[derive(Clone, Copy, Debug)]
pub(super) struct TimestampState {
    pub(super) on: bool,
    /// Added to our millisecond clock.
    pub(super) offset: u32,
    pub(super) ts_recent: u32,
    pub(super) ts_recent_at: Instant,
    /// Acknowledgment number of the last segment sent (Last.ACK.sent).
    pub(super) last_ack_sent: SeqNumber,
    /// Our clock when the first retransmission of a timeout was sent: an echo from before it means the
    /// timeout was spurious (RFC 3522 §3.2).
    pub(super) timeout_tsval: Option<u32>,
}
