//! Elements of links under the kernel's own traffic: the shaper beside the kernel's `tbf`, the policer, a
//! packet-delivery trace, a half-duplex link.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{Emulator, Namespace};
use ackclock_sim::{
    ConstantRate, Elements, LinkSpec, MediumEnd, Opportunities, Policer, Shaper, TokenBucket, Track,
    VaryingRate,
};
use ackclock_units::{Duration, Rate};
use common::{allowed, in_real_time, two_kernels};

fn mbit(n: u64) -> Rate {
    Rate::from_bits_per_sec(n * 1_000_000)
}

/// Two kernels, 10.0.0.1 and 10.0.0.2.
struct Pair {
    a: Namespace,
    b: Namespace,
    emulator: Option<Emulator>,
}

impl Pair {
    /// With the emulator between them.
    fn emulated(forward: LinkSpec) -> Self {
        Self::emulated_both_ways(forward, LinkSpec::delay(Duration::ZERO))
    }

    fn emulated_both_ways(forward: LinkSpec, backward: LinkSpec) -> Self {
        let (a, b, emulator) = two_kernels(forward, backward);
        Self { a, b, emulator: Some(emulator) }
    }

    /// With a pair of the kernel's own devices, and its token bucket on the way from the first to the second.
    fn of_the_kernel(rate: Rate, burst: u64, limit: u64) -> Self {
        let (a, b) = (Namespace::new(false).unwrap(), Namespace::new(false).unwrap());
        let far = format!("/proc/{}/fd/{}", std::process::id(), b.as_fd().as_raw_fd());
        let (rate, burst, limit) =
            (format!("{}bit", rate.bits_per_sec()), format!("{burst}b"), format!("{limit}b"));
        on(&a, "ip", &["link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", &far]);
        for (ns, device, address) in [(&a, "v0", "10.0.0.1/24"), (&b, "v1", "10.0.0.2/24")] {
            on(ns, "ip", &["address", "add", address, "dev", device]);
            on(ns, "ip", &["link", "set", device, "up"]);
        }
        let tbf =
            ["qdisc", "add", "dev", "v0", "root", "tbf", "rate", &rate, "burst", &burst, "limit", &limit];
        on(&a, "tc", &tbf);
        Self { a, b, emulator: None }
    }
}

fn on(ns: &Namespace, program: &str, arguments: &[&str]) {
    let run = || Command::new(program).args(arguments).status();
    let status = ns.run(run).unwrap().unwrap();
    assert!(status.success(), "{program} {arguments:?}: {status}");
}

/// False where this machine has no `tc`, or its kernel no `tbf`.
fn has_tbf() -> bool {
    let pair = |ns: &Namespace| {
        let tc =
            ["qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "2kb", "limit", "9kb"];
        ns.run(|| Command::new("tc").args(tc).status()).unwrap()
    };
    let has = Namespace::new(false).is_ok_and(|ns| pair(&ns).is_ok_and(|status| status.success()));
    if !has {
        eprintln!("skipped: needs `tc` of iproute2 and the kernel's `tbf`");
    }
    has
}

/// Our token bucket as the kernel's counts on Ethernet: each packet with a header of 14 bytes.
fn shaped(rate: Rate, burst: u64) -> LinkSpec {
    let bucket = TokenBucket::new(rate, burst, 14);
    let shaper = Shaper::new(bucket, Box::new(ConstantRate(mbit(1000))));
    LinkSpec {
        rate: Some(mbit(1000)),
        elements: Elements { transmitter: Some(Box::new(shaper)), ..Elements::default() },
        ..LinkSpec::default()
    }
}

/// What arrives of packets that are sent as fast as the kernel lets a program.
struct Blast {
    /// After the first fifth of them, bit/s of packets of 1500 bytes.
    rate: f64,
    /// What arrived beyond the rate of a shaper since the first packet, bytes on Ethernet: its burst. The median
    /// over all packets after the first fifth, so that a thread that waited for a processor changes nothing.
    burst: f64,
}

fn blast(pair: &Pair, packets: usize, shaped: Rate) -> Blast {
    let socket = |ns: &Namespace, address: &str, to: &str| {
        let socket = ns.run(|| UdpSocket::bind(address).unwrap()).unwrap();
        socket.connect(to).unwrap();
        socket.set_read_timeout(Some(Time::from_secs(3))).unwrap();
        socket
    };
    let here = socket(&pair.a, "10.0.0.1:1000", "10.0.0.2:1000");
    let there = socket(&pair.b, "10.0.0.2:1000", "10.0.0.1:1000");
    // The neighbours find each other first.
    here.send(&[0]).unwrap();
    there.recv(&mut [0; 10]).unwrap();
    std::thread::sleep(Time::from_millis(50));
    std::thread::scope(|scope| {
        scope.spawn(|| (0..packets).for_each(|_| _ = here.send(&[7; 1472])));
        let mut arrivals = Vec::with_capacity(packets);
        while arrivals.len() < packets && there.recv(&mut [0; 1500]).is_ok() {
            arrivals.push(Now::now());
        }
        let begin = arrivals.len() / 5;
        let span = arrivals[arrivals.len() - 1] - arrivals[begin];
        let rate = (arrivals.len() - 1 - begin) as f64 * 12_000.0 / span.as_secs_f64();
        let bytes_per_sec = shaped.bits_per_sec() as f64 / 8.0;
        let beyond = |(n, at): (usize, &Now)| {
            (n + 1) as f64 * 1514.0 - (*at - arrivals[0]).as_secs_f64() * bytes_per_sec
        };
        Blast { rate, burst: median(arrivals.iter().enumerate().skip(begin).map(beyond).collect()) }
    })
}

/// The time of a transfer over the kernels' TCP, seconds.
fn transfer(pair: &Pair, bytes: usize) -> f64 {
    let listener = pair.b.run(|| TcpListener::bind("10.0.0.2:2000").unwrap()).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut sum = 0;
            let mut buffer = vec![0; 1 << 16];
            loop {
                match stream.read(&mut buffer).unwrap() {
                    0 => return sum,
                    n => sum += n,
                }
            }
        });
        let mut stream = pair.a.run(|| TcpStream::connect("10.0.0.2:2000").unwrap()).unwrap();
        let began = Now::now();
        stream.write_all(&vec![1; bytes]).unwrap();
        drop(stream);
        assert_eq!(reader.join().unwrap(), bytes);
        began.elapsed().as_secs_f64()
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn a_shaper_has_the_rate_and_the_burst_of_the_kernels() {
    if !allowed() || !has_tbf() {
        return;
    }
    for (megabits, burst) in [(2, 10_000), (20, 30_000), (80, 100_000)] {
        in_real_time(|| {
            let rate = mbit(megabits);
            // About a second.
            let packets = (rate.bits_per_sec() / 12_000) as usize;
            let kernel = blast(&Pair::of_the_kernel(rate, burst, 20_000_000), packets, rate);
            let pair = Pair::emulated(shaped(rate, burst));
            let ours = blast(&pair, packets, rate);
            let report = pair.emulator.map(Emulator::stop).unwrap();
            println!(
                "{rate}, burst {burst}: tbf {:.0} bit/s, {:.0} bytes at once; ours {:.0} bit/s, {:.0}; mean \
                 lateness {}",
                kernel.rate, kernel.burst, ours.rate, ours.burst, report.mean_lateness
            );
            // A packet that does not fit waits: the burst is whole packets, give or take a tenth.
            let good = |b: &Blast| (b.burst - burst as f64).abs() < 0.1 * burst as f64 + 1514.0;
            let ratio = ours.rate / kernel.rate;
            if (0.98..1.02).contains(&ratio) && good(&kernel) && good(&ours) {
                return Ok(());
            }
            Err(format!(
                "{rate}: ratio of the rates {ratio:.4}; a burst of {burst} bytes is {:.0} with tbf, {:.0} with ours",
                kernel.burst, ours.burst
            ))
        });
    }
}

#[test]
fn a_transfer_takes_as_long_through_the_shaper_as_through_the_kernels() {
    if !allowed() || !has_tbf() {
        return;
    }
    let (rate, burst, bytes) = (mbit(20), 20_000, 3_000_000);
    in_real_time(|| {
        let kernel = transfer(&Pair::of_the_kernel(rate, burst, 200_000), bytes);
        let ours = transfer(&Pair::emulated(shaped(rate, burst)), bytes);
        let said = format!("{bytes} bytes over {rate}: tbf {kernel:.3} s, ours {ours:.3} s");
        println!("{said}");
        if (0.98..1.02).contains(&(ours / kernel)) { Ok(()) } else { Err(said) }
    });
}

#[test]
fn a_policer_passes_its_rate_of_what_a_program_sends() {
    if !allowed() {
        return;
    }
    in_real_time(|| {
        let (rate, burst) = (mbit(10), 30_000);
        let policer = Policer::new(TokenBucket::new(rate, burst, 0), false);
        let elements = Elements { policer: Some(policer), ..Elements::default() };
        let pair = Pair::emulated(LinkSpec { elements, ..LinkSpec::default() });
        let socket = |ns: &Namespace, address: &str, to: &str| {
            let socket = ns.run(|| UdpSocket::bind(address).unwrap()).unwrap();
            socket.connect(to).unwrap();
            socket
        };
        let here = socket(&pair.a, "10.0.0.1:1000", "10.0.0.2:1000");
        let began = Now::now();
        let mut sent = 0_u64;
        // Five packets each millisecond are 60 Mbit/s.
        while began.elapsed() < Time::from_millis(1000) {
            for _ in 0..5 {
                sent += u64::from(here.send(&[7; 1472]).is_ok());
            }
            std::thread::sleep(Time::from_millis(1));
        }
        let span = began.elapsed().as_secs_f64();
        std::thread::sleep(Time::from_millis(100));
        let report = pair.emulator.map(Emulator::stop).unwrap().forward;
        let passed = (report.offered - report.policed) as f64 * 1500.0;
        let expected = burst as f64 + span * rate.bits_per_sec() as f64 / 8.0;
        let said = format!(
            "{sent} sent, {} offered, {} policed: {passed} of {expected:.0} bytes",
            report.offered, report.policed
        );
        println!("{said}");
        assert_eq!((report.offered, report.queue_drops), (sent, report.policed));
        if (passed / expected - 1.0).abs() < 0.02 { Ok(()) } else { Err(said) }
    });
}

#[test]
fn a_trace_and_a_schedule_carry_what_they_say() {
    if !allowed() {
        return;
    }
    // Mahimahi: 7 opportunities of a packet in 6 ms. Steps: 20 and 8 Mbit/s for 20 ms each.
    let trace = || Opportunities::new([1, 2, 2, 3, 4, 5, 6].into(), 1504, 4, true).unwrap();
    let steps = Track::new([(0, 20_000_000), (20_000_000, 8_000_000)], 0, false, Some(40_000_000)).unwrap();
    let transmitters: [&dyn Fn() -> Box<dyn ackclock_sim::Transmitter>; 2] =
        [&|| Box::new(trace()), &|| Box::new(VaryingRate::new(steps.clone()))];
    for transmitter in transmitters {
        in_real_time(|| {
            let elements = Elements { transmitter: Some(transmitter()), ..Elements::default() };
            let pair = Pair::emulated(LinkSpec { rate: Some(mbit(14)), elements, ..LinkSpec::default() });
            let rate = blast(&pair, 1200, mbit(14)).rate;
            println!("{rate:.0} bit/s of 14 Mbit/s");
            if (rate / 14e6 - 1.0).abs() < 0.02 { Ok(()) } else { Err(format!("{rate:.0} bit/s")) }
        });
    }
}

#[test]
fn both_directions_of_a_half_duplex_link_share_its_rate() {
    if !allowed() {
        return;
    }
    in_real_time(|| {
        let [a, b] = MediumEnd::pair(Duration::ZERO).map(|end| LinkSpec {
            rate: Some(mbit(10)),
            elements: Elements { medium: Some(end), ..Elements::default() },
            ..LinkSpec::default()
        });
        let pair = Pair::emulated_both_ways(a, b);
        let socket = |ns: &Namespace, address: &str, to: &str| {
            let socket = ns.run(|| UdpSocket::bind(address).unwrap()).unwrap();
            socket.connect(to).unwrap();
            socket
        };
        let (here, there) = (
            socket(&pair.a, "10.0.0.1:1000", "10.0.0.2:1000"),
            socket(&pair.b, "10.0.0.2:1000", "10.0.0.1:1000"),
        );
        // Two seconds' worth for each direction, so that both are busy throughout.
        let began = Now::now();
        for _ in 0..1600 {
            here.send(&[7; 1472]).unwrap();
            there.send(&[7; 1472]).unwrap();
            if began.elapsed() > Time::from_millis(1000) {
                break;
            }
        }
        std::thread::sleep(Time::from_millis(1500).saturating_sub(began.elapsed()));
        let emulator = pair.emulator.unwrap();
        let span = began.elapsed().as_secs_f64();
        let report = emulator.stop();
        let rates = [report.forward, report.backward].map(|c| c.served_bytes as f64 * 8.0 / span / 1e6);
        println!("{rates:?} Mbit/s in {span:.3} s");
        let good = (rates[0] + rates[1] - 10.0).abs() < 0.2 && (rates[0] - rates[1]).abs() < 0.1;
        if good { Ok(()) } else { Err(format!("{rates:?} Mbit/s")) }
    });
}
