use super::*;
use crate::{Chosen, PacketId};

fn pie(settings: &[(&str, &str)]) -> Pie {
    let mut chosen = Chosen::new(&ENTRY);
    for (name, text) in settings {
        chosen.set(name, text).unwrap();
    }
    Pie::new(chosen.params())
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs().max(1e-9), "{a} against {b}");
}

fn packet(id: u32) -> Queued {
    Queued { id: PacketId(id), flow: 0, bytes: 1500, ecn: Ecn::Ect0, at: Instant::ZERO }
}

#[test]
fn steps_are_scaled_by_the_table() {
    // RFC 8033 section 4.2: with 35 ms, 20 ms above the target of 15 ms, and 10 ms more than before, the step
    // is 0.125 * 0.020 + 1.25 * 0.010 = 0.015, divided by what the present probability asks for.
    for (before, divisor) in [
        (0.0, 2048.0),
        (0.000_000_9, 2048.0),
        (0.000_001, 512.0),
        (0.000_01, 128.0),
        (0.000_1, 32.0),
        (0.001, 8.0),
        (0.01, 2.0),
        (0.09, 2.0),
        (0.1, 1.0),
        (0.5, 1.0),
    ] {
        let mut d = pie(&[]).drops;
        (d.probability, d.qdelay_old) = (before, ms(25));
        d.update(ms(35));
        close(d.probability, before + 0.015 / divisor);
        assert_eq!(d.qdelay_old, ms(35));
    }
}

#[test]
fn steps_are_limited_and_the_probability_decays_when_idle() {
    let mut d = pie(&[]).drops;
    // 0.125 * 0.485 + 1.25 * 0.5 is far above 2 %.
    d.probability = 0.1;
    d.update(ms(500));
    close(d.probability, 0.12);
    // Down without a limit: 0.125 * -0.015 + 1.25 * -0.5 is below -0.12.
    d.update(Duration::ZERO);
    close(d.probability, 0.0);
    // Idle for two updates: the step of -0.001875, then 2 % less.
    (d.probability, d.qdelay_old) = (0.5, Duration::ZERO);
    d.update(Duration::ZERO);
    close(d.probability, (0.5 - 0.001_875) * 0.98);
    d.probability = 0.999;
    d.update(ms(1000));
    close(d.probability, 1.0);
}

#[test]
fn bursts_are_allowed_for_150_ms_after_the_queue_was_short() {
    let mut q = pie(&[("derandomize", "false"), ("limit", "10000packets")]);
    let mut rng = Rng::stream(1, "pie", 0);
    // Nothing is refused before 150 ms, whatever the probability; updates at 15, 30, ... 150 ms use up the
    // allowance.
    for t in 0..150 {
        for id in 0..10 {
            assert_eq!(q.enqueue(packet(id), at(t), &mut rng), Admit::Take);
        }
        q.dequeued(1500, at(t));
        if t > 0 {
            q.drops.probability = 1.0;
        }
    }
    assert_eq!(q.drops.burst_allowance, ms(15));
    assert_eq!(q.enqueue(packet(0), at(150), &mut rng), Admit::Drop { early: true });
    assert_eq!(q.drops.burst_allowance, Duration::ZERO);
}

#[test]
fn a_short_queue_and_a_short_delay_lose_nothing() {
    let ready = |probability, qdelay_old: u64| {
        let mut d = pie(&[("derandomize", "false")]).drops;
        (d.probability, d.qdelay_old, d.burst_allowance) = (probability, ms(qdelay_old), Duration::ZERO);
        d
    };
    let mut rng = Rng::stream(1, "pie", 0);
    let mut drops = |mut d: Drops, short| (0..1000).filter(|_| d.drops(ms(20), short, &mut rng)).count();
    assert_eq!(drops(ready(1.0, 20), true), 0, "two packets");
    assert_eq!(drops(ready(0.19, 7), false), 0, "half of the target, and a probability below 20 %");
    assert_eq!(drops(ready(1.0, 7), false), 1000);
    assert!((160..240).contains(&drops(ready(0.2, 7), false)));
    assert!((60..140).contains(&drops(ready(0.1, 20), false)));
}

#[test]
fn spread_drops_are_neither_too_close_nor_too_far_apart() {
    let mut d = pie(&[]).drops;
    (d.probability, d.burst_allowance, d.qdelay_old) = (0.01, Duration::ZERO, ms(20));
    let mut rng = Rng::stream(1, "pie", 0);
    let (mut gap, mut gaps) = (0, Vec::new());
    while gaps.len() < 5000 {
        gap += 1;
        if d.drops(ms(20), false, &mut rng) {
            gaps.push(gap);
            gap = 0;
        }
    }
    // The sum reaches 0.85 with the 85th packet (or with rounding the 86th) and 8.5 with the 850th.
    let (least, most) = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
    assert!((85..=86).contains(&least) && (600..=851).contains(&most), "{least} to {most}");
}

#[test]
fn late_updates_equal_those_of_a_timer() {
    let marking = || pie(&[("ecn", "true"), ("mark_limit", "1")]);
    // The same packets through a queue that is called at each multiple of 15 ms and through one that is not.
    let (mut lazy, mut timed) = (marking(), marking());
    let (mut a, mut b, mut own) =
        (Rng::stream(1, "pie", 0), Rng::stream(1, "pie", 0), Rng::stream(2, "test", 0));
    let (mut t, mut timer) = (0_u64, 15_000_u64);
    let us = |t: u64| Instant::ZERO + Duration::from_micros(t);
    let (mut marks, mut dropped) = (0, 0);
    for n in 0..40_000 {
        // Busy and idle periods.
        t += own.below(if n / 5000 % 2 == 0 { 1500 } else { 40_000 });
        while timer <= t {
            let qdelay = timed.qdelay;
            timed.drops.advance(us(timer), qdelay);
            timer += 15_000;
        }
        if own.chance(0.51) || lazy.queue.is_empty() {
            let admits = [&mut lazy, &mut timed].map(|q| q.drops.probability);
            let p = Queued { ecn: if n % 2 == 0 { Ecn::NotEct } else { Ecn::Ect1 }, ..packet(n) };
            let (x, y) = (lazy.enqueue(p, us(t), &mut a), timed.enqueue(p, us(t), &mut b));
            assert_eq!(x, y, "packet {n}, probabilities before {admits:?}");
            marks += u32::from(x == Admit::Mark);
            dropped += u32::from(x == Admit::Drop { early: true });
        } else {
            lazy.dequeued(1500, us(t));
            timed.dequeued(1500, us(t));
        }
        assert_eq!(lazy.drops.probability, timed.drops.probability);
    }
    assert!(marks > 50 && dropped > 50, "{marks} marks, {dropped} drops");
}

#[test]
fn years_without_a_packet_take_no_time() {
    let mut d = pie(&[("alpha", "0"), ("t_update", "1ms")]).drops;
    d.probability = 1.0;
    d.advance(Instant::from_nanos(u64::MAX / 2), Duration::ZERO);
    assert!(d.probability < 1e-30 && d.next_update > Instant::from_nanos(u64::MAX / 2));
}

#[test]
fn marks_replace_drops_while_the_probability_is_low() {
    for (probability, expected) in [(0.1, Admit::Mark), (0.11, Admit::Drop { early: true })] {
        let mut q = pie(&[("ecn", "true")]);
        let mut rng = Rng::stream(1, "pie", 0);
        for id in 0..4 {
            q.enqueue(packet(id), at(0), &mut rng);
        }
        q.drops.burst_allowance = Duration::ZERO;
        (q.drops.probability, q.drops.qdelay_old, q.drops.accumulated) = (probability, ms(20), 9.0);
        assert_eq!(q.enqueue(packet(4), at(1), &mut rng), expected);
        (q.drops.accumulated, q.drops.burst_allowance) = (9.0, Duration::ZERO);
        let plain = Queued { ecn: Ecn::NotEct, ..packet(5) };
        assert_eq!(q.enqueue(plain, at(1), &mut rng), Admit::Drop { early: true });
    }
}
