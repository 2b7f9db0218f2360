//! Packet-delivery traces of Mahimahi.

use std::sync::Arc;

use ackclock_policy::{PacketId, Queued};
use ackclock_sim::{Link, Opportunities, PacketInfo};
use ackclock_units::{Duration, Ecn, Rng};

use crate::{MS, at, with};

/// Offers packets of these sizes at these times; returns when the first `wanted` of them have arrived.
fn arrivals(link: &mut Link, packets: &[(u64, u32)], wanted: usize) -> Vec<u64> {
    let (mut got, mut waiting) = (Vec::new(), packets.iter().peekable());
    while got.len() < wanted {
        let poll = link.next_departure().map(|at| at.as_nanos());
        if let Some((now, bytes)) = waiting.next_if(|(now, _)| poll.is_none_or(|poll| *now < poll)) {
            let packet = Queued { id: PacketId(0), flow: 0, bytes: *bytes, ecn: Ecn::NotEct, at: at(*now) };
            link.offer(packet, &PacketInfo::opaque(*bytes));
        } else if let Some(poll) = poll.map(at) {
            while link.served_by(poll).is_some() {
                got.extend(link.poll(poll, |_| PacketInfo::opaque(0)).map(|d| d.at.as_nanos()));
            }
        } else {
            break;
        }
    }
    got
}

fn same(bytes: u32, now: u64, count: usize) -> Vec<(u64, u32)> {
    vec![(now, bytes); count]
}

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
    let got = arrivals(&mut link, &same(1500, 0, expected.len()), expected.len());
    assert_eq!(got, expected);
    let end = at(*expected.last().unwrap());
    assert_eq!(link.counters(end).served as usize, expected.len());

    // Without repetition the link is dead after the last.
    let mut once = with(Opportunities::new(times.clone(), 1504, 4, false).unwrap());
    let got = arrivals(&mut once, &same(1500, 0, 7), 6);
    assert_eq!(got, expected[..6]);
    assert!(once.next_departure().unwrap().as_nanos() > 1 << 61);
}

#[test]
fn small_packets_share_an_opportunity_and_what_nobody_wants_is_lost() {
    let times: Arc<[u32]> = (1..=100).collect();
    let mut link = with(Opportunities::new(times, 1504, 4, true).unwrap());
    // Four packets of 372 bytes share one opportunity, the fifth takes the next. It leaves 1128 bytes of the
    // opportunity at 2 ms; a packet that arrives then comes too late for them.
    let mut packets = same(372, 0, 5);
    packets.push((2 * MS, 372));
    // One that comes before 3 ms uses what is left there, and a large one uses several opportunities. 9004 bytes:
    // 1128 left at 4 ms, 1504 each at 5, 6, 7, 8, 9, and 356 at 10.
    packets.extend([(2 * MS, 1500), (2 * MS, 9000)]);
    // Those between 10 ms and 40.5 ms are lost.
    packets.push((40_500_000, 1500));
    let got: Vec<_> = arrivals(&mut link, &packets, packets.len()).iter().map(|t| t / MS).collect();
    assert_eq!(got, [1, 1, 1, 1, 2, 3, 4, 10, 41]);
}

#[test]
fn a_packet_waits_in_its_queue_until_its_opportunity() {
    let mut link = with(Opportunities::new([10, 30].into(), 1504, 4, true).unwrap());
    link.measure_sojourns();
    let got = arrivals(&mut link, &[(0, 1500), (2 * MS, 1500), (25 * MS, 1500)], 2);
    assert_eq!(got, [10 * MS, 30 * MS]);
    // The third waits for the one at 40 ms; mm-link takes a packet from its queue at an opportunity too.
    assert_eq!(link.backlog(at(35 * MS)).packets, 1);
    let waits = link.sojourns(at(35 * MS)).unwrap();
    assert_eq!((waits.count(), waits.mean()), (2, Some(Duration::from_millis(19))));
    // As on other links, it is busy while something waits: here all the time.
    assert_eq!(link.counters(at(35 * MS)).busy, Duration::from_millis(35));
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
        let got = arrivals(&mut link, &packets, packets.len());
        assert_eq!(got, by_hand(&times, &packets, 100), "seed {seed}");
    }
}
