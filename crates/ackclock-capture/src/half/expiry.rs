//! Expiries of the retransmission timer.

use ackclock_units::{Duration, Instant, SeqNumber};

use super::Half;
use super::records::{ExpiryRecord, ExpiryState, ExpiryVerdict, LinuxWaits, MaybeProbe};
use crate::cause::Situation;
use crate::report::TimedOut;
use crate::thresholds::THRESHOLDS;

impl Half {
    /// Records an expiry for the segment at `start`, whose retransmission is listed at `place`; it may turn
    /// out to be a probe.
    pub(super) fn expired(
        &mut self,
        at: Instant,
        start: u64,
        maybe_probe: bool,
        s: &Situation,
        place: Option<u32>,
    ) {
        let (segment, acks, syn) = (&s.segment, &s.acks, s.segment.syn);
        let agreed = self.agreed;
        let packets = |bytes: u64| agreed.packets(bytes.min(u64::from(u32::MAX)) as u32);
        let sacked_segments = if acks.sacked_above > 0 { packets(acks.sacked_above) } else { 0 };
        // A whole window was lost: none of it was acknowledged or SACKed (M-F11).
        let outage = !syn && s.nothing_lost() && segment.head && !segment.tail;
        let Some(again) = place else { return };
        let episode = self.verdicts.open_episode.map(|e| e.index).filter(|_| !syn);
        let (probe_wait, timeout) = self.path.linux.waits(self.path.near);
        let delayed_ack = if segment.sole { THRESHOLDS.probe.delayed_ack } else { Duration::ZERO };
        let under_way = self
            .heard
            .advanced_at
            .is_some_and(|advanced| at.since(advanced) < self.path.near.mul_f64(THRESHOLDS.doubt.under_way));
        self.verdicts.expiries.push(ExpiryRecord {
            at,
            seq: SeqNumber(start as u32),
            of: if syn { TimedOut::Syn } else { TimedOut::Data },
            retransmission: again,
            episode,
            chain: self.sent.chain,
            waited: s.elapsed.set,
            waited_longer: s.elapsed.progress,
            probe: MaybeProbe {
                maybe: maybe_probe,
                certain: true,
                no_other: s.sender.probed || !acks.sack,
                missing: acks.sack
                    && !s.sender.recovering
                    && segment.head
                    && !segment.sole
                    && !s.sender.probed
                    && !segment.repeated
                    && s.nothing_lost()
                    && !syn,
                pto: s.sender.rtt.map(|(srtt, _)| srtt * 2 + delayed_ack),
            },
            linux: LinuxWaits { probe: probe_wait, timeout, samples: self.path.linux.samples },
            state: ExpiryState {
                outage,
                news: !s.nothing_lost(),
                dup_acks: acks.duplicates.max(sacked_segments),
                repairing: s.sender.recovering && segment.repeated || s.loss_reported(),
                segments: packets(self.space.flight()),
                max: self.space.max,
            },
            verdict: ExpiryVerdict {
                eifel_spurious: segment.below.then_some(under_way),
                doubt: Some(if segment.below {
                    "its ack was under way"
                } else {
                    "no ack of it was captured"
                }),
                filled: false,
                covered_at: None,
            },
        });
        self.verdicts.retransmissions[again as usize].expiry = Some(self.verdicts.expiries.len() as u32 - 1);
        self.sent.expired_at = Some(at);
        // RFC 5681 §3.1: the loss window is one segment.
        (self.sent.rounds.last_flight, self.sent.rounds.flight) = (0, u64::from(s.sender.mss));
        if let Some(open) = self.verdicts.open_episode.as_mut().filter(|_| !syn) {
            // Everything outstanding now may be retransmitted (RFC 6582 §4).
            open.end = self.space.max;
        }
        (self.sent.probe.end, self.sent.probe.repeats) = (maybe_probe.then_some(self.space.max), true);
        if let Some(e) =
            episode.and_then(|e| self.verdicts.episodes.get_mut(e as usize)).filter(|_| !maybe_probe)
        {
            e.timeouts += 1;
        }
    }
}
