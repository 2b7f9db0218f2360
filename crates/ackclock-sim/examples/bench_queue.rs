//! Benchmark of the event queue: ns per event (one pop and one push) with a constant number pending. Prints
//! one line of JSON per figure. The binary heap of the standard library is measured for comparison.

mod measure;
#[path = "../src/queue.rs"]
#[allow(dead_code)]
mod queue;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use ackclock_units::{Instant, Rng};
use measure::cpu_ns;
use queue::{EventQueue, PendingEvent};

/// Events handled for each figure.
const EVENTS: u32 = 4_000_000;

/// How far ahead an event is, ns: half of them one transmission time, half a random part of a long round
/// trip.
fn ahead(rng: &mut Rng) -> u64 {
    let bits = rng.next_u64();
    if bits & 1 == 0 { 80_000 + (bits >> 48) } else { ((bits >> 32) * 200_000_000) >> 32 }
}

fn radix(pending: u64) -> f64 {
    let mut rng = Rng::stream(1, "bench", pending);
    let mut queue = EventQueue::new();
    for order in 0..pending {
        queue.push(PendingEvent { at: Instant::from_nanos(ahead(&mut rng)), order, what: order as u32 });
    }
    let mut order = pending;
    let mut turn = |count: u32| {
        for _ in 0..count {
            let Some(next) = queue.pop_until(Instant::FAR_FUTURE) else { return };
            order += 1;
            queue.push(PendingEvent {
                at: Instant::from_nanos(next.at.as_nanos() + ahead(&mut rng)),
                order,
                what: black_box(next.what),
            });
        }
    };
    turn(EVENTS / 4);
    let begin = cpu_ns();
    turn(EVENTS);
    (cpu_ns() - begin) as f64 / f64::from(EVENTS)
}

fn binary_heap(pending: u64) -> f64 {
    let mut rng = Rng::stream(1, "bench", pending);
    let mut heap: BinaryHeap<Reverse<(u64, u64, u32)>> =
        (0..pending).map(|order| Reverse((ahead(&mut rng), order, order as u32))).collect();
    let mut order = pending;
    let mut turn = |count: u32| {
        for _ in 0..count {
            let Some(Reverse((at, _, what))) = heap.pop() else { return };
            order += 1;
            heap.push(Reverse((at + ahead(&mut rng), order, black_box(what))));
        }
    };
    turn(EVENTS / 4);
    let begin = cpu_ns();
    turn(EVENTS);
    (cpu_ns() - begin) as f64 / f64::from(EVENTS)
}

fn main() {
    for pending in [100, 1000, 100_000, 1_000_000] {
        for (name, ns) in
            [("event queue", radix(pending)), ("binary heap, for comparison", binary_heap(pending))]
        {
            println!("{{\"name\": \"{name}, {pending} pending\", \"ns\": {ns:.1}}}");
        }
    }
}
