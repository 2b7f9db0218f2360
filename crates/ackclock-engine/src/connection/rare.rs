//! State that few connections need. It is boxed and allocated on first use, so that the many connections that
//! need none of it stay small.

use std::ops::Deref;

use ackclock_policy::Needs;
use ackclock_units::{Instant, SeqNumber, SeqRange, seldom};
use ackclock_wire::Segment;

use super::copies::Copies;
use super::ecn::EcnState;
use super::fast_open::FastOpenState;
use super::forge::Forged;
use super::icmp::ClaimedSize;
use super::records::Records;
use super::right_sizing::RightSizing;
use super::send_room::SendMemory;
use super::skip_test::SkipTest;
use super::undo::{Rebase, UndecidedTimeout};
use super::undo_episode::UndecidedEpisode;
use super::urgent::Urgent;

/// Reads as the initial value until [`LazyRareState::make_mut`] allocates it. Code that only clears something
/// uses [`LazyRareState::reset`], which never allocates.
#[derive(Debug, Default)]
pub(super) struct LazyRareState(Option<Box<RareState>>);

impl Deref for LazyRareState {
    type Target = RareState;

    #[inline]
    fn deref(&self) -> &RareState {
        static INITIAL: RareState = RareState::INITIAL;
        self.0.as_deref().unwrap_or(&INITIAL)
    }
}

impl LazyRareState {
    /// The state for writing; the first call allocates it.
    #[inline]
    pub(super) fn make_mut(&mut self) -> &mut RareState {
        self.0.get_or_insert_with(Self::allocate)
    }

    #[cold]
    #[inline(never)]
    fn allocate() -> Box<RareState> {
        Box::new(RareState::INITIAL)
    }

    /// Evaluates `predicate` on the state if it is allocated. Otherwise false, at the cost of one comparison,
    /// so the predicate must be false for the initial value.
    #[inline(always)]
    pub(super) fn is_some_and(&self, predicate: impl FnOnce(&RareState) -> bool) -> bool {
        seldom(self.0.is_some()) && self.0.as_deref().is_some_and(predicate)
    }

    /// The state for writing, if it is allocated.
    #[inline(always)]
    pub(super) fn allocated_mut(&mut self) -> Option<&mut RareState> {
        if self.is_allocated() { self.0.as_deref_mut() } else { None }
    }

    /// Resets parts to their initial value.
    #[inline]
    pub(super) fn reset(&mut self, change: impl FnOnce(&mut RareState)) {
        if let Some(state) = self.allocated_mut() {
            change(state);
        }
    }

    /// An optional part for writing.
    #[inline]
    pub(super) fn part_mut<T>(
        &mut self,
        part: impl FnOnce(&mut RareState) -> Option<&mut T>,
    ) -> Option<&mut T> {
        self.allocated_mut().and_then(part)
    }

    /// Takes an optional part, leaving `None`.
    #[inline]
    pub(super) fn take<T>(&mut self, part: impl FnOnce(&mut RareState) -> &mut Option<T>) -> Option<T> {
        self.allocated_mut().and_then(|state| part(state).take())
    }

    /// True when the state is allocated.
    #[inline(always)]
    pub(super) fn is_allocated(&self) -> bool {
        seldom(self.0.is_some())
    }

    /// The timeout that may still turn out to have been spurious, if there is one.
    #[inline]
    pub(super) fn undecided_timeout_mut(&mut self) -> Option<&mut UndecidedTimeout> {
        self.0.as_mut()?.undecided_timeout.as_deref_mut()
    }
}

/// State that only some connections use.
#[derive(Debug)]
pub(super) struct RareState {
    /// A reset to send.
    pub(super) reset: Option<Box<Segment>>,
    /// An ack of what arrived before the latest segment, to send before everything else.
    pub(super) ack_first: Option<Segment>,
    /// A probe to send (RFC 8985 §7.3).
    pub(super) loss_probe: Option<SeqRange>,
    /// The ack policy follows events ([`ackclock_policy::AckPolicy::follows_events`]).
    pub(super) ack_events: bool,
    /// The ack that is due was the policy's decision about the segment being processed.
    pub(super) ack_by_policy: bool,
    /// What the growth of the receive buffer follows, if it grows.
    pub(super) right_sizing: Option<Box<RightSizing>>,
    /// The memory of a send buffer that grows.
    pub(super) send_memory: Option<Box<SendMemory>>,
    /// Segments of the packet that is leaving which have not left.
    pub(super) packet_left: u32,
    /// The test whether the peer acknowledges data that it has not received.
    pub(super) skip_test: Option<Box<SkipTest>>,
    /// Forged acks still to send, at a misbehaving receiver.
    pub(super) forged: Option<Box<Forged>>,
    /// The largest number of bytes that a forged ack acknowledged before they arrived.
    pub(super) acked_early: u32,
    /// What the congestion window, and a reduction that is spread over the recovery, need to be measured.
    pub(super) needs: Needs,
    /// A timeout that may still turn out to have been spurious.
    pub(super) undecided_timeout: Option<Box<UndecidedTimeout>>,
    /// A loss episode whose retransmissions may turn out to have been spurious.
    pub(super) suspect_episode: Option<Box<UndecidedEpisode>>,
    /// The end of a segment that timed out, and when it was first sent, for an estimator that takes weak
    /// samples.
    pub(super) timed_out: Option<Box<(SeqNumber, Instant)>>,
    /// Estimates to restore after a spurious timeout (RFC 4015 §3.6).
    pub(super) rebase: Option<Box<Rebase>>,
    /// Where records of unsent data end.
    pub(super) records: Option<Box<Records>>,
    /// Segments that were sent several times at once.
    pub(super) copies: Option<Box<Copies>>,
    /// The timeout in force uses the minimum RTO of a thin flow.
    pub(super) thin: bool,
    /// The segment being timed, with one timing at a time: the ack that ends it, and when it started.
    pub(super) timed: Option<(SeqNumber, Instant)>,
    /// Where urgent data ends, if there ever was any.
    pub(super) urgent: Option<Box<Urgent>>,
    /// Nothing is read any more: what arrives after a close is refused.
    pub(super) reads_no_more: bool,
    /// Keepalives sent since the peer was last heard from.
    pub(super) keepalives: u32,
    /// Window probes since the window closed, and those since the peer last replied.
    pub(super) probes: u32,
    pub(super) unanswered_probes: u32,
    /// The byte of a probe that was withdrawn, to be sent again with more: `snd_nxt` as long as nothing was.
    pub(super) withdrawn_probe: Option<SeqNumber>,
    /// Sequence number of a FIN that arrived before the data below it.
    pub(super) fin_at: Option<SeqNumber>,
    /// No data has arrived out of order since.
    pub(super) fin_is_latest: bool,
    /// End of the last segment of new data that was not full, with Minshall's change of Nagle's algorithm.
    pub(super) small_until: Option<SeqNumber>,
    /// New data is held back.
    pub(super) held: bool,
    /// Until the next ack or write, only what is lost is sent.
    pub(super) repairs_only: bool,
    /// New data may fill the receiver's window with a small segment.
    pub(super) fills: bool,
    /// The last ack has shown that the receiver has forgotten what it had SACKed: nothing is sent again on
    /// its account.
    pub(super) reneged: bool,
    pub(super) timestamps: TimestampState,
    pub(super) ecn: EcnState,
    /// What Fast Open needs.
    pub(super) fast_open: Option<Box<FastOpenState>>,
    /// Our SYN or SYN-ACK was repeated, though its timer has not expired.
    pub(super) syn_repeated: bool,
    /// When an ICMP error last reported that the peer cannot be reached.
    pub(super) unreachable_at: Option<Instant>,
    /// A packet size claimed by an ICMP error, kept until the segment that it quotes times out.
    pub(super) claimed_size: Option<Box<ClaimedSize>>,
    /// Start of the current second, and the challenge ACKs sent in it.
    pub(super) challenge_since: Instant,
    pub(super) challenges: u32,
}

impl RareState {
    const INITIAL: Self = Self {
        reset: None,
        ack_first: None,
        loss_probe: None,
        ack_events: false,
        ack_by_policy: false,
        right_sizing: None,
        send_memory: None,
        packet_left: 0,
        skip_test: None,
        forged: None,
        acked_early: 0,
        needs: Needs {
            every_ack: false,
            echo_after_ack: false,
            rate_samples: false,
            sends: false,
            ect1: false,
            losses: false,
            random: false,
            owns_repair: false,
        },
        undecided_timeout: None,
        suspect_episode: None,
        timed_out: None,
        rebase: None,
        records: None,
        copies: None,
        thin: false,
        timed: None,
        urgent: None,
        reads_no_more: false,
        keepalives: 0,
        probes: 0,
        unanswered_probes: 0,
        withdrawn_probe: None,
        fin_at: None,
        fin_is_latest: false,
        small_until: None,
        held: false,
        repairs_only: false,
        fills: false,
        reneged: false,
        timestamps: TimestampState {
            on: false,
            offset: 0,
            ts_recent: 0,
            ts_recent_at: Instant::ZERO,
            last_ack_sent: SeqNumber(0),
            syn_acks: None,
            timeout_tsval: None,
            repeated_tsval: None,
        },
        ecn: EcnState::INITIAL,
        fast_open: None,
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
    /// Offset of our timestamp clock.
    pub(super) offset: u32,
    pub(super) ts_recent: u32,
    pub(super) ts_recent_at: Instant,
    /// Acknowledgment number of the last segment sent (Last.ACK.sent).
    pub(super) last_ack_sent: SeqNumber,
    /// Timestamps of the first and the last SYN-ACK.
    pub(super) syn_acks: Option<(u32, u32)>,
    /// Our timestamp clock when a timeout's first retransmission was sent. An echo of an earlier value means
    /// that the timeout was spurious (RFC 3522 §3.2).
    pub(super) timeout_tsval: Option<u32>,
    /// The same of the first retransmission since there was none in the network, of repairs.
    pub(super) repeated_tsval: Option<u32>,
}
