//! Properties of every registered queue.

use std::collections::VecDeque;

use ackclock_units::{Duration, Instant, Rng};

use crate::{Admit, Backlog, Ecn, PacketId, QueueDiscipline, Queued, Registry, Role};

/// Random arrivals and departures, with a list of the packets that must be queued.
#[test]
fn every_queue_keeps_its_backlog_and_its_order() {
    let registry = Registry::builtin();
    for entry in <dyn QueueDiscipline>::entries(&registry) {
        for seed in 0..20 {
            let mut chosen = crate::Chosen::new(entry);
            let limit = if seed % 2 == 0 { "30packets" } else { "30000B" };
            chosen.set("limit", limit).unwrap();
            let has = |name: &str| entry.params.iter().any(|p| p.name == name);
            if has("ecn") {
                chosen.set("ecn", if seed % 4 < 2 { "true" } else { "false" }).unwrap();
            }
            if has("w_q") {
                chosen.set("w_q", "0.1").unwrap();
            }
            let (mut queue, mut rng, mut own) =
                (chosen.build(), Rng::stream(seed, "queue", 0), Rng::stream(seed, "test", 0));
            let (mut inside, mut shed, mut now) = (VecDeque::new(), Vec::new(), Instant::ZERO);
            let (mut taken, mut dropped) = (0, 0);
            for n in 0..5000 {
                now += Duration::from_micros(own.below(800));
                // Busy and quiet periods.
                if own.chance(if n / 500 % 2 == 0 { 0.6 } else { 0.4 }) {
                    let ecn = if own.chance(0.5) { Ecn::Ect0 } else { Ecn::NotEct };
                    let p = Queued {
                        id: PacketId(n),
                        flow: n % 7,
                        bytes: 40 + own.below(1461) as u32,
                        ecn,
                        at: now,
                    };
                    match queue.enqueue(p, now, &mut rng) {
                        Admit::Take => inside.push_back(p),
                        Admit::Mark => {
                            assert_ne!(ecn, Ecn::NotEct, "{}: only capable packets are marked", entry.name);
                            inside.push_back(p);
                        }
                        Admit::Drop { early } => {
                            let full = if seed % 2 == 0 {
                                inside.len() >= 30
                            } else {
                                queue.backlog().bytes + u64::from(p.bytes) > 30_000
                            };
                            assert_ne!(
                                early, full,
                                "{}: a drop is early if and only if there is room",
                                entry.name
                            );
                            dropped += 1;
                        }
                        Admit::PushOut(id) => {
                            assert!(
                                queue.scheduler().is_some(),
                                "{}: the link keeps the packets of a queue without a scheduler",
                                entry.name
                            );
                            shed.push(id);
                            if let Some(scheduler) = queue.scheduler() {
                                scheduler.pushed_out(&mut shed);
                            }
                            dropped += shed.len();
                            assert!(
                                shed.iter().all(|id| inside.iter().any(|q: &Queued| q.id == *id)),
                                "{}: a packet is pushed out that was not queued",
                                entry.name
                            );
                            inside.retain(|q| !shed.contains(&q.id));
                            shed.clear();
                            inside.push_back(p);
                        }
                    }
                    taken += 1;
                } else {
                    if let Some(scheduler) = queue.scheduler() {
                        let next = scheduler.dequeue(now, &mut shed).map(|d| d.packet);
                        inside.retain(|q| !shed.contains(&q.id));
                        shed.clear();
                        assert!(
                            next.is_none_or(|p| inside.contains(&p)),
                            "{}: a packet leaves that is not queued",
                            entry.name
                        );
                        inside.retain(|q| next.is_none_or(|p| q.id != p.id));
                    } else if let Some(p) = inside.pop_front() {
                        queue.dequeued(p.bytes, now);
                    }
                }
                let bytes = inside.iter().map(|p| u64::from(p.bytes)).sum();
                assert_eq!(
                    queue.backlog(),
                    Backlog { packets: inside.len() as u32, bytes },
                    "{}",
                    entry.name
                );
                assert!(
                    if seed % 2 == 0 { inside.len() <= 30 } else { bytes <= 30_000 },
                    "{} holds its limit",
                    entry.name
                );
            }
            assert!(taken > 2000 && dropped > 10, "{}: {dropped} of {taken} dropped", entry.name);
        }
    }
}
