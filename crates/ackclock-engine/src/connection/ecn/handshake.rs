//! The handshake: on which mode two ends agree, and what its packets say of how they arrived (RFC 9768 §3.1).

use ackclock_policy::Ecn;
use ackclock_units::Instant;
use ackclock_wire::{AccEcn, Flags, MAX_OPTIONS_LEN, Options, Segment};

use super::accurate::{ace_flags, ace_of, handshake_code, mode_by_syn, mode_by_syn_ack};
use super::{Mode, More};
use crate::connection::{Connection, State};
use crate::{AbortReason, EcnFeedback};

impl Connection {
    /// Agrees on a mode by the flags of a SYN or SYN-ACK, which arrived with `ecn`.
    pub(in crate::connection) fn agree_on_ecn(&mut self, segment: &Segment, ecn: Ecn) {
        if !self.config.ecn {
            return;
        }
        let answer = self.state == State::SynSent && segment.flags.has(Flags::ACK);
        let agree = if answer { mode_by_syn_ack } else { mode_by_syn };
        let mode = agree(self.config.ecn_feedback, segment.flags);
        if mode == Mode::Off {
            return;
        }
        let state = &mut self.rare.make().ecn;
        state.mode = mode;
        if matches!(mode, Mode::Dctcp | Mode::Accurate) {
            state.more = Some(Box::new(More::NEW));
        }
        let Some(more) = state.accurate() else { return };
        more.arrived = handshake_code(ecn);
        if answer {
            more.opening_marked = more.counters.check_handshake(ace_of(segment.flags));
            more.counters.check_first_option(segment.options.accecn);
            (more.answers_syn_ack, more.test_ack, more.test_text) = (true, true, true);
            more.syn_ack_counted = ecn == Ecn::Ce;
        }
    }

    /// ECN flags of our SYN, or SYN-ACK, after so many timeouts.
    pub(in crate::connection) fn syn_ecn_flags(&mut self, answer: bool, repeat: u32) -> Flags {
        if !answer {
            return match self.config.ecn_feedback {
                _ if !self.config.ecn => Flags::default(),
                // RFC 9768 §3.1.4.1: asked once more after a timeout, and then no more.
                EcnFeedback::Accurate if repeat < 2 => Flags::AE | Flags::CWR | Flags::ECE,
                // RFC 3168 §6.1.1.1: a retransmitted SYN asks no more.
                EcnFeedback::Rfc3168 | EcnFeedback::Dctcp if repeat == 0 => Flags::CWR | Flags::ECE,
                _ => Flags::default(),
            };
        }
        if !self.rare.says(|r| r.ecn.is_on()) {
            return Flags::default();
        }
        let Some(more) = self.rare.part(|r| r.ecn.accurate()) else { return Flags::ECE };
        if repeat < 2 {
            ace_flags(more.arrived)
        } else {
            // RFC 9768 §3.2.3.2.2; having sent such a SYN-ACK, a server sends nothing capable (§3.1.5).
            more.counters.capable = false;
            Flags::default()
        }
    }

    /// The option of a SYN-ACK with `options`: with the first alone (RFC 9768 §3.2.3.2.1, §3.2.3.2.2).
    pub(in crate::connection) fn syn_ack_option(&mut self, options: &Options, repeat: u32) -> Option<AccEcn> {
        if !self.rare.says(|r| r.ecn.is_accurate()) {
            return None;
        }
        let again = self.rare.syn_repeated;
        let counters = &mut self.rare.part(|r| r.ecn.accurate())?.counters;
        counters.sends_option &= repeat == 0;
        if again { None } else { counters.option(MAX_OPTIONS_LEN as u32 - options.unpadded_len(), true) }
    }

    /// The SYN-ACK is acknowledged by a pure ack of its own, whatever data waits: it says with which
    /// codepoint it arrived (RFC 9768 §3.2.2.1).
    pub(in crate::connection) fn acknowledge_syn_ack(&mut self, now: Instant) {
        if self.rare.says(|r| r.ecn.is_accurate()) {
            let segment = self.transmit_ack(now).segment;
            if let Some(more) = self.rare.part(|r| r.ecn.accurate()) {
                more.ack_first = Some(segment);
            }
        }
    }

    /// The peer's SYN once more, in SYN-RECEIVED. Returns false when it asks for another mode than before:
    /// the connection is reset then (RFC 9768 §3.1.5).
    #[cold]
    pub(in crate::connection) fn follow_syn(&mut self, now: Instant, segment: &Segment, ecn: Ecn) -> bool {
        if self.config.ecn_feedback != EcnFeedback::Accurate || !self.rare.says(|r| r.ecn.is_on()) {
            return true;
        }
        let state = &mut self.rare.make().ecn;
        let asks = mode_by_syn(EcnFeedback::Accurate, segment.flags);
        if asks != state.mode && asks != Mode::Off {
            self.rare.make().reset = Some(self.reset(now));
            self.abandon(AbortReason::Reset, now);
            return false;
        }
        if let Some(more) = state.accurate() {
            // The latest SYN is told of; after one without ECN a server sends nothing capable.
            more.arrived = handshake_code(ecn);
            more.counters.capable &= asks != Mode::Off;
        }
        true
    }

    /// A SYN in a synchronized state: a SYN-ACK that was sent again is answered as the first was (RFC 9768
    /// §3.2.2.1), and a mark on it counted, once (§3.2.2.2).
    #[cold]
    pub(in crate::connection) fn follow_syn_ack(&mut self, segment: &Segment, ecn: Ecn) {
        let answers = segment.flags.has(Flags::SYN | Flags::ACK)
            && (segment.seq, segment.ack) == (self.irs, self.iss + 1)
            && !self.passive
            && mode_by_syn_ack(EcnFeedback::Accurate, segment.flags) == Mode::Accurate;
        if answers
            && self.rare.says(|r| r.ecn.is_accurate())
            && let Some(more) = self.rare.part(|r| r.ecn.accurate())
        {
            (more.arrived, more.answers_syn_ack) = (handshake_code(ecn), true);
            if ecn == Ecn::Ce && !std::mem::replace(&mut more.syn_ack_counted, true) {
                more.counters.count_mark();
            }
        }
    }

    /// The acknowledgment of our SYN in SYN-RECEIVED. `syn`: it is a SYN-ACK, in a simultaneous open.
    #[inline(never)]
    pub(in crate::connection) fn take_handshake_feedback(&mut self, segment: &Segment, syn: bool) {
        if !self.rare.says(|r| r.ecn.is_accurate()) {
            return;
        }
        let Some(more) = self.rare.part(|r| r.ecn.accurate()) else { return };
        more.counters.check_first_option(segment.options.accecn);
        more.tsval = segment.options.timestamps.map(|ts| ts.tsval);
        if syn {
            more.opening_marked |= more.counters.check_handshake(ace_of(segment.flags));
            more.no_counter = true;
        } else if segment.seq_len() == 0 && segment.options.sack.is_empty() {
            more.opening_marked |= more.counters.read_handshake_ack(ace_of(segment.flags));
            more.no_counter = true;
        }
    }
}
