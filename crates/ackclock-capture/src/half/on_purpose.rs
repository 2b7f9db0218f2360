//! Copies that a sender sends of a segment right behind it, so that one of them may be lost (I-A7): no
//! retransmissions.

use ackclock_units::{Duration, SeqNumber};
use ackclock_wire::Flags;

use super::old::Before;
use super::{Half, RetransmissionRecord};
use crate::Cause;
use crate::cause::span;
use crate::report::Retransmission;
use crate::segment::CapturedSegment;
use crate::thresholds::THRESHOLDS;

/// What copies this sender makes.
#[derive(Debug, Default)]
pub(super) struct Copied {
    /// Where the segment ends that was copied last, and how often it was.
    end: u64,
    times: u32,
    /// How often one was at most while nothing was amiss.
    usual: u32,
}

impl Half {
    /// True when a segment repeats the newest one at once, which nothing can have told to be lost: no ack has
    /// come since, and no timer is that short.
    pub(super) fn is_sent_on_purpose(
        &self,
        seen: &CapturedSegment,
        start: u64,
        end: u64,
        before: &Before,
    ) -> bool {
        let Some(last) = before.last else { return false };
        let since = seen.at.since(last);
        let by = THRESHOLDS.copies;
        let soon =
            self.path.rtt().map_or(by.on_purpose, |(srtt, _)| (srtt / by.on_purpose_part).min(by.on_purpose));
        let heard = [self.heard.advanced_at, self.heard.news_at].into_iter().flatten().max();
        let newest = end == self.space.max
            && before.seen
            && !before.sacked
            && before.retransmission.is_none()
            && before.bytes == end - start;
        let plain = seen.segment.len > 0 && !seen.segment.flags.any(Flags::SYN | Flags::FIN);
        // In a recovery the newest segment is retransmitted at once where the window allows it and nothing
        // else is left (RFC 6675 §4, NextSeg rule 4).
        let usual = self.verdicts.open_episode.is_none()
            || self.sent.copied.end != end && self.sent.copied.usual > 0
            || self.sent.copied.times < self.sent.copied.usual;
        plain && newest && since <= soon && heard.is_none_or(|at| at <= last) && usual
    }

    /// Lists a copy. The segment stays as if it had been sent once: its ack measures a round trip, and a
    /// later copy is the first retransmission.
    pub(super) fn list_copy(&mut self, seen: &CapturedSegment, start: u64, end: u64, before: &Before) {
        let since = before.last.map_or(Duration::ZERO, |last| seen.at.since(last));
        let c = &mut self.sent.copied;
        (c.end, c.times) = (end, if c.end == end { c.times + 1 } else { 1 });
        c.usual = if self.verdicts.open_episode.is_none() { c.usual.max(c.times) } else { c.usual };
        let row = Retransmission {
            at: seen.at,
            seq: SeqNumber(start as u32),
            offset: self.space.offset(start),
            len: seen.segment.len,
            cause: Cause::Copy,
            original_seen: true,
            evidence: format!(
                "the newest segment once more, {} behind it: nothing could have told of its loss",
                span(since)
            ),
            ..Retransmission::default()
        };
        self.list(RetransmissionRecord {
            row,
            start,
            end,
            tsval: None,
            before: None,
            episode: None,
            expiry: None,
            covered: true,
            dsacked: false,
        });
    }
}
