use ackclock_units::{Duration, Instant, Rng};

use super::*;
use crate::{Chosen, PacketId};

fn red(settings: &[(&str, &str)]) -> Red {
    let mut chosen = Chosen::new(&ENTRY);
    for (name, text) in settings {
        chosen.set(name, text).unwrap();
    }
    Red::new(chosen.params())
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn packet(bytes: u32, ecn: Ecn) -> Queued {
    Queued { id: PacketId(0), flow: 0, bytes, ecn, at: Instant::ZERO }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9, "{a} against {b}");
}

#[test]
fn the_average_follows_the_queue_with_its_weight() {
    let mut q = red(&[("w_q", "0.5")]);
    let mut rng = Rng::stream(1, "red", 0);
    // Found by the arrivals, all at once: 0, 1, 2, 3 packets. With a weight of one half: 0, 0.5, 1.25, 2.125.
    for expected in [0.0, 0.5, 1.25, 2.125] {
        assert_eq!(q.enqueue(packet(500, Ecn::NotEct), Instant::ZERO, &mut rng), Admit::Take);
        close(q.average.value(), expected);
    }
}

#[test]
fn the_average_decays_with_the_packets_that_an_idle_link_could_have_sent() {
    // 500 bytes at 1 Mbit/s take 4 ms.
    let mut q = red(&[("w_q", "0.5"), ("link_rate", "1Mbit/s")]);
    let mut rng = Rng::stream(1, "red", 0);
    for _ in 0..3 {
        q.enqueue(packet(500, Ecn::NotEct), at(0), &mut rng);
    }
    close(q.average.value(), 1.25);
    for k in 0..3 {
        q.dequeued(500, at(4000 * k));
    }
    // The last transmission ends at 12 ms; at 11 ms the queue is empty and the link busy, at 20 ms it has
    // idled for two packet times.
    assert_eq!(q.backlog(), Backlog::default());
    let mut busy = red(&[("w_q", "0.5"), ("link_rate", "1Mbit/s")]);
    busy.enqueue(packet(500, Ecn::NotEct), at(0), &mut rng);
    busy.enqueue(packet(500, Ecn::NotEct), at(0), &mut rng);
    busy.dequeued(500, at(0));
    busy.dequeued(500, at(4000));
    busy.enqueue(packet(500, Ecn::NotEct), at(7000), &mut rng);
    close(busy.average.value(), 0.25);
    q.enqueue(packet(500, Ecn::NotEct), at(20_000), &mut rng);
    close(q.average.value(), 1.25 * 0.25);
}

#[test]
fn the_probability_is_linear_between_the_thresholds_and_gentle_above() {
    let q = red(&[]);
    for (average, p) in [
        (4.999, 0.0),
        (5.0, 0.0),
        (7.5, 0.025),
        (10.0, 0.05),
        (15.0, 0.1),
        (22.5, 0.55),
        (30.0, 1.0),
        (100.0, 1.0),
    ] {
        close(q.drops.base(average), p);
    }
    close(red(&[("gentle", "false")]).drops.base(15.0), 1.0);
    let bytes = red(&[("min_th", "2500B"), ("max_th", "15packets")]);
    assert!(bytes.in_bytes);
    close(bytes.drops.base(5000.0), 0.05);
}

#[test]
fn drops_are_spread_evenly() {
    let mut d = red(&[("wait", "false")]).drops;
    d.count = Some(5);
    close(d.uniformised(0.1, 500), 0.2);
    d.count = Some(10);
    close(d.uniformised(0.1, 500), 1.0);
    d.wait = true;
    d.count = Some(9);
    close(d.uniformised(0.1, 500), 0.0);
    d.count = Some(15);
    close(d.uniformised(0.1, 500), 0.2);
    d.count = Some(20);
    close(d.uniformised(0.1, 500), 1.0);
}

#[test]
fn gaps_between_drops_are_uniform_with_the_mean_that_the_probability_gives() {
    // With p = 0.05 and the packet itself counted, as in the paper's pseudocode: uniform on 1..=19 without
    // waiting, on 20..=39 with it.
    for (wait, least, most, mean) in [("false", 1, 19, 10.0), ("true", 20, 39, 29.5)] {
        let mut d = red(&[("wait", wait)]).drops;
        let mut rng = Rng::stream(3, "red", 0);
        d.restart();
        let (mut gap, mut gaps) = (0, Vec::new());
        while gaps.len() < 20_000 {
            gap += 1;
            if d.judge(10.0, 500, &mut rng) == DropVerdict::Early {
                gaps.push(gap);
                gap = 0;
            }
        }
        let measured = f64::from(gaps.iter().sum::<u32>()) / gaps.len() as f64;
        let range = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
        assert!((measured - mean).abs() < 0.15, "wait {wait}: mean gap {measured}");
        assert!(range == (least, most), "wait {wait}: gaps {range:?}");
    }
}

#[test]
fn byte_mode_scales_the_probability_by_size() {
    let mut d = red(&[("byte_mode", "true"), ("wait", "false"), ("mean_packet", "500B")]).drops;
    d.count_bytes = 0.0;
    close(d.uniformised(0.1, 500), 0.1);
    close(d.uniformised(0.1, 40), 0.008);
    close(d.uniformised(0.1, 1500), 0.3);
    d.count_bytes = 2500.0;
    close(d.uniformised(0.1, 500), 0.2);
}

#[test]
fn capable_packets_are_marked_early_and_dropped_when_forced() {
    let mut rng = Rng::stream(1, "red", 0);
    let mut q = red(&[
        ("ecn", "true"),
        ("w_q", "1"),
        ("max_p", "1"),
        ("min_th", "1packets"),
        ("max_th", "2packets"),
        ("wait", "false"),
    ]);
    assert_eq!(q.enqueue(packet(500, Ecn::Ect0), at(0), &mut rng), Admit::Take);
    assert_eq!(
        q.enqueue(packet(500, Ecn::Ect0), at(0), &mut rng),
        Admit::Take,
        "average at min_th: probability 0"
    );
    assert_eq!(
        q.enqueue(packet(500, Ecn::Ect0), at(0), &mut rng),
        Admit::Drop { early: true },
        "max_p = 1 at max_th: forced"
    );
    q.drops.max_p = 0.999_999;
    assert_eq!(q.enqueue(packet(500, Ecn::Ect0), at(0), &mut rng), Admit::Mark);
    assert_eq!(q.enqueue(packet(500, Ecn::NotEct), at(0), &mut rng), Admit::Drop { early: true });
}

#[test]
fn a_full_buffer_drops_whatever_the_average() {
    let mut rng = Rng::stream(1, "red", 0);
    let mut q = red(&[("limit", "2packets")]);
    for admit in [Admit::Take, Admit::Take, Admit::Drop { early: false }] {
        assert_eq!(q.enqueue(packet(500, Ecn::NotEct), at(0), &mut rng), admit);
    }
}

#[test]
fn a_target_delay_sets_thresholds_and_weight_from_the_rate() {
    // 5 ms at 10 Mbit/s are 6250 bytes: thresholds 3125 and 9375; 2500 packets/s of 500 bytes.
    let q = red(&[("target_delay", "5ms"), ("link_rate", "10Mbit/s")]);
    assert!(q.in_bytes && q.drops.adaptive);
    close(q.drops.min_th, 3125.0);
    close(q.drops.max_th, 9375.0);
    let mut average = q.average;
    average.on_queued();
    close(average.on_arrival(1.0, at(1)), 1.0 - libm::exp(-1.0 / 2500.0));
    // A slow link: at least five packets.
    close(red(&[("target_delay", "5ms"), ("link_rate", "1Mbit/s")]).drops.min_th, 2500.0);
}

#[test]
fn max_p_adapts_every_half_second_towards_the_middle() {
    let mut d = red(&[("adaptive", "true")]).drops;
    d.adapt(14.0, at(499_999));
    close(d.max_p, 0.1);
    d.adapt(14.0, at(500_000));
    close(d.max_p, 0.11);
    d.adapt(14.0, at(700_000));
    close(d.max_p, 0.11);
    d.adapt(6.0, at(1_000_000));
    close(d.max_p, 0.099);
    d.adapt(10.0, at(1_500_000));
    close(d.max_p, 0.099);
    d.max_p = 0.02;
    d.adapt(14.0, at(2_000_000));
    close(d.max_p, 0.025);
    (d.max_p, d.adapted_at) = (0.009, Instant::ZERO);
    d.adapt(0.0, at(2_500_000));
    close(d.max_p, 0.009);
}
