//! ICMP errors about what was sent: RFC 9293 §3.9.2.2, path MTU discovery (RFC 1191, RFC 8201), and what is
//! believed of them (RFC 5927).

use ackclock_policy::Phase;
use ackclock_units::{Instant, SeqRange};
use ackclock_wire::{IcmpError, IcmpKind};

use super::sender::Sending;
use super::{Connection, State};
use crate::AbortReason;

/// IPv4 and IPv6 header with a TCP header, without options.
const HEADERS: [u32; 2] = [40, 60];
/// Every IPv4 link takes so much (RFC 791 §3.2, RFC 1191 §3).
const LEAST_MTU: u32 = 68;
/// Every IPv6 link takes so much (RFC 8200 §5).
const LEAST_MTU_V6: u32 = 1280;
/// Sizes that links have, for routers that do not tell theirs (RFC 1191 §7, table 7-1).
const PLATEAUS: [u32; 10] = [32_000, 17_914, 8_166, 4_352, 2_002, 1_492, 1_006, 508, 296, LEAST_MTU];

/// A size that an ICMP error claims to be the largest for the path, not acted upon yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClaimedSize {
    /// Where the segment that it quotes begins in the stream.
    at: u64,
    /// Largest segment, options not counted.
    most: u32,
}

/// How much an error says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Severity {
    /// It may pass.
    Soft,
    /// Nobody listens there.
    Refused,
    /// It will not pass.
    Hard,
}

impl Connection {
    /// Takes in an ICMP error that quotes a segment of this connection; the caller has looked at addresses
    /// and ports.
    pub fn handle_icmp(&mut self, now: Instant, error: &IcmpError) {
        // RFC 5927 §4.1: only what is outstanding can have met an error; anything else is old or forged.
        let outstanding = SeqRange::new(self.snd_una, self.snd_nxt).contains(error.seq);
        if !outstanding || matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        match error.kind {
            // RFC 9293 §3.9.2.2, MUST-55.
            IcmpKind::SourceQuench => {}
            IcmpKind::TooBig { mtu } => self.take_mtu(now, mtu, error),
            IcmpKind::Unreachable(code) => self.take_unreachable(now, severity(code, error.from.is_ipv6())),
            IcmpKind::TimeExceeded | IcmpKind::ParameterProblem => self.take_unreachable(now, Severity::Soft),
        }
    }

    fn take_unreachable(&mut self, now: Instant, severity: Severity) {
        match (self.state, severity) {
            (State::SynSent | State::SynReceived, Severity::Refused) => {
                self.abandon(AbortReason::Refused, now)
            }
            // In SYN-SENT a soft error too ends the attempt, at once, so that another address can be tried
            // (RFC 5461 §4.1; see docs/departures.md).
            (State::SynSent | State::SynReceived, Severity::Hard) | (State::SynSent, Severity::Soft) => {
                self.abandon(AbortReason::Unreachable, now)
            }
            // RFC 9293 §3.9.2.2, MUST-56. A hard error counts for no more once the connection is synchronized
            // (RFC 5927 §5.2).
            _ => self.rare.make().unreachable_at = Some(now),
        }
    }

    /// A packet of `error.packet_len` bytes was too long for a link that claims to take `mtu`.
    ///
    /// Anybody can say so who guesses ports and a sequence number. What claims less than segments that have
    /// arrived is therefore not acted upon before the segment that it quotes times out; where none of that
    /// size has, the path is being discovered, and it counts at once (RFC 5927 §7.2).
    fn take_mtu(&mut self, now: Instant, mtu: u32, error: &IcmpError) {
        // A SYN carries no data that could be cut.
        if !self.state.is_synchronized() || !self.sender.is_made() {
            return;
        }
        let v6 = error.from.is_ipv6();
        let mtu = match mtu {
            // RFC 8201 §4: what claims less is discarded.
            mtu if v6 && mtu < LEAST_MTU_V6 => return,
            // RFC 1191 §5: the next size below that of the packet.
            0 => PLATEAUS.into_iter().find(|p| *p < error.packet_len).unwrap_or(LEAST_MTU),
            mtu => mtu.max(LEAST_MTU),
        };
        // A claim below the floor is taken for the floor.
        let mtu = mtu.max(self.config.min_pmtu);
        // As in the handshake: nobody is followed below 64 bytes, and timestamps come off.
        let most = mtu.saturating_sub(HEADERS[usize::from(v6)]).max(64)
            - if self.rare.timestamps.on { 12 } else { 0 };
        if most >= self.smss {
            return;
        }
        if most < self.size_acked() {
            // The smallest claim for a segment counts.
            let at = self.position(error.seq);
            let most = self.rare.claimed_size.filter(|c| c.at == at).map_or(most, |c| c.most.min(most));
            self.rare.make().claimed_size = Some(ClaimedSize { at, most });
            return;
        }
        self.smss = most;
        self.resend_longer(now);
    }

    /// A size that segments have had which arrived, of which the largest had as much at least (maxsizeacked
    /// of RFC 5927 §7.2; see docs/departures.md): the mean of those that were acknowledged, or the largest
    /// that is selectively acknowledged.
    fn size_acked(&self) -> u32 {
        let mean = self.stats.bytes_acked.checked_div(self.stats.segments_acked).unwrap_or(0) as u32;
        let sacked =
            self.sender.sent.segments_from(self.snd_una).filter(|s| s.sacked).map(|s| s.range.len()).max();
        mean.max(sacked.unwrap_or(0))
    }

    /// The oldest segment has timed out: a claim about it, or about one after it, is believed now (MAXSEGRTO
    /// of RFC 5927 §7.2 is 1).
    #[cold]
    pub(super) fn believe_claimed_size(&mut self) {
        if let Some(claim) = self.rare.take(|r| &mut r.claimed_size)
            && claim.at >= self.send.start()
        {
            self.smss = self.smss.min(claim.most);
        }
    }

    /// What is outstanding in segments that are too long now is lost and goes again. That is no sign of
    /// congestion: the window stays as it is (RFC 1191 §6.5, RFC 8201 §5.4).
    fn resend_longer(&mut self, now: Instant) {
        let (from, most) = (self.snd_una, self.smss);
        let fin = self.fin_sent.then(|| self.snd_nxt - 1);
        let payload = |r: SeqRange| r.len() - u32::from(fin.is_some_and(|fin| r.contains(fin)));
        if !self.sender.sent.segments_from(from).any(|s| !s.sacked && payload(s.range) > most) {
            return;
        }
        self.forget_copies();
        self.stop_timing();
        self.end_skip_test();
        if !matches!(self.phase, Phase::Recovery | Phase::Loss) {
            // As after a timeout, but for the window and the episode: until all of it is acknowledged, what
            // acks show to be missing is this loss.
            let v = self.view(now);
            let Sending { policies, state } = self.sender.both();
            policies.recovery.on_rto(&state.sent, &v, &mut state.lost);
            state.lost.clear();
            state.dups.forget();
            state.recovery_point = self.snd_nxt;
            self.phase = Phase::Loss;
            self.follow_recovery_deadline();
        }
        let Sending { state, .. } = self.sender.both();
        state.lost.extend(
            state.sent.segments_from(from).filter(|s| !s.sacked && payload(s.range) > most).map(|s| s.range),
        );
        self.mark_lost(now);
        let v = self.view(now);
        self.sender.make().quota = self.sender.policies().recovery.quota(&v);
    }
}

/// RFC 9293 §3.9.2.2 for IPv4, RFC 5461 §2 for IPv6. What neither has is as soft as a route that is missing.
fn severity(code: u8, v6: bool) -> Severity {
    match (code, v6) {
        // Port unreachable.
        (3, false) | (4, true) => Severity::Refused,
        // Protocol unreachable; communication administratively prohibited.
        (2, false) | (1, true) => Severity::Hard,
        _ => Severity::Soft,
    }
}
