//! Probe runs in virtual time: loss, delay and limits of the path are measured correctly.

use std::sync::{Arc, Mutex};

use ackclock_engine::Stack;
use ackclock_policy::{QueueDiscipline, Registry};
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo};
use ackclock_units::{Duration, Instant, Rate, Rng};

use super::session::Session;
use super::*;

fn options(stack: &str, seconds: u64) -> ProbeOptions {
    let stack = Stack::named(&Registry::builtin(), stack).unwrap();
    let (config, duration) = (stack.config(), Duration::from_secs(seconds));
    ProbeOptions {
        duration,
        max_rate: Rate::from_bits_per_sec(1_000_000_000),
        ..ProbeOptions::new(config, Arc::new(move || stack.build()))
    }
}

fn run(options: ProbeOptions, forward: LinkSpec, backward: LinkSpec) -> SimulatedProbe {
    simulate_probe(options, SimulatedPath { forward, backward, seed: 1, replies: &mut |_| true })
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn back() -> LinkSpec {
    LinkSpec::delay(ms(25))
}

/// A link of 25 ms on which `fate` decides about the n-th packet that carries a segment.
fn meddled(mut fate: impl FnMut(u64, &mut Rng) -> FaultVerdict + Send + 'static) -> LinkSpec {
    let mut seen = 0;
    LinkSpec::delay(ms(25)).with_fault(move |p: &PacketInfo, _: Instant, rng: &mut Rng| {
        if p.bytes < 1000 {
            return FaultVerdict::Pass;
        }
        seen += 1;
        fate(seen, rng)
    })
}

fn lossy(p: f64) -> LinkSpec {
    meddled(move |_, rng| if rng.chance(p) { FaultVerdict::Drop } else { FaultVerdict::Pass })
}

fn bottleneck(rate: u64, packets: u64) -> LinkSpec {
    let mut queue = Registry::builtin().choose::<dyn QueueDiscipline>("drop-tail").unwrap();
    queue.set("limit", &format!("{packets}packets")).unwrap();
    LinkSpec::new(Rate::from_bits_per_sec(rate), ms(25), queue.build())
}

#[test]
fn loss_and_delay_are_measured() {
    for (stack, c) in
        [("sack+per-ack", 0.9), ("sack+per-ack+ack-every", 1.25), ("sack", 1.2), ("sack+ack-every", 1.2)]
    {
        let found = run(options(stack, 900), lossy(0.003), back());
        let m = found.report.measured.unwrap();
        let (p, rtt) = (m.p().unwrap(), m.rtt.mean().unwrap());
        // Losses in the same window are one signal, so p is a little below the loss rate.
        assert!((p / 0.003 - 1.0).abs() < 0.1, "{stack}: p = {p}");
        let lost = 1.0 - m.answered as f64 / m.sent as f64;
        assert!((lost / 0.003 - 1.0).abs() < 0.1 && p < lost, "{stack}: lost {lost}, p = {p}");
        assert!((rtt / 0.05 - 1.0).abs() < 1e-9 && m.rtt.min() == Some(0.05), "{stack}: {rtt}");
        // The connection's samples include delayed acks.
        assert_eq!(m.rtt_mean().unwrap() > 0.0501, !stack.contains("ack-every"));
        let window = m.capacity().unwrap() * m.rtt_mean().unwrap() / (8.0 * 1460.0);
        assert!((window * p.sqrt() / c - 1.0).abs() < 0.1, "{stack}: C = {}", window * p.sqrt());
        assert!(m.slow_start_excluded && m.after >= ms(100));
        assert_eq!(found.report.limit, None);
    }
}

#[test]
fn periodic_losses_are_one_signal_each() {
    let found = run(
        options("sack", 200),
        meddled(|n, _| if n % 500 == 0 { FaultVerdict::Drop } else { FaultVerdict::Pass }),
        back(),
    );
    let m = found.report.measured.unwrap();
    assert_eq!(u64::from(m.ca_events), m.sent - m.answered);
    assert_eq!((m.non_ca_events, m.other_losses, m.timeouts), (0, 0, 0));
    assert!((m.p().unwrap() * 500.0 - 1.0).abs() < 0.02, "{:?}", m.p());
}

#[test]
fn a_bottleneck_shows_its_rate_and_its_queue() {
    let found = run(options("sack", 60), bottleneck(10_000_000, 30), back());
    let m = found.report.measured.as_ref().unwrap();
    let of_payload = 10_000_000.0 * 1460.0 / 1488.0;
    assert!((m.capacity().unwrap() / of_payload - 1.0).abs() < 0.05, "{:?}", m.capacity());
    // Thirty packets and one in service wait, 1.19 ms each.
    let longest = m.rtt.max().unwrap();
    assert!(longest > 0.08 && longest < 0.09, "{longest}");
    assert_eq!(found.report.limit, None, "a full queue is no limit on replies");
}

#[test]
fn a_test_over_a_long_buffer_changes_the_path() {
    // M-X3: half a second of buffer.
    let found = run(options("sack", 60), bottleneck(2_000_000, 84), back()).report;
    let mean = |b: &Background| b.rtt.mean().unwrap();
    assert!(
        mean(&found.during) > 3.0 * mean(&found.before),
        "{} {}",
        mean(&found.during),
        mean(&found.before)
    );
    assert!(found.after.median_of_means().unwrap() < 1.1 * found.before.median_of_means().unwrap());
    assert_eq!([found.before.sent, found.before.answered, found.after.sent, found.after.answered], [200; 4]);
    assert!(found.during.sent > 1000);
}

fn replying(replies: &mut dyn FnMut(Instant) -> bool) -> ProbeReport {
    let path = SimulatedPath { forward: LinkSpec::delay(ms(25)), backward: back(), seed: 1, replies };
    simulate_probe(options("sack", 60), path).report
}

fn limited(rate: f64, burst: f64) -> ProbeReport {
    let (mut left, mut last) = (burst, Instant::ZERO);
    replying(&mut |now| {
        left = (left + rate * now.since(last).as_secs_f64()).min(burst);
        last = now;
        let answered = left >= 1.0;
        left -= f64::from(u8::from(answered));
        answered
    })
}

#[test]
fn limits_on_replies_are_detected() {
    for (rate, burst) in [(200.0, 20.0), (1000.0, 50.0), (100.0, 100.0)] {
        let found = limited(rate, burst)
            .limit
            .unwrap_or_else(|| panic!("a limit of {rate} replies per second was not detected"));
        assert!(matches!(found.sign, LimitSign::NoneAtHalfRate { probes } if probes > 10));
        // TCP does not use all tokens of the bucket.
        assert!(found.per_second < 1.05 * rate && found.per_second > 0.5 * rate, "{found:?} of {rate}");
    }
    // A host that replies to the first hundred probes of each second.
    let (mut second, mut count) = (0, 0);
    let found = replying(&mut |now| {
        if now.as_nanos() / 1_000_000_000 > second {
            (second, count) = (now.as_nanos() / 1_000_000_000, 0);
        }
        count += 1;
        count <= 100
    });
    let limit = found.limit.expect("a limit");
    assert!(limit.per_second > 50.0 && limit.per_second < 101.0, "{limit:?}");
    // Linux's ICMP errors for expired packets.
    let found = limited(1.0, 6.0).limit.unwrap();
    assert!(found.sign == LimitSign::EvenReplies && (found.per_second - 1.0).abs() < 0.1, "{found:?}");
}

#[test]
fn random_loss_is_not_a_limit_on_replies() {
    for p in [0.001, 0.01, 0.1, 0.3] {
        let found = run(options("sack", 60), lossy(p), back());
        assert_eq!(found.report.limit, None, "{p}");
    }
}

#[test]
fn the_largest_rate_is_kept() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let watched = Arc::clone(&times);
    let forward = LinkSpec::delay(ms(25)).with_fault(move |p: &PacketInfo, at: Instant, _: &mut Rng| {
        watched.lock().unwrap().push((at, u64::from(p.bytes)));
        FaultVerdict::Pass
    });
    let found = run(
        ProbeOptions { max_rate: Rate::from_bits_per_sec(5_000_000), background: 0, ..options("sack", 20) },
        forward,
        back(),
    );
    let times = times.lock().unwrap();
    for (i, (from, _)) in times.iter().enumerate().step_by(7) {
        let within = times[i..]
            .iter()
            .take_while(|(at, _)| at.since(*from) < ms(100))
            .map(|(_, bytes)| bytes * 8)
            .sum::<u64>();
        // A burst may be 10 ms ahead, plus the packet that ends it.
        assert!(within <= 550_000 + 2 * 8 * 1488, "{within} bits in 100 ms from {from:?}");
    }
    let m = found.report.measured.unwrap();
    assert!(
        m.capacity().unwrap() > 4_700_000.0 && m.held > Duration::from_secs(15),
        "{:?} {:?}",
        m.capacity(),
        m.held
    );
    assert!(!m.slow_start_excluded, "nothing was lost");
}

#[test]
fn the_window_is_kept_and_each_reply_counts_once() {
    let mut session = Session::new(ProbeOptions { background: 0, ..options("sack+iw(4)", 10) }, 28, 1);
    let at = |n| Instant::ZERO + ms(n);
    session.start(at(0));
    let syn = session.poll_send(at(0)).unwrap();
    assert_eq!((syn.payload, session.poll_send(at(0))), (1460, None), "nothing beside the SYN");
    session.reply(at(50), syn.number);
    let first: Vec<u64> = std::iter::from_fn(|| session.poll_send(at(50))).map(|o| o.number).collect();
    assert_eq!(first.len(), 4);
    for forged in [first[3] + 1, 1 << 50, u64::MAX] {
        session.reply(at(60), forged);
    }
    session.reply(at(60), syn.number);
    let replies = session.report(at(60)).replies;
    assert_eq!((replies.unknown, replies.again), (3, 1));
    assert_eq!(session.poll_send(at(60)), None);
    let mut released = |ms, number| {
        session.reply(at(ms), number);
        std::iter::from_fn(|| session.poll_send(at(ms))).count()
    };
    // The first reply brings the receiver's scaled window; then every second segment is acknowledged.
    assert_eq!([released(100, first[0]), released(101, first[1]), released(102, first[2])], [2, 0, 3]);
    session.stop(at(120));
    let m = session.report(at(500)).measured.unwrap();
    assert!(session.is_done() && m.time == ms(120) && (m.sent, m.answered) == (10, 4), "{m:?}");
    assert_eq!(m.rtt_sum, ms(50 + 50 + 52), "the handshake's sample is a round trip, not zero");
}

#[test]
fn late_and_repeated_replies_are_counted() {
    let forward = meddled(|n, _| match n {
        400 => FaultVerdict::Delay(ms(400)),
        600 => FaultVerdict::Duplicate,
        _ => FaultVerdict::Pass,
    });
    let found = run(options("sack", 10), forward, back()).report;
    assert_eq!((found.replies.late, found.replies.again, found.replies.unknown), (1, 1, 0));
    let m = found.measured.unwrap();
    assert!(m.ca_events + m.non_ca_events <= 1);
}

#[test]
fn a_run_without_replies_ends_soon() {
    let silent =
        || LinkSpec::delay(ms(25)).with_fault(|_: &PacketInfo, _: Instant, _: &mut Rng| FaultVerdict::Drop);
    let found = run(options("sack", 60), silent(), back());
    assert!(!found.report.answered && found.report.measured.is_none());
    assert_eq!(found.forward.offered, 200);
    let found = run(ProbeOptions { background: 0, ..options("sack", 30) }, silent(), back());
    assert!(!found.report.answered && found.forward.offered < 10);
}

#[test]
fn a_simulated_run_is_deterministic() {
    let once = || format!("{:?}", run(options("sack", 30), lossy(0.01), back()).report);
    assert_eq!(once(), once());
}

#[test]
fn replies_in_any_order_at_any_time_break_nothing() {
    for seed in 0..60 {
        let mut rng = Rng::stream(seed, "replies", 0);
        let mut session = Session::new(
            ProbeOptions {
                background: rng.below(5),
                max_rate: Rate::from_bits_per_sec(20_000_000),
                ..options("sack", 5)
            },
            28,
            seed,
        );
        let (mut now, mut out) = (Instant::ZERO, Vec::new());
        session.start(now);
        for _ in 0..3000 {
            out.extend(std::iter::from_fn(|| session.poll_send(now)).map(|o| o.number));
            match rng.below(10) {
                0 => session.reply(now, rng.next_u64()),
                1 => session.not_sent(),
                // Another reply to any probe ever sent.
                2 if !out.is_empty() => session.reply(now, out[rng.below(out.len() as u64) as usize]),
                3..=8 if !out.is_empty() => {
                    session.reply(now, out[out.len() - 1 - rng.below(out.len().min(20) as u64) as usize])
                }
                _ => now = session.poll_timeout().map_or(now, |at| at.max(now)),
            }
            now += Duration::from_micros(rng.below(3000));
            if session.poll_timeout().is_some_and(|at| at <= now) {
                session.handle_timeout(now);
            }
        }
        session.stop(now);
        let report = session.report(now);
        if let Some(m) = report.measured {
            assert!(m.answered <= m.sent && m.time <= Duration::from_secs(300), "{seed}: {m:?}");
            assert!(u64::from(m.ca_events) <= m.sent && m.rtt.count() == m.answered, "{seed}: {m:?}");
        }
    }
}
