//! What-if, compared with the truth: a transfer with one timer is captured, the analysis predicts the waits
//! with another timer, and the transfer is run again with that timer.

use std::ops::ControlFlow;

use ackclock_capture::read::Packets;
use ackclock_capture::{Analysis, Direction, Options, Report, WhatIf};
use ackclock_policy::{Registry, Timing};
use ackclock_testkit::pipe::{Path, Pipe, Plan, Script, Tap};
use ackclock_testkit::{Setup, choose};
use ackclock_trace::{Event, EventKind, Mask, Pcapng};
use ackclock_units::{Duration, Instant, Rate};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn timing(name: &str) -> Timing {
    Timing::named(&Registry::builtin(), name).unwrap_or_else(|e| panic!("{e}"))
}

/// A sender with this timer.
fn setup(name: &str, recovery: &str, timestamps: bool) -> Setup {
    let t = timing(name);
    Setup { estimator: t.estimator.expect("an estimator"), ..Setup::default() }
        .with_policies(|s| (s.backoff, s.timer, s.recovery) = (t.backoff, t.timer, choose(recovery)))
        .with(|c| {
            (c.timestamps, c.sack, c.mss) = (timestamps, recovery == "sack", 1000);
            c.syn_retries = 20;
        })
}

/// A transfer under a script, captured at the client: what its timer did, and the capture.
struct Transfer {
    /// Expiries: time, round, and timeout.
    timeouts: Vec<(Instant, u32, Duration)>,
    file: Vec<u8>,
}

const SIZE: u64 = 120_000;

fn path() -> Path {
    Path { rate: Some(Rate::from_bits_per_sec(8_000_000)), jitter: ms(2), ..Path::clean(ms(30)) }
}

fn transfer(setup: &Setup, script: &[Script], seed: u64) -> Transfer {
    over(path(), setup, script, seed)
}

fn lossy(setup: &Setup, seed: u64) -> Transfer {
    over(Path { loss: 0.06, ..path() }, setup, &[], seed)
}

fn over(path: Path, setup: &Setup, script: &[Script], seed: u64) -> Transfer {
    seen_at(0, path, setup, script, seed)
}

fn seen_at(side: usize, path: Path, setup: &Setup, script: &[Script], seed: u64) -> Transfer {
    let mut pipe = Pipe::new([setup, setup], [Plan::send(SIZE), Plan::receive()], [path, path], seed);
    pipe.script = script.to_vec();
    pipe.tap = Some(Tap { side, seen: Vec::new() });
    pipe.sides[0].endpoint.connection.set_trace(Mask::ALL);
    pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
    let mut events: Vec<Event> = Vec::new();
    pipe.sides[0].endpoint.connection.drain_trace(&mut events);
    let of = |e: &Event| {
        if let EventKind::Timeout { round, rto, .. } = e.kind { Some((e.at, round, rto)) } else { None }
    };
    let mut file = Pcapng::new(Vec::new(), Duration::from_secs(2_000_000_000)).unwrap();
    let link = file.interface("tap", None).unwrap();
    for (at, bytes) in &pipe.tap.take().unwrap().seen {
        file.packet(link, *at, &bytes[..bytes.len().min(96)], bytes.len() as u32, None).unwrap();
    }
    Transfer { timeouts: events.iter().filter_map(of).collect(), file: file.finish().unwrap() }
}

fn asked(file: &[u8], timers: &str) -> Report {
    let mut packets = Packets::new(file).unwrap();
    let what_if = Timing::list(&Registry::builtin(), timers).unwrap();
    let mut analysis = Analysis::new(Options { what_if: what_if.into(), ..Options::default() });
    assert!(analysis.read(&mut packets, |_| ControlFlow::Continue(())).unwrap());
    analysis.finish()
}

fn client(report: &Report) -> &Direction {
    &report.connections[0].directions[0]
}

fn row<'a>(report: &'a Report, timer: &str) -> &'a WhatIf {
    client(report).what_if.iter().find(|w| w.timer == timer).unwrap_or_else(|| panic!("{timer}"))
}

/// What the sender waited according to its capture; `captured.rs` compares that with the sender's own events.
/// `None` where the capture is misread: an expiry sooner than a round trip is classified as a probe.
fn waited(t: &Transfer) -> Option<f64> {
    let run = row(&asked(&t.file, "rfc6298"), "as-run").clone();
    (run.timeouts == t.timeouts.len() as u64).then(|| run.waited.as_secs_f64())
}

const TIMERS: [&str; 10] = [
    "rfc6298",
    "rfc6298(min_rto=200ms)",
    "rfc6298(min_rto=200ms)+no-backoff",
    "rfc6298+star(3)",
    "eifel",
    "jacobson88",
    "lite",
    "jacobson88-ticks",
    "rfc6298(min_rto=200ms)+linear",
    "rfc6298+thin-linear",
];

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// Errors of one kind of scenario.
#[derive(Default, Debug)]
struct Errors {
    cases: usize,
    /// Within 2 ms or 2 %.
    exact: usize,
    /// Between the least and the most.
    within: usize,
    /// Sums: real, predicted, and the absolute error of each case.
    real: f64,
    predicted: f64,
    off: f64,
    outside: Vec<String>,
    misread: usize,
}

impl Errors {
    fn add(&mut self, what: &str, real: f64, w: &WhatIf) {
        let (predicted, least, most) =
            (w.waited.as_secs_f64(), w.waited_least.as_secs_f64(), w.waited_most.as_secs_f64());
        let near = |x: f64| 2e-3_f64.max(0.02 * x);
        self.cases += 1;
        self.exact += usize::from((predicted - real).abs() <= near(real));
        (self.real, self.predicted, self.off) =
            (self.real + real, self.predicted + predicted, self.off + (predicted - real).abs());
        if real >= least - near(least) && real <= most + near(most) {
            self.within += 1;
        } else {
            self.outside
                .push(format!("{what}: {real:.3} s, predicted {predicted:.3} ({least:.3} to {most:.3})"));
        }
    }
}

/// Predictions from every timer's capture for every other timer, under scripts of one kind.
fn compare(name: &str, scripts: &[Vec<Script>], recovery: &str, timestamps: bool) -> Errors {
    let mut errors = Errors::default();
    for (seed, script) in scripts.iter().enumerate() {
        let runs: Vec<Transfer> =
            TIMERS.iter().map(|t| transfer(&setup(t, recovery, timestamps), script, seed as u64)).collect();
        let truths: Vec<Option<f64>> = runs.iter().map(waited).collect();
        for ((a, run), own) in TIMERS.iter().zip(&runs).zip(&truths) {
            let report = asked(&run.file, &TIMERS.join(","));
            for (b, truth) in TIMERS.iter().zip(&truths) {
                match (own, truth) {
                    (Some(_), Some(truth)) => {
                        errors.add(&format!("{a} -> {b}, {:?}", script[0]), *truth, row(&report, b))
                    }
                    _ => errors.misread += 1,
                }
            }
        }
    }
    println!(
        "{name} ({recovery}, timestamps {timestamps}): {} cases, {} exact, {} within; {:.1} s waited, {:.1} \
         predicted, {:.3} s off on average; {} misread",
        errors.cases,
        errors.exact,
        errors.within,
        errors.real,
        errors.predicted,
        errors.off / errors.cases as f64,
        errors.misread
    );
    for line in errors.outside.iter().take(12) {
        println!("  outside: {line}");
    }
    errors
}

const TAIL: u32 = SIZE as u32;

#[test]
fn tail_losses() {
    let scripts: Vec<_> =
        (1..=3).map(|k| vec![Script::Lost { offset: TAIL - 1000 * k, len: 1000 * k, times: 1 }]).collect();
    for timestamps in [false, true] {
        let e = compare("tail loss", &scripts, "sack", timestamps);
        assert!(e.exact * 100 >= e.cases * 99, "{e:?}");
    }
}

#[test]
fn lost_retransmissions() {
    for (recovery, timestamps) in [("sack", true), ("newreno", false)] {
        let mut scripts: Vec<_> =
            (2..=4).map(|times| vec![Script::Lost { offset: 60_000, len: 900, times }]).collect();
        scripts.extend((2..=3).map(|times| vec![Script::Lost { offset: TAIL - 900, len: 900, times }]));
        let e = compare("lost retransmissions", &scripts, recovery, timestamps);
        assert!(e.within * 100 >= e.cases * 95, "{} of {} within", e.within, e.cases);
    }
}

#[test]
fn a_thin_stream_of_linux_is_not_backed_off() {
    // The last segment is lost again and again, alone in flight: a second each time, where RFC 6298 doubles
    // (B-S9). Half a window is no thin stream.
    for (len, times) in [(900, 1), (900, 4), (900, 6), (900, 8), (20_000, 2)] {
        let script = [Script::Lost { offset: TAIL - len, len, times }];
        let [plain, thin] =
            ["rfc6298", "rfc6298+thin-linear"].map(|t| transfer(&setup(t, "sack", true), &script, 1));
        let predicted = row(&asked(&plain.file, "rfc6298+thin-linear"), "rfc6298+thin-linear").clone();
        // Losses by count give the smallest wait: the path may as well have been dead for as long.
        let (real, least) = (waited(&thin).expect("read correctly"), predicted.waited_least.as_secs_f64());
        assert!(
            (real - least).abs() < 0.02 * real,
            "{len} bytes lost {times} times: {real} s, predicted {predicted:?}"
        );
        let backed_off = waited(&plain).expect("read correctly");
        assert_eq!(
            backed_off > 1.5 * real,
            len == 900 && times > 1,
            "{len} bytes lost {times} times: {real} and {backed_off} s"
        );
    }
}

#[test]
fn outages() {
    for (recovery, timestamps) in [("sack", true), ("newreno", false)] {
        let ends = [180, 350, 700, 1300, 2100, 3300, 5000, 8000];
        let scripts: Vec<_> =
            ends.iter().map(|end| vec![Script::Outage { start: at(150), end: at(*end) }]).collect();
        let e = compare("outage", &scripts, recovery, timestamps);
        assert!(e.within * 100 >= e.cases * 95, "{} of {} within", e.within, e.cases);
    }
}

#[test]
fn delay_spikes() {
    for timestamps in [true, false] {
        let (mut cases, mut same, mut off) = (0, 0, Vec::new());
        for (seed, end) in [300, 500, 900, 1500, 2500, 4000].into_iter().enumerate() {
            let script = [Script::Held { start: at(150), end: at(end) }];
            let runs: Vec<Transfer> = TIMERS
                .iter()
                .map(|t| transfer(&setup(t, "sack", timestamps), &script, seed as u64))
                .collect();
            for (a, run) in TIMERS.iter().zip(&runs) {
                let report = asked(&run.file, &TIMERS.join(","));
                for (b, other) in TIMERS.iter().zip(&runs) {
                    let (w, real) = (row(&report, b), other.timeouts.len() as u64);
                    cases += 1;
                    same += usize::from(w.spurious == real && w.timeouts == real);
                    if w.spurious != real {
                        off.push(format!(
                            "{a} -> {b}, held until {end}: {real}, predicted {} of {} spurious, waited {}",
                            w.spurious, w.timeouts, w.waited
                        ));
                    }
                }
            }
        }
        println!("delay spike (timestamps {timestamps}): {cases} cases, {same} with the same expiries");
        off.iter().take(20).for_each(|line| println!("  {line}"));
        assert!(cases > 400 && same * 100 >= cases * 95, "{same} of {cases}: {off:#?}");
    }
}

#[test]
fn random_losses_on_average() {
    // With another timer other packets are lost, so single stalls cannot be compared, but sums over many
    // transfers can.
    let timers = ["rfc6298", "rfc6298(min_rto=200ms)", "rfc6298+star(3)", "jacobson88"];
    let (mut real, mut predicted, mut spread) = ([0.0; 4], [[0.0; 4]; 4], [(0.0, 0.0); 4]);
    for seed in 0..200 {
        for (a, name) in timers.iter().enumerate() {
            let t = lossy(&setup(name, "sack", true), seed);
            let report = asked(&t.file, &timers.join(","));
            real[a] += t.timeouts.iter().map(|t| t.2.as_secs_f64()).sum::<f64>();
            for (b, other) in timers.iter().enumerate() {
                let w = row(&report, other);
                predicted[a][b] += w.waited.as_secs_f64();
                if a == 0 {
                    spread[b].0 += w.waited_least.as_secs_f64();
                    spread[b].1 += w.waited_most.as_secs_f64();
                }
            }
        }
    }
    for (b, other) in timers.iter().enumerate() {
        let from = predicted.map(|s| format!("{:.1}", s[b])).join(", ");
        println!(
            "{other}: {:.1} s waited; predicted {from} from the captures of each timer; {:.1} to {:.1} from \
             the first",
            real[b], spread[b].0, spread[b].1
        );
        for s in predicted {
            assert!(s[b] > 0.6 * real[b] && s[b] < 1.5 * real[b], "{other}: {} and {}", s[b], real[b]);
        }
    }
}

#[test]
fn there_is_no_estimate_from_a_capture_near_the_receiver() {
    // The retransmissions that were lost are not in such a capture.
    let script = Script::Lost { offset: 60_000, len: 900, times: 3 };
    let report = asked(&seen_at(1, path(), &setup("rfc6298", "sack", true), &[script], 0).file, "eifel");
    assert!(client(&report).what_if.is_empty());
    assert!(
        report.connections[0].notes.iter().any(|n| n.starts_with("what-if has no rows for the client")),
        "{:?}",
        report.connections[0].notes
    );
}
