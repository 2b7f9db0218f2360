//! Every form of a capture file gives the same packets; every truncation and every damaged byte yields
//! packets and a one-sentence error.

use std::io::{Cursor, Read, Write};

use ackclock_capture::CaptureError;
use ackclock_capture::read::{LinkType, Packets, decompressed};
use ackclock_trace::Pcapng;
use ackclock_units::{Duration, Instant};

/// A packet: time in ns, length on the wire, bytes kept.
type Plain = (u64, u32, Vec<u8>);

/// The expected packets.
fn wanted() -> Vec<Plain> {
    (0..5_u8)
        .map(|i| {
            (
                1_700_000_000_000_000_000 + u64::from(i) * 1_234_567_000,
                60 + u32::from(i) * 1000,
                vec![0x45 + i; 17 + usize::from(i)],
            )
        })
        .collect()
}

fn read(bytes: &[u8]) -> (Vec<Plain>, Option<CaptureError>) {
    let mut got = Vec::new();
    let mut packets = match Packets::new(bytes) {
        Ok(packets) => packets,
        Err(e) => return (got, Some(e)),
    };
    loop {
        match packets.next_packet() {
            Ok(Some(p)) => got.push((p.at.as_nanos(), p.original_len, p.data.to_vec())),
            Ok(None) => return (got, None),
            Err(e) => return (got, Some(e)),
        }
    }
}

fn pcap(big_endian: bool, nanos: bool, link: u32) -> Vec<u8> {
    let u32_ = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
    let u16_ = |n: u16| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut file = Vec::new();
    file.extend(u32_(if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }));
    file.extend(u16_(2));
    file.extend(u16_(4));
    [0, 0, 65_535, link].into_iter().for_each(|n| file.extend(u32_(n)));
    for (at, original, data) in wanted() {
        let fraction = (at % 1_000_000_000) as u32 / if nanos { 1 } else { 1000 };
        [(at / 1_000_000_000) as u32, fraction, data.len() as u32, original]
            .into_iter()
            .for_each(|n| file.extend(u32_(n)));
        file.extend(data);
    }
    file
}

/// pcapng by hand: byte order, ticks per second as a power of ten (or of two, with bit 7), an offset of the
/// clock, and simple packets.
fn pcapng(big_endian: bool, resolution: Option<u8>) -> Vec<u8> {
    let u32_ = |n: u32| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
    let u16_ = |n: u16| if big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
    let block = |kind: u32, body: &[u8]| {
        let mut b = Vec::new();
        let padded = body.len().next_multiple_of(4);
        b.extend(u32_(kind));
        b.extend(u32_(12 + padded as u32));
        b.extend(body);
        b.resize(8 + padded, 0);
        b.extend(u32_(12 + padded as u32));
        b
    };
    let mut section = Vec::new();
    section.extend(u32_(0x1a2b_3c4d));
    section.extend(u16_(1));
    section.extend(u16_(0));
    section.extend([0xff; 8]);
    let mut interface = Vec::new();
    interface.extend(u16_(101));
    interface.extend(u16_(0));
    interface.extend(u32_(65_535));
    if let Some(r) = resolution {
        interface.extend(u16_(9));
        interface.extend(u16_(1));
        interface.extend([r, 0, 0, 0]);
        interface.extend([0; 4]);
    }
    let mut file = block(0x0a0d_0d0a, &section);
    file.extend(block(1, &interface));
    file.extend(block(0x0000_0bad, b"a block of the future"));
    for (at, original, data) in wanted() {
        let ticks = at / if resolution == Some(9) { 1 } else { 1000 };
        let mut p = Vec::new();
        [0, (ticks >> 32) as u32, ticks as u32, data.len() as u32, original]
            .into_iter()
            .for_each(|n| p.extend(u32_(n)));
        p.extend(&data);
        file.extend(block(6, &p));
    }
    file
}

fn every_form() -> Vec<(String, Vec<u8>)> {
    let mut forms = Vec::new();
    for big_endian in [false, true] {
        for nanos in [false, true] {
            forms.push((
                format!("pcap, big endian {big_endian}, nanoseconds {nanos}"),
                pcap(big_endian, nanos, 101),
            ));
        }
        for resolution in [None, Some(6), Some(9)] {
            forms.push((
                format!("pcapng, big endian {big_endian}, resolution {resolution:?}"),
                pcapng(big_endian, resolution),
            ));
        }
    }
    let mut ours = Pcapng::new(Vec::new(), Duration::ZERO).unwrap();
    let link = ours.interface("a", None).unwrap();
    for (at, original, data) in wanted() {
        ours.packet(link, Instant::from_nanos(at), &data, original, Some("a comment")).unwrap();
    }
    forms.push(("our own".into(), ours.finish().unwrap()));
    forms
}

#[test]
fn every_form_gives_the_same_packets() {
    for (name, file) in every_form() {
        let (got, error) = read(&file);
        assert!(error.is_none(), "{name}: {error:?}");
        assert_eq!(got, wanted(), "{name}");
    }
    // Two sections of different byte order, one after the other, are one file.
    let (got, error) = read(&[pcapng(true, None), pcapng(false, Some(9))].concat());
    assert!(error.is_none());
    assert_eq!(got, [wanted(), wanted()].concat());
    assert_eq!(
        Packets::new(&pcap(true, false, 276)[..]).unwrap().next_packet().unwrap().unwrap().link,
        LinkType::Cooked2
    );
}

/// A pipe that returns a byte at a time.
struct Drip(Cursor<Vec<u8>>);

impl Read for Drip {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = out.len().min(1);
        self.0.read(&mut out[..n])
    }
}

#[test]
fn compressed_files_and_slow_pipes_are_read() {
    for (name, file) in every_form() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&file[..50]).unwrap();
        let mut both = gz.finish().unwrap();
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        gz.write_all(&file[50..]).unwrap();
        both.extend(gz.finish().unwrap());
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let mut zst = ruzstd::encoding::compress_to_vec(&file[..50], level);
        // A skippable frame of three bytes.
        zst.extend([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]);
        zst.extend(ruzstd::encoding::compress_to_vec(&file[50..], level));
        for (how, bytes) in
            [("plain", file.clone()), ("gzip, two members", both), ("zstd, three frames", zst)]
        {
            let mut packets = Packets::new(decompressed(Drip(Cursor::new(bytes))).unwrap()).unwrap();
            let mut got = Vec::new();
            while let Some(p) = packets.next_packet().unwrap() {
                got.push((p.at.as_nanos(), p.original_len, p.data.to_vec()));
            }
            assert_eq!(got, wanted(), "{name}, {how}");
        }
    }
}

#[test]
fn everything_before_the_damage_is_read_and_one_line_says_where() {
    for (name, file) in every_form() {
        for cut in 0..file.len() {
            let (got, error) = read(&file[..cut]);
            assert_eq!(got, wanted()[..got.len()], "{name} cut at {cut}");
            match error {
                None => {}
                Some(e @ CaptureError::NotACapture { .. }) => {
                    assert!(cut < 28, "{name} cut at {cut}");
                    assert_eq!(
                        e.to_string().contains("header is cut off"),
                        cut >= 4,
                        "{name} cut at {cut}: {e}"
                    );
                }
                Some(CaptureError::Damaged { packets, offset, .. }) => {
                    assert_eq!(packets, got.len() as u64);
                    assert!(offset <= cut as u64);
                }
                Some(e) => panic!("{name} cut at {cut}: {e}"),
            }
            let message = read(&file[..cut]).1.map(|e| e.to_string()).unwrap_or_default();
            assert!(!message.contains('\n'));
        }
        // Reading ends whichever byte is changed.
        for at in 0..file.len() {
            for with in [0x00, 0x7f, 0xff] {
                let mut bad = file.clone();
                bad[at] = with;
                read(&bad);
            }
        }
    }
    let (got, error) = read(b"GET / HTTP/1.1\r\n and so on and on and on");
    assert!(got.is_empty());
    assert!(error.unwrap().to_string().contains("47 45 54 20"));
    assert!(read(b"").1.unwrap().to_string().contains("empty"));
}

#[test]
fn an_endless_block_does_not_take_endless_memory() {
    // A block that says it is 4 GB long, from a stream that never ends.
    let mut file = pcapng(false, None);
    file.extend(6_u32.to_le_bytes());
    file.extend(0xffff_fff0_u32.to_le_bytes());
    let mut packets = Packets::new(file.chain(std::io::repeat(0x11))).unwrap();
    let mut n = 0;
    let message = loop {
        match packets.next_packet() {
            Ok(Some(_)) => n += 1,
            Ok(None) => panic!("it never ends"),
            Err(e) => break e.to_string(),
        }
    };
    assert_eq!(n, 5);
    assert!(message.contains("not plausible") || message.contains("neither"), "{message}");
    assert!(packets.next_packet().unwrap().is_none(), "and then nothing more");
}
