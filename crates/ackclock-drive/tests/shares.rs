//! The kernel's congestion controls beside its Reno over an emulated link, and the same flows of our stacks over
//! the simulated one: what a passport says of `linux` and `linux-bbr`, against what the kernel does.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration as Time, Instant as Now};

use ackclock_policy::{QueueDiscipline, Registry};
use ackclock_sim::LinkSpec;
use ackclock_sim::scenario::{Files, Scenario, run};
use ackclock_units::{Duration, Rate};
use common::{allowed, two_kernels};

const MBIT: u64 = 20;
/// Seconds before the numbers count, and at their end.
const FROM: u64 = 10;
const UNTIL: u64 = 40;

/// The goodput of one flow of the kernel with `control`, over that of both it and one of Reno's.
fn kernel(control: &str, packets: u32) -> (f64, f64) {
    let mut queue = Registry::builtin().choose::<dyn QueueDiscipline>("drop-tail").unwrap();
    queue.set("limit", &format!("{packets}packets")).unwrap();
    let (rate, delay) = (Rate::from_bits_per_sec(MBIT * 1_000_000), Duration::from_millis(20));
    let forward = LinkSpec::new(rate, delay, queue.build());
    let (a, b, emulator) = two_kernels(forward, LinkSpec::delay(delay));
    for ns in [&a, &b] {
        ns.set_sysctl("net.ipv4.tcp_rmem", "4096 8388608 8388608").unwrap();
        ns.set_sysctl("net.ipv4.tcp_wmem", "4096 8388608 8388608").unwrap();
    }
    let listener = b.run(|| TcpListener::bind("10.0.0.2:80").unwrap()).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let mut counts = Vec::new();
    let mut threads = Vec::new();
    // A socket has the control that is the default as it is made.
    for control in [control, "reno"] {
        a.set_sysctl("net.ipv4.tcp_congestion_control", control).unwrap();
        let mut out = a.run(|| TcpStream::connect("10.0.0.2:80").unwrap()).unwrap();
        let mut back = listener.accept().unwrap().0;
        let done = Arc::clone(&stop);
        threads.push(std::thread::spawn(move || {
            let data = vec![7; 16_384];
            while !done.load(Ordering::Relaxed) && out.write_all(&data).is_ok() {}
        }));
        let received = Arc::new(AtomicU64::new(0));
        counts.push(Arc::clone(&received));
        threads.push(std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(n @ 1..) = back.read(&mut buffer) {
                received.fetch_add(n as u64, Ordering::Relaxed);
            }
        }));
    }
    let read = || counts.iter().map(|c| c.load(Ordering::Relaxed)).collect::<Vec<_>>();
    std::thread::sleep(Time::from_secs(FROM));
    let (before, began) = (read(), Now::now());
    std::thread::sleep(Time::from_secs(UNTIL - FROM));
    let (after, seconds) = (read(), began.elapsed().as_secs_f64());
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
    let report = emulator.stop();
    println!("{} late of {}", report.late, report.delivered);
    let rate = |i: usize| (after[i] - before[i]) as f64 * 8.0 / 1e6 / seconds;
    (rate(0) / (rate(0) + rate(1)), rate(0) + rate(1))
}

/// The same of our stacks, the mean of ten seeds.
fn simulated(stack: &str, packets: u32) -> f64 {
    let of = |seed: u32| {
        let text = format!(
            "seed = {seed}\nduration = \"{UNTIL}s\"\nwarmup = \"{FROM}s\"\n[path]\nkind = \"single\"\nrtt = \
             \"40ms\"\nlink = {{ rate = \"{MBIT}Mbit/s\", queue = {{ kind = \"drop-tail\", limit = \
             \"{packets}packets\" }} }}\n[[workload]]\nkind = \"bulk\"\nname = \"tested\"\nstack = \
             \"tested\"\nspread = \"10ms\"\n[[workload]]\nkind = \"bulk\"\nname = \"reno\"\nstack = \
             \"reno\"\nspread = \"10ms\"\n[stacks]\ntested = {{ preset = \"{stack}\", snd_buf = \"8MiB\", rcv_buf \
             = \"8MiB\" }}\nreno = {{ preset = \"linux-reno\", snd_buf = \"8MiB\", rcv_buf = \"8MiB\" }}"
        );
        let scenario = Scenario::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        let files = Files::in_folder(std::path::Path::new("."));
        let resolved = scenario.resolve_with(&Registry::builtin(), &files).unwrap_or_else(|e| panic!("{e}"));
        let found =
            run(&resolved, |_| ControlFlow::Continue(()), 1).unwrap_or_else(|e| panic!("{e}")).unwrap();
        let rates: Vec<f64> = found.flows.iter().map(|f| f.bytes_delivered as f64).collect();
        let tested = found.flows.iter().position(|f| *f.stack == *"tested").unwrap();
        rates[tested] / rates.iter().sum::<f64>()
    };
    (1..=10).map(of).sum::<f64>() / 10.0
}

#[test]
#[ignore = "four minutes of real time: `make shares` runs it"]
fn the_kernels_controls_have_the_share_beside_reno_that_the_simulator_says() {
    if !allowed() {
        return;
    }
    // Buffers of half a bandwidth-delay product (67 packets), of two and of eight.
    for (control, stack) in [("cubic", "linux"), ("bbr", "linux-bbr")] {
        for packets in [33, 134, 536] {
            let (real, sum) = kernel(control, packets);
            let model = simulated(stack, packets);
            println!("{control}, {packets} packets: {real:.3} (simulated {model:.3}) of {sum:.2} Mbit/s");
            assert!((real - model).abs() < 0.1, "{control}, {packets} packets: {real:.3}, not {model:.3}");
            assert!(sum > 0.9 * MBIT as f64, "{control}, {packets} packets: {sum:.2} Mbit/s");
        }
    }
}
