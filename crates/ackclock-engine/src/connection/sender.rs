//! What only an end that sends data has, made when it is first needed: half of all ends only receive.

use std::ops::Deref;
use std::sync::Arc;

use ackclock_policy::{Needs, SamplingRate, Window};
use ackclock_trace::LossClass;
use ackclock_units::{Bytes, Instant, SeqNumber, SeqRange, seldom};

use super::Connection;
use super::duplicates::DuplicateAcks;
use super::usage::Usage;
use crate::policies::{AtNeed, SenderChoice, SenderPolicies};
use crate::scoreboard::Scoreboard;

/// Reads as it was at the beginning until it is made, which the first change and the first question to a
/// policy do.
#[derive(Debug)]
pub(super) enum Sender {
    /// Nothing was sent.
    Chosen(Arc<SenderChoice>),
    /// There it is.
    Made(Box<Sending>),
}

/// The sending side.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) policies: SenderPolicies,
    pub(super) state: SenderState,
}

/// How things stand with what was sent.
#[derive(Debug)]
pub(super) struct SenderState {
    pub(super) sent: Scoreboard,
    pub(super) window: Window,
    pub(super) initial_window: u32,
    pub(super) recovery_point: SeqNumber,
    pub(super) dups: DuplicateAcks,
    /// When the retransmission timer last expired, or began anew with a probe.
    pub(super) timer_restarted_at: Instant,
    /// Bytes that may still be sent on the last ack's account, outside the Open phase.
    pub(super) quota: Bytes,
    pub(super) usage: Usage,
    pub(super) episode: Option<Episode>,
    pub(super) lost: Vec<SeqRange>,
    /// The peer has reported a duplicate.
    pub(super) dsack_seen: bool,
    pub(super) sampling: SamplingRate,
}

/// A loss episode that is not over: from the first cut of the window until all that was outstanding then is
/// acknowledged (M-U1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Episode {
    pub(super) class: LossClass,
    /// Retransmissions in it so far; those after the first are "other losses".
    pub(super) retransmissions: u32,
    /// Everything below it was outstanding when it began, or at its last timeout.
    pub(super) until: SeqNumber,
}

impl SenderState {
    const fn new() -> Self {
        Self {
            sent: Scoreboard::new(),
            window: Window { cwnd: 0, ssthresh: Bytes::MAX },
            initial_window: 0,
            recovery_point: SeqNumber(0),
            dups: DuplicateAcks::new(),
            timer_restarted_at: Instant::ZERO,
            quota: 0,
            usage: Usage::new(),
            episode: None,
            lost: Vec::new(),
            dsack_seen: false,
            sampling: SamplingRate::new(SeqNumber(0)),
        }
    }

    /// What of `flight_size` outstanding bytes is in the network, by the scoreboard; without SACK each
    /// duplicate ack stands for one segment that has left.
    #[inline(always)]
    pub(super) fn pipe(&self, flight_size: u32) -> u32 {
        self.sent.in_network(flight_size, self.dups.delivered)
    }
}

impl Deref for Sender {
    type Target = SenderState;

    #[inline(always)]
    fn deref(&self) -> &SenderState {
        static INITIAL: SenderState = SenderState::new();
        match self {
            Self::Made(sending) => &sending.state,
            Self::Chosen(_) => &INITIAL,
        }
    }
}

impl Sender {
    pub(super) fn new(policies: AtNeed<SenderPolicies>) -> Self {
        match policies {
            AtNeed::Made(policies) => {
                Self::Made(Box::new(Sending { policies: *policies, state: SenderState::new() }))
            }
            AtNeed::Chosen(choice) => Self::Chosen(choice),
        }
    }

    #[inline(always)]
    pub(super) fn is_made(&self) -> bool {
        matches!(self, Self::Made(_))
    }

    /// The state, to change it; made by the first change.
    #[inline(always)]
    pub(super) fn make(&mut self) -> &mut SenderState {
        &mut self.both().state
    }

    /// Policies and state side by side.
    #[inline(always)]
    pub(super) fn both(&mut self) -> &mut Sending {
        if !self.is_made() {
            self.begin();
        }
        match self {
            Self::Made(sending) => sending,
            Self::Chosen(_) => unreachable!("just made"),
        }
    }

    #[inline(always)]
    pub(super) fn policies(&mut self) -> &mut SenderPolicies {
        &mut self.both().policies
    }

    #[cold]
    #[inline(never)]
    fn begin(&mut self) {
        if let Self::Chosen(choice) = self {
            *self = Self::Made(Box::new(Sending { policies: choice.build(), state: SenderState::new() }));
        }
    }
}

impl Connection {
    /// Makes ready to send, if it is not, once the connection is established.
    #[inline]
    pub(super) fn be_ready(&mut self, now: Instant) {
        if !self.sender.is_made() {
            self.begin_sending(now);
        }
    }

    /// From here on the rules of the sending side are asked: the connection is established, its segment size
    /// known.
    #[inline(never)]
    pub(super) fn begin_sending(&mut self, now: Instant) {
        let (from, smss) = (self.snd_una, u64::from(self.smss));
        let sender = self.sender.make();
        sender.recovery_point = from;
        sender.sampling = SamplingRate::new(from);
        sender.window = Window { cwnd: smss, ssthresh: Bytes::MAX };
        let v = self.view(now);
        let Sending { policies, state } = self.sender.both();
        let needs = policies.window.needs();
        if needs.rate_samples {
            state.sent.keep_rates();
        }
        let needs = Needs { sends: needs.sends || policies.reduction().is_some(), ..needs };
        if needs != Needs::default() {
            self.rare.make().needs = needs;
        }
        let mut control = self.sender.policies().window.start(&v);
        if self.stats.syn_retransmissions > 0 || self.rare.says(|r| r.ecn.opening_marked()) {
            // RFC 5681 §3.1: after a lost SYN the first window is one segment; a mark on it is as good.
            control.window.cwnd = control.window.cwnd.min(smss);
        }
        self.sender.make().initial_window = u32::try_from(control.window.cwnd).unwrap_or(u32::MAX);
        self.apply(control, now);
        if seldom(self.config.skip_test > 0) {
            self.start_skip_test();
        }
    }
}

#[cfg(test)]
#[path = "../tests/sender.rs"]
mod tests;
