//! What counts as a timeout, and what only another rule takes for one: the same for texts, tables and
//! figures.

use ackclock_units::{Duration, Instant, SeqNumber};

use crate::gaps::{Gap, GapRule, SENT_AGAIN};
use crate::{Direction, TimedOut, Timeout, View};

/// A timeout that a retransmission or a silence tells of.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutByRule<'a> {
    /// When its retransmission was seen, or when the silence ended.
    pub at: Instant,
    /// How long the timer had waited, or the silence was.
    pub rto: Duration,
    /// 1 for the first.
    pub round: u32,
    /// First sequence number of the retransmission, or of what ended the silence.
    pub seq: Option<SeqNumber>,
    /// What timed out.
    pub of: TimedOut,
    /// What tells of it: `sent-again`, `gap` or `gap-and-content`.
    pub rule: &'static str,
    /// The rule is the one that counts where this was seen.
    pub counts: bool,
    /// What else a retransmission tells.
    pub timeout: Option<&'a Timeout>,
}

impl Direction {
    /// Timeouts by every rule that says something of this direction.
    ///
    /// Near the sender of data, what it sends again counts. Near its receiver, where what is retransmitted
    /// does not always come by, silences do, by what ends them; and of a SYN, which no silence tells of, its
    /// being sent again.
    pub fn timeouts_by_rule(&self) -> impl Iterator<Item = TimeoutByRule<'_>> {
        let near_receiver = self.view == View::Receiver;
        let again = self.timeouts.iter().map(move |t| TimeoutByRule {
            at: t.at,
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

    /// How long its sender waited for timers that expired, by the timeouts that count: times that overlap
    /// once.
    pub fn stalled(&self) -> Duration {
        overlaps_once(self.counted().map(|t| (t.at, t.rto)))
    }
}

/// The time that waits take, each given by its end and its length: times that overlap once.
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
        rto: gap.length,
        round: gap.round,
        seq: gap.seq,
        of: TimedOut::Data,
        rule: rule.word(),
        counts: rule == GapRule::Content,
        timeout: None,
    }
}
