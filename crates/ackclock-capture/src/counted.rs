//! Which timeouts count, and which only another rule infers: the same for texts, tables and figures.

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::gaps::{Gap, GapRule, SENT_AGAIN};
use crate::{Direction, TimedOut, Timeout, View};

/// A timeout inferred from a retransmission or from a silence.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutByRule<'a> {
    /// When its retransmission was seen, or when the silence ended.
    pub at: Instant,
    /// The number of that packet in the file, from 1.
    pub frame: u64,
    /// How long the timer had waited, or the silence was.
    pub rto: Duration,
    /// 1 for the first.
    pub round: u32,
    /// First sequence number of the retransmission, or of what ended the silence.
    pub seq: Option<SeqNumber>,
    /// What timed out.
    pub of: TimedOut,
    /// The rule that infers it: `sent-again`, `gap` or `gap-and-content`.
    pub rule: &'static str,
    /// The rule is the one that counts for this point of view.
    pub counts: bool,
    /// Further results, if it is inferred from a retransmission.
    pub timeout: Option<&'a Timeout>,
}

impl Direction {
    /// Timeouts by every rule that applies to this direction.
    ///
    /// Near the data's sender, retransmissions count. Near its receiver, where retransmissions may have been
    /// lost before the capture, silences count, by what ends them. SYNs have no such silence: their
    /// retransmissions count everywhere.
    pub fn timeouts_by_rule(&self) -> impl Iterator<Item = TimeoutByRule<'_>> {
        let near_receiver = self.view == View::Receiver;
        let again = self.timeouts.iter().map(move |t| TimeoutByRule {
            at: t.at,
            frame: t.frame,
            rto: t.rto,
            round: t.round,
            seq: Some(t.seq),
            of: t.of,
            rule: SENT_AGAIN,
            counts: !near_receiver || t.of == TimedOut::Syn,
            timeout: Some(t),
        });
        let rules = [(GapRule::Time, &self.gaps_by_time), (GapRule::Content, &self.gaps)];
        let silences = rules
            .into_iter()
            .filter(move |_| near_receiver)
            .flat_map(|(rule, gaps)| gaps.iter().map(move |gap| (rule, gap)));
        again.chain(silences.map(|(rule, gap)| of_silence(rule, gap)))
    }

    /// The timeouts that count.
    pub fn counted(&self) -> impl Iterator<Item = TimeoutByRule<'_>> {
        self.timeouts_by_rule().filter(|t| t.counts)
    }

    /// How long its sender waited for timers that expired, by the timeouts that count. Overlapping waits are
    /// counted once.
    pub fn stalled(&self) -> Duration {
        overlaps_once(self.counted().map(|t| (t.at, t.rto)))
    }
}

/// The time that waits take in all, each given by its end and its length. Overlapping waits are counted once.
pub(crate) fn overlaps_once(waits: impl Iterator<Item = (Instant, Duration)>) -> Duration {
    let mut waits: Vec<_> = waits.map(|(at, waited)| (at.saturating_sub(waited), at)).collect();
    waits.sort_unstable();
    let (mut sum, mut until) = (Duration::ZERO, Instant::ZERO);
    for (from, to) in waits {
        sum += to.since(from.max(until));
        until = until.max(to);
    }
    sum
}

fn of_silence(rule: GapRule, gap: &Gap) -> TimeoutByRule<'static> {
    TimeoutByRule {
        at: gap.from + gap.length,
        frame: gap.frame,
        rto: gap.length,
        round: gap.round,
        seq: gap.seq,
        of: TimedOut::Data,
        rule: rule.word(),
        counts: rule == GapRule::Content,
        timeout: None,
    }
}
