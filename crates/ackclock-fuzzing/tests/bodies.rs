//! The fuzz targets' bodies on seeded random inputs, without a fuzzer. ACKCLOCK_CASES=1000000 runs more of
//! them.

use ackclock_fuzzing as fuzzing;
use ackclock_testkit::{generate, icmp_packet};
use ackclock_units::Rng;
use ackclock_wire::emit_tcp_with;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

fn cases(default: u64) -> u64 {
    std::env::var("ACKCLOCK_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

fn bytes(rng: &mut Rng, most: u64) -> Vec<u8> {
    let n = rng.below(most);
    (0..n).map(|_| rng.next_u64() as u8).collect()
}

/// Runs `body` on each input and names the one that fails.
fn run(name: &str, cases: u64, mut input: impl FnMut(&mut Rng) -> Vec<u8>, body: fn(&[u8])) {
    for case in 0..cases {
        let data = input(&mut Rng::stream(case, name, 0));
        // Shown when the test fails: the last line is the case.
        println!("{name} case {case}");
        body(&data);
    }
}

#[test]
fn frames_with_tunnels() {
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/encapsulated");
    let mut frames: Vec<_> = std::fs::read_dir(seeds).unwrap().map(|f| f.unwrap().path()).collect();
    frames.sort();
    let frames: Vec<_> = frames.iter().map(|f| std::fs::read(f).unwrap()).collect();
    // A kept frame with a few changed bytes, of which lengths and types matter most, or with another behind it.
    let mutated = |rng: &mut Rng| {
        let mut data = frames[rng.below(frames.len() as u64) as usize].clone();
        if rng.below(4) == 0 {
            let at = 2 + rng.below(data.len() as u64 - 2) as usize;
            data.truncate(at);
            data.extend_from_slice(&frames[rng.below(frames.len() as u64) as usize][2..]);
        }
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(data.len().min(120) as u64) as usize;
            data[at] = rng.next_u64() as u8;
        }
        data
    };
    run("frames", cases(20_000), mutated, fuzzing::encapsulated);
}

#[test]
fn packets() {
    run("noise", cases(20_000), |rng| bytes(rng, 120), fuzzing::packet);
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let good = (generate::segment(40), generate::endpoints(), generate::ecn());
    // Valid packets with a few changed bytes reach more code.
    let mutated = |rng: &mut Rng| {
        let (segment, (src, dst), ecn) = good.new_tree(&mut runner).unwrap().current();
        let mut data = Vec::new();
        emit_tcp_with(src, dst, &segment, ecn, &mut data, |_| ()).unwrap();
        for _ in 0..rng.below(4) {
            let at = rng.below(data.len() as u64) as usize;
            data[at] = rng.next_u64() as u8;
        }
        data
    };
    run("mutated", cases(20_000), mutated, fuzzing::packet);
    // The same quoted in an ICMP error.
    let mut runner =
        TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let quoted = |rng: &mut Rng| {
        let (segment, (src, dst), ecn) = good.new_tree(&mut runner).unwrap().current();
        let mut data = Vec::new();
        emit_tcp_with(src, dst, &segment, ecn, &mut data, |_| ()).unwrap();
        data.truncate(rng.below(data.len() as u64 + 1) as usize);
        let mut data = icmp_packet(
            dst.ip(),
            src.ip(),
            [rng.below(14) as u8, rng.below(8) as u8],
            rng.next_u64() as u32,
            &data,
        );
        for _ in 0..rng.below(4) {
            let at = rng.below(data.len() as u64) as usize;
            data[at] = rng.next_u64() as u8;
        }
        data
    };
    run("quoted", cases(20_000), quoted, fuzzing::packet);
}

#[test]
fn options() {
    run("options", cases(50_000), |rng| bytes(rng, 60), fuzzing::options);
    // Mostly valid kinds and lengths.
    let plausible = |rng: &mut Rng| {
        let kinds = [0, 1, 2, 3, 4, 5, 8, 254];
        let mut data = Vec::new();
        while data.len() < 40 && rng.chance(0.9) {
            let kind = kinds[rng.below(8) as usize];
            data.push(kind);
            if kind > 1 {
                let right = [0, 0, 4, 3, 2, 10, 0, 0, 10].get(usize::from(kind)).copied().unwrap_or(4);
                data.push(if rng.chance(0.9) { right } else { rng.next_u64() as u8 });
                (2..right).for_each(|_| data.push(rng.next_u64() as u8));
            }
        }
        data
    };
    run("plausible options", cases(50_000), plausible, fuzzing::options);
}

#[test]
fn connections() {
    run("connection", cases(1_500), |rng| bytes(rng, 1500), fuzzing::connection);
}

#[test]
fn exchanges() {
    // Steps that mutations make, since random bytes seldom complete a handshake.
    let steps = |rng: &mut Rng| {
        let mut data = vec![0; 1_200];
        for byte in &mut data[..fuzzing::EXCHANGE_HEADER] {
            *byte = rng.next_u64() as u8;
        }
        let mut size = fuzzing::EXCHANGE_HEADER;
        for _ in 0..rng.below(60) {
            let seed = rng.next_u64() as u32;
            size = fuzzing::mutate(
                &mut data,
                size,
                1_200,
                seed,
                fuzzing::EXCHANGE_HEADER,
                fuzzing::EXCHANGE_RECORD,
            );
        }
        data.truncate(size);
        data
    };
    run("exchange", cases(1_500), steps, fuzzing::exchange);
}

#[test]
fn scenarios() {
    run("scenario", cases(5_000), |rng| bytes(rng, 300), fuzzing::scenario);
    run("scenario keys", cases(1_500), |rng| bytes(rng, 150), fuzzing::scenario_keys);
}

#[test]
fn data_files() {
    type Body = fn(&[u8]);
    let bodies: &[(&str, Body)] = &[
        ("delivery trace", fuzzing::delivery_trace),
        ("schedule", fuzzing::schedule),
        ("arrivals", fuzzing::arrivals),
        ("jitter", fuzzing::jitter),
        ("edges", fuzzing::edges),
    ];
    // Pieces of all formats in any order.
    let pieces = [
        "\n",
        "\n",
        ",",
        ",",
        " ",
        "0",
        "1",
        "2.5",
        "-1",
        "1e9",
        "1e300",
        "nan",
        "at",
        "at [s]",
        "rate [Mbit/s]",
        "delay [ms]",
        "loss",
        "time",
        "bytes",
        "class",
        "stack",
        "a",
        "b",
        "\"",
        "#",
        "4294967295",
        "1s",
        "1Mbit/s",
        "5ms",
        "\r",
        "\u{feff}",
        "99999999999999999999",
    ];
    let text = |rng: &mut Rng| {
        let mut text = vec![rng.next_u64() as u8];
        for _ in 0..rng.below(60) {
            text.extend_from_slice(pieces[rng.below(pieces.len() as u64) as usize].as_bytes());
        }
        text
    };
    for (name, body) in bodies {
        run(name, cases(2_000), |rng| bytes(rng, 200), *body);
        run(name, cases(2_000), text, *body);
    }
}

#[test]
fn mutations_keep_records_whole() {
    for case in 0..20_000 {
        let mut rng = Rng::stream(case, "mutations", 0);
        let records = rng.below(20) as usize;
        let mut data = vec![0; 100];
        // A record is its number, four times.
        (0..records).for_each(|i| data[10 + 4 * i..14 + 4 * i].fill(i as u8 + 1));
        let size = fuzzing::mutate(&mut data, 10 + 4 * records, 100, case as u32, 10, 4);
        assert!(size <= 100);
        // At most five of the changes write new bytes, into a record each.
        let broken = data[10..size].chunks_exact(4).filter(|r| r.iter().any(|b| *b != r[0])).count();
        assert!(broken <= 5 * 2, "{broken} records are broken: {data:?}");
    }
}

#[test]
fn scripts() {
    run("script lines", cases(1_500), |rng| bytes(rng, 600), fuzzing::script_lines);
    // Pieces of the language in any order.
    let pieces = [
        "0 ",
        "+.1 ",
        "* ",
        "< ",
        "> ",
        "S ",
        "P. ",
        "0:0(0) ",
        "1:101(100) ",
        "ack 1 ",
        "win 5 ",
        "<mss 9>",
        "<...>",
        "\n",
        "close(3) = 0",
        "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3",
        "write(",
        "[{",
        "...",
        "}]",
        "%{ assert ",
        "}%",
        "`",
        "--define=A=",
        "A",
        "/*",
        "*/",
        "//",
        "\"",
        "icmp unreachable ",
        "[ect0] ",
        "tcpi_rtt ",
        "== ",
        "\u{fffd}",
    ];
    let text = |rng: &mut Rng| {
        let some = (0..rng.below(60)).map(|_| pieces[rng.below(pieces.len() as u64) as usize]);
        some.collect::<String>().into_bytes()
    };
    run("script pieces", cases(20_000), text, fuzzing::script);
}

#[test]
fn captures() {
    run("capture", cases(5_000), |rng| bytes(rng, 400), fuzzing::capture_file);
    // Valid headers reach more code.
    let beginnings: [&[u8]; 4] = [
        b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\xff\xff\0\0\x65\0\0\0",
        b"\xa1\xb2\x3c\x4d\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\xff\xff\0\0\0\x01",
        b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0\x01\0\0\0\x14\0\0\0\x65\0\0\0\0\0\x04\0\x14\0\0\0",
        b"\x28\xb5\x2f\xfd",
    ];
    let begun = |rng: &mut Rng| {
        let mut data = beginnings[rng.below(4) as usize].to_vec();
        data.extend(bytes(rng, 300));
        data
    };
    run("begun capture", cases(20_000), begun, fuzzing::capture_file);
}

#[test]
fn conversations() {
    run("conversation", cases(1_500), |rng| bytes(rng, 4000), fuzzing::conversation);
}

#[test]
fn shadows() {
    run("shadow", cases(300), |rng| bytes(rng, 2000), fuzzing::shadow);
}

#[test]
fn stalls_that_overlap_last_no_longer_than_the_capture() {
    // Found by a fuzzer: retransmitted SYNs with two sequence numbers, each after a wait of nearly the whole
    // capture.
    let mut found = vec![11];
    found.extend([122; 6]);
    found.push(131);
    found.extend([122; 4]);
    found.extend([255, 116, 104, 105, 255, 255, 255, 255, 90]);
    found.extend([122; 16]);
    found.extend([40; 6]);
    found.extend([182, 33, 0, 25, 211, 255, 0, 40, 40, 40, 131]);
    found.extend([122; 7]);
    found.extend([
        250, 122, 1, 114, 122, 122, 122, 122, 90, 122, 122, 58, 122, 212, 122, 126, 122, 122, 169, 122, 82,
    ]);
    assert_eq!(found.len(), 82);
    fuzzing::conversation(&found);
}

/// Bytes from hexadecimal digits.
fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let text = |pair| std::str::from_utf8(pair).unwrap();
    digits.chunks_exact(2).map(|pair| u8::from_str_radix(text(pair), 16).unwrap()).collect()
}

#[test]
fn a_wait_lies_between_its_least_and_most_when_packets_have_one_time() {
    // Found by a fuzzer: the copy that arrived and the one before it were captured at the same instant.
    fuzzing::exchange(&hex(
        "07d4e518000000f953d3050001080100002100010101172f09150a9a7fff00010101e7f34f4b00003000050001080100 \
         002125041e005f997eff0500010801000021000101010a9a7fff314c00281100090005000108010000210011000b0001 \
         01010a9a7fff05",
    ));
}

#[test]
fn the_retransmissions_listed_are_those_counted_when_both_ends_open() {
    // Found by a fuzzer.
    fuzzing::exchange(&hex("56035ccf512300846dd3e7f44f010c06050000009b19130504650c06000102b00700"));
}
