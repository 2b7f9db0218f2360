//! Two ends of one connection: what was lost in between, as the sender's kernel counted it
//! (fixtures/README.md), whatever the clocks show and wherever the captures begin.

use ackclock_capture::compare::{Compared, compare};
use ackclock_capture::read::{Packets, decompressed};
use ackclock_capture::{Analysis, CapturedSegment, MOST_PACKETS, Options, Report};
use ackclock_units::Duration;

fn segments(file: &'static [u8]) -> Vec<CapturedSegment> {
    let mut packets = Packets::new(decompressed(file).expect("gzip")).expect("a pcap file");
    let mut found = Vec::new();
    while let Some(p) = packets.next_packet().expect("packets") {
        found.extend(CapturedSegment::in_packet(&p));
    }
    found
}

fn report(segments: &[CapturedSegment]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    analysis.list_packets(None, MOST_PACKETS);
    segments.iter().for_each(|s| analysis.packet(s.at, Ok(*s)));
    analysis.finish()
}

fn ends(a: &[CapturedSegment], b: &[CapturedSegment]) -> Compared {
    let mut found = compare(&report(a), &report(b));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

macro_rules! both {
    ($name:literal, $from:literal, $to:literal) => {
        [
            segments(include_bytes!(concat!("../fixtures/kernel-", $name, $from, ".pcap.gz"))),
            segments(include_bytes!(concat!("../fixtures/kernel-", $name, $to, ".pcap.gz"))),
        ]
    };
}

#[test]
fn what_was_lost_is_what_the_kernel_sent_again() {
    // RetransSegs 17, one of them a probe of what had arrived; and 137, in frames of offload.
    for (from, to, lost) in [
        (both!("both-ends", "-sender", "-receiver"), 0, 16),
        (both!("both-ends-offload", "-sender", "-receiver"), 0, 137),
    ]
    .map(|([a, b], way, lost)| ((a, b), way, lost))
    {
        let ((a, b), way, lost) = (from, to, lost);
        for (first, second, near) in [(&a, &b, 0), (&b, &a, 1)] {
            let c = ends(first, second);
            assert_eq!(c.near_client, near);
            assert_eq!(c.ways[way].data_lost, lost);
            assert_eq!((c.ways[1 - way].data_lost, c.ways[1 - way].acks_lost), (0, 0));
            assert_eq!(c.ways.each_ref().map(|w| (w.unsent, w.outside)), [(0, 0); 2]);
        }
    }
}

#[test]
fn clocks_may_be_apart() {
    let [near, far] = both!("limited-loss", "-near", "-far");
    let plain = ends(&near, &far);
    assert!(plain.ways[1].data_lost > 5);
    assert_eq!(plain.ways[1].lost.len() as u64, plain.ways[1].data_lost);
    // 20 ms each way.
    let ms = |n| Duration::from_millis(n);
    assert!((ms(40)..ms(41)).contains(&plain.round_trip));
    for w in &plain.ways {
        assert!((ms(20)..ms(21)).contains(&w.delay.min().expect("segments arrived")));
    }
    for by in [ms(3_700), ms(7)] {
        let mut later = far.clone();
        later.iter_mut().for_each(|s| s.at += by);
        let c = ends(&near, &later);
        assert_eq!(c.ahead, plain.ahead + by.as_nanos() as i64);
        assert_eq!(c.round_trip, plain.round_trip);
        for (a, b) in c.ways.iter().zip(&plain.ways) {
            assert_eq!((a.data, a.data_lost, a.acks_lost), (b.data, b.data_lost, b.acks_lost));
            assert_eq!(a.delay, b.delay);
        }
    }
}

#[test]
fn what_a_capture_missed_at_its_edges_is_not_lost() {
    let [near, far] = both!("limited-loss", "-near", "-far");
    let whole = ends(&near, &far);
    let c = ends(&near[200..near.len() - 100], &far);
    assert!(c.ways[1].outside > 100);
    let left =
        whole.ways[1].lost.iter().filter(|l| c.ways[1].lost.iter().any(|m| m.frame == l.frame)).count();
    assert_eq!(left, c.ways[1].lost.len(), "nothing is lost that was not");
    assert!(c.ways[1].data_lost < whole.ways[1].data_lost && c.ways[1].data_lost > 2);
}

#[test]
fn other_connections_are_not_taken_for_it() {
    let [near, _] = both!("limited-loss", "-near", "-far");
    let [other, _] = both!("limited-queue", "-near", "-far");
    assert!(compare(&report(&near), &report(&other)).is_empty());
}

#[test]
fn every_short_connection_finds_its_other_end() {
    let [near, far] = both!("limited-short", "-near", "-far");
    let found = compare(&report(&near), &report(&far));
    assert_eq!(found.len(), 12);
    assert!(found.iter().all(|c| c.numbers[0] == c.numbers[1] && c.near_client == 0));
}
