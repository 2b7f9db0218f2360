//! Retransmissions: what each is, and what it begins.

use ackclock_units::{Instant, SeqNumber};

use super::old::Before;
use super::{Again, Half};
use crate::Cause;
use crate::cause::{rule_for, silence};
use crate::report::{Episode, Retransmission};
use crate::segment::Seen;
use crate::thresholds::THRESHOLDS;

impl Half {
    /// Data, SYN or FIN that was sent before.
    pub(super) fn repeated(
        &mut self,
        seen: &Seen,
        start: u64,
        end: u64,
        tsval: Option<u32>,
        before: &Before,
    ) {
        let (at, s) = (seen.at, &seen.segment);
        let situation = self.situation(seen, start, end, before);
        let rule = rule_for(&situation);
        let (cause, syn) = (rule.cause, situation.segment.syn);
        let evidence = (rule.evidence)(&situation);
        let payload = super::segments::payload(s, start, end);
        let packets = if cause.counts() { self.packets_with(s, payload as u32) } else { 0 };
        if cause.counts() {
            self.out.retransmitted_packets += u64::from(packets);
            self.out.retransmitted_bytes += payload;
        }
        if cause.counts() && !syn {
            self.in_episode(at, tsval);
        }
        let needless = if situation.segment.below {
            Some("it was acknowledged already")
        } else if before.sacked {
            Some("SACK had covered it")
        } else {
            None
        };
        let again = Again {
            row: Retransmission {
                at,
                seq: SeqNumber(start as u32),
                offset: self.offset(start),
                len: payload as u32,
                packets,
                cause,
                needed: needless.map(|_| false),
                original_seen: before.seen || situation.segment.below,
                evidence: needless.map_or(evidence.clone(), |why| format!("{evidence}; not needed: {why}")),
            },
            start,
            end,
            tsval,
            before: before.again,
            episode: self.episode.map(|e| e.0).filter(|_| cause.counts() && !syn),
            expiry: None,
            covered: false,
            twice: false,
        };
        let place = self.list(again);
        for p in self.outstanding.overlapping(start, end) {
            (p.last, p.copies, p.tsval, p.id) = (at, p.copies + 1, tsval, seen.id);
            p.again = place.or(p.again);
        }
        if situation.segment.head {
            self.overtaken_at = None;
        }
        match cause {
            Cause::Syn if situation.segment.answers_syn => {}
            Cause::Timeout | Cause::Syn | Cause::TailLossProbe if !situation.segment.below => {
                self.limits.expired(&self.standing(at), situation.elapsed.set);
            }
            _ => {}
        }
        match cause {
            Cause::Syn if situation.segment.answers_syn => {}
            Cause::Timeout | Cause::Syn => self.expired(at, start, rule.maybe_probe, &situation, place),
            Cause::TailLossProbe => {
                (self.probed_at, self.probed_to, self.probe_again) = (Some(at), Some(self.max), true)
            }
            // A recovery ends the wait for its answer.
            _ if cause.counts() => self.probed_to = None,
            _ => {}
        }
        if self.asked.is_some() && cause.counts() {
            let called_for = situation.loss_reported();
            self.follow_again(at, cause, situation.segment.head, called_for);
        }
    }

    pub(super) fn list(&mut self, again: Again) -> Option<u32> {
        if !self.may_list {
            self.out.unlisted += 1;
            return None;
        }
        self.agains.push(again);
        Some(self.agains.len() as u32 - 1)
    }

    /// Counts a retransmission into the episode that is under way, or begins one (M-U1).
    fn in_episode(&mut self, at: Instant, tsval: Option<u32>) {
        if self.episode.is_none() && self.flight() > 0 {
            self.episodes.push(Episode {
                began: at,
                flight: self.flight(),
                recovery_point: SeqNumber(self.max as u32),
                ..Episode::default()
            });
            self.episode = Some((self.episodes.len() as u32 - 1, self.max));
            self.episode_tsval = tsval;
        }
        if let Some(e) = self.episode.and_then(|e| self.episodes.get_mut(e.0 as usize)) {
            e.retransmissions += 1;
        }
    }

    /// An empty segment just below what is acknowledged.
    pub(super) fn probe_without_data(&mut self, seen: &Seen, start: u64) {
        let quiet = self.quiet_for(seen.at);
        let cause = if self.closed_window() { Cause::ZeroWindowProbe } else { Cause::Keepalive };
        if cause == Cause::Keepalive && quiet.is_some_and(|q| q < THRESHOLDS.probe.keepalive) {
            return;
        }
        let evidence = match cause {
            Cause::ZeroWindowProbe => "an empty segment below the window while it is closed".into(),
            _ => format!("an empty segment below the window{}", silence(quiet)),
        };
        let row = Retransmission {
            at: seen.at,
            seq: seen.segment.seq,
            offset: self.offset(start),
            cause,
            original_seen: true,
            evidence,
            ..Retransmission::default()
        };
        self.list(Again {
            row,
            start,
            end: start,
            tsval: None,
            before: None,
            episode: None,
            expiry: None,
            covered: true,
            twice: false,
        });
    }
}
