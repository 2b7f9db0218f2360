//! The situation of a sender at a retransmission, from the state of its direction.

use ackclock_units::{Duration, Instant};
use ackclock_wire::Flags;

use super::Half;
use super::old::Before;
use crate::cause::{AcksReceived, Elapsed, Resent, SenderState, Situation};
use crate::segment::CapturedSegment;
use crate::thresholds::THRESHOLDS;

impl Half {
    /// What its sender knew when it retransmitted `start..end`.
    pub(super) fn situation(
        &self,
        seen: &CapturedSegment,
        start: u64,
        end: u64,
        before: &Before,
    ) -> Situation {
        let (s, flags) = (&seen.segment, seen.segment.flags);
        let syn = flags.has(Flags::SYN);
        let head = start <= self.space.una && self.space.una < end;
        Situation {
            segment: Resent {
                syn,
                replies_to_syn: syn && flags.has(Flags::ACK) && self.sent.is_reply_to_repeated_syn(seen.at),
                bare_fin: s.len == 0 && flags.has(Flags::FIN),
                tiny: s.len <= 1 && !flags.has(Flags::FIN),
                head,
                tail: end >= self.space.max,
                sole: self.agreed.packets(
                    (self.space.max - self.space.una.min(self.space.max)).min(u64::from(u32::MAX)) as u32,
                ) <= 1
                    && self.sent.outstanding.len() <= 1,
                below: end <= self.space.una,
                repeated: before.copies > 1,
            },
            elapsed: self.elapsed(seen.at, head, before),
            acks: AcksReceived {
                duplicates: self.heard.dup_acks,
                sack: self.agreed.sack,
                sacked_above: self.heard.sacked.bytes_above(end),
                highest_sack: self.heard.sacked.last_end().map_or(0, |e| e.saturating_sub(start)),
                overtaken: self.heard.delivered_sent.zip(before.last).is_some_and(|(d, last)| d > last),
                advanced: self.heard.news_advanced,
                window_closed: self.heard.window_closed(),
            },
            sender: SenderState {
                rtt: self.path.rtt(),
                mss: self.agreed.mss_or_usual(),
                kernel: self.sent.identified,
                linux_timeout: self.path.linux_timeout(),
                recovering: self.verdicts.open_episode.is_some(),
                after_timeout: self.verdicts.episode().is_some_and(|e| e.timeouts > 0),
                probed: self.sent.probe.end.is_some(),
                before_probes: self.path.before_probes(),
            },
        }
    }

    fn elapsed(&self, at: Instant, head: bool, before: &Before) -> Elapsed {
        // An ack reached the sender half a round trip after the capture, and the retransmission took the
        // other half.
        let heard = |i: Option<Instant>| i.map(|i| at.since(i).saturating_sub(self.path.near));
        let done = |i: Option<Instant>| i.map(|i| at.since(i));
        // If none of these is in the capture, the timer was set before it began.
        let least = |times: &[Option<Duration>]| {
            times.iter().flatten().min().copied().unwrap_or_else(|| at.since(self.path.capture_start))
        };
        let oldest = self.sent.outstanding.front().filter(|_| head);
        let by = THRESHOLDS.timer;
        // An expiry this soon after a probe with new data shows that it was no probe.
        let soonest = self.path.rtt().map_or(Duration::ZERO, |(srtt, _)| {
            if self.sent.identified { srtt + by.linux_margin } else { srtt.mul_f64(by.shortest_rtts) }
        });
        let probed = done(self.sent.probe.at).filter(|d| self.sent.probe.repeats || *d >= soonest);
        let progress = [
            heard(self.heard.advanced_at),
            done(self.sent.expired_at),
            probed,
            done(oldest.map(|p| p.first)),
        ];
        // If one packet retransmits several segments, the timer was for the first.
        let last = done(oldest.map(|p| p.last).or(before.last));
        let timeout = self.path.linux_timeout();
        // After its probe, Linux's timer goes on from when the oldest segment was sent last, whatever has
        // been acknowledged since (`tcp_rearm_rto`).
        let goes_on = head && self.sent.identified && self.sent.probe.end.is_some() && !timeout.is_zero();
        let since_last = last.filter(|d| goes_on && *d >= timeout.mul_f64(by.part_after_probe));
        let set = since_last.unwrap_or_else(|| least(&[progress[0], progress[1], progress[2], last]));
        let probed_last = since_last.is_some() && self.sent.probe.at >= self.sent.sent_at;
        Elapsed {
            set,
            progress: since_last.unwrap_or_else(|| least(&progress)),
            news: heard(self.heard.news_at).unwrap_or(set),
            sent: done(self.sent.sent_at).filter(|_| !probed_last),
            third: heard(self.heard.third_dup_at),
            overtaken: heard(self.heard.overtaken_at),
            quiet: self.quiet_for(at),
            data: heard(self.heard.data_at),
        }
    }
}
