//! Expiries of the retransmission timer.

use ackclock_units::{Duration, Instant, SeqNumber};

use super::{ExpiryRecord, Half};
use crate::cause::Situation;
use crate::report::TimedOut;
use crate::thresholds::THRESHOLDS;

impl Half {
    /// The timer has fired for the segment at `start`, which `place` lists; or a probe was sent.
    pub(super) fn expired(
        &mut self,
        at: Instant,
        start: u64,
        maybe_probe: bool,
        s: &Situation,
        place: Option<u32>,
    ) {
        let (segment, acks, syn) = (&s.segment, &s.acks, s.segment.syn);
        let packets = |half: &Self, bytes: u64| half.agreed.packets(bytes.min(u64::from(u32::MAX)) as u32);
        // A whole window is gone without a trace: nothing of it was acknowledged, singly or selectively
        // (M-F11).
        let outage = !syn && s.nothing_lost() && segment.head && !segment.tail;
        let Some(again) = place else { return };
        let episode = self.verdicts.open_episode.map(|e| e.index).filter(|_| !syn);
        self.verdicts.expiries.push(ExpiryRecord {
            at,
            seq: SeqNumber(start as u32),
            of: if syn { TimedOut::Syn } else { TimedOut::Data },
            waited: s.elapsed.set,
            waited_longer: s.elapsed.progress,
            chain: self.sent.chain,
            maybe_probe,
            certain: true,
            again,
            episode,
            eifel_spurious: segment.below.then(|| {
                self.heard
                    .advanced_at
                    .is_some_and(|a| at.since(a) < self.path.near.mul_f64(THRESHOLDS.doubt.under_way))
            }),
            doubt: Some(if segment.below { "an ack of it was under way" } else { "no ack of it was seen" }),
            filled: false,
            covered_at: None,
            outage,
            repairing: s.sender.recovering && segment.repeated || s.loss_reported(),
            outstanding: packets(self, self.space.flight()),
            dup_acks: acks
                .duplicates
                .max(packets(self, acks.sacked_above) * u32::from(acks.sacked_above > 0)),
            no_probe: s.sender.probed || !acks.sack,
            pto: s.sender.rtt.map(|(srtt, _)| {
                srtt * 2 + if segment.sole { THRESHOLDS.probe.delayed_ack } else { Duration::ZERO }
            }),
            max: self.space.max,
            news: !s.nothing_lost(),
            unprobed: acks.sack
                && !s.sender.recovering
                && segment.head
                && !segment.sole
                && !s.sender.probed
                && !segment.repeated
                && s.nothing_lost()
                && !syn,
            probe_after: self.path.linux.waits(self.path.near).0,
            timeout_after: self.path.linux.waits(self.path.near).1,
            samples: self.path.linux.samples,
        });
        self.verdicts.retransmissions[again as usize].expiry = Some(self.verdicts.expiries.len() as u32 - 1);
        self.sent.expired_at = Some(at);
        // RFC 5681 §3.1: the loss window is one segment.
        (self.sent.rounds.last_flight, self.sent.rounds.flight) = (0, u64::from(s.sender.mss));
        if let Some(open) = self.verdicts.open_episode.as_mut().filter(|_| !syn) {
            // Everything outstanding now is in doubt (RFC 6582 §4).
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
