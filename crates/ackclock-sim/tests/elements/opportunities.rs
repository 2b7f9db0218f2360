//! Packet-delivery traces of Mahimahi.

use std::sync::Arc;

use ackclock_sim::Opportunities;
use ackclock_units::Rng;

use crate::{MS, arrival, at, with};

#[test]
fn mahimahi_opportunities_are_delivered_exactly() {
    // Mahimahi counts 4 bytes more than the packet's own for each, and delivers 1504 at a time.
    let times: Arc<[u32]> = [0, 0, 3, 3, 3, 4, 50, 100].into();
    let rounds = 50;
    let mut expected: Vec<u64> =
        (0..rounds).flat_map(|round| times.iter().map(move |t| (u64::from(*t) + 100 * round) * MS)).collect();
    // A packet that arrives at 0 is too late for the opportunities of that moment.
    expected.drain(..2);
    let mut link = with(Opportunities::new(times.clone(), 1504, 4, true).unwrap());
    let got: Vec<u64> = expected.iter().map(|_| arrival(&mut link, 1500, at(0)).unwrap()).collect();
    assert_eq!(got, expected);
    let end = at(*expected.last().unwrap());
    assert_eq!(link.counters(end).served as usize, expected.len());

    // Without repetition the link is dead after the last.
    let mut once = with(Opportunities::new(times.clone(), 1504, 4, false).unwrap());
    let got: Vec<u64> = (0..6).map(|_| arrival(&mut once, 1500, at(0)).unwrap()).collect();
    assert_eq!(got, expected[..6]);
    assert!(arrival(&mut once, 1500, at(0)).unwrap() > 1 << 61);
}

#[test]
fn small_packets_share_an_opportunity_and_what_nobody_wants_is_lost() {
    let times: Arc<[u32]> = (1..=100).collect();
    let mut link = with(Opportunities::new(times, 1504, 4, true).unwrap());
    // Four packets of 372 bytes share one opportunity, the fifth takes the next.
    let got: Vec<_> = (0..5).map(|_| arrival(&mut link, 372, at(0)).unwrap() / MS).collect();
    assert_eq!(got, [1, 1, 1, 1, 2]);
    // It left 1128 bytes of the opportunity at 2 ms. A packet that arrives then comes too late for them.
    assert_eq!(arrival(&mut link, 372, at(2 * MS)), Some(3 * MS));
    // One that comes earlier uses them, and a large one uses several opportunities.
    assert_eq!(arrival(&mut link, 1500, at(2 * MS)), Some(4 * MS));
    // 9004 bytes: 1128 left at 4 ms, 1504 each at 5, 6, 7, 8, 9, and 356 at 10.
    assert_eq!(arrival(&mut link, 9000, at(2 * MS)), Some(10 * MS));
    // Those between 10 ms and 40.5 ms are lost.
    assert_eq!(arrival(&mut link, 1500, at(40_500_000)), Some(41 * MS));
}

/// An independent account of Mahimahi's link: at each opportunity, up to 1504 bytes of what has arrived.
fn by_hand(times: &[u32], packets: &[(u64, u32)], rounds: u64) -> Vec<u64> {
    let length = u64::from(*times.last().unwrap()) * MS;
    let moments = (0..rounds).flat_map(|r| times.iter().map(move |t| r * length + u64::from(*t) * MS));
    let (mut done, mut sent) = (Vec::new(), 0);
    for moment in moments {
        let mut room = 1504;
        while room > 0 && done.len() < packets.len() && packets[done.len()].0 < moment {
            let wanted = packets[done.len()].1 + 4 - sent;
            let part = wanted.min(room);
            (room, sent) = (room - part, sent + part);
            if part == wanted {
                done.push(moment);
                sent = 0;
            }
        }
    }
    done
}

#[test]
fn random_packets_over_a_random_trace_leave_as_counted_by_hand() {
    for seed in 0..50 {
        let mut rng = Rng::stream(seed, "trace", 0);
        let mut t = 0;
        let times: Arc<[u32]> = (0..40)
            .map(|_| {
                t += rng.below(4) as u32;
                t.max(1)
            })
            .collect();
        let mut now = 0;
        let packets: Vec<_> = (0..300)
            .map(|_| {
                // Often at the very moment of an opportunity.
                now += if rng.chance(0.5) { rng.below(3) * MS } else { rng.below(2 * MS) };
                (now, 40 + rng.below(1461) as u32)
            })
            .collect();
        let mut link = with(Opportunities::new(times.clone(), 1504, 4, true).unwrap());
        let got: Vec<_> = packets.iter().map(|(now, n)| arrival(&mut link, *n, at(*now)).unwrap()).collect();
        assert_eq!(got, by_hand(&times, &packets, 100), "seed {seed}");
    }
}
