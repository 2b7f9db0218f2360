//! A large capture for the benchmark of the analysis: `big_capture FILE [CONNECTIONS [BYTES-EACH [SEED]]]`
//! writes pcap, snapped at 128 bytes.
//!
//! Transfers of the engine with itself over lossy paths of many kinds, each captured at its sender once and
//! then written many times, with other addresses and other times, all packets in order of time. The same
//! arguments give the same bytes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufWriter, Write};

use ackclock_testkit::pipe::{Path, Pipe, Plan, Tap};
use ackclock_testkit::{Setup, choose};
use ackclock_units::{Duration, Instant, Rate, Rng};

/// Bytes kept of a packet, link header included.
const SNAP: usize = 128;
const LINK: usize = 14;
/// Different transfers.
const TRANSFERS: u64 = 48;
/// Time within which connections begin.
const SPREAD: Duration = Duration::from_secs(60);

/// A packet as it will be written: time, length on the wire, bytes kept.
struct Kept {
    at: Instant,
    original: u32,
    bytes: Vec<u8>,
}

fn transfer(bytes: u64, seed: u64) -> Vec<Kept> {
    let rng = &mut Rng::stream(seed, "big capture", 0);
    let ms = |rng: &mut Rng, from, to| Duration::from_millis(from + rng.below(to));
    let rate = Some(Rate::from_bits_per_sec(10_000_000 + rng.below(90_000_000)));
    let way = Path { rate, ..Path::clean(ms(rng, 3, 60)) };
    let forth = Path { loss: [0.0, 0.001, 0.005, 0.01, 0.03][rng.below(5) as usize], ..way };
    let back = Path { loss: [0.0, 0.0, 0.01][rng.below(3) as usize], ..way };
    let setup = Setup::default()
        .with_policies(|s| s.recovery = choose(["sack", "sack", "newreno"][rng.below(3) as usize]))
        .with(|c| {
            (c.timestamps, c.sack, c.mss) = (rng.below(4) > 0, true, 1448);
            c.syn_retries = 20;
        });
    let mut pipe = Pipe::new([&setup, &setup], [Plan::send(bytes), Plan::receive()], [forth, back], seed);
    pipe.tap = Some(Tap { side: 0, seen: Vec::new() });
    pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
    let kept = |(at, packet): (Instant, Vec<u8>)| {
        let mut bytes = vec![0; LINK];
        bytes[12] = 0x08;
        bytes.extend(&packet[..packet.len().min(SNAP - LINK)]);
        Kept { at, original: (packet.len() + LINK) as u32, bytes }
    };
    pipe.tap.take().expect("it was set").seen.into_iter().map(kept).collect()
}

/// Replaces the address and the port of the client in a packet.
fn readdress(packet: &mut [u8], connection: u64) {
    let ip = &mut packet[LINK..];
    let from_client = ip[12..16] == [10, 0, 0, 1];
    let (address, port) = if from_client { (12, 20) } else { (16, 22) };
    let [a, b] = ((connection / 50_000) as u16).to_be_bytes();
    ip[address..address + 4].copy_from_slice(&[10, 1 + a, b, 1]);
    ip[port..port + 2].copy_from_slice(&(10_000 + (connection % 50_000) as u16).to_be_bytes());
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number =
        |i: usize, otherwise: u64| arguments.get(i).and_then(|a| a.parse().ok()).unwrap_or(otherwise);
    let file = arguments.first().expect("big_capture FILE [CONNECTIONS [BYTES-EACH [SEED]]]");
    let (connections, bytes, seed) = (number(1, 2000), number(2, 4_250_000), number(3, 1));
    let transfers: Vec<Vec<Kept>> =
        (0..TRANSFERS.min(connections)).map(|i| transfer(bytes, seed * 1000 + i)).collect();
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    // pcap with nanoseconds, Ethernet.
    for word in [0xa1b2_3c4d, 0x0004_0002, 0, 0, SNAP as u32, 1] {
        out.write_all(&word.to_le_bytes())?;
    }
    let rng = &mut Rng::stream(seed, "big capture", 1);
    let starts: Vec<Duration> =
        (0..connections).map(|_| Duration::from_nanos(rng.below(SPREAD.as_nanos()))).collect();
    let of = |connection: u64| &transfers[(connection % transfers.len() as u64) as usize];
    // The next packet of each connection, in order of time.
    let next = |connection: u64, i: usize| {
        of(connection).get(i).map(|k| Reverse((k.at + starts[connection as usize], connection, i)))
    };
    let mut queue: BinaryHeap<_> = (0..connections).filter_map(|c| next(c, 0)).collect();
    let (mut packets, mut written, mut record) = (0_u64, 24_u64, Vec::new());
    while let Some(Reverse((at, connection, i))) = queue.pop() {
        let kept = &of(connection)[i];
        let nanos = at.as_nanos() + 1_700_000_000_000_000_000;
        record.clear();
        for word in [
            (nanos / 1_000_000_000) as u32,
            (nanos % 1_000_000_000) as u32,
            kept.bytes.len() as u32,
            kept.original,
        ] {
            record.extend(word.to_le_bytes());
        }
        record.extend(&kept.bytes);
        readdress(&mut record[16..], connection);
        out.write_all(&record)?;
        (packets, written) = (packets + 1, written + record.len() as u64);
        queue.extend(next(connection, i + 1));
    }
    out.flush()?;
    println!("{{\"packets\": {packets}, \"bytes\": {written}, \"connections\": {connections}}}");
    Ok(())
}
