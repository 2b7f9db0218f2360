//! Retransmissions: their causes, and the state that each changes.

use ackclock_units::SeqNumber;

use super::old::Before;
use super::{Half, RetransmissionRecord};
use crate::Cause;
use crate::cause::{rule_for, silence};
use crate::report::Retransmission;
use crate::segment::CapturedSegment;
use crate::thresholds::THRESHOLDS;

impl Half {
    /// Takes data, SYN or FIN that was sent before.
    pub(super) fn repeated(
        &mut self,
        seen: &CapturedSegment,
        start: u64,
        end: u64,
        tsval: Option<u32>,
        before: &Before,
    ) {
        let (at, s) = (seen.at, &seen.segment);
        let situation = self.situation(seen, start, end, before);
        let rule = rule_for(&situation);
        let syn = situation.segment.syn;
        let known = self.verdicts.known.get(&seen.frame).filter(|_| rule.cause.counts() && !syn);
        // What acks show says more than that a recovery sent it.
        let cause = known.map(|k| k.cause).filter(|k| !(k.is_by_acks() && rule.cause.is_by_acks()));
        let cause = cause.unwrap_or(rule.cause);
        let maybe_probe = rule.maybe_probe && known.is_none();
        let mut evidence = (rule.evidence)(&situation);
        if let Some(known) = known {
            evidence = format!("{evidence}; {}", known.evidence);
        }
        let payload = super::segments::payload(s, start, end);
        let packets = if cause.counts() { self.agreed.packets_with(s, payload as u32) } else { 0 };
        if cause.counts() {
            self.out.retransmitted_packets += u64::from(packets);
            self.out.retransmitted_bytes += payload;
        }
        if cause.counts() && !syn {
            self.verdicts.count_in_episode(at, &self.space, tsval);
        }
        let spurious = if situation.segment.below {
            Some("it was already acknowledged")
        } else if before.sacked {
            Some("SACK had covered it")
        } else {
            None
        };
        let record = RetransmissionRecord {
            row: Retransmission {
                at,
                frame: seen.frame,
                seq: SeqNumber(start as u32),
                offset: self.space.offset(start),
                len: payload as u32,
                packets,
                cause,
                needed: spurious.map(|_| false),
                original_seen: before.seen || situation.segment.below,
                evidence: spurious.map_or(evidence.clone(), |why| format!("{evidence}; spurious: {why}")),
            },
            start,
            end,
            tsval,
            before: before.retransmission,
            episode: self.verdicts.open_episode.map(|e| e.index).filter(|_| cause.counts() && !syn),
            expiry: None,
            covered: false,
            dsacked: false,
        };
        let place = self.list(record);
        for p in self.sent.outstanding.overlapping(start, end) {
            (p.last, p.copies, p.tsval, p.id) = (at, p.copies + 1, tsval, seen.id);
            p.retransmission = place.or(p.retransmission);
        }
        if situation.segment.head {
            self.heard.overtaken_at = None;
        }
        match cause {
            Cause::Syn if situation.segment.replies_to_syn => {}
            Cause::Timeout | Cause::Syn | Cause::TailLossProbe if !situation.segment.below => {
                self.reach(at);
                self.limits.expired(&self.send_state(at), situation.elapsed.set);
            }
            _ => {}
        }
        match cause {
            Cause::Syn if situation.segment.replies_to_syn => {}
            Cause::Timeout | Cause::Syn => self.expired(at, start, maybe_probe, &situation, place),
            Cause::TailLossProbe => {
                (self.sent.probe.at, self.sent.probe.end, self.sent.probe.repeats) =
                    (Some(at), Some(self.space.max), true)
            }
            // A recovery ends the wait for the ack of a probe.
            _ if cause.counts() => self.sent.probe.end = None,
            _ => {}
        }
        if self.following.request.is_some() && cause.counts() {
            let called_for = situation.loss_reported();
            self.follow_retransmission(at, cause, situation.segment.head, called_for);
        }
    }

    /// Lists a retransmission and returns its place; without room it is only counted.
    pub(super) fn list(&mut self, record: RetransmissionRecord) -> Option<u32> {
        let place = self.verdicts.list(record);
        self.out.unlisted += u64::from(place.is_none());
        place
    }

    /// Takes an empty segment just below what is acknowledged: a probe of a closed window, or a keepalive.
    pub(super) fn probe_without_data(&mut self, seen: &CapturedSegment, start: u64) {
        let quiet = self.quiet_for(seen.at);
        let cause = if self.heard.window_closed() { Cause::ZeroWindowProbe } else { Cause::Keepalive };
        if cause == Cause::Keepalive && quiet.is_some_and(|q| q < THRESHOLDS.probe.keepalive) {
            return;
        }
        let evidence = match cause {
            Cause::ZeroWindowProbe => "an empty segment below the window while it is closed".into(),
            _ => format!("an empty segment below the window{}", silence(quiet)),
        };
        let row = Retransmission {
            at: seen.at,
            frame: seen.frame,
            seq: seen.segment.seq,
            offset: self.space.offset(start),
            cause,
            original_seen: true,
            evidence,
            ..Retransmission::default()
        };
        self.list(RetransmissionRecord {
            row,
            start,
            end: start,
            tsval: None,
            before: None,
            episode: None,
            expiry: None,
            covered: true,
            dsacked: false,
        });
    }
}
