//! Imperfect captures: the report of each connection stays that of the undisturbed capture, and a note names
//! the disturbance.

use std::net::SocketAddr;

use ackclock_capture::read::{LinkType, Packet};
use ackclock_capture::{Analysis, Beginning, CapturedSegment, Connection, Direction, Options, Report};
use ackclock_testkit::pipe::{Path, Pipe, Plan, Tap};
use ackclock_testkit::{Setup, choose};
use ackclock_units::{Duration, Instant, Rate, Rng, SeqNumber, SeqRange};
use ackclock_wire::{Flags, Segment};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The segments of a lossy transfer, captured at its sender.
fn transfer(recovery: &str, timestamps: bool, seed: u64) -> Vec<CapturedSegment> {
    let setup = Setup::default().with_policies(|s| s.recovery = choose(recovery)).with(|c| {
        (c.timestamps, c.sack, c.mss) = (timestamps, recovery == "sack", 1000);
        c.syn_retries = 20;
    });
    let way = Path { rate: Some(Rate::from_bits_per_sec(8_000_000)), ..Path::clean(ms(20)) };
    let paths = [Path { loss: 0.03, ..way }, Path { loss: 0.03, ..way }];
    let mut pipe = Pipe::new([&setup, &setup], [Plan::send(300_000), Plan::receive()], paths, seed);
    pipe.tap = Some(Tap { side: 0, seen: Vec::new() });
    pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
    let seen = |(at, bytes): &(Instant, Vec<u8>)| {
        let p = Packet {
            at: *at + Duration::from_secs(1),
            link: LinkType::Raw,
            interface: 0,
            original_len: bytes.len() as u32,
            frame: 1,
            data: bytes,
        };
        CapturedSegment::in_packet(&p).expect("a TCP segment")
    };
    // No two at the same time: their order follows from their times alone.
    let apart =
        |(i, s): (usize, CapturedSegment)| CapturedSegment { at: s.at + Duration::from_nanos(i as u64), ..s };
    pipe.tap.expect("it was set").seen.iter().map(seen).enumerate().map(apart).collect()
}

fn analysed(seen: impl IntoIterator<Item = CapturedSegment>) -> Report {
    let mut analysis = Analysis::new(Options::default());
    seen.into_iter().for_each(|s| analysis.packet(s.at, Ok(s)));
    analysis.finish()
}

/// What must not change: packets, retransmissions and timeouts with their rounds, bytes.
fn counts(d: &Direction) -> (u64, u64, u64, u64, Vec<(u64, u32)>) {
    let timeouts = d.timeouts.iter().map(|t| (t.at.as_nanos(), t.round)).collect();
    (d.packets, d.data_packets, d.retransmitted_packets, d.unique_bytes, timeouts)
}

fn only(report: &Report) -> &Connection {
    let [c] = &report.connections[..] else { panic!("{} connections", report.connections.len()) };
    c
}

/// Every kind of transfer, undisturbed and changed by `disturb`.
fn each(
    mut disturb: impl FnMut(&[CapturedSegment]) -> Vec<CapturedSegment>,
    mut check: impl FnMut(&Connection, &Report, &str),
) {
    let mut again = 0;
    for recovery in ["newreno", "sack"] {
        for timestamps in [false, true] {
            for seed in 0..5 {
                let seen = transfer(recovery, timestamps, seed);
                let plain = analysed(seen.iter().copied());
                again += only(&plain).directions[0].retransmitted_packets;
                check(
                    only(&plain),
                    &analysed(disturb(&seen)),
                    &format!("{recovery}, timestamps {timestamps}, seed {seed}"),
                );
            }
        }
    }
    assert!(again > 100, "too few retransmissions to compare: {again}");
}

fn same(plain: &Connection, report: &Report, what: &str) {
    for (a, b) in plain.directions.iter().zip(&only(report).directions) {
        assert_eq!(counts(a), counts(b), "{what}");
    }
}

fn noted(notes: &[String], word: &str) -> bool {
    notes.iter().any(|n| n.contains(word))
}

/// The client's sequence numbers, increased by `by`.
fn renumbered(s: &CapturedSegment, client: SocketAddr, by: u32) -> CapturedSegment {
    let mut s = *s;
    if s.src == client {
        s.segment.seq = SeqNumber(s.segment.seq.0.wrapping_add(by));
    } else {
        s.segment.ack = SeqNumber(s.segment.ack.0.wrapping_add(by));
        let blocks: Vec<SeqRange> = s.segment.options.sack.as_slice().to_vec();
        s.segment.options.sack = ackclock_wire::SackBlocks::NONE;
        for b in blocks {
            s.segment.options.sack.push(SeqRange::new(b.start + by, b.end + by));
        }
    }
    s
}

#[test]
fn sequence_numbers_that_wrap_change_nothing() {
    for before in [0_u32, 1, 500, 1000, 65_000, 150_000] {
        let wrap = |seen: &[CapturedSegment]| {
            let (client, iss) = (seen[0].src, seen[0].segment.seq.0);
            seen.iter().map(|s| renumbered(s, client, 0_u32.wrapping_sub(before).wrapping_sub(iss))).collect()
        };
        each(wrap, same);
    }
}

#[test]
fn duplicated_packets_are_noted_and_counted_once() {
    for (apart, hops) in [(0, 0), (2, 0), (120, 0), (60, 1)] {
        let twice = |seen: &[CapturedSegment]| {
            let copy = |s: &CapturedSegment| CapturedSegment {
                at: s.at + Duration::from_micros(apart),
                hops: s.hops - hops,
                ..*s
            };
            let mut all: Vec<CapturedSegment> = seen.iter().flat_map(|s| [*s, copy(s)]).collect();
            all.sort_by_key(|s| s.at);
            all
        };
        each(twice, |plain, report, what| {
            same(plain, report, &format!("{what}, {apart} us apart"));
            assert!(noted(&only(report).notes, "more than once"), "{what}: {:?}", only(report).notes);
        });
    }
}

#[test]
fn packets_slightly_out_of_order_are_put_in_order() {
    let mut rng = Rng::stream(1, "out of order", 0);
    let shuffle = |seen: &[CapturedSegment]| {
        let mut all = seen.to_vec();
        for i in 1..all.len() {
            if rng.chance(0.2) {
                let back = rng.below(20.min(i as u64)) as usize;
                all.swap(i, i - back);
            }
        }
        all
    };
    each(shuffle, |plain, report, what| {
        same(plain, report, what);
        assert!(noted(&report.notes, "out of their order of time"), "{what}: {:?}", report.notes);
    });
}

#[test]
fn super_segments_count_as_several_packets() {
    // Segments that the sender passes to its device at once form one frame, retransmissions too.
    let merge = |seen: &[CapturedSegment]| {
        let mut all: Vec<CapturedSegment> = Vec::new();
        for s in seen {
            let last = all.iter().rposition(|l| l.src == s.src);
            let plain = |s: &Segment| s.len > 0 && !s.flags.any(Flags::SYN | Flags::FIN | Flags::RST);
            match last.map(|i| &mut all[i]) {
                Some(l)
                    if plain(&l.segment)
                        && plain(&s.segment)
                        && l.segment.end() == s.segment.seq
                        && l.segment.len.is_multiple_of(s.segment.len.max(1))
                        && l.segment.len < 30_000
                        && s.at.since(l.at) < Duration::from_micros(1) =>
                {
                    l.segment.len += s.segment.len;
                }
                _ => all.push(*s),
            }
        }
        assert!(all.len() < seen.len(), "no segments were merged");
        all
    };
    each(merge, |plain, report, what| {
        let (a, b) = (&plain.directions[0], &only(report).directions[0]);
        assert_eq!(counts(a), counts(b), "{what}");
        assert!(noted(&only(report).notes, "segmentation offload"), "{what}");
    });
}

#[test]
fn reused_ports_begin_a_new_connection() {
    for closed in [true, false] {
        let mut cut = 0;
        let twice = |seen: &[CapturedSegment]| {
            cut = if closed { seen.len() } else { seen.len() / 2 };
            let (first, start) = (&seen[..cut], seen[cut - 1].at + ms(if closed { 10 } else { 3000 }));
            let iss = 1_000_000 * cut as u32;
            let again = seen.iter().map(|s| CapturedSegment {
                at: start + s.at.since(seen[0].at),
                ..renumbered(s, seen[0].src, iss)
            });
            first.iter().copied().chain(again).collect()
        };
        each(twice, |plain, report, what| {
            let [first, second] = &report.connections[..] else {
                panic!("{what}, closed {closed}: {} connections", report.connections.len())
            };
            let without_times = |d: &Direction| {
                let (a, b, c, e, timeouts) = counts(d);
                (a, b, c, e, timeouts.iter().map(|t| t.1).collect::<Vec<_>>())
            };
            for (a, b) in plain.directions.iter().zip(&second.directions) {
                assert_eq!(without_times(a), without_times(b), "{what}, closed {closed}");
            }
            assert!(!closed || counts(&first.directions[0]) == counts(&plain.directions[0]), "{what}");
            assert!(noted(&second.notes, "used before"), "{what}: {:?}", second.notes);
        });
    }
}

#[test]
fn a_capture_that_begins_in_the_middle_is_noted() {
    let mut began = Instant::ZERO;
    let late = |seen: &[CapturedSegment]| {
        let part = seen[seen.len() / 3..].to_vec();
        began = part[0].at;
        part
    };
    let mut off = 0;
    let (mut all, mut differ) = (0, 0);
    each(late, |plain, report, what| {
        let c = only(report);
        assert!(!c.opening_seen && noted(&c.notes, "in the middle"), "{what}: {:?}", c.notes);
        let (a, b) = (&plain.directions[0], &c.directions[0]);
        let later = |d: &Direction| {
            d.retransmissions.iter().filter(|r| r.at.since(c.start + ms(300)) > Duration::ZERO).count() as u64
        };
        // A retransmission of data that was sent before the capture began cannot be recognised.
        off += later(a).abs_diff(later(b));
        (all, differ) = (all + later(a), differ + u64::from(later(a) != later(b)));
    });
    println!("{all} retransmissions, {off} more or fewer, {differ} of 20 captures differ");
    assert!(all > 60 && off * 20 <= all, "{off} of {all}");
}

#[test]
fn packets_missing_from_the_capture_are_noted() {
    let mut rng = Rng::stream(2, "missed", 0);
    let mut wanted = Vec::new();
    let gaps = |seen: &[CapturedSegment]| {
        let plain = analysed(seen.iter().copied());
        let again: std::collections::BTreeSet<u64> =
            only(&plain).directions[0].retransmissions.iter().map(|r| r.at.as_nanos()).collect();
        let kept: Vec<CapturedSegment> =
            seen.iter().filter(|s| s.segment.flags.has(Flags::SYN) || !rng.chance(0.02)).copied().collect();
        let seen_again = kept
            .iter()
            .filter(|s| s.src == seen[0].src && s.segment.seq_len() > 0 && again.contains(&s.at.as_nanos()))
            .count();
        wanted.push(seen_again as u64);
        kept
    };
    let mut i = 0;
    let mut found = Vec::new();
    each(gaps, |_, report, what| {
        let c = only(report);
        assert!(noted(&c.notes, "are not in the capture"), "{what}: {:?}", c.notes);
        found.push(c.directions[0].retransmitted_packets);
        i += 1;
    });
    let (real, counted): (u64, u64) = (wanted.iter().sum(), found.iter().sum());
    let off: u64 = wanted.iter().zip(&found).map(|(a, b)| a.abs_diff(*b)).sum();
    println!("{real} retransmissions in the captures, {counted} found, {off} more or fewer");
    assert!(off * 20 <= real, "{wanted:?} and {found:?}");
}

#[test]
fn connections_beyond_4_gb_are_counted_to_the_last_byte() {
    let ends = [SocketAddr::from(([192, 0, 2, 1], 40_000)), SocketAddr::from(([192, 0, 2, 2], 80))];
    let (iss, frame) = (0xffff_0000_u32, 64_000_u32);
    let mut analysis = Analysis::new(Options::default());
    let (mut at, mut id) = (Instant::from_nanos(1_000_000_000), 0_u16);
    let mut send = |side: usize, seq: u32, ack: u32, len: u32, flags: Flags, wait: Duration| {
        (at, id) = (at + wait, id.wrapping_add(1));
        let mut options = ackclock_wire::Options {
            mss: None,
            window_scale: None,
            sack_permitted: false,
            ..Default::default()
        };
        if flags.has(Flags::SYN) {
            (options.mss, options.window_scale) = (Some(1460), Some(10));
        }
        let segment = Segment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            len,
            window: 60_000,
            flags,
            urgent: 0,
            options,
        };
        let seen = CapturedSegment {
            at,
            src: ends[side],
            dst: ends[1 - side],
            id,
            hops: 64,
            interface: 0,
            options_cut: false,
            frame: 0,
            beginning: Beginning::default(),
            segment,
        };
        analysis.packet(at, Ok(seen));
    };
    let (ack, us) = (Flags::ACK, Duration::from_micros);
    send(0, iss, 0, 0, Flags::SYN, us(10));
    send(1, 7, iss.wrapping_add(1), 0, Flags::SYN | ack, ms(10));
    send(0, iss.wrapping_add(1), 8, 0, ack, us(5));
    let (total, mut sent, mut again) = (9_000_000_000_u64, 0_u64, 0_u64);
    while sent < total {
        let seq = iss.wrapping_add(1).wrapping_add(sent as u32);
        send(0, seq, 8, frame, ack, us(20));
        sent += u64::from(frame);
        if sent.is_multiple_of(u64::from(frame) * 10_000) {
            // Lost, and retransmitted when the timer expires.
            send(0, seq, 8, frame, ack, ms(300));
            again += u64::from(frame.div_ceil(1460));
        }
        send(1, 8, iss.wrapping_add(1).wrapping_add(sent as u32), 0, ack, ms(10));
    }
    let report = analysis.finish();
    let d = &only(&report).directions[0];
    assert_eq!((d.unique_bytes, d.bytes_acked, d.retransmitted_packets), (sent, sent, again));
    assert_eq!((d.timeouts.len(), d.missing_bytes), (14, 0));
}

/// Files of a folder, decompressed.
fn files(folder: &std::path::Path) -> Vec<Vec<u8>> {
    use std::io::Read;
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|e| e.path()).collect();
    names.sort();
    let capture = |p: &std::path::PathBuf| p.to_string_lossy().contains(".pcap");
    let bytes = |p| {
        let mut bytes = Vec::new();
        ackclock_capture::read::open(p).expect("a file").read_to_end(&mut bytes).expect("its bytes");
        bytes
    };
    names.iter().filter(|p| capture(p)).map(|p| bytes(p)).collect()
}

#[test]
fn captures_cut_or_changed_anywhere_are_read_to_the_damage() {
    // ACKCLOCK_CAPTURES names a folder of further captures.
    let ours = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../ackclock-capture/tests/fixtures");
    let theirs = std::env::var_os("ACKCLOCK_CAPTURES").map(std::path::PathBuf::from);
    let mut rng = Rng::stream(3, "changed", 0);
    for folder in [Some(ours), theirs].into_iter().flatten() {
        for file in files(&folder) {
            for cut in (0..1100).chain([2000, 5000, file.len() - 1]) {
                ackclock_fuzzing::capture_file(&file[..cut.min(file.len())]);
            }
            for _ in 0..60 {
                let mut changed = file.clone();
                for _ in 0..1 + rng.below(4) {
                    let within = if rng.chance(0.5) { 200 } else { file.len() as u64 };
                    let at = rng.below(within) as usize;
                    changed[at] = rng.next_u64() as u8;
                }
                ackclock_fuzzing::capture_file(&changed);
            }
        }
    }
}
