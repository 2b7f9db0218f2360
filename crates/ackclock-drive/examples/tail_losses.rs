//! Compares this kernel's TCP with the engine's `cubic+rack` for the same scripted losses: timeouts, tail
//! loss probes, retransmissions, and duration of the transfer. Needs the right to create namespaces. It runs
//! in real time, so that a busy machine may add a probe or a timeout.
//!
//!     cargo run --release -p ackclock-drive --example tail_losses

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration as Time, Instant as Moment};

use ackclock_drive::{Clock, Lab, LabOptions};
use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo, PacketKind};
use ackclock_units::{Duration, Instant, Rng};

const DELAY: Duration = Duration::from_millis(50);
const SEGMENT: usize = 1460;

/// Counters of a sender.
#[derive(Debug)]
struct Outcome {
    timeouts: u64,
    probes: u64,
    retransmitted: u64,
    took: Time,
}

/// A link that loses the data packets with these numbers, counted from 1 with retransmissions.
fn losing(numbers: &'static [u64]) -> LinkSpec {
    let mut passed = 0;
    LinkSpec::delay(DELAY).with_fault(move |p: &PacketInfo, _: Instant, _: &mut Rng| {
        passed += u64::from(p.kind == PacketKind::Data);
        if p.kind == PacketKind::Data && numbers.contains(&passed) {
            FaultVerdict::Drop
        } else {
            FaultVerdict::Pass
        }
    })
}

fn lab(stack: &str, to_engine: LinkSpec, to_kernel: LinkSpec) -> Lab {
    let mut stack = Stack::named(&Registry::builtin(), stack).expect("a stack");
    // As in Linux, a fast retransmission restarts the timer; otherwise the minimum timeout of 200 ms leaves
    // little time for its ack.
    stack.set("timer.fast_retransmit", "true").expect("a parameter");
    let config = stack.config();
    let policies = Arc::new(move || stack.build());
    let options = LabOptions {
        mtu: 1500,
        to_engine,
        to_kernel,
        seed: 1,
        clock: Clock::start(),
        config,
        policies,
        kernel_capture: None,
        engine_capture: None,
    };
    Lab::new(options).unwrap_or_else(|e| {
        eprintln!("{e}");
        std::process::exit(2)
    })
}

/// Reads `bytes` bytes, and returns when the last one arrived.
fn drain(mut from: impl Read, bytes: usize) -> Moment {
    let (mut block, mut got, mut last) = ([0; 4096], 0, Moment::now());
    while got < bytes {
        let n = from.read(&mut block).expect("the connection is open");
        assert!(n > 0, "{got} of {bytes} bytes");
        (got, last) = (got + n, Moment::now());
    }
    last
}

fn by_kernel(segments: usize, numbers: &'static [u64]) -> Outcome {
    let lab = lab("cubic", losing(numbers), LinkSpec::delay(DELAY));
    let listener = lab.host.listen(80, 5).expect("a port");
    let mut stream = lab
        .namespace
        .run(|| TcpStream::connect(Lab::engine(80)))
        .expect("a namespace")
        .expect("a connection");
    let far = listener.accept().expect("a connection");
    let began = Moment::now();
    stream.write_all(&vec![7; segments * SEGMENT]).expect("the connection is open");
    let took = drain(&far, segments * SEGMENT) - began;
    std::thread::sleep(Time::from_millis(400));
    let count = |name| lab.namespace.tcp_counter(name).expect("a counter of Linux");
    let outcome = Outcome {
        timeouts: count("TCPTimeouts"),
        probes: count("TCPLossProbes"),
        retransmitted: count("RetransSegs"),
        took,
    };
    drop(stream.shutdown(Shutdown::Both));
    outcome
}

fn by_engine(segments: usize, numbers: &'static [u64]) -> Outcome {
    let lab = lab("cubic+rack+f-rto+min-rto(200ms)+no-nagle", LinkSpec::delay(DELAY), losing(numbers));
    let listener =
        lab.namespace.run(|| TcpListener::bind(Lab::kernel(80))).expect("a namespace").expect("a port");
    let mut stream = lab.host.connect(Lab::kernel(80)).expect("a connection");
    let (far, _) = listener.accept().expect("a connection");
    let began = Moment::now();
    stream.write_all(&vec![7; segments * SEGMENT]).expect("the connection is open");
    let took = drain(&far, segments * SEGMENT) - began;
    std::thread::sleep(Time::from_millis(400));
    let s = stream.stats();
    Outcome {
        timeouts: s.timeouts.into(),
        probes: s.tail_loss_probes.into(),
        retransmitted: s.retransmitted_segments,
        took,
    }
}

fn main() {
    let cases: &[(&str, usize, &'static [u64])] = &[
        ("nothing", 10, &[]),
        ("the last of ten", 10, &[10]),
        ("the last two of ten", 10, &[9, 10]),
        ("the last three of ten", 10, &[8, 9, 10]),
        ("all ten", 10, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("the last of ten and its probe", 10, &[10, 11]),
        ("the fifth of ten", 10, &[5]),
        ("the fifth and its retransmission", 10, &[5, 11]),
        ("the first of two", 2, &[1]),
        ("the first of three", 3, &[1]),
        ("a single one", 1, &[1]),
        ("a single one and its probe", 1, &[1, 2]),
    ];
    println!(
        "{:34} {:>34} {:>34}",
        "lost", "kernel: timeouts probes rexmit ms", "engine: timeouts probes rexmit ms"
    );
    for &(what, segments, numbers) in cases {
        let cell =
            |o: Outcome| format!("{} {} {} {:>5}", o.timeouts, o.probes, o.retransmitted, o.took.as_millis());
        println!(
            "{what:34} {:>34} {:>34}",
            cell(by_kernel(segments, numbers)),
            cell(by_engine(segments, numbers))
        );
    }
}
