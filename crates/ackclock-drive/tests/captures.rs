//! Captures at a sending kernel over the emulator with scripted faults: compares the analysis with the
//! kernel's counters.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration as Time;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, Cause, Options, Report};
use ackclock_drive::{Capture, Clock, Emulator, EmulatorOptions, Namespace, Port, Tun, TunOptions};
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo};
use ackclock_units::{Duration, Instant, Rate, Rng};
use common::allowed;

/// A fault by number and time of packets.
type CaseFault = Box<dyn FnMut(&PacketInfo, Instant, &mut Rng) -> FaultVerdict + Send>;
/// The sending application.
type Talk = fn(TcpStream);

/// A case: faults on the packets from and to the sender.
struct Case {
    name: &'static str,
    delay: u64,
    mbit: u64,
    sysctls: &'static [(&'static str, &'static str)],
    forth: CaseFault,
    back: CaseFault,
    talk: Talk,
}

/// The sending kernel's counters.
#[derive(Debug)]
struct Counted {
    retransmitted: u64,
    timeouts: u64,
    probes: u64,
}

fn bulk(mut s: TcpStream) {
    s.write_all(&vec![7; 400_000]).unwrap();
}

/// Small messages, each sent after the echo of the one before.
fn dialogue(mut s: TcpStream) {
    let mut echo = [0; 100];
    for _ in 0..25 {
        s.write_all(&[1; 100]).unwrap();
        s.read_exact(&mut echo).unwrap();
    }
}

fn bursts(mut s: TcpStream) {
    for _ in 0..6 {
        s.write_all(&[1; 20_000]).unwrap();
        std::thread::sleep(Time::from_millis(400));
    }
}

/// Sends to a peer that does not read for a long time.
fn into_a_closed_window(mut s: TcpStream) {
    s.write_all(&vec![7; 200_000]).unwrap();
}

/// A long silence with keepalives.
fn silence(mut s: TcpStream) {
    rustix::net::sockopt::set_socket_keepalive(&s, true).unwrap();
    rustix::net::sockopt::set_tcp_keepidle(&s, Time::from_secs(1)).unwrap();
    rustix::net::sockopt::set_tcp_keepintvl(&s, Time::from_secs(1)).unwrap();
    s.write_all(&[1; 100]).unwrap();
    std::thread::sleep(Time::from_millis(2600));
}

fn run(case: Case) -> (Counted, Report) {
    let (a, b) = (Namespace::new(false).unwrap(), Namespace::new(false).unwrap());
    let tun = |ns: &Namespace, host| {
        Tun::new(ns, &TunOptions { ipv4: ([10, 0, 0, host].into(), 24), ..TunOptions::default() }).unwrap()
    };
    let (mut near, far): (Port, Port) = (tun(&a, 1).into(), tun(&b, 2).into());
    for (key, value) in case.sysctls {
        a.set_sysctl(key, value).unwrap();
        let _ = b.set_sysctl(key, value);
    }
    let clock = Clock::start();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!(
        "{}-{}.pcapng",
        case.name.replace(' ', "-"),
        std::process::id()
    ));
    let capture = Capture::create(&path, clock).unwrap();
    near.record(&capture, "sender").unwrap();
    let rate = Some(Rate::from_bits_per_sec(case.mbit * 1_000_000));
    let link = |fault| {
        LinkSpec { rate, delay: Duration::from_millis(case.delay), ..LinkSpec::default() }.with_fault(fault)
    };
    let options = EmulatorOptions {
        forward: link(case.forth),
        backward: link(case.back),
        access: Default::default(),
        seed: 3,
        clock,
    };
    let emulator = Emulator::start(near, far, options).unwrap();
    let listener = b.run(|| TcpListener::bind("10.0.0.2:80").unwrap()).unwrap();
    let is = |talk: Talk| case.talk as usize == talk as usize;
    let (echo, late) = (is(dialogue), is(into_a_closed_window));
    let server = std::thread::spawn(move || {
        let (mut s, _) = listener.accept().unwrap();
        let mut buffer = vec![0; 1 << 16];
        if late {
            std::thread::sleep(Time::from_millis(1800));
        }
        loop {
            match s.read(&mut buffer).unwrap() {
                0 => break,
                n if echo => s.write_all(&buffer[..n]).unwrap(),
                _ => {}
            }
        }
    });
    let stream = a.run(|| TcpStream::connect("10.0.0.2:80").unwrap()).unwrap();
    stream.set_nodelay(true).unwrap();
    (case.talk)(stream);
    server.join().unwrap();
    // The last FINs and acks.
    std::thread::sleep(Time::from_millis(4 * case.delay + 100));
    let count = |name| a.tcp_counter(name).unwrap();
    let counted = Counted {
        retransmitted: count("RetransSegs"),
        timeouts: count("TCPTimeouts"),
        probes: count("TCPLossProbes"),
    };
    emulator.stop();
    capture.finish().unwrap();
    let mut packets = Packets::new(open(&path).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    assert!(analysis.read(&mut packets, |_| ControlFlow::Continue(())).unwrap());
    if std::env::var_os("ACKCLOCK_KEEP").is_none() {
        let _ = std::fs::remove_file(path);
    }
    (counted, analysis.finish())
}

fn pass() -> CaseFault {
    Box::new(|_, _, _| FaultVerdict::Pass)
}

fn lose(p: f64) -> CaseFault {
    Box::new(move |_, _, rng| if rng.chance(p) { FaultVerdict::Drop } else { FaultVerdict::Pass })
}

/// Loses the packets with these numbers, counted from the SYN as 0.
fn lose_numbers(numbers: &'static [u64]) -> CaseFault {
    Box::new(move |p, _, _| if numbers.contains(&p.number) { FaultVerdict::Drop } else { FaultVerdict::Pass })
}

/// Loses all packets within `ms` milliseconds after the packet with this number.
fn outage(number: u64, ms: u64) -> CaseFault {
    let mut until = None;
    Box::new(move |p, now, _| {
        if p.number == number {
            until = Some(now + Duration::from_millis(ms));
        }
        if until.is_some_and(|u| now < u) { FaultVerdict::Drop } else { FaultVerdict::Pass }
    })
}

fn reorder(p: f64, ms: u64) -> CaseFault {
    Box::new(
        move |_, _, rng| {
            if rng.chance(p) { FaultVerdict::Delay(Duration::from_millis(ms)) } else { FaultVerdict::Pass }
        },
    )
}

fn duplicate(p: f64) -> CaseFault {
    Box::new(move |_, _, rng| if rng.chance(p) { FaultVerdict::Duplicate } else { FaultVerdict::Pass })
}

const NO_SACK: &[(&str, &str)] = &[("net.ipv4.tcp_sack", "0")];
const NO_TIMESTAMPS: &[(&str, &str)] = &[("net.ipv4.tcp_timestamps", "0")];
const NO_PROBES: &[(&str, &str)] = &[("net.ipv4.tcp_early_retrans", "0")];
const SMALL_BUFFER: &[(&str, &str)] = &[("net.ipv4.tcp_rmem", "4096 16384 16384")];
const PLAIN: &[(&str, &str)] = &[("net.ipv4.tcp_sack", "0"), ("net.ipv4.tcp_timestamps", "0")];

fn cases() -> Vec<Case> {
    let case =
        |name, delay, sysctls, forth, back, talk| Case { name, delay, mbit: 20, sysctls, forth, back, talk };
    vec![
        case("clean", 10, &[], pass(), pass(), bulk as Talk),
        case("random loss", 10, &[], lose(0.03), pass(), bulk),
        case("random loss without SACK", 10, NO_SACK, lose(0.03), pass(), bulk),
        case("random loss without timestamps", 10, NO_TIMESTAMPS, lose(0.03), pass(), bulk),
        case("random loss with neither", 10, PLAIN, lose(0.03), pass(), bulk),
        case("random loss without probes", 10, NO_PROBES, lose(0.03), pass(), bulk),
        case("heavy loss", 10, &[], lose(0.12), pass(), bulk),
        case("heavy loss without SACK", 10, NO_SACK, lose(0.10), pass(), bulk),
        case("loss both ways", 10, &[], lose(0.03), lose(0.1), bulk),
        case("dialogue with loss", 15, &[], lose(0.08), pass(), dialogue),
        // Several consecutive timeouts: a single one does not show in a capture that the sender has no
        // probes.
        case("dialogue and an outage without probes", 15, NO_PROBES, outage(12, 600), pass(), dialogue),
        case("dialogue with loss of acks", 15, &[], pass(), lose(0.08), dialogue),
        case("dialogue and an outage", 15, &[], outage(14, 1500), pass(), dialogue),
        case("bulk and an outage", 15, &[], outage(60, 1500), pass(), bulk),
        case("bulk and an outage without SACK", 15, NO_SACK, outage(60, 1500), pass(), bulk),
        case("bulk and an outage without probes", 15, NO_PROBES, outage(60, 900), pass(), bulk),
        case("an outage of the acks", 15, &[], pass(), outage(40, 900), bulk),
        case("lost tails", 15, &[], lose_numbers(&[15, 16, 17, 40, 41, 60]), pass(), bursts),
        case(
            "lost tails without probes",
            15,
            NO_PROBES,
            lose_numbers(&[15, 16, 17, 40, 41, 60]),
            pass(),
            bursts,
        ),
        case("lost SYNs", 15, &[], lose_numbers(&[0, 1]), pass(), bulk),
        case("a lost SYN-ACK", 15, &[], pass(), lose_numbers(&[0]), bulk),
        case("reordering", 10, &[], reorder(0.05, 4), pass(), bulk),
        case("reordering without SACK", 10, NO_SACK, reorder(0.05, 4), pass(), bulk),
        case("duplicates", 10, &[], duplicate(0.05), duplicate(0.05), bulk),
        case("a closed window", 10, SMALL_BUFFER, pass(), pass(), into_a_closed_window),
        case("keepalives", 10, &[], pass(), pass(), silence),
        case("long path", 120, &[], lose(0.03), pass(), bulk),
    ]
}

#[test]
fn retransmissions_and_timeouts_match_the_kernels_counters() {
    if !allowed() {
        return;
    }
    let only = std::env::var("ACKCLOCK_CASE").ok();
    let mut wrong = Vec::new();
    let cases: Vec<Case> =
        cases().into_iter().filter(|c| only.as_ref().is_none_or(|o| c.name == o)).collect();
    let runs: Vec<_> =
        cases.into_iter().map(|case| (case.name, std::thread::spawn(move || run(case)))).collect();
    for (name, run) in runs {
        let (counted, report) = run.join().unwrap();
        let [c] = &report.connections[..] else { panic!("{name}: {} connections", report.connections.len()) };
        let d = &c.directions[0];
        let probes = d.of(Cause::TailLossProbe).count() as u64;
        let line = format!(
            "{name}: kernel {counted:?}; retransmitted {} timeouts {} probes {probes}",
            d.retransmitted_packets,
            d.timeouts.len(),
        );
        println!("{line}");
        let found = |cause| d.of(cause).count() > 0;
        assert_eq!(found(Cause::ZeroWindowProbe), name == "a closed window", "{line}");
        assert_eq!(found(Cause::Keepalive), name == "keepalives", "{line}");
        let right = d.retransmitted_packets == counted.retransmitted
            && d.timeouts.len() as u64 == counted.timeouts
            && probes <= counted.probes;
        if !right {
            for r in &d.retransmissions {
                println!(
                    "    {:.6} {} +{} {} {:?}: {}",
                    r.at.since(c.start).as_secs_f64(),
                    r.offset,
                    r.len,
                    r.cause.word(),
                    r.needed,
                    r.evidence
                );
            }
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
