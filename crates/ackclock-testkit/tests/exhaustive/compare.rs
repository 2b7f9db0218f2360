//! The findings of a search: broken rules, and runs that finish later than those of comparable stacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use ackclock_units::{Duration, Instant};

use crate::patterns::{CLASSES, Class, Pattern};
use crate::pipe::Outcome;
use crate::rules::Rule;
use crate::stacks::{Family, Stack};
use crate::transfer::Transfer;

/// What a run is compared with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Late {
    /// The median over all recoveries, everything else being the same; by a timeout.
    Median,
    /// The same stack without timestamps; by a timeout.
    WithTimestamps,
    /// The same stack when the FIN is sent separately rather than with the last segment; by a round trip. It
    /// carries no data, and must not delay data.
    WithFin,
    /// The same stack without undo; by a timeout.
    WithUndo,
}

/// All comparisons, in the order in which they are listed.
const LATE: [(Late, &str); 4] = [
    (Late::Median, "than median"),
    (Late::WithTimestamps, "with timestamps"),
    (Late::WithFin, "with FIN"),
    (Late::WithUndo, "with undo"),
];

/// Later by this is later by a timeout.
fn timeout(stack: &Stack) -> Duration {
    stack.min_rto.mul_f64(0.9)
}

/// Later by this is later by a round trip.
const ROUND_TRIP: Duration = Duration::from_millis(100);

/// How often something was found, and the smallest case.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// How often.
    pub count: u64,
    rank: Rank,
    /// The smallest case, as a line that can be replayed.
    pub replay: String,
}

/// Orders cases: few faults, short transfers, then everything else, so that no two are alike.
type Rank = (usize, usize, Transfer, Pattern, usize, Family);

/// A run to record.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The stack.
    pub stack: &'a Stack,
    /// The transfer.
    pub transfer: &'a Transfer,
    /// The faults on the path.
    pub pattern: &'a Pattern,
    /// Its number among the stacks of its family.
    pub number: usize,
}

impl Case<'_> {
    fn rank(&self) -> Rank {
        (
            self.pattern.len(),
            self.transfer.total(),
            *self.transfer,
            *self.pattern,
            self.number,
            self.stack.family,
        )
    }

    /// A line that [`crate::replay`] reads.
    pub fn line(&self) -> String {
        format!("{} | {} | {}", self.stack, self.transfer, self.pattern)
    }
}

/// All findings of a search. The sum of two does not depend on their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// Runs.
    pub runs: u64,
    /// By rule and stack, whatever its family.
    pub broken: BTreeMap<(Rule, &'static str, &'static str, bool), Found>,
    /// By class of pattern, recovery and comparison. Runs in which every fault of the pattern happened: the
    /// others repeat smaller patterns.
    pub late: BTreeMap<(Class, &'static str, Late, &'static str), Found>,
    /// The runs compared in [`Findings::late`].
    pub compared: BTreeMap<(Class, &'static str), u64>,
}

fn note<K: Ord>(map: &mut BTreeMap<K, Found>, key: K, case: &Case<'_>) {
    let rank = case.rank();
    match map.get_mut(&key) {
        None => _ = map.insert(key, Found { count: 1, rank, replay: case.line() }),
        Some(found) => {
            found.count += 1;
            if rank < found.rank {
                (found.rank, found.replay) = (rank, case.line());
            }
        }
    }
}

fn join<K: Ord>(map: &mut BTreeMap<K, Found>, other: BTreeMap<K, Found>) {
    for (key, theirs) in other {
        match map.get_mut(&key) {
            None => _ = map.insert(key, theirs),
            Some(ours) => {
                let count = ours.count + theirs.count;
                if theirs.rank < ours.rank {
                    *ours = theirs;
                }
                ours.count = count;
            }
        }
    }
}

impl Findings {
    /// Records the runs of all stacks of one family, one transfer and one pattern; each recovery has `undos`
    /// of them in a row.
    pub fn take(
        &mut self,
        stacks: &[Stack],
        outcomes: &[Outcome],
        undos: usize,
        transfer: &Transfer,
        pattern: &Pattern,
    ) {
        self.runs += stacks.len() as u64;
        let class = pattern.class();
        let mut peers: Vec<Vec<Instant>> =
            (0..undos).map(|u| outcomes[u..].iter().step_by(undos).map(done).collect()).collect();
        peers.iter_mut().for_each(|p| p.sort_unstable());
        for (number, (stack, outcome)) in stacks.iter().zip(outcomes).enumerate() {
            let case = Case { stack, transfer, pattern, number };
            for rule in outcome.broken.iter() {
                note(&mut self.broken, (rule, stack.recovery, stack.undo, stack.timestamps), &case);
            }
            if !outcome.complete {
                continue;
            }
            *self.compared.entry((class, stack.recovery)).or_default() += 1;
            let (mine, first) = (done(outcome), number - number % undos);
            let same = |undo: &str, timestamps: bool| {
                let like = |s: &&Stack| s.undo == undo && s.timestamps == timestamps;
                stacks[first..first + undos]
                    .iter()
                    .zip(&outcomes[first..])
                    .find(|(s, _)| like(s))
                    .map(|(_, o)| done(o))
            };
            let peers = &peers[number % undos];
            if mine >= peers[peers.len() / 2] + timeout(stack) {
                note(&mut self.late, (class, stack.recovery, Late::Median, ""), &case);
            }
            if stack.timestamps && same(stack.undo, false).is_some_and(|other| mine >= other + timeout(stack))
            {
                note(&mut self.late, (class, stack.recovery, Late::WithTimestamps, ""), &case);
            }
            if stack.undo != "none"
                && same("none", stack.timestamps).is_some_and(|other| mine >= other + timeout(stack))
            {
                note(&mut self.late, (class, stack.recovery, Late::WithUndo, stack.undo), &case);
            }
        }
    }

    /// Records the run of one stack, `outcome`, and the same run with the FIN sent separately.
    pub fn take_fin(&mut self, case: &Case<'_>, outcome: &Outcome, apart: &Outcome) {
        if outcome.complete && apart.complete && done(outcome) >= done(apart) + ROUND_TRIP {
            note(&mut self.late, (case.pattern.class(), case.stack.recovery, Late::WithFin, ""), case);
        }
    }

    /// Adds the findings of another search.
    pub fn join(&mut self, other: Self) {
        self.runs += other.runs;
        join(&mut self.broken, other.broken);
        join(&mut self.late, other.late);
        other.compared.into_iter().for_each(|(key, n)| *self.compared.entry(key).or_default() += n);
    }

    /// The broken rules, a line for each kind of stack.
    pub fn report(&self) -> String {
        let mut text = String::new();
        let mut last = None;
        for ((rule, recovery, undo, timestamps), found) in &self.broken {
            if last != Some(*rule) {
                let all: u64 =
                    self.broken.iter().filter(|((r, ..), _)| r == rule).map(|(_, found)| found.count).sum();
                writeln!(text, "{rule:?}, {all} runs: {}", rule.text()).expect("text is written to memory");
                last = Some(*rule);
            }
            let ts = if *timestamps { "ts" } else { "no-ts" };
            writeln!(text, "  {recovery:12} {undo:5} {ts:5} {:8}  {}", found.count, found.replay)
                .expect("text is written to memory");
        }
        text
    }

    /// How many runs finish later than others, by class of pattern and recovery, and the smallest case of
    /// each kind.
    pub fn lateness(&self) -> String {
        let mut text = format!("{} runs\n", self.runs);
        let columns = self.columns();
        for class in CLASSES {
            let rows: Vec<_> = self.compared.iter().filter(|((c, _), _)| *c == class).collect();
            if rows.is_empty() {
                continue;
            }
            let head: String = columns.iter().map(|(.., title)| format!(" {title:>18}")).collect();
            writeln!(text, "\n{:24}{:>10}{head}", class.name(), "compared")
                .expect("text is written to memory");
            for ((_, recovery), compared) in rows {
                let cell = |late: Late, undo: &'static str| {
                    self.late.get(&(class, *recovery, late, undo)).map_or(0, |found| found.count)
                };
                let cells: String =
                    columns.iter().map(|(late, undo, _)| format!(" {:>18}", cell(*late, undo))).collect();
                writeln!(text, "  {recovery:22}{compared:>10}{cells}").expect("text is written to memory");
            }
        }
        text += "\nsmallest cases\n";
        for ((class, recovery, late, undo), found) in &self.late {
            let title = LATE.iter().find(|(l, _)| l == late).map_or("", |(_, title)| title);
            let title = format!("{title} {undo}");
            writeln!(text, "  {}, {recovery}, later {}: {}", class.name(), title.trim_end(), found.replay)
                .expect("text is written to memory");
        }
        text
    }

    /// The comparisons that were made: a column for each undo.
    fn columns(&self) -> Vec<(Late, &'static str, String)> {
        let undos: BTreeSet<_> = self
            .late
            .keys()
            .filter(|(_, _, late, _)| *late == Late::WithUndo)
            .map(|(.., undo)| *undo)
            .collect();
        let plain = LATE
            .iter()
            .filter(|(late, _)| *late != Late::WithUndo)
            .map(|(late, title)| (*late, "", (*title).to_owned()));
        plain.chain(undos.into_iter().map(|undo| (Late::WithUndo, undo, format!("with {undo}")))).collect()
    }
}

/// When the receiver had everything; FAR_FUTURE if it never had.
fn done(outcome: &Outcome) -> Instant {
    outcome.done.unwrap_or(Instant::FAR_FUTURE)
}
