//! A capture that is read on one thread and analysed on another gives the same report as on a single thread.

use std::ops::ControlFlow;
use std::path::Path;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, MOST_PACKETS, Options};
use ackclock_policy::{Registry, Timing};
use ackclock_testkit::Setup;
use ackclock_testkit::pipe::{Path as Way, Pipe, Plan, Tap};
use ackclock_trace::Pcapng;
use ackclock_units::{Duration, Instant, Rate};

/// The report of a capture as text, the reported progress, and whether it was read to the end. Stops after
/// `stop_after` reports of progress.
fn found(capture: impl std::io::Read, threads: usize, stop_after: usize) -> (String, Vec<u64>, bool) {
    let mut analysis = Analysis::new(Options {
        samples: true,
        what_if: Timing::all(&Registry::builtin()).into(),
        ..Options::default()
    });
    analysis.list_packets(None, MOST_PACKETS);
    let mut progress = Vec::new();
    let whole = analysis
        .read_on(threads, &mut Packets::new(capture).unwrap(), |bytes| {
            progress.push(bytes);
            if progress.len() < stop_after { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
        .unwrap();
    (format!("{:?}", analysis.finish()), progress, whole)
}

/// A transfer of some 40,000 packets over a lossy path.
fn generated() -> Vec<u8> {
    let rate = Some(Rate::from_bits_per_sec(80_000_000));
    let way = Way { rate, loss: 0.003, ..Way::clean(Duration::from_millis(9)) };
    let setup = Setup::default().with(|c| (c.timestamps, c.sack, c.mss) = (true, true, 1448));
    let mut pipe = Pipe::new([&setup, &setup], [Plan::send(36_000_000), Plan::receive()], [way, way], 5);
    pipe.tap = Some(Tap { side: 0, seen: Vec::new() });
    pipe.transfer(Instant::ZERO + Duration::from_secs(3600));
    let mut file = Pcapng::new(Vec::new(), Duration::from_secs(2_000_000_000)).unwrap();
    let link = file.interface("tap", None).unwrap();
    for (at, bytes) in &pipe.tap.take().unwrap().seen {
        file.packet(link, *at, &bytes[..bytes.len().min(96)], bytes.len() as u32, None).unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn fixtures_give_the_same_on_one_thread_and_on_two() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ackclock-capture/tests/fixtures");
    let mut compared = 0;
    for entry in fixtures
        .read_dir()
        .unwrap()
        .map(Result::unwrap)
        .filter(|e| e.file_name().to_string_lossy().contains(".pcap"))
    {
        let [one, two] = [1, 2].map(|threads| found(open(&entry.path()).unwrap(), threads, usize::MAX));
        assert!(one == two && one.2, "{:?}", entry.path());
        compared += 1;
    }
    assert!(compared >= 5, "{compared} fixtures");
}

#[test]
fn a_long_capture_gives_the_same_whole_cut_off_or_interrupted() {
    let file = generated();
    let [one, two] = [1, 2].map(|threads| found(&file[..], threads, usize::MAX));
    assert!(one.1.len() >= 2, "it is long enough for two reports of progress: {:?}", one.1);
    assert!(one == two && one.2);
    let cut = &file[..file.len() / 3 - 7];
    let [one, two] = [1, 2].map(|threads| found(cut, threads, usize::MAX));
    assert!(one.0.contains("it ends in the middle of a packet"));
    assert!(one == two && one.2);
    let [one, two] = [1, 2].map(|threads| found(&file[..], threads, 1));
    assert!(one == two && !one.2 && one.1.len() == 1);
}
