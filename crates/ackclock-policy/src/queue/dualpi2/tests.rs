use super::*;
use crate::Chosen;

fn dualpi2(settings: &[(&str, &str)]) -> DualPi2 {
    let mut chosen = Chosen::new(&ENTRY);
    for (name, text) in settings {
        chosen.set(name, text).unwrap();
    }
    DualPi2::new(chosen.params())
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn offer(q: &mut DualPi2, id: u32, ecn: Ecn, at: Instant) {
    let p = Queued { id: PacketId(id), flow: 0, bytes: 1500, ecn, at };
    assert_eq!(q.enqueue(p, at, &mut Rng::stream(1, "queue", 0)), Admit::Take);
}

#[test]
fn the_controller_is_that_of_the_rfc() {
    let mut pi = dualpi2(&[]).pi;
    let ms = Duration::from_millis;
    // p' += 0.16 * (curq - 15 ms) + 3.2 * (curq - prevq), seconds.
    let mut expected = 0.0;
    for (curq, prevq) in [(20, 0), (30, 20), (25, 30), (15, 25), (10, 15)] {
        let (c, b) = (f64::from(curq) / 1e3, f64::from(prevq) / 1e3);
        expected += 0.16 * (c - 0.015) + 3.2 * (c - b);
        pi.update(ms(curq as u64));
        assert!((pi.p - expected).abs() < 1e-12, "{} against {expected}", pi.p);
    }
    pi.prevq = ms(100);
    pi.update(Duration::ZERO);
    assert_eq!((pi.p, pi.prevq), (0.0, Duration::ZERO), "never below zero");
    pi.update(ms(1000));
    assert_eq!(pi.p, 1.0, "never above one");
}

#[test]
fn late_updates_use_the_ages_of_their_time() {
    // One classic packet from 1 ms on; updates at 16, 32 and 48 ms see ages of 15, 31 and 47 ms.
    let mut q = dualpi2(&[]);
    offer(&mut q, 0, Ecn::NotEct, us(1000));
    q.advance(us(50_000));
    let mut pi = dualpi2(&[]).pi;
    for age in [15, 31, 47] {
        pi.update(Duration::from_millis(age));
    }
    assert!((q.pi.p - pi.p).abs() < 1e-12 && q.pi.prevq == pi.prevq);
    assert_eq!(q.pi.next_update, us(64_000));
    // Nothing to do for years with empty queues.
    let mut pi = dualpi2(&[]).pi;
    pi.advance(Instant::from_nanos(u64::MAX / 2), None);
    assert_eq!(pi.p, 0.0);
}

/// Shares of marks and drops among many packets of one kind that have waited for `age`, with base probability
/// `p`.
fn shares(p: f64, ecn: Ecn, age: u64) -> (f64, f64) {
    let mut q = dualpi2(&[("limit", "100000packets")]);
    let l4s = matches!(ecn, Ecn::Ect1 | Ecn::Ce);
    // Enough behind it.
    (0..5).for_each(|id| offer(&mut q, id, ecn, us(0)));
    q.pi.p = p;
    let packet = Queued { id: PacketId(9), flow: 0, bytes: 1500, ecn, at: us(0) };
    let n = 10_000;
    let verdicts: Vec<_> = (0..n).map(|_| q.verdict(&packet, l4s, us(age))).collect();
    let share = |v| verdicts.iter().filter(|x| **x == v).count() as f64 / f64::from(n);
    (share(Verdict::Mark), share(Verdict::Drop))
}

#[test]
fn probabilities_are_squared_for_classic_and_coupled_for_l4s() {
    let close = |(m, d): (f64, f64), (em, ed): (f64, f64)| {
        assert!((m - em).abs() < 2e-4 && (d - ed).abs() < 2e-4, "{m}, {d} against {em}, {ed}");
    };
    for p in [0.0, 0.01, 0.1, 0.3, 0.499] {
        close(shares(p, Ecn::NotEct, 0), (0.0, p * p));
        close(shares(p, Ecn::Ect0, 0), (p * p, 0.0));
        close(shares(p, Ecn::Ect1, 0), (2.0 * p, 0.0));
    }
    // RFC 9332 appendix A.2: from p' = 1/k on ECN cannot signal more, and both queues drop with p'^2.
    for p in [0.5, 0.7, 1.0] {
        close(shares(p, Ecn::NotEct, 0), (0.0, p * p));
        close(shares(p, Ecn::Ect0, 0), (0.0, p * p));
        close(shares(p, Ecn::Ect1, 0), (1.0 - p * p, p * p));
    }
}

#[test]
fn the_l4s_queue_marks_on_a_ramp_of_its_own() {
    // From 800 us on, over 400 us; the greater of both probabilities counts.
    for (age, expected) in [(800, 0.0), (900, 0.25), (1000, 0.5), (1100, 0.75), (1200, 1.0), (5000, 1.0)] {
        let (marks, drops) = shares(0.0, Ecn::Ect1, age);
        assert!((marks - expected).abs() < 2e-4 && drops == 0.0, "{marks} at {age} us");
    }
    assert!((shares(0.2, Ecn::Ect1, 900).0 - 0.4).abs() < 2e-4, "coupled: 0.4, native: 0.25");
    assert!((shares(0.1, Ecn::Ect1, 1100).0 - 0.75).abs() < 2e-4, "coupled: 0.2, native: 0.75");
    // A packet with nothing behind it is not marked for its sojourn time.
    let mut q = dualpi2(&[("range", "0s")]);
    for id in [0, 1] {
        offer(&mut q, id, Ecn::Ect1, us(0));
    }
    let marked = [(); 2].map(|()| q.dequeue(us(10_000), &mut Vec::new()).unwrap().marked);
    assert_eq!(marked, [true, false]);
}

#[test]
fn the_classic_queue_keeps_its_share() {
    let mut q = dualpi2(&[("classic_share", "0.25")]);
    for id in 0..2000 {
        offer(&mut q, id, if id % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct }, us(0));
    }
    let mut out = || q.dequeue(us(0), &mut Vec::new()).unwrap().packet.ecn;
    let first: Vec<_> = (0..400).map(|_| out()).collect();
    assert_eq!(first[0], Ecn::Ect1, "L4S goes first");
    let classic = first.iter().filter(|ecn| **ecn == Ecn::NotEct).count();
    assert!((99..=101).contains(&classic), "{classic} of 400");
}

#[test]
fn a_step_marks_from_its_threshold_on() {
    // RFC 9332 figure 5 line 2: a delay of maxTh is enough, which is minTh where there is no ramp.
    let mut q = dualpi2(&[("range", "0s"), ("min_th", "1ms")]);
    (0..3).for_each(|id| offer(&mut q, id, Ecn::Ect1, us(0)));
    let marked = [999, 1000].map(|t| q.dequeue(us(t), &mut Vec::new()).unwrap().marked);
    assert_eq!(marked, [false, true]);
}

#[test]
fn a_small_coupling_factor_drops_only_at_its_greatest_probability() {
    // RFC 9332 figure 2 line 11: p_Cmax = min(1/k^2, 1) is 1 for k = 0.5.
    for (p, expected) in [(0.9, Verdict::Mark), (1.0, Verdict::Drop)] {
        let mut q = dualpi2(&[("coupling", "0.5")]);
        (0..5).for_each(|id| offer(&mut q, id, Ecn::Ect0, us(0)));
        q.pi.p = p;
        let packet = Queued { id: PacketId(9), flow: 0, bytes: 1500, ecn: Ecn::Ect0, at: us(0) };
        // 0.81 and 0.81 make the second count 1.62; 1 and 1 make it 2.
        assert_eq!([(); 2].map(|()| q.verdict(&packet, false, us(0))), [Verdict::Pass, expected]);
    }
}

#[test]
fn a_dropped_packet_costs_its_queue_no_turn() {
    // With p_C = 1 the first packet of the C queue passes, as its count is not above one, and all others are
    // dropped.
    let mut q = dualpi2(&[("classic_share", "0.5")]);
    for id in 0..8 {
        offer(&mut q, id, if id % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct }, us(0));
    }
    q.weights.credit = 1;
    q.pi.p = 1.0;
    (q.classic_recur, q.l4s_recur) = (Recur::default(), Recur::default());
    let mut shed = Vec::new();
    assert_eq!(q.dequeue(us(0), &mut shed).map(|d| d.packet.id.0), Some(1));
    let credit = 1 - 500 * 1500;
    assert_eq!((shed.len(), q.weights.credit), (0, credit));
    q.weights.credit = 1;
    let out = q.dequeue(us(0), &mut shed).map(|d| d.packet.id.0);
    assert_eq!((out, q.weights.credit), (Some(0), 1), "{shed:?}");
    assert_eq!(shed, [3, 5, 7].map(PacketId));
}

#[test]
fn packets_are_classified_by_their_ecn_field() {
    let mut q = dualpi2(&[]);
    for (id, ecn) in [(0, Ecn::NotEct), (1, Ecn::Ect0), (2, Ecn::Ect1), (3, Ecn::Ce)] {
        offer(&mut q, id, ecn, us(0));
    }
    assert_eq!((q.l4s.backlog().packets, q.classic.backlog().packets), (2, 2));
    let order: Vec<_> =
        std::iter::from_fn(|| q.dequeue(us(0), &mut Vec::new()).map(|d| d.packet.id.0)).collect();
    assert_eq!(order, [2, 3, 0, 1]);
}
