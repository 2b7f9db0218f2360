//! The runs of a search, and how they are distributed over threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::compare::{Case, Findings};
use crate::patterns::*;
use crate::pipe::{Room, play};
use crate::stacks::{Family, undos};
use crate::transfer::Transfer;

/// Every stack of some families on some transfers with some patterns.
pub struct Sweep {
    name: &'static str,
    families: Vec<Family>,
    transfers: Vec<Transfer>,
    patterns: fn(&Transfer) -> Vec<Pattern>,
    /// Each transfer is repeated with the FIN apart.
    fin_apart: bool,
}

impl Sweep {
    /// The number of runs.
    pub fn runs(&self) -> u64 {
        let patterns: usize = self.transfers.iter().map(|t| (self.patterns)(t).len()).sum();
        let stacks: usize = self.families.iter().map(Family::size).sum();
        (patterns * stacks * if self.fin_apart { 2 } else { 1 }) as u64
    }
}

/// Delays, ms: within a round trip, by several, by about a timeout, by more.
const HELD: &[u16] = &[10, 60, 150, 500, 1000, 1500, 4000];
const SPIKES: &[u16] = &[200, 950, 1100, 1500, 2500, 4000, 8000];

fn sweep(
    name: &'static str,
    families: &[Family],
    transfers: &[Transfer],
    patterns: fn(&Transfer) -> Vec<Pattern>,
) -> Sweep {
    Sweep { name, families: families.to_vec(), transfers: transfers.to_vec(), patterns, fin_apart: false }
}

/// Transmissions that faults address: those of the segments, and a few retransmissions.
fn numbers(t: &Transfer, more: u8) -> u8 {
    t.addressed() + more
}

fn losses(t: &Transfer) -> Vec<Pattern> {
    [subsets(&by_number(numbers(t, 3)), 0, 3), subsets(&in_a_row(t.addressed()), 1, 1)].concat()
}

fn two_losses(t: &Transfer) -> Vec<Pattern> {
    subsets(&by_number(numbers(t, 3)), 0, 2)
}

fn copies(t: &Transfer) -> Vec<Pattern> {
    subsets(&by_copy(t.addressed(), 3), 1, 3)
}

fn lost_acks(t: &Transfer) -> Vec<Pattern> {
    let (n, one) = (numbers(t, 2), subsets(&by_number(numbers(t, 2)), 1, 1));
    let acks = acks(n);
    [subsets(&acks, 1, 2), pairs(&one, &subsets(&acks, 1, 1))].concat()
}

fn spiked(t: &Transfer) -> Vec<Pattern> {
    let n = numbers(t, 2);
    [subsets(&spikes(n, SPIKES), 1, 1), subsets(&ack_spikes(n, SPIKES), 1, 1)].concat()
}

fn spikes_and_losses(t: &Transfer) -> Vec<Pattern> {
    let n = numbers(t, 2);
    pairs(&subsets(&spikes(n, &[950, 1500]), 1, 1), &subsets(&by_number(n), 1, 1))
}

fn reordered(t: &Transfer) -> Vec<Pattern> {
    subsets(&held(numbers(t, 2), &[1, 2, 4], HELD), 1, 1)
}

fn duplicated(t: &Transfer) -> Vec<Pattern> {
    let (doubled, n) = (doubled(numbers(t, 2)), numbers(t, 2));
    [subsets(&doubled, 1, 2), pairs(&subsets(&doubled, 1, 1), &subsets(&by_number(n), 1, 1))].concat()
}

fn opened_and_closed(t: &Transfer) -> Vec<Pattern> {
    let ends = opening_and_closing();
    [subsets(&ends, 1, 2), pairs(&subsets(&ends, 1, 1), &subsets(&by_number(numbers(t, 2)), 1, 1))].concat()
}

/// A few patterns of every class, for stacks that differ little from the standard ones.
fn a_few(t: &Transfer) -> Vec<Pattern> {
    let n = numbers(t, 1);
    let tail: Vec<_> = (n.saturating_sub(4)..=n).map(Fault::Lose).collect();
    let rest = [
        Fault::LoseAck(2),
        Fault::LoseSyn(1),
        Fault::LoseSynAck(1),
        Fault::Hold(2, 1, 150),
        Fault::Hold(2, 2, 1500),
        Fault::Double(3),
    ];
    [
        subsets(&by_number(n), 0, 1),
        subsets(&tail, 2, 3),
        subsets(&spikes(4, &[1500, 4000]), 1, 1),
        subsets(&rest, 1, 1),
    ]
    .concat()
}

/// What fits into a minute: 3 million runs.
pub fn quick() -> Vec<Sweep> {
    let standard: Vec<_> = Family::all().into_iter().filter(Family::is_standard).collect();
    let mut some: Vec<_> = Family::near_standard(1).chain(Family::drawn()).collect();
    some.sort();
    some.dedup();
    let (three, ten) = (Transfer::of(10, 3), Transfer::of(10, 10));
    let after = ten.after_one();
    vec![
        Sweep { fin_apart: true, ..sweep("losses with a FIN", &standard, &[three], losses) },
        sweep(
            "losses",
            &standard,
            &[
                ten,
                after,
                Transfer::of(4, 1).after_one(),
                Transfer::of(5, 3),
                Transfer::of(7, 10).with_more(),
            ],
            losses,
        ),
        sweep("copies", &standard, &[Transfer::of(5, 3), Transfer::of(4, 10).after_one()], copies),
        sweep("lost acks", &standard, &[three, after], lost_acks),
        sweep(
            "delay spikes",
            &standard,
            &[three, after.with_more(), Transfer::of(10, 10).with_more()],
            spiked,
        ),
        sweep(
            "delay spikes and losses",
            &standard,
            &[three, Transfer::of(6, 10).with_more()],
            spikes_and_losses,
        ),
        sweep("reordering", &standard, &[three, Transfer::of(6, 10).with_more()], reordered),
        sweep("duplicates", &standard, &[Transfer::of(7, 3)], duplicated),
        sweep("opening and closing", &standard, &[three, Transfer::of(3, 10).fin_apart()], opened_and_closed),
        sweep("some families", &some, &[Transfer::of(6, 3), Transfer::of(6, 10).after_one()], a_few),
    ]
}

/// Transfers of these sizes: at once and after one segment, with and without more waiting, with each initial
/// window.
fn transfers(sizes: impl IntoIterator<Item = u8>, windows: &[u8]) -> Vec<Transfer> {
    let each = |n: u8, iw: u8| {
        let t = Transfer::of(n, iw);
        [t, t.after_one(), t.with_more(), t.after_one().with_more()]
    };
    sizes.into_iter().flat_map(|n| windows.iter().flat_map(move |iw| each(n, *iw))).collect()
}

/// Everything.
pub fn full() -> Vec<Sweep> {
    let standard: Vec<_> = Family::all().into_iter().filter(Family::is_standard).collect();
    let near: Vec<_> = Family::near_standard(2).collect();
    let wide = transfers(3..=14, &[1, 3, 10]);
    let short = transfers(3..=8, &[3, 10]).into_iter().filter(|t| !t.more).collect::<Vec<_>>();
    let some = transfers([3, 6, 10], &[3, 10]);
    let ends: Vec<_> = transfers([3, 10], &[3, 10]).into_iter().flat_map(|t| [t, t.fin_apart()]).collect();
    let spaced: Vec<_> =
        transfers([5, 10, 14], &[3, 10]).into_iter().flat_map(|t| [t.spaced(), t.fin_apart()]).collect();
    vec![
        sweep("losses", &standard, &wide, losses),
        Sweep { fin_apart: true, ..sweep("losses with a FIN", &standard, &short, losses) },
        sweep("losses, spaced or with the FIN apart", &standard, &spaced, losses),
        sweep("copies", &standard, &short, copies),
        sweep("lost acks", &standard, &wide, lost_acks),
        sweep("delay spikes", &standard, &wide, spiked),
        sweep("delay spikes and losses", &standard, &some, spikes_and_losses),
        sweep("reordering", &standard, &wide, reordered),
        sweep("duplicates", &standard, &some, duplicated),
        sweep("opening and closing", &standard, &ends, opened_and_closed),
        sweep("two policies from the standard, two losses", &near, &some, two_losses),
        sweep("two policies from the standard, delay spikes", &near, &some, spiked),
        sweep("every family, a few of everything", &Family::all(), &transfers([3, 10], &[1, 3, 10]), a_few),
    ]
}

/// Runs all sweeps; the findings do not depend on the number of threads. `progress` is called after each
/// sweep.
pub fn search(sweeps: &[Sweep], threads: usize, progress: &dyn Fn(&str, u64)) -> Findings {
    let mut findings = Findings::default();
    for sweep in sweeps {
        let items: Vec<_> =
            sweep.transfers.iter().flat_map(|t| sweep.families.iter().map(move |f| (*t, *f))).collect();
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Findings::default()));
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let (mut room, mut mine) = (Room::default(), Findings::default());
                    while let Some((transfer, family)) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                        item(sweep, transfer, *family, &mut room, &mut mine);
                    }
                    found.lock().expect("no thread has failed").join(mine);
                });
            }
        });
        let found = found.into_inner().expect("no thread has failed");
        progress(sweep.name, found.runs);
        findings.join(found);
    }
    findings
}

fn item(sweep: &Sweep, transfer: &Transfer, family: Family, room: &mut Room, findings: &mut Findings) {
    let stacks = family.stacks(u32::from(transfer.initial_segs));
    let mut outcomes = Vec::with_capacity(stacks.len());
    for pattern in &(sweep.patterns)(transfer) {
        outcomes.clear();
        outcomes.extend(stacks.iter().map(|stack| play(room, stack, transfer, pattern)));
        findings.take(&stacks, &outcomes, undos().len(), transfer, pattern);
        if sweep.fin_apart {
            let alone = transfer.fin_apart();
            let apart: Vec<_> = stacks.iter().map(|stack| play(room, stack, &alone, pattern)).collect();
            findings.take(&stacks, &apart, undos().len(), &alone, pattern);
            for (number, stack) in stacks.iter().enumerate() {
                let case = Case { stack, transfer, pattern, number };
                findings.take_fin(&case, &outcomes[number], &apart[number]);
            }
        }
    }
}

#[test]
fn what_is_found_does_not_depend_on_the_number_of_threads() {
    let standard: Vec<_> = Family::all().into_iter().filter(Family::is_standard).collect();
    let few = || {
        [Sweep {
            fin_apart: true,
            ..sweep("few", &standard, &[Transfer::of(3, 3), Transfer::of(4, 10).after_one()], two_losses)
        }]
    };
    assert_eq!(search(&few(), 1, &|_, _| {}), search(&few(), 3, &|_, _| {}));
}

#[test]
fn lines_read_back() {
    for sweep in quick().into_iter().chain(full()) {
        for transfer in sweep.transfers {
            assert_eq!(Transfer::read(&transfer.to_string()), Some(transfer));
            if transfer.initial_segs == 3 {
                (sweep.patterns)(&transfer)
                    .iter()
                    .for_each(|pattern| assert_eq!(Pattern::read(&pattern.to_string()), Some(*pattern)));
            }
        }
    }
}
