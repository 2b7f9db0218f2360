//! tshark and tcptrace read our pcapng files without warnings. Skipped with a message where these programs
//! are not installed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use ackclock_testkit::Setup;
use ackclock_testkit::pipe::{Path, Pipe, Plan};
use ackclock_trace::Pcapng;
use ackclock_units::{Duration, Ecn, Instant, Rate};
use ackclock_wire::{emit_tcp_header, parse_ip, tcp_packet_len};

/// A file that is removed after the test.
struct File(PathBuf);

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A transfer with losses, as seen at the client: what it sends, and what reaches it. `whole` packets, or
/// headers alone as a simulator writes them.
fn capture(name: &str, whole: bool) -> (File, Pipe) {
    let setup = Setup::default().with(|c| c.timestamps = true);
    let path = Path {
        loss: 0.02,
        rate: Some(Rate::from_bits_per_sec(10_000_000)),
        ..Path::clean(Duration::from_millis(20))
    };
    let mut pipe = Pipe::new(
        [&setup, &setup],
        [Plan::send(300_000), Plan::send(1000)],
        [path, Path { loss: 0.0, ..path }],
        7,
    );
    pipe.record = Some(Vec::new());
    pipe.transfer(Instant::ZERO + Duration::from_secs(3600));
    let mut file = Pcapng::new(Vec::new(), Duration::from_secs(2_000_000_000)).unwrap();
    let link = file.interface("client", path.rate).unwrap();
    // The server's packets arrive a delay later.
    let mut record = pipe.record.take().unwrap();
    record.iter_mut().filter(|(_, from, _)| *from == 1).for_each(|(at, ..)| *at += path.delay);
    record.sort_by_key(|(at, ..)| *at);
    for (at, _, bytes) in &record {
        if whole {
            file.packet(link, *at, bytes, bytes.len() as u32, None).unwrap();
        } else {
            let packet = parse_ip(bytes).unwrap();
            let ackclock_wire::Transport::Tcp(tcp) = packet.transport else { panic!("not TCP") };
            let (src, dst) = packet.endpoints();
            let mut header = Vec::new();
            emit_tcp_header(src, dst, &tcp.segment, Ecn::NotEct, &mut header).unwrap();
            file.packet(link, *at, &header, tcp_packet_len(&tcp.segment, false), Some("simulated")).unwrap();
        }
    }
    let path = std::env::temp_dir().join(format!("ackclock-{}-{name}.pcapng", std::process::id()));
    std::fs::write(&path, file.finish().unwrap()).unwrap();
    (File(path), pipe)
}

/// Output of a program, both streams; `None` when it is not installed.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(out) => {
            assert!(out.status.success(), "{program}: {}", String::from_utf8_lossy(&out.stderr));
            Some(String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr))
        }
        Err(_) => {
            eprintln!("skipped: {program} is not installed");
            None
        }
    }
}

#[test]
fn tshark_reads_whole_and_header_only_packets_without_complaint() {
    for (name, whole) in [("tshark-whole", true), ("tshark-header", false)] {
        let (file, pipe) = capture(name, whole);
        let path = file.0.to_str().unwrap();
        let checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"];
        let complaints = "_ws.malformed || _ws.expert.severity == error || tcp.checksum.status == Bad || \
                          ip.checksum.status == Bad";
        let Some(text) = output("tshark", &[&["-n", "-r", path, "-Y", complaints][..], &checks].concat())
        else {
            return;
        };
        let lines: Vec<_> = text.lines().filter(|l| !l.starts_with("Running as user")).collect();
        assert!(lines.is_empty(), "{lines:?}");
        let fields =
            ["-n", "-r", path, "-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "tcp.len"];
        let text = output("tshark", &fields).unwrap();
        let rows: Vec<Vec<&str>> =
            text.lines().filter(|l| l.contains('\t')).map(|l| l.split('\t').collect()).collect();
        assert_eq!(rows.len() as u64, pipe.fates.sent);
        assert!(
            rows.iter()
                .all(|r| r[0].starts_with("10000000")
                    && r[0].split('.').nth(1).is_some_and(|ns| ns.len() == 9)),
            "nanoseconds"
        );
        let payload: u64 = rows.iter().map(|r| r[2].parse::<u64>().unwrap()).sum();
        assert_eq!(payload, pipe.connection(0).stats().bytes_sent + pipe.connection(1).stats().bytes_sent);
        let again = output(
            "tshark",
            &["-n", "-r", path, "-Y", "tcp.analysis.retransmission || tcp.analysis.out_of_order"],
        )
        .unwrap();
        assert_eq!(
            again.lines().filter(|l| l.contains("10.0.0.1")).count() as u64,
            pipe.connection(0).stats().retransmitted_segments,
            "{again}"
        );
    }
}

#[test]
fn tcptrace_counts_what_the_engine_counts() {
    for (name, whole) in [("tcptrace-whole", true), ("tcptrace-header", false)] {
        let (file, pipe) = capture(name, whole);
        let Some(text) = output("tcptrace", &["-l", "-n", file.0.to_str().unwrap()]) else { return };
        // "   total packets:   236   total packets:   201" and so on: client first.
        let mut values = BTreeMap::new();
        for line in text.lines().skip_while(|l| !l.contains("a->b:")) {
            let words: Vec<&str> = line.split_whitespace().collect();
            if let Some(at) = words.iter().position(|w| w.ends_with(':'))
                && let Some(value) = words.get(at + 1).and_then(|w| w.parse::<u64>().ok())
            {
                values.entry(words[..=at].join(" ")).or_insert(value);
            }
        }
        let stats = pipe.connection(0).stats();
        assert_eq!(values.get("total packets:"), Some(&stats.segments_sent), "{text}");
        assert_eq!(values.get("unique bytes sent:"), Some(&300_000), "{text}");
        assert_eq!(values.get("rexmt data bytes:"), Some(&stats.retransmitted_bytes), "{text}");
        assert!(!text.to_lowercase().contains("bad") && !text.contains("WARNING"), "{text}");
    }
}
