//! ICMP errors about segments of a connection: RFC 9293 §3.9.2.2, path MTU discovery (RFC 1191, RFC 8201),
//! and defences against forged ones (RFC 5927).

use ackclock_policy::Phase;
use ackclock_units::{Instant, SeqRange};
use ackclock_wire::{IcmpError, IcmpKind};

use super::sender::BuiltSender;
use super::{Connection, State};
use crate::AbortReason;

/// IPv4 and IPv6 header with a TCP header, without options.
const HEADERS: [u32; 2] = [40, 60];
/// The smallest MTU of an IPv4 link (RFC 791 §3.2, RFC 1191 §3).
const LEAST_MTU: u32 = 68;
/// The smallest MTU of an IPv6 link (RFC 8200 §5).
const LEAST_MTU_V6: u32 = 1280;
/// Common MTUs, for errors of routers that do not report theirs (RFC 1191 §7, table 7-1).
const PLATEAUS: [u32; 10] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, LEAST_MTU];

/// A largest packet size claimed by an ICMP error that has not been acted upon yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClaimedSize {
    /// Stream position of the quoted segment.
    at: u64,
    /// The largest segment by the claim, options not counted.
    most: u32,
}

/// How an error is treated (RFC 9293 §3.9.2.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Severity {
    /// It may be transient.
    Soft,
    /// Nothing listens on the port.
    Refused,
    /// It is permanent.
    Hard,
}

impl Connection {
    /// Processes an ICMP error that quotes a segment of this connection. The caller has checked addresses and
    /// ports.
    pub fn handle_icmp(&mut self, now: Instant, error: &IcmpError) {
        // RFC 5927 §4.1: only outstanding data can have caused an error; anything else is old or forged.
        let oldest = if self.state == State::SynReceived { self.iss } else { self.snd_una };
        let outstanding = SeqRange::new(oldest, self.snd_nxt).contains(error.seq);
        if !outstanding || matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        match error.kind {
            // RFC 9293 §3.9.2.2, MUST-55.
            IcmpKind::SourceQuench => {}
            IcmpKind::TooBig { mtu } => self.handle_too_big(now, mtu, error),
            IcmpKind::Unreachable(code) => self.handle_unreachable(now, severity(code, error.from.is_ipv6())),
            IcmpKind::TimeExceeded | IcmpKind::ParameterProblem => {
                self.handle_unreachable(now, Severity::Soft)
            }
        }
    }

    /// Ends or keeps the connection, by its state and how severe the error is.
    fn handle_unreachable(&mut self, now: Instant, severity: Severity) {
        match (self.state, severity) {
            (State::SynSent | State::SynReceived, Severity::Refused) => {
                self.abandon(AbortReason::Refused, now)
            }
            // In SYN-SENT a soft error aborts the attempt too, so that another address can be tried at once
            // (RFC 5461 §4.1; see docs/departures.md).
            (State::SynSent | State::SynReceived, Severity::Hard) | (State::SynSent, Severity::Soft) => {
                self.abandon(AbortReason::Unreachable, now)
            }
            // The application has the connection already, and the client may be none that sent the SYN (RFC
            // 7413 §5.1; see docs/departures.md).
            (State::SynReceived, Severity::Soft) if self.opens_early() => {
                self.abandon(AbortReason::Unreachable, now)
            }
            // RFC 9293 §3.9.2.2, MUST-56. In synchronized states hard errors are treated as soft ones (RFC
            // 5927 §5.2).
            _ => self.rare.make_mut().unreachable_at = Some(now),
        }
    }

    /// A packet of `error.packet_len` bytes was too long for a link with the claimed `mtu` (0 if not
    /// reported).
    ///
    /// Anybody who guesses ports and a sequence number can send such an error. A claim below the size of
    /// segments that have arrived is therefore not acted upon before the quoted segment times out. If no
    /// segment of that size has arrived, the path MTU is still being discovered, and the claim takes effect
    /// at once (RFC 5927 §7.2).
    fn handle_too_big(&mut self, now: Instant, mtu: u32, error: &IcmpError) {
        // A SYN carries no data that could be split, unless it is one of Fast Open.
        let syn = self.state == State::SynSent && self.end_of_syn_text().is_some();
        if !syn && (!self.state.is_synchronized() || !self.sender.is_built()) {
            return;
        }
        let v6 = error.from.is_ipv6();
        let mtu = match mtu {
            // RFC 8201 §4: an error that claims less is discarded.
            mtu if v6 && mtu < LEAST_MTU_V6 => return,
            // RFC 1191 §5: the next size below that of the packet.
            0 => PLATEAUS.into_iter().find(|p| *p < error.packet_len).unwrap_or(LEAST_MTU),
            mtu => mtu.max(LEAST_MTU),
        };
        // A claim below the configured minimum is treated as that minimum.
        let mtu = mtu.max(self.config.min_pmtu);
        // As in the handshake: at least 64 bytes, and timestamps are subtracted.
        let most = mtu.saturating_sub(HEADERS[usize::from(v6)]).max(64)
            - if self.rare.timestamps.on { 12 } else { 0 };
        if syn {
            self.shrink_syn(now, most);
            return;
        }
        if most >= self.smss {
            return;
        }
        if most < self.size_acked() {
            // Of several claims for one segment the smallest counts.
            let at = self.position(error.seq);
            let most =
                self.rare.claimed_size.as_deref().filter(|c| c.at == at).map_or(most, |c| c.most.min(most));
            self.rare.make_mut().claimed_size = Some(Box::new(ClaimedSize { at, most }));
            return;
        }
        self.smss = most;
        self.retransmit_too_long(now);
    }

    /// A lower bound for the largest segment that has arrived (maxsizeacked of RFC 5927 §7.2; see
    /// docs/departures.md): the mean size of the acknowledged segments, or the largest SACKed one.
    fn size_acked(&self) -> u32 {
        let mean = self.stats.bytes_acked.checked_div(self.stats.segments_acked).unwrap_or(0) as u32;
        let sacked =
            self.sender.sent.segments_from(self.snd_una).filter(|s| s.sacked).map(|s| s.range.len()).max();
        mean.max(sacked.unwrap_or(0))
    }

    /// The oldest segment has timed out: a claim that quotes it or a later one takes effect now (MAXSEGRTO of
    /// RFC 5927 §7.2 is 1).
    #[cold]
    pub(super) fn apply_claimed_size(&mut self) {
        if let Some(claim) = self.rare.take(|r| &mut r.claimed_size)
            && claim.at >= self.send.start()
        {
            self.smss = self.smss.min(claim.most);
        }
    }

    /// Marks outstanding segments that are too long now as lost, and retransmits them. That is no sign of
    /// congestion, so the window is not reduced (RFC 1191 §6.5, RFC 8201 §5.4).
    fn retransmit_too_long(&mut self, now: Instant) {
        let most = self.smss;
        let fin = self.fin_sent.then(|| self.snd_nxt - 1);
        let payload = |r: SeqRange| r.len() - u32::from(fin.is_some_and(|fin| r.contains(fin)));
        self.retransmit_unreduced(now, |range| payload(range) > most);
    }

    /// Marks the outstanding segments that `lost` chooses as lost, and retransmits them without a reduction
    /// of the window.
    pub(super) fn retransmit_unreduced(&mut self, now: Instant, lost: impl Fn(SeqRange) -> bool) {
        let from = self.snd_una;
        if !self.sender.sent.segments_from(from).any(|s| !s.sacked && lost(s.range)) {
            return;
        }
        self.forget_copies();
        self.cancel_timing();
        self.end_skip_test();
        if !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            // As after a timeout, but without a reduction of the window and without an episode: until
            // everything outstanding is acknowledged, losses that acks show are these.
            let v = self.view(now);
            let BuiltSender { policies, state } = self.sender.split_mut();
            policies.recovery.on_rto(&state.sent, &v, &mut state.lost);
            state.lost.clear();
            state.dup_acks.reset();
            state.recovery_point = self.snd_nxt;
            self.phase = Phase::Loss;
            self.follow_recovery_deadline(now);
        }
        let BuiltSender { state, .. } = self.sender.split_mut();
        state
            .lost
            .extend(state.sent.segments_from(from).filter(|s| !s.sacked && lost(s.range)).map(|s| s.range));
        self.mark_lost_without_congestion(now);
        let v = self.view(now);
        self.sender.make_mut().quota = self.sender.policies().recovery.quota(&v);
    }
}

/// RFC 9293 §3.9.2.2 for IPv4, RFC 5461 §2 for IPv6. Other codes are soft, as a missing route is.
fn severity(code: u8, v6: bool) -> Severity {
    match (code, v6) {
        // Port unreachable.
        (3, false) | (4, true) => Severity::Refused,
        // Protocol unreachable; communication administratively prohibited.
        (2, false) | (1, true) => Severity::Hard,
        _ => Severity::Soft,
    }
}
