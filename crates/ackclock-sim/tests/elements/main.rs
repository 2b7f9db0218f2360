//! Elements of links by themselves: exact times of token buckets, rates that vary, and delivery
//! opportunities.

mod opportunities;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use ackclock_policy::{PacketId, Params, QueueDiscipline, Queued, Registry, Value};
use ackclock_sim::workload::Cdf;
use ackclock_sim::{
    ConstantRate, Elements, Jitter, Link, LinkSpec, MediumEnd, Offer, PacketInfo, Policer, Shaper,
    TokenBucket, Track, Transmitter, VaryingRate, element_declarations,
};
use ackclock_units::{Duration, Ecn, Instant, Rate, Rng};
use support::{drop_tail, mbit, ms};

const SECOND: u64 = 1_000_000_000;
pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn at(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

fn link(elements: Elements, queue: &str) -> Link {
    Link::new(LinkSpec { elements, ..LinkSpec::new(mbit(1000), ms(0), drop_tail(queue)) }, 1, 0)
}

pub(crate) fn with(transmitter: impl Transmitter + 'static) -> Link {
    link(Elements { transmitter: Some(Box::new(transmitter)), ..Elements::default() }, "1000000packets")
}

fn offer(link: &mut Link, bytes: u32, at: Instant, ecn: Ecn) -> Offer {
    link.offer(Queued { id: PacketId(0), flow: 0, bytes, ecn, at }, &PacketInfo::opaque(bytes))
}

/// When a packet has arrived, in nanoseconds; `None` when it was dropped on arrival.
pub(crate) fn arrival(link: &mut Link, bytes: u32, now: Instant) -> Option<u64> {
    match offer(link, bytes, now, Ecn::NotEct) {
        Offer::Sent(d) => Some(d.at.as_nanos()),
        _ => None,
    }
}

fn steps(points: &[(u64, u64)], period: Option<u64>) -> Track {
    Track::new(points.iter().copied(), 0, false, period).unwrap()
}

fn linear(points: &[(u64, u64)], period: Option<u64>) -> Track {
    Track::new(points.iter().copied(), 0, true, period).unwrap()
}

#[test]
fn a_shaper_lets_a_burst_pass_and_then_its_rate() {
    // 8 Mbit/s is a byte per microsecond; the link itself takes 8 ns per byte.
    let bucket = TokenBucket::new(mbit(8), 3000, 0);
    let mut link = with(Shaper::new(bucket, Box::new(ConstantRate(mbit(1000)))));
    let got: Vec<_> = (0..5).map(|_| arrival(&mut link, 1000, at(0)).unwrap()).collect();
    // Three at the link's rate; the fourth waits until 1000 more bytes of tokens have come since the
    // beginning.
    assert_eq!(got, [8_000, 16_000, 24_000, MS + 8_000, 2 * MS + 8_000]);
    // After 3 ms without packets the bucket is full again, and never fuller.
    let got: Vec<_> = (0..4).map(|_| arrival(&mut link, 1000, at(20 * MS)).unwrap()).collect();
    assert_eq!(got, [8_000, 16_000, 24_000, MS + 8_000].map(|t| 20 * MS + t));
}

#[test]
fn a_shaper_keeps_its_rate_to_the_byte_over_a_long_time() {
    let mut link = with(Shaper::new(TokenBucket::new(mbit(7), 1514, 14), Box::new(ConstantRate(mbit(100)))));
    let n = 10_000;
    let last = (0..n).map(|_| arrival(&mut link, 1500, at(0)).unwrap()).last().unwrap();
    // All but the first wait for tokens of 1514 bytes each.
    let expected = (n - 1) * 1514 * 8 * 1000 / 7 + 120_000;
    assert!(last.abs_diff(expected) <= 1, "{last} and {expected}");
}

#[test]
fn a_packet_larger_than_the_burst_or_the_mtu_is_dropped_and_counted() {
    let mut link = with(Shaper::new(TokenBucket::new(mbit(8), 1000, 14), Box::new(ConstantRate(mbit(8)))));
    assert_eq!(arrival(&mut link, 987, at(0)), None);
    assert!(arrival(&mut link, 986, at(0)).is_some());
    let mut small = self::link(Elements { mtu: Some(576), ..Elements::default() }, "2packets");
    assert_eq!([577, 576].map(|n| arrival(&mut small, n, at(0)).is_some()), [false, true]);
    for link in [&mut link, &mut small] {
        let c = link.counters(at(SECOND));
        assert_eq!((c.oversized, c.early_drops, c.queue_drops, c.served), (1, 0, 1, 1));
    }
}

#[test]
fn a_policer_drops_or_marks_what_exceeds_its_rate_and_burst() {
    for marks in [false, true] {
        let policer = Policer::new(TokenBucket::new(mbit(8), 3000, 0), marks);
        let mut link = link(Elements { policer: Some(policer), ..Elements::default() }, "1000packets");
        // A packet each half millisecond: 3000 bytes of burst, then every second packet conforms.
        let met: Vec<_> = (0..12)
            .map(|n| match offer(&mut link, 1000, at(n * MS / 2), Ecn::Ect0) {
                Offer::Sent(d) if d.marked => 'm',
                Offer::Sent(_) => '+',
                _ => '-',
            })
            .collect();
        let excess = if marks { 'm' } else { '-' };
        let expected: Vec<_> = "+++++x+x+x+x".chars().map(|c| if c == 'x' { excess } else { c }).collect();
        assert_eq!(met, expected);
        // Without ECN it is a drop in any case. The bucket was empty after the packet at 5 ms.
        assert_eq!(offer(&mut link, 1000, at(5_600_000), Ecn::NotEct), Offer::Refused);
        let c = link.counters(at(SECOND));
        assert_eq!((c.marked, c.policed), if marks { (4, 1) } else { (0, 5) });
    }
}

/// A link with a queue that is polled: its scheduler chooses what leaves.
fn polled(elements: Elements) -> Link {
    let queue = Registry::builtin().choose::<dyn QueueDiscipline>("fq-codel").unwrap().build();
    Link::new(LinkSpec { elements, ..LinkSpec::new(mbit(100), ms(1), queue) }, 1, 0)
}

#[test]
fn what_checks_arriving_packets_stands_before_a_polled_queue_too() {
    for marks in [false, true] {
        let policer = Policer::new(TokenBucket::new(mbit(8), 3000, 0), marks);
        let mut link = polled(Elements { policer: Some(policer), mtu: Some(1400), ..Elements::default() });
        assert_eq!(offer(&mut link, 1401, at(0), Ecn::Ect0), Offer::Refused);
        let met: Vec<_> = (0..5)
            .map(|_| match offer(&mut link, 1000, at(0), Ecn::Ect0) {
                Offer::Waits { marked: true } => 'm',
                Offer::Waits { .. } => '+',
                _ => '-',
            })
            .collect();
        assert_eq!(met, if marks { ['+', '+', '+', 'm', 'm'] } else { ['+', '+', '+', '-', '-'] });
        let c = link.counters(at(0));
        let (dropped, marked) = if marks { (0, 2) } else { (2, 0) };
        assert_eq!((c.offered, c.oversized, c.policed, c.marked), (6, 1, dropped, marked));
        assert_eq!((c.queue_drops, c.full_drops()), (1 + dropped, 0));
    }
}

#[test]
fn a_rate_that_never_changes_takes_the_times_of_a_constant_rate() {
    let rate = 9_999_991;
    let (mut constant, mut varying) = (
        Link::new(LinkSpec::new(Rate::from_bits_per_sec(rate), ms(3), drop_tail("30packets")), 1, 0),
        Link::new(
            LinkSpec {
                elements: Elements {
                    transmitter: Some(Box::new(VaryingRate::new(steps(&[(0, rate), (SECOND, rate)], None)))),
                    ..Elements::default()
                },
                ..LinkSpec::new(Rate::from_bits_per_sec(rate), ms(3), drop_tail("30packets"))
            },
            1,
            0,
        ),
    );
    let mut rng = Rng::stream(1, "sizes", 0);
    let mut now = 0;
    for _ in 0..20_000 {
        now += rng.below(1_200_000);
        let bytes = 40 + rng.below(1461) as u32;
        let pair = [&mut constant, &mut varying].map(|l| arrival(l, bytes, at(now)));
        // Only a packet across the change at 1 s is rounded twice.
        assert!(pair[0].is_some() == pair[1].is_some(), "{pair:?} at {now}");
        let apart = pair[0].zip(pair[1]).map_or(0, |(a, b)| a.abs_diff(b));
        assert!(apart <= 1, "{pair:?} at {now}");
    }
    let (a, b) = (constant.counters(at(now)), varying.counters(at(now)));
    assert_eq!((a.served, a.queue_drops, a.max_backlog), (b.served, b.queue_drops, b.max_backlog));
    assert!(a.queue_drops > 100 && a.packet_ns.abs_diff(b.packet_ns) <= 20_000);
}

#[test]
fn a_transmission_goes_on_through_steps_and_outages() {
    // 1 Mbit/s for a second, nothing for a second, 2 Mbit/s from then on.
    let mut link =
        with(VaryingRate::new(steps(&[(0, 1_000_000), (SECOND, 0), (2 * SECOND, 2_000_000)], None)));
    // 100,000 bytes take 0.8 s; the next packet takes 0.2 s before the outage and 0.3 s after it.
    assert_eq!(arrival(&mut link, 100_000, at(0)), Some(SECOND * 8 / 10));
    assert_eq!(arrival(&mut link, 100_000, at(0)), Some(SECOND * 23 / 10));
    assert_eq!(link.backlog(at(SECOND * 3 / 4)).packets, 1);
    let c = link.counters(at(SECOND * 3 / 2));
    assert_eq!((c.served, c.busy), (1, Duration::from_millis(1500)));
    // Waited 0.8 s.
    assert_eq!(c.packet_ns, 800_000_000);
}

#[test]
fn a_rate_that_ends_at_zero_never_finishes_and_counts_stay_consistent() {
    let mut link = with(VaryingRate::new(steps(&[(0, 1_000_000), (SECOND, 0)], None)));
    let far = arrival(&mut link, 1_000_000, at(0)).unwrap();
    assert!(far > 1 << 61);
    assert!(arrival(&mut link, 1, at(SECOND)).unwrap() > 1 << 61);
    let c = link.counters(at(5 * SECOND));
    assert_eq!((c.served, c.offered, c.busy), (0, 2, Duration::from_secs(5)));
    assert_eq!(link.queued(at(5 * SECOND)).packets, 2);
}

#[test]
fn a_linear_rate_sends_the_area_below_it() {
    // From 0 to 8 Mbit/s in 2 s: after t seconds t^2/4 MB are sent.
    let track = || linear(&[(0, 0), (2 * SECOND, 8_000_000)], None);
    let mut link = with(VaryingRate::new(track()));
    for n in 1..=100_u64 {
        let sent = arrival(&mut link, 10_000, at(0)).unwrap() as f64 / SECOND as f64;
        let exact = (n as f64 * 10_000.0 / 1e6 * 4.0).sqrt();
        assert!((sent - exact).abs() < 1e-7, "packet {n}: {sent}, {exact}");
    }
    // Falling to nothing: 8 Mbit/s to 0 in 2 s is a megabyte, and then no more.
    let mut link = with(VaryingRate::new(linear(&[(0, 8_000_000), (2 * SECOND, 0)], None)));
    assert_eq!(arrival(&mut link, 1_000_000, at(0)), Some(2 * SECOND));
    assert!(arrival(&mut link, 1, at(0)).unwrap() > 1 << 61);
}

#[test]
fn a_period_repeats_for_ever() {
    // 1 Mbit/s for 0.1 s of each second.
    let mut link = with(VaryingRate::new(steps(&[(0, 1_000_000), (SECOND / 10, 0)], Some(SECOND))));
    // 12,500 bytes are a period's worth.
    for n in 0..5 {
        assert_eq!(arrival(&mut link, 12_500, at(0)), Some(n * SECOND + SECOND / 10));
    }
    // A thousand periods at once; then a packet that arrives in the middle of an outage.
    assert_eq!(arrival(&mut link, 12_500_000, at(0)), Some(1004 * SECOND + SECOND / 10));
    let now = 2000 * SECOND + SECOND / 2;
    assert_eq!(arrival(&mut link, 1250, at(now)), Some(2001 * SECOND + SECOND / 100));
    // A period in which nothing is ever sent.
    let mut dead = with(VaryingRate::new(steps(&[(0, 0)], Some(1))));
    assert!(arrival(&mut dead, 1, at(0)).unwrap() > 1 << 61);
}

#[test]
fn a_falling_delay_reorders_only_where_it_may() {
    let spec = |reorders| {
        let delay = Some(steps(&[(0, 50 * MS), (10 * MS, 20 * MS)], None));
        LinkSpec { elements: Elements { delay, reorders, ..Elements::default() }, ..LinkSpec::delay(ms(999)) }
    };
    for (reorders, expected) in [(false, [50, 59, 59, 60]), (true, [50, 59, 30, 60])] {
        let mut link = Link::new(spec(reorders), 1, 0);
        let got = [0, 9, 10, 40].map(|t| arrival(&mut link, 100, at(t * MS)).unwrap() / MS);
        assert_eq!(got, expected);
    }
}

#[test]
fn a_loss_over_time_strikes_at_its_rate() {
    let loss = Some(linear(&[(0, 0), (SECOND, 1_000_000_000)], Some(SECOND)));
    let spec = LinkSpec { elements: Elements { loss, ..Elements::default() }, ..LinkSpec::delay(ms(1)) };
    let mut link = Link::new(spec, 7, 0);
    let lost = |from: u64, link: &mut Link| {
        let struck = (0..10_000)
            .filter(|n| matches!(offer(link, 100, at(from + n), Ecn::NotEct), Offer::Sent(d) if d.lost))
            .count();
        struck as f64 / 10_000.0
    };
    for tenth in 0..10 {
        let share = lost(3 * SECOND + tenth * SECOND / 10, &mut link);
        assert!((share - tenth as f64 / 10.0).abs() < 0.02, "{share} at {tenth}/10");
    }
}

/// The extra delays of packets a second apart, milliseconds.
fn delays(settings: &[(&str, Value)], points: Option<Cdf>) -> Vec<f64> {
    let jitter = element_declarations().into_iter().find(|d| d.name == "jitter").expect("declared");
    let mut params = Params::defaults(jitter.params);
    assert!(settings.iter().all(|(name, value)| params.set(name, *value)));
    let jitter = Some(Jitter::new(&params, points.map(Arc::new)));
    let spec = LinkSpec { elements: Elements { jitter, ..Elements::default() }, ..LinkSpec::delay(ms(100)) };
    let mut link = Link::new(spec, 1, 0);
    let extra = |n: u64| (arrival(&mut link, 100, at(n * SECOND)).unwrap() - n * SECOND) as f64 / 1e6 - 100.0;
    (0..100_000).map(extra).collect()
}

#[test]
fn jitter_has_the_mean_and_the_shape_that_it_says() {
    let time = |ms: u64| Value::Duration(Duration::from_millis(ms));
    let points = Cdf::new(vec![(0.0, 0.5), (10.0, 0.9), (50.0, 1.0)]).unwrap();
    for (settings, points, mean, deviation, tail) in [
        // Uniform: nothing beyond sqrt(3) deviations. Normal: 2.28 % beyond two. Pareto with shape 3: the
        // standard deviation is mean / sqrt(3), and (2/3 / 2)^3 = 1/27 lie beyond twice the mean.
        (
            vec![("distribution", Value::Choice("uniform")), ("mean", time(20)), ("deviation", time(5))],
            None,
            20.0,
            5.0,
            (28.67, 0.0),
        ),
        (vec![("mean", time(20)), ("deviation", time(5))], None, 20.0, 5.0, (30.0, 0.0228)),
        (
            vec![("distribution", Value::Choice("pareto")), ("mean", time(20))],
            None,
            20.0,
            11.547,
            (40.0, 1.0 / 27.0),
        ),
        // Half at 0; then 0.4 with a mean of 5 and 0.1 with a mean of 30.
        (vec![], Some(points), 5.0, 9.574, (30.0, 0.05)),
    ] {
        let drawn = delays(&settings, points);
        let n = drawn.len() as f64;
        let met = drawn.iter().sum::<f64>() / n;
        let spread = (drawn.iter().map(|d| (d - met).powi(2)).sum::<f64>() / n).sqrt();
        let beyond = drawn.iter().filter(|d| **d > tail.0).count() as f64 / n;
        assert!((met - mean).abs() < 0.15, "{settings:?}: mean {met}");
        assert!((spread / deviation - 1.0).abs() < 0.05, "{settings:?}: deviation {spread}");
        assert!((beyond - tail.1).abs() < 0.003, "{settings:?}: {beyond} beyond {}", tail.0);
    }
}

#[test]
fn jitter_reorders_only_where_it_may() {
    let jitter = element_declarations().into_iter().find(|d| d.name == "jitter").expect("declared");
    for reorders in [false, true] {
        let mut params = Params::defaults(jitter.params);
        params.set("reorder", Value::Flag(reorders));
        let elements = Elements { jitter: Some(Jitter::new(&params, None)), ..Elements::default() };
        let mut link = Link::new(LinkSpec { elements, ..LinkSpec::delay(ms(10)) }, 1, 0);
        let arrivals: Vec<_> = (0..1000).map(|n| arrival(&mut link, 100, at(n * MS / 10)).unwrap()).collect();
        assert_eq!(arrivals.is_sorted(), !reorders);
    }
}

/// Offers packets of 1000 bytes to both ends of a medium at the beginning, and polls both links in order of
/// time. Returns which end each packet came from and when it left, microseconds.
fn over_a_medium(rates: [u64; 2], packets: [u32; 2], gap_us: u64) -> Vec<(usize, u64)> {
    let mut media = MediumEnd::pair(Duration::from_micros(gap_us)).map(Some);
    let mut links: Vec<Link> = (0..2)
        .map(|end| {
            let elements = Elements { medium: media[end].take(), ..Elements::default() };
            Link::new(
                LinkSpec { elements, ..LinkSpec::new(mbit(rates[end]), ms(0), drop_tail("100packets")) },
                1,
                0,
            )
        })
        .collect();
    for (link, n) in links.iter_mut().zip(packets) {
        assert!(!link.is_fifo());
        for id in 0..n {
            let packet = Queued { id: PacketId(id), flow: 0, bytes: 1000, ecn: Ecn::NotEct, at: at(0) };
            assert_eq!(link.offer(packet, &PacketInfo::opaque(1000)), Offer::Waits { marked: false });
        }
    }
    let mut left = Vec::new();
    while let Some(next) = links.iter().filter_map(Link::next_departure).min() {
        for (end, link) in links.iter_mut().enumerate() {
            while let Some(d) = link.poll(next, |_| PacketInfo::opaque(1000)) {
                left.push((end, d.departs.as_nanos() / 1000));
            }
        }
    }
    left
}

#[test]
fn the_two_ends_of_a_medium_take_turns_and_never_overlap() {
    // 1000 bytes take 1 ms at 8 Mbit/s and 2 ms at 4 Mbit/s.
    assert_eq!(over_a_medium([8, 4], [3, 2], 0), [(0, 1000), (1, 3000), (0, 4000), (1, 6000), (0, 7000)]);
    // One alone has all of it, at its own rate.
    assert_eq!(over_a_medium([8, 4], [0, 3], 0), [(1, 2000), (1, 4000), (1, 6000)]);
    // The gap precedes each transmission.
    assert_eq!(over_a_medium([8, 8], [1, 2], 100), [(0, 1100), (1, 2200), (1, 3300)]);
    // Nobody starves: as many turns each.
    let turns = over_a_medium([100, 100], [50, 50], 0);
    assert!(turns.iter().enumerate().all(|(n, (end, _))| *end == n % 2), "{turns:?}");
}
