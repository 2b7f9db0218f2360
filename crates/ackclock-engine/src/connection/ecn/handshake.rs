//! ECN in the handshake: negotiation of the mode, and feedback of the codepoint with which SYN and SYN-ACK
//! arrived (RFC 9768 §3.1).

use ackclock_policy::Ecn;
use ackclock_units::Instant;
use ackclock_wire::{AccEcn, Flags, MAX_OPTIONS_LEN, Options, Segment};

use super::accurate::{ace_flags, ace_of, handshake_code, mode_by_syn, mode_by_syn_ack};
use super::{FeedbackState, Mode};
use crate::connection::{Connection, State};
use crate::{AbortReason, EcnFeedback};

impl Connection {
    /// Negotiates the mode from the flags of a SYN or SYN-ACK that arrived with `ecn`.
    pub(in crate::connection) fn agree_on_ecn(&mut self, segment: &Segment, ecn: Ecn) {
        if !self.config.ecn {
            return;
        }
        let syn_ack = self.state == State::SynSent && segment.flags.has(Flags::ACK);
        let mode_by = if syn_ack { mode_by_syn_ack } else { mode_by_syn };
        let mode = mode_by(self.config.ecn_feedback, segment.flags);
        if mode == Mode::Off {
            return;
        }
        let state = &mut self.rare.make_mut().ecn;
        state.mode = mode;
        if matches!(mode, Mode::Dctcp | Mode::Accurate) {
            state.feedback = Some(Box::new(FeedbackState::NEW));
        }
        let Some(feedback) = state.accurate() else { return };
        feedback.arrived = handshake_code(ecn);
        if syn_ack {
            feedback.handshake_marked = feedback.counters.check_handshake(ace_of(segment.flags));
            feedback.counters.check_first_option(segment.options.accecn);
            (feedback.acks_syn_ack, feedback.test_ack, feedback.test_text) = (true, true, true);
            feedback.syn_ack_counted = ecn == Ecn::Ce;
        }
    }

    /// ECN flags of our SYN or SYN-ACK. `repeat`: how often it has timed out.
    pub(in crate::connection) fn syn_ecn_flags(&mut self, syn_ack: bool, repeat: u32) -> Flags {
        if !syn_ack {
            return match self.config.ecn_feedback {
                _ if !self.config.ecn => Flags::default(),
                // RFC 9768 §3.1.4.1: requested again after the first timeout, but not after further ones.
                EcnFeedback::Accurate if repeat < 2 => Flags::AE | Flags::CWR | Flags::ECE,
                // RFC 3168 §6.1.1.1: a retransmitted SYN does not request ECN.
                EcnFeedback::Rfc3168 | EcnFeedback::Dctcp if repeat == 0 => Flags::CWR | Flags::ECE,
                _ => Flags::default(),
            };
        }
        if !self.rare.is_some_and(|r| r.ecn.is_on()) {
            return Flags::default();
        }
        let Some(feedback) = self.rare.part_mut(|r| r.ecn.accurate()) else { return Flags::ECE };
        if repeat < 2 {
            ace_flags(feedback.arrived)
        } else {
            // RFC 9768 §3.2.3.2.2. After such a SYN-ACK a server sends no ECN-capable packets (§3.1.5).
            feedback.counters.capable = false;
            Flags::default()
        }
    }

    /// The AccECN option of a SYN-ACK that has `options` besides. Only the first SYN-ACK carries it (RFC 9768
    /// §3.2.3.2.1, §3.2.3.2.2).
    pub(in crate::connection) fn syn_ack_option(&mut self, options: &Options, repeat: u32) -> Option<AccEcn> {
        if !self.rare.is_some_and(|r| r.ecn.is_accurate()) {
            return None;
        }
        let repeated = self.rare.syn_repeated;
        let counters = &mut self.rare.part_mut(|r| r.ecn.accurate())?.counters;
        counters.option_enabled &= repeat == 0;
        if repeated { None } else { counters.option(MAX_OPTIONS_LEN as u32 - options.unpadded_len(), true) }
    }

    /// Acknowledges the SYN-ACK with a pure ack, even if data is waiting: the ack reports with which
    /// codepoint the SYN-ACK arrived (RFC 9768 §3.2.2.1).
    pub(in crate::connection) fn acknowledge_syn_ack(&mut self, now: Instant) {
        if self.rare.is_some_and(|r| r.ecn.is_accurate()) {
            self.acknowledge_first(now);
        }
    }

    /// The peer repeats its SYN in SYN-RECEIVED. If that requests another mode than before, the connection is
    /// reset, and the function returns false (RFC 9768 §3.1.5).
    #[cold]
    pub(in crate::connection) fn check_repeated_syn(
        &mut self,
        now: Instant,
        segment: &Segment,
        ecn: Ecn,
    ) -> bool {
        if self.config.ecn_feedback != EcnFeedback::Accurate || !self.rare.is_some_and(|r| r.ecn.is_on()) {
            return true;
        }
        let state = &mut self.rare.make_mut().ecn;
        let requested = mode_by_syn(EcnFeedback::Accurate, segment.flags);
        if requested != state.mode && requested != Mode::Off {
            self.rare.make_mut().reset = Some(self.reset(now));
            self.abandon(AbortReason::Reset, now);
            return false;
        }
        if let Some(feedback) = state.accurate() {
            // Feedback is for the latest SYN. After one without ECN a server sends no ECN-capable packets.
            feedback.arrived = handshake_code(ecn);
            feedback.counters.capable &= requested != Mode::Off;
        }
        true
    }

    /// A SYN in a synchronized state. A repeated SYN-ACK gets the same feedback as the first (RFC 9768
    /// §3.2.2.1), and a mark on it is counted, at most once (§3.2.2.2).
    #[cold]
    pub(in crate::connection) fn note_repeated_syn_ack(&mut self, segment: &Segment, ecn: Ecn) {
        let is_syn_ack = segment.flags.has(Flags::SYN | Flags::ACK)
            && (segment.seq, segment.ack) == (self.irs, self.iss + 1)
            && !self.passive
            && mode_by_syn_ack(EcnFeedback::Accurate, segment.flags) == Mode::Accurate;
        if is_syn_ack
            && self.rare.is_some_and(|r| r.ecn.is_accurate())
            && let Some(feedback) = self.rare.part_mut(|r| r.ecn.accurate())
        {
            (feedback.arrived, feedback.acks_syn_ack) = (handshake_code(ecn), true);
            if ecn == Ecn::Ce && !std::mem::replace(&mut feedback.syn_ack_counted, true) {
                feedback.counters.count_mark();
            }
        }
    }

    /// Reads the feedback on the acknowledgment of our SYN in SYN-RECEIVED. `syn`: that is a SYN-ACK, in a
    /// simultaneous open.
    #[inline(never)]
    pub(in crate::connection) fn take_handshake_feedback(&mut self, segment: &Segment, syn: bool) {
        if !self.rare.is_some_and(|r| r.ecn.is_accurate()) {
            return;
        }
        let Some(feedback) = self.rare.part_mut(|r| r.ecn.accurate()) else { return };
        feedback.counters.check_first_option(segment.options.accecn);
        feedback.tsval = segment.options.timestamps.map(|ts| ts.tsval);
        if syn {
            feedback.handshake_marked |= feedback.counters.check_handshake(ace_of(segment.flags));
        } else if segment.seq_len() == 0 && segment.options.sack.is_empty() {
            feedback.handshake_marked |= feedback.counters.read_handshake_ack(ace_of(segment.flags));
        }
    }
}
