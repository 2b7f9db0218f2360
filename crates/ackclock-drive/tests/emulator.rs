//! The emulator's delays and rates in real time, measured with the kernel's sockets. Bounds are on medians,
//! since the machine may be busy.
#![cfg(target_os = "linux")]

mod common;

use std::collections::HashMap;
use std::net::UdpSocket;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{
    Clock, Emulator, Lane, Namespace, NetworkOptions, Port, Route, Tun, TunOptions, Watch, Way, WayTable,
};
use ackclock_sim::LinkSpec;
use ackclock_units::{Duration, Instant, Rate};
use common::{allowed, in_real_time, two_kernels};

fn socket(ns: &Namespace, address: &str, to: &str) -> UdpSocket {
    let socket = ns.run(|| UdpSocket::bind(address).unwrap()).unwrap();
    socket.connect(to).unwrap();
    socket.set_read_timeout(Some(Time::from_secs(5))).unwrap();
    socket
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn delays_are_within_a_millisecond() {
    if !allowed() {
        return;
    }
    in_real_time(|| {
        let (forward_ms, backward_ms) = (7, 23);
        let (a, b, emulator) = two_kernels(
            LinkSpec::delay(Duration::from_millis(forward_ms)),
            LinkSpec::delay(Duration::from_millis(backward_ms)),
        );
        let (here, there) =
            (socket(&a, "10.0.0.1:1000", "10.0.0.2:1000"), socket(&b, "10.0.0.2:1000", "10.0.0.1:1000"));
        let mut buffer = [0; 100];
        let (mut out, mut back) = (Vec::new(), Vec::new());
        for _ in 0..41 {
            let sent = Now::now();
            here.send(&[1; 100]).unwrap();
            there.recv(&mut buffer).unwrap();
            let arrived = Now::now();
            there.send(&[2; 100]).unwrap();
            here.recv(&mut buffer).unwrap();
            out.push((arrived - sent).as_secs_f64() * 1e3);
            back.push(arrived.elapsed().as_secs_f64() * 1e3);
        }
        let (out, back) = (median(out), median(back));
        println!("configured delays {forward_ms} and {backward_ms} ms, medians {out:.3} and {back:.3} ms");
        let report = emulator.stop();
        assert_eq!((report.undelivered, report.delivered), (0, 82));
        // In each direction: a delivery is never early.
        let good = (forward_ms as f64..forward_ms as f64 + 1.0).contains(&out)
            && (backward_ms as f64..backward_ms as f64 + 1.0).contains(&back);
        if good { Ok(()) } else { Err(format!("{out} and {back} ms")) }
    });
}

/// The rate at which packets of 1500 bytes with these numbers arrive. A packet dropped by the socket's buffer
/// only lowers the count.
fn arrival_rate(socket: &UdpSocket, numbers: Range<u64>) -> f64 {
    let mut buffer = [0; 1500];
    let mut first = None;
    loop {
        socket.recv(&mut buffer).unwrap();
        let (number, now) = (u64::from_be_bytes(buffer[..8].try_into().unwrap()), Now::now());
        if !numbers.contains(&number) {
            continue;
        }
        let (start, since) = *first.get_or_insert((number, now));
        // If the last packet is missing, one of those before it is used.
        if number + 10 >= numbers.end {
            return (number - start) as f64 * 1500.0 * 8.0 / (now - since).as_secs_f64();
        }
    }
}

#[test]
fn rates_are_within_two_percent() {
    if !allowed() {
        return;
    }
    in_real_time(|| {
        let mut rates = Vec::new();
        for mbit in [2, 20, 100] {
            let rate = Rate::from_bits_per_sec(mbit * 1_000_000);
            let link = LinkSpec { rate: Some(rate), delay: Duration::from_millis(5), ..LinkSpec::default() };
            let (a, b, emulator) = two_kernels(link, LinkSpec::delay(Duration::ZERO));
            let (here, there) =
                (socket(&a, "10.0.0.1:1000", "10.0.0.2:1000"), socket(&b, "10.0.0.2:1000", "10.0.0.1:1000"));
            // Three runs of 0.3 s each at this rate, queued all at once; 1500 bytes with headers.
            let n = mbit * 25;
            for round in 0..3_u64 {
                std::thread::scope(|scope| {
                    scope.spawn(|| {
                        for i in 0..n {
                            let mut packet = [0; 1472];
                            packet[..8].copy_from_slice(&(round * n + i).to_be_bytes());
                            here.send(&packet).unwrap();
                        }
                    });
                    rates.push(arrival_rate(&there, round * n..(round + 1) * n) / rate.bits_per_sec() as f64);
                });
            }
            let report = emulator.stop();
            println!(
                "{mbit} Mbit/s: {:?} of it; late {} of {}, mean lateness {}",
                &rates[rates.len() - 3..],
                report.late,
                report.delivered,
                report.mean_lateness
            );
        }
        let middle = median(rates);
        if (0.98..1.02).contains(&middle) { Ok(()) } else { Err(format!("median ratio {middle}")) }
    });
}

#[test]
fn a_full_queue_drops_in_its_direction_only() {
    if !allowed() {
        return;
    }
    let lossy = LinkSpec::default().with_fault(
        |p: &ackclock_sim::PacketInfo, _: ackclock_units::Instant, _: &mut ackclock_units::Rng| {
            if p.number.is_multiple_of(4) {
                ackclock_sim::FaultVerdict::Drop
            } else {
                ackclock_sim::FaultVerdict::Pass
            }
        },
    );
    let (a, b, emulator) = two_kernels(lossy, LinkSpec::default());
    let (here, there) =
        (socket(&a, "10.0.0.1:1000", "10.0.0.2:1000"), socket(&b, "10.0.0.2:1000", "10.0.0.1:1000"));
    for i in 0..40_u8 {
        here.send(&[i]).unwrap();
        there.send(&[i]).unwrap();
    }
    let mut buffer = [0; 10];
    let mut expected = (0..40_u8).filter(|i| i % 4 != 0);
    let got: Vec<u8> = (0..30)
        .map(|_| {
            there.recv(&mut buffer).unwrap();
            buffer[0]
        })
        .collect();
    assert!(got.iter().all(|i| Some(*i) == expected.next()), "{got:?}");
    for i in 0..40_u8 {
        here.recv(&mut buffer).unwrap();
        assert_eq!(buffer[0], i);
    }
    let report = emulator.stop();
    assert_eq!((report.forward.fault_drops, report.backward.fault_drops), (10, 0));
}

/// Packets that have passed each link by each of two moments.
struct Passed {
    moments: Vec<Instant>,
    seen: Arc<Mutex<Vec<Vec<u64>>>>,
}

impl Watch for Passed {
    fn next(&self) -> Option<Instant> {
        self.moments.first().copied()
    }

    fn look(&mut self, _: Instant, links: &mut [Lane]) {
        self.moments.remove(0);
        self.seen.lock().unwrap().push(links.iter().map(|lane| lane.passed().over).collect());
    }
}

#[test]
fn three_kernels_share_links_in_a_chain() {
    if !allowed() {
        return;
    }
    in_real_time(|| {
        let kernels: Vec<_> = (0..3).map(|_| Namespace::new(false).unwrap()).collect();
        let port = |(ns, host): (&Namespace, u8)| {
            let ipv4 = ([10, 0, 0, host].into(), 24);
            Port::from(Tun::new(ns, &TunOptions { ipv4, ..TunOptions::default() }).unwrap())
        };
        let ports: Vec<_> = kernels.iter().zip(1..).map(port).collect();
        let links = [7, 5].map(|ms| LinkSpec::delay(Duration::from_millis(ms)));
        // From the first kernel over both links, with 2 ms of its own in front; from the second over one.
        let route = |links: &[u32]| Route { links: links.into(), port: 2 };
        let ends = |n: u8| ([10, 0, 0, n].into(), [10, 0, 0, 3].into());
        let way =
            |route, ms| Way { route, before: Duration::from_millis(ms), after: Duration::ZERO, stream: None };
        let ways = HashMap::from([(ends(1), way(0, 2)), (ends(2), way(1, 0))]);
        let (seen, clock) = (Arc::default(), Clock::start());
        let second = Instant::ZERO + Duration::from_secs(1);
        let watch = Passed { moments: vec![Instant::ZERO, second], seen: Arc::clone(&seen) };
        let options = NetworkOptions {
            links: links.into(),
            table: WayTable { routes: vec![route(&[0, 1]), route(&[1])], ways },
            sojourns: false,
            seed: 1,
            clock,
            watch: Some(Box::new(watch)),
        };
        let emulator = Emulator::start_network(ports, options).unwrap();
        let to = "10.0.0.3:1000";
        let senders = [socket(&kernels[0], "10.0.0.1:1000", to), socket(&kernels[1], "10.0.0.2:1000", to)];
        let receiver = kernels[2].run(|| UdpSocket::bind(to).unwrap()).unwrap();
        receiver.set_read_timeout(Some(Time::from_secs(5))).unwrap();
        let (mut buffer, mut delays) = ([0; 100], [Vec::new(), Vec::new()]);
        for _ in 0..21 {
            for (sender, delays) in senders.iter().zip(&mut delays) {
                let sent = Now::now();
                sender.send(&[1; 100]).unwrap();
                receiver.recv(&mut buffer).unwrap();
                delays.push(sent.elapsed().as_secs_f64() * 1e3);
            }
        }
        // Nobody is there, or answers without a way back.
        let _ = senders[0].send_to(&[1; 100], "10.0.0.9:1000");
        std::thread::sleep(Time::from_nanos(clock.until(second).as_nanos()) + Time::from_millis(50));
        let report = emulator.stop();
        assert_eq!((report.delivered, report.undelivered), (42, 1));
        assert_eq!(*seen.lock().unwrap(), [vec![0, 0], vec![21, 42]]);
        let [long, short] = delays.map(median);
        println!("medians {long:.3} ms of 14 and {short:.3} ms of 5");
        let good = (14.0..15.0).contains(&long) && (5.0..6.0).contains(&short);
        if good { Ok(()) } else { Err(format!("{long} and {short} ms")) }
    });
}
