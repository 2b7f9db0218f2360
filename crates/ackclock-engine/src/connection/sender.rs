//! The sending side: policies and state. It is built when the connection first has data to send, since half
//! of all ends only receive.

use std::ops::Deref;
use std::sync::Arc;

use ackclock_policy::{BUFFERED_WINDOWS, Needs, Phase, SamplingRate, SenderView, Window};
use ackclock_trace::LossClass;
use ackclock_units::{Bytes, Instant, Rng, SeqNumber, SeqRange, seldom};

use super::Connection;
use super::duplicates::DuplicateAcks;
use super::usage::Usage;
use crate::Pacer;
use crate::policies::{Lazy, SenderChoice, SenderPolicies};
use crate::scoreboard::OutstandingSegments;

/// Reads as the initial state until it is built, by the first write or the first use of a policy.
#[derive(Debug)]
pub(super) struct Sender {
    /// `None` while nothing was sent. One comparison with null decides which state is read, without a branch.
    built: Option<Box<BuiltSender>>,
    /// The policies to build until then.
    chosen: Option<Arc<SenderChoice>>,
}

/// The sending side of a connection that has sent data.
#[derive(Debug)]
pub(super) struct BuiltSender {
    pub(super) policies: SenderPolicies,
    pub(super) state: SenderState,
}

/// What is known of the data that was sent.
#[derive(Debug)]
pub(super) struct SenderState {
    pub(super) sent: OutstandingSegments,
    pub(super) window: Window,
    pub(super) initial_window: u32,
    pub(super) recovery_point: SeqNumber,
    pub(super) dup_acks: DuplicateAcks,
    /// When the retransmission timer last expired, or was restarted by a tail loss probe.
    pub(super) timer_restarted_at: Instant,
    /// Bytes that may still be sent on account of the last ack, outside the Open phase.
    pub(super) quota: Bytes,
    pub(super) usage: Usage,
    pub(super) episode: Option<Episode>,
    /// Ranges that the loss recovery has just declared lost.
    pub(super) lost: Vec<SeqRange>,
    /// Segments that the peer has reported as duplicates.
    pub(super) duplicates_reported: u32,
    pub(super) sampling: SamplingRate,
    /// When segments may leave, if the congestion window asks for pacing.
    pub(super) pacer: Option<Box<Pacer>>,
}

/// An open loss episode. It lasts from the first reduction of the window until everything outstanding then is
/// acknowledged (M-U1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Episode {
    pub(super) class: LossClass,
    /// Retransmissions in it so far; those after the first are "other losses".
    pub(super) retransmissions: u32,
    /// The end of what was outstanding when it began, or at its last timeout.
    pub(super) until: SeqNumber,
}

impl BuiltSender {
    fn new(policies: SenderPolicies) -> Box<Self> {
        Box::new(Self { policies, state: SenderState::new() })
    }
}

impl SenderState {
    const fn new() -> Self {
        Self {
            sent: OutstandingSegments::new(),
            window: Window { cwnd: 0, ssthresh: Bytes::MAX },
            initial_window: 0,
            recovery_point: SeqNumber(0),
            dup_acks: DuplicateAcks::new(),
            timer_restarted_at: Instant::ZERO,
            quota: 0,
            usage: Usage::new(),
            episode: None,
            lost: Vec::new(),
            duplicates_reported: 0,
            sampling: SamplingRate::new(SeqNumber(0)),
            pacer: None,
        }
    }

    /// Charges `len` bytes of data to the pacer.
    #[inline(always)]
    pub(super) fn pace(&mut self, now: Instant, len: u32) {
        if seldom(self.pacer.is_some())
            && len > 0
            && let Some(pacer) = &mut self.pacer
        {
            pacer.sent(now, len);
        }
    }

    /// How many of `flight_size` outstanding bytes are in the network. The scoreboard counts them; without
    /// SACK, each duplicate ack counts as one segment that has left the network.
    #[inline(always)]
    pub(super) fn pipe(&self, flight_size: u32) -> u32 {
        self.sent.in_network(flight_size, self.dup_acks.delivered)
    }
}

impl Deref for Sender {
    type Target = SenderState;

    #[inline(always)]
    fn deref(&self) -> &SenderState {
        static INITIAL: SenderState = SenderState::new();
        match &self.built {
            Some(sending) => &sending.state,
            None => &INITIAL,
        }
    }
}

impl Sender {
    pub(super) fn new(policies: Lazy<SenderPolicies>) -> Self {
        match policies {
            Lazy::Built(policies) => Self { built: Some(BuiltSender::new(*policies)), chosen: None },
            Lazy::Chosen(choice) => Self { built: None, chosen: Some(choice) },
        }
    }

    #[inline(always)]
    pub(super) fn is_built(&self) -> bool {
        self.built.is_some()
    }

    /// The state for writing; the first call builds it.
    #[inline(always)]
    pub(super) fn make_mut(&mut self) -> &mut SenderState {
        &mut self.split_mut().state
    }

    /// Policies and state as separate borrows.
    #[inline(always)]
    pub(super) fn split_mut(&mut self) -> &mut BuiltSender {
        self.built.get_or_insert_with(|| Self::build(&mut self.chosen))
    }

    #[inline(always)]
    pub(super) fn policies(&mut self) -> &mut SenderPolicies {
        &mut self.split_mut().policies
    }

    /// How many congestion windows a send buffer that grows holds.
    pub(super) fn buffered_windows(&self) -> u64 {
        self.built.as_ref().map_or(BUFFERED_WINDOWS, |sending| sending.policies.window.buffered_windows())
    }

    /// True when what is sent during a repair is not decided by the loss recovery alone.
    pub(super) fn has_reduction(&self) -> bool {
        let special = self.built.as_ref().and_then(|sending| sending.policies.special.as_ref());
        special.is_some_and(|s| s.reduction.is_some())
    }

    #[cold]
    #[inline(never)]
    fn build(chosen: &mut Option<Arc<SenderChoice>>) -> Box<BuiltSender> {
        BuiltSender::new(chosen.take().expect("policies that are not built are chosen").build())
    }
}

impl Connection {
    /// Starts the sending side of an established connection, unless it is running already.
    #[inline]
    pub(super) fn ensure_sender(&mut self, now: Instant) {
        if !self.sender.is_built() {
            self.start_sender(now);
        }
    }

    /// Starts the sending side: builds its policies, and the congestion window with its initial value. The
    /// connection is established, and its segment size known.
    #[inline(never)]
    pub(super) fn start_sender(&mut self, now: Instant) {
        let (from, smss) = (self.snd_una, u64::from(self.smss));
        let sender = self.sender.make_mut();
        sender.recovery_point = from;
        sender.sampling = SamplingRate::new(from);
        sender.window = Window { cwnd: smss, ssthresh: Bytes::MAX };
        let v = SenderView { counts_marks: self.uses_accurate_ecn(), ..self.view(now) };
        let BuiltSender { policies, state } = self.sender.split_mut();
        if policies.recovery.is_time_based() {
            state.sent.record_deliveries();
        }
        let needs = policies.window.needs();
        if needs.rate_samples {
            state.sent.measure_rates();
        }
        if needs.losses {
            state.sent.record_losses();
        }
        if needs.owns_repair
            && let Some(special) = &mut policies.special
        {
            special.reduction = None;
        }
        let needs = Needs { sends: needs.sends || policies.reduction().is_some(), ..needs };
        if needs.random {
            let seed = self.rng.next_u64();
            self.sender.policies().window.seed(Rng::stream(seed, "window", 0));
        }
        if needs != Needs::default() {
            let rare = self.rare.make_mut();
            (rare.needs, rare.ecn.ect1) = (needs, needs.ect1);
        }
        let mut control = self.sender.policies().window.start(&v);
        // A SYN-ACK that was repeated for a repeated SYN counts beside one whose timer expired
        // (`tcp_init_transfer`).
        let answered = self.passive && self.rare.is_some_and(|r| r.syn_repeated);
        if self.stats.syn_retransmissions > u32::from(self.config.forgive_syn && !answered)
            || self.rare.is_some_and(|r| r.ecn.handshake_marked())
        {
            // RFC 5681 §3.1: after a lost SYN the initial window is one segment; a mark on it counts as a
            // loss.
            control.window.cwnd = control.window.cwnd.min(smss);
        }
        self.sender.make_mut().initial_window = u32::try_from(control.window.cwnd).unwrap_or(u32::MAX);
        self.apply(control, now);
        if seldom(self.config.skip_test > 0) {
            self.start_skip_test();
        }
        if seldom(self.config.hold_repair) && !self.sack_on && !self.passive && self.stats.timeouts > 0 {
            // The timeout of a SYN begins a repair, which is held as others are (`tcp_enter_loss`).
            self.phase = Phase::Loss;
            let v = self.view(now);
            self.sender.make_mut().quota = self.sender.policies().recovery.quota(&v);
        }
    }
}

#[cfg(test)]
#[path = "../tests/sender.rs"]
mod tests;
