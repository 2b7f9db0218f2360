//! Handshakes whose options the capture does not have: what they negotiated is unknown, and no limit is derived
//! from a guess.

use std::io::Read;
use std::ops::ControlFlow;

use ackclock_capture::read::{Packets, decompressed};
use ackclock_capture::{Analysis, Connection, Options};

/// A transfer of Linux over a path with losses, 96 bytes of each packet, which begin with the IP header
/// (fixtures/README.md).
const CAPTURE: &[u8] = include_bytes!("../fixtures/kernel-both-ends-sender.pcap.gz");

/// The capture with `snaplen` bytes of each packet, without its first `skipped` packets.
fn cut(snaplen: usize, skipped: usize) -> Connection {
    let mut whole = Vec::new();
    decompressed(CAPTURE).and_then(|mut d| Ok(d.read_to_end(&mut whole)?)).expect("the fixture is gzip");
    let word = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().expect("four bytes")) as usize;
    let (mut kept, mut at, mut n) = (whole[..24].to_vec(), 24, 0);
    while at + 16 <= whole.len() {
        let len = word(at + 8);
        if n >= skipped {
            let short = len.min(snaplen);
            kept.extend(&whole[at..at + 8]);
            kept.extend((short as u32).to_le_bytes());
            kept.extend(&whole[at + 12..at + 16 + short]);
        }
        (at, n) = (at + 16 + len, n + 1);
    }
    let mut packets = Packets::new(kept.as_slice()).expect("a pcap file");
    let mut analysis = Analysis::new(Options::default());
    analysis.read(&mut packets, |_| ControlFlow::Continue(())).expect("packets");
    let mut report = analysis.finish();
    report.connections.pop().expect("one connection")
}

fn sender(c: &Connection) -> &ackclock_capture::Direction {
    c.directions.iter().max_by_key(|d| d.unique_bytes).expect("two directions")
}

#[test]
fn a_window_of_unknown_scale_limits_nobody() {
    let whole = cut(96, 0);
    assert!(whole.notes.iter().all(|n| !n.contains("unknown")), "{:?}", whole.notes);
    let lasted = whole.end.since(whole.start);
    for (what, c) in
        [("begun in the middle", cut(96, 12)), ("no options", cut(40, 0)), ("some of them", cut(52, 0))]
    {
        let d = sender(&c);
        assert!(d.limits.receiver_window < lasted / 20, "{what}: {:?}", d.limits);
        assert!(c.notes.iter().any(|n| n.contains("window scales")), "{what}: {:?}", c.notes);
        assert!(
            c.notes.iter().any(|n| n.contains("its scale is at least")),
            "{what}: more was under way than the unscaled window holds: {:?}",
            c.notes
        );
        assert!(d.unique_bytes <= sender(&whole).unique_bytes, "{what}");
    }
}

#[test]
fn a_segment_size_whose_option_was_cut_is_not_taken_for_536() {
    let whole = cut(96, 0);
    for snaplen in [40, 52] {
        let c = cut(snaplen, 0);
        let (whole, d) = (sender(&whole), sender(&c));
        assert_eq!((d.data_packets, d.mss), (whole.data_packets, whole.mss), "{snaplen} bytes");
        assert_eq!(d.options, None, "{snaplen} bytes");
        assert!(c.notes.iter().any(|n| n.contains("cut the TCP options of its handshake")), "{:?}", c.notes);
    }
}
