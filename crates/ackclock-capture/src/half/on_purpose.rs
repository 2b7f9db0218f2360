//! Copies that a sender sends immediately after a segment, in case one of the two is lost (I-A7). They are no
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

/// The copies that this sender makes.
#[derive(Debug, Default)]
pub(super) struct Copied {
    /// The end of the segment that was copied last, and how often it was.
    end: u64,
    times: u32,
    /// The most copies of one segment outside of a recovery.
    usual: u32,
}

impl Half {
    /// True if a segment repeats the newest one at once, when nothing can have indicated a loss: no ack has
    /// arrived since, and no timer is that short.
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
        // In a recovery the newest segment is retransmitted at once if the window allows it and nothing else
        // is left to send (RFC 6675 §4, NextSeg rule 4).
        let usual = self.verdicts.open_episode.is_none()
            || self.sent.copied.end != end && self.sent.copied.usual > 0
            || self.sent.copied.times < self.sent.copied.usual;
        plain && newest && since <= soon && heard.is_none_or(|at| at <= last) && usual
    }

    /// Lists a copy. The segment still counts as sent once: its ack gives a round-trip sample, and a later
    /// copy is the first retransmission.
    pub(super) fn list_copy(&mut self, seen: &CapturedSegment, start: u64, end: u64, before: &Before) {
        let since = before.last.map_or(Duration::ZERO, |last| seen.at.since(last));
        let c = &mut self.sent.copied;
        (c.end, c.times) = (end, if c.end == end { c.times + 1 } else { 1 });
        c.usual = if self.verdicts.open_episode.is_none() { c.usual.max(c.times) } else { c.usual };
        let row = Retransmission {
            at: seen.at,
            frame: seen.frame,
            seq: SeqNumber(start as u32),
            offset: self.space.offset(start),
            len: seen.segment.len,
            cause: Cause::Copy,
            original_seen: true,
            evidence: format!(
                "the newest segment again, {} after it: nothing can have indicated its loss",
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
