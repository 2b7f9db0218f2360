//! Each queue in the emulator under the kernel's traffic, beside the same queue on a simulated link.
#![cfg(target_os = "linux")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::Namespace;
use ackclock_policy::{PacketId, QueueDiscipline, Queued, Registry};
use ackclock_sim::{Link, LinkSpec, Offer, PacketInfo};
use ackclock_units::{Duration, Ecn, Instant, Rate, Rng};
use common::{allowed, in_real_time, two_kernels};

const MBIT: u64 = 10;

/// A link of 10 Mbit/s and 5 ms behind a queue, written `kind key=value ...`.
fn link(queue: &str) -> LinkSpec {
    let mut words = queue.split(' ');
    let mut chosen = Registry::builtin().choose::<dyn QueueDiscipline>(words.next().unwrap()).unwrap();
    for word in words {
        let (key, value) = word.split_once('=').unwrap();
        chosen.set(key, value).unwrap();
    }
    LinkSpec::new(Rate::from_bits_per_sec(MBIT * 1_000_000), Duration::from_millis(5), chosen.build())
}

/// A datagram: when it was sent, its size with headers, whether it is of the thin flow.
#[derive(Clone, Copy)]
struct Sent {
    at: Duration,
    bytes: u32,
    thin: bool,
}

/// How long each of these datagrams takes over a simulated link, in milliseconds; `None` for dropped ones.
fn simulated(spec: LinkSpec, seed: u64, sent: &[Sent]) -> Vec<Option<f64>> {
    let mut link = Link::new(spec, seed, 0);
    let mut arrived = vec![None; sent.len()];
    let mut poll = |link: &mut Link, until: Instant| {
        while let Some(d) = link.poll(until, |_| PacketInfo::opaque(0)) {
            arrived[d.id.0 as usize] = Some(d.at);
        }
    };
    let mut at_once = Vec::new();
    for (id, s) in sent.iter().enumerate() {
        let at = Instant::ZERO + s.at;
        poll(&mut link, at);
        let packet = Queued {
            id: PacketId(id as u32),
            flow: 1 + u32::from(s.thin),
            bytes: s.bytes,
            ecn: Ecn::NotEct,
            at,
        };
        if let Offer::Sent(d) = link.offer(packet, &PacketInfo::opaque(s.bytes)) {
            at_once.push((id, d.at));
        }
    }
    poll(&mut link, Instant::ZERO + Duration::from_secs(1000));
    at_once.into_iter().for_each(|(id, at)| arrived[id] = Some(at));
    let ms = |(s, at): (&Sent, Option<Instant>)| Some(at?.since(Instant::ZERO + s.at).as_secs_f64() * 1e3);
    sent.iter().zip(arrived).map(ms).collect()
}

/// The same datagrams, each up to 0.1 ms later, as the emulator may read them.
fn later(sent: &[Sent], seed: u64) -> Vec<Sent> {
    let mut rng = Rng::stream(seed, "later", 0);
    let mut last = Duration::ZERO;
    let mut moved = |s: &Sent| {
        last = last.max(s.at + Duration::from_nanos(rng.below(100_000)));
        Sent { at: last, ..*s }
    };
    sent.iter().map(&mut moved).collect()
}

/// Sends a thick flow of 12 Mbit/s and a thin one of 100 datagrams a second for two seconds from one kernel
/// to the other. Returns what was sent, and how long each took, ms.
fn real(queue: &str) -> (Vec<Sent>, Vec<Option<f64>>) {
    let (a, b, emulator) = two_kernels(link(queue), LinkSpec::delay(Duration::ZERO));
    let socket = |ns: &Namespace, address: &str| ns.run(|| UdpSocket::bind(address).unwrap()).unwrap();
    let there = socket(&b, "10.0.0.2:1000");
    there.set_read_timeout(Some(Time::from_millis(700))).unwrap();
    let here = [socket(&a, "10.0.0.1:1000"), socket(&a, "10.0.0.1:1001")];
    here.iter().for_each(|s| s.connect("10.0.0.2:1000").unwrap());
    let start = Now::now();
    let since = |start: Now| Duration::from_nanos(start.elapsed().as_nanos() as u64);
    let (sent, arrived) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut buffer, mut arrived) = ([0; 1500], Vec::new());
            while there.recv(&mut buffer).is_ok() {
                arrived.push((u32::from_be_bytes(buffer[..4].try_into().unwrap()), since(start)));
            }
            arrived
        });
        let mut sent: Vec<Sent> = Vec::new();
        // A thick datagram every millisecond, and a thin one between two of them every ten.
        for tick in 0..4000_u64 {
            let thin = tick % 20 == 11;
            if tick % 2 == 1 && !thin {
                continue;
            }
            while start.elapsed() < Time::from_micros(500 * tick) {
                std::thread::sleep(Time::from_micros(100));
            }
            let bytes = if thin { 128 } else { 1500 };
            let mut packet = [0; 1472];
            packet[..4].copy_from_slice(&(sent.len() as u32).to_be_bytes());
            sent.push(Sent { at: since(start), bytes, thin });
            here[usize::from(thin)].send(&packet[..bytes as usize - 28]).unwrap();
        }
        (sent, receiver.join().unwrap())
    });
    let report = emulator.stop();
    assert_eq!(report.forward.offered, sent.len() as u64, "the kernel lost some");
    let mut took = vec![None; sent.len()];
    for (id, at) in arrived {
        took[id as usize] = Some(at.saturating_sub(sent[id as usize].at).as_secs_f64() * 1e3);
    }
    (sent, took)
}

/// The median of a flow's delays in the second half, ms; zero when nothing arrived.
fn median(sent: &[Sent], took: &[Option<f64>], thin: bool) -> f64 {
    let half = sent.len() / 2;
    let pairs = sent.iter().zip(took).skip(half).filter(|(s, _)| s.thin == thin);
    let mut delays: Vec<f64> = pairs.filter_map(|(_, ms)| *ms).collect();
    delays.sort_by(f64::total_cmp);
    delays.get(delays.len() / 2).copied().unwrap_or(0.0)
}

/// Bytes that arrived, of datagrams that were sent in the second half.
fn delivered(sent: &[Sent], took: &[Option<f64>]) -> f64 {
    let half = sent.len() / 2;
    sent.iter().zip(took).skip(half).filter(|(_, ms)| ms.is_some()).map(|(s, _)| f64::from(s.bytes)).sum()
}

#[test]
fn each_queue_delays_and_drops_as_on_a_simulated_link() {
    if !allowed() {
        return;
    }
    for queue in [
        "drop-tail limit=50packets",
        "drop-tail limit=50packets drop=head",
        "codel",
        "fq-codel",
        "pie",
        "fq max_rate=9Mbit/s",
        "drr limit=50packets",
        "sfq limit=50packets",
        "priority limit=50packets",
    ] {
        in_real_time(|| {
            let (sent, took) = real(queue);
            let model = simulated(link(queue), 1, &sent);
            let (thick, thin) = (median(&sent, &took, false), median(&sent, &took, true));
            let (thick_model, thin_model) = (median(&sent, &model, false), median(&sent, &model, true));
            let share = delivered(&sent, &took) / delivered(&sent, &model);
            let said = format!(
                "{queue}: thick {thick:.2} ms (simulated {thick_model:.2}), thin {thin:.2} ms (simulated \
                 {thin_model:.2}), {share:.4} of the bytes"
            );
            println!("{said}");
            let good = (thick - thick_model).abs() < 1.0
                && (thin - thin_model).abs() < 1.0
                && (0.98..1.02).contains(&share);
            if good { Ok(()) } else { Err(said) }
        });
    }
}

#[test]
fn queues_whose_drops_depend_on_microseconds_do_as_on_simulated_links() {
    if !allowed() {
        return;
    }
    // Another time of arrival means another drop, so one run cannot equal another packet by packet. The real
    // one lies among those of many seeds whose packets arrive up to 0.1 ms later, as far as a median and a
    // share may differ.
    for queue in ["red limit=50packets", "dualpi2"] {
        in_real_time(|| {
            let (sent, took) = real(queue);
            let models: Vec<_> =
                (1..=40).map(|seed| simulated(link(queue), seed, &later(&sent, seed))).collect();
            let mut said = format!("{queue}:");
            let mut lies_among = |of: &dyn Fn(&[Option<f64>]) -> f64, margin: f64| {
                let (real, mut model): (f64, Vec<f64>) = (of(&took), models.iter().map(|m| of(m)).collect());
                model.sort_by(f64::total_cmp);
                let (low, high) = (model[0], model[model.len() - 1]);
                said += &format!(" {real:.2} of {low:.2} to {high:.2};");
                (low - margin..=high + margin).contains(&real)
            };
            let thick = lies_among(&|t| median(&sent, t, false), 1.0);
            let thin = lies_among(&|t| median(&sent, t, true), 1.0);
            let bytes = lies_among(&|t| delivered(&sent, t) / 1.25e6, 0.02);
            println!("{said}");
            if thick && thin && bytes { Ok(()) } else { Err(said) }
        });
    }
}

/// The median one-way delay of small datagrams sent every 10 ms for three seconds, ms.
fn probe(a: &Namespace, b: &Namespace) -> f64 {
    let socket = |ns: &Namespace, address: &str| ns.run(|| UdpSocket::bind(address).unwrap()).unwrap();
    let (here, there) = (socket(a, "10.0.0.1:1000"), socket(b, "10.0.0.2:1000"));
    here.connect("10.0.0.2:1000").unwrap();
    there.set_read_timeout(Some(Time::from_millis(700))).unwrap();
    let start = Now::now();
    let mut delays: Vec<f64> = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut buffer, mut delays) = ([0; 100], Vec::new());
            while there.recv(&mut buffer).is_ok() {
                let sent = Time::from_nanos(u64::from_be_bytes(buffer[..8].try_into().unwrap()));
                delays.push((start.elapsed() - sent).as_secs_f64() * 1e3);
            }
            delays
        });
        for n in 0..300 {
            while start.elapsed() < Time::from_millis(10 * n) {
                std::thread::sleep(Time::from_micros(500));
            }
            let mut packet = [0; 100];
            packet[..8].copy_from_slice(&(start.elapsed().as_nanos() as u64).to_be_bytes());
            here.send(&packet).unwrap();
        }
        receiver.join().unwrap()
    });
    delays.sort_by(f64::total_cmp);
    delays.get(delays.len() / 2).copied().unwrap_or(0.0)
}

/// Mbit/s of payload that four transfers of the kernel's TCP get over a queue, after five seconds, and the
/// median delay that a probe has meanwhile, ms. Round trips take 40 ms, so that each has a window of ten
/// packets: with windows of two, drops could make no sender slower.
fn transfers(queue: &str) -> (f64, f64) {
    let (a, b, emulator) = two_kernels(link(queue), LinkSpec::delay(Duration::from_millis(35)));
    // BBR, the default of some kernels, heeds few of the drops.
    a.set_sysctl("net.ipv4.tcp_congestion_control", "cubic").unwrap();
    let listener = b.run(|| TcpListener::bind("10.0.0.2:80").unwrap()).unwrap();
    let (received, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let mut threads = Vec::new();
    for _ in 0..4 {
        let mut out = a.run(|| TcpStream::connect("10.0.0.2:80").unwrap()).unwrap();
        let mut back = listener.accept().unwrap().0;
        let done = Arc::clone(&stop);
        threads.push(std::thread::spawn(move || {
            let data = vec![7; 16_384];
            while !done.load(Ordering::Relaxed) && out.write_all(&data).is_ok() {}
        }));
        let count = Arc::clone(&received);
        threads.push(std::thread::spawn(move || {
            let mut buffer = vec![0; 65_536];
            while let Ok(n @ 1..) = back.read(&mut buffer) {
                count.fetch_add(n as u64, Ordering::Relaxed);
            }
        }));
    }
    // CoDel takes seconds to drain what slow start overshoots by.
    std::thread::sleep(Time::from_secs(5));
    let (before, began) = (received.load(Ordering::Relaxed), Now::now());
    let delay = probe(&a, &b);
    let rate = (received.load(Ordering::Relaxed) - before) as f64 * 8.0 / 1e6 / began.elapsed().as_secs_f64();
    stop.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|t| t.join().unwrap());
    let report = emulator.stop();
    let c = report.forward;
    println!(
        "{} served, {} dropped ({} early), {} late of {}, mean lateness {}",
        c.served, c.queue_drops, c.early_drops, report.late, report.delivered, report.mean_lateness
    );
    (rate, delay)
}

#[test]
fn the_kernels_transfers_fill_the_link_behind_each_queue() {
    if !allowed() {
        return;
    }
    // The delay of a probe, ms: 5 of the link, 0.1 of its own transmission, and what its queue holds; the
    // emulator may add 1. A packet of a transfer takes 1.2.
    let (least, packet) = (5.0 + 0.1, 1.2);
    let waits = |ms: f64| least..least + ms + 1.0;
    for (queue, delays) in [
        // RFC 8289 section 4.3: less than 10 ms even under extremely congested conditions.
        ("codel", waits(10.0)),
        // New flows go first: only the packet on the wire is ahead.
        ("fq-codel", waits(packet)),
        ("pie", 13.0..35.0),
        ("dualpi2", 13.0..35.0),
        // A turn of each of four flows, a packet with a quantum of 1500 bytes, and the one on the wire.
        ("drr limit=100packets", waits(5.0 * packet)),
        ("sfq limit=100packets quantum=1500B", waits(5.0 * packet)),
    ] {
        in_real_time(|| {
            let (rate, delay) = transfers(queue);
            // 1448 bytes of payload in 1500 with timestamps.
            let share = rate * 1500.0 / 1448.0 / MBIT as f64;
            let said = format!("{queue}: {share:.4} of the rate, a probe's delay is {delay:.2} ms");
            println!("{said}");
            if (0.98..1.02).contains(&share) && delays.contains(&delay) { Ok(()) } else { Err(said) }
        });
    }
}
