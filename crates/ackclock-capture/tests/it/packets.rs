//! The table of packets, on captures of the Linux kernel's TCP that are kept as files.

use std::ops::ControlFlow;
use std::path::Path;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, Options, Report, Selection};
use ackclock_trace::{PacketRow, Row, SegmentRow};

fn listed(name: &str, wanted: Option<&str>, most: usize) -> Report {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format!("kernel-{name}.pcap.gz"));
    let mut packets = Packets::new(open(&path).unwrap()).unwrap();
    let mut analysis = Analysis::new(Options::default());
    analysis.list_packets(wanted.map(|w| Selection::parse(w).unwrap()), most);
    assert!(analysis.read(&mut packets, |_| ControlFlow::Continue(())).unwrap());
    analysis.finish()
}

fn rows(name: &str) -> (Report, Vec<PacketRow>) {
    let mut report = listed(name, None, 1 << 20);
    let rows = report.take_packets();
    (report, rows)
}

#[test]
fn its_first_columns_are_those_of_simulated_segments() {
    let shared = SegmentRow::TABLE.columns;
    for (ours, theirs) in PacketRow::TABLE.columns.iter().zip(shared) {
        assert_eq!(
            (ours.name, ours.kind, ours.optional, ours.unit),
            (theirs.name, theirs.kind, theirs.optional, theirs.unit)
        );
    }
    assert!(PacketRow::TABLE.columns.len() > shared.len());
}

#[test]
fn every_packet_is_listed_and_retransmissions_have_their_kind() {
    for name in [
        "bulk-and-an-outage",
        "dialogue-and-an-outage",
        "dialogue-with-loss-of-acks",
        "heavy-loss",
        "lost-tails",
    ] {
        let (report, rows) = rows(name);
        let [c] = &report.connections[..] else { panic!("{name}") };
        assert_eq!(rows.len() as u64, report.segments, "{name}");
        assert!(rows.is_sorted_by_key(|r| r.time), "{name}");
        for (side, d) in c.directions.iter().enumerate() {
            let own: Vec<_> = rows.iter().filter(|r| r.connection == side as u32).collect();
            assert_eq!(own.iter().map(|r| u64::from(r.packets)).sum::<u64>(), d.packets, "{name}");
            assert_eq!(own.iter().map(|r| u64::from(r.len)).sum::<u64>(), d.bytes, "{name}");
            let again: Vec<_> =
                own.iter().filter(|r| r.again).map(|r| (r.time, r.seq, r.offset, r.kind)).collect();
            let found: Vec<_> =
                d.retransmissions.iter().map(|r| (r.at, r.seq, r.offset, Some(r.cause.word()))).collect();
            assert_eq!(again, found, "{name}");
        }
    }
}

#[test]
fn offsets_count_from_the_first_byte_whatever_the_sequence_numbers() {
    let (report, rows) = rows("heavy-loss");
    let sent = report.connections[0].directions[0].unique_bytes;
    assert_eq!(
        rows.iter().filter(|r| r.connection == 0 && r.len > 0).map(|r| r.offset + u64::from(r.len)).max(),
        Some(sent)
    );
    // The FIN counts one.
    assert_eq!(rows.iter().filter(|r| r.connection == 1).filter_map(|r| r.acked).max(), Some(sent + 1));
    let blocks: Vec<_> = rows
        .iter()
        .filter(|r| r.connection == 1)
        .flat_map(|r| r.sack.chunks(2).map(|b| (b[0], b[1])))
        .collect();
    assert!(
        blocks.len() > 100 && blocks.iter().all(|(start, end)| start < end && *end <= sent + 1),
        "{}",
        blocks.len()
    );
}

#[test]
fn windows_have_their_scale_applied_once_it_holds() {
    let (report, rows) = rows("heavy-loss");
    let syn = rows.iter().find(|r| r.connection == 1 && r.flags == 0x12).unwrap();
    // RFC 7323 §2.2: that of a SYN is not scaled.
    assert!(syn.window.unwrap() < 1 << 16);
    let options = report.connections[0].directions[1].options.unwrap();
    let scale = 1u64 << options.window_scale.unwrap();
    let windows: Vec<_> =
        rows.iter().filter(|r| r.connection == 1 && r.kind == Some("ack")).filter_map(|r| r.window).collect();
    assert!(!windows.is_empty() && windows.iter().all(|w| w % scale == 0));
    assert!(windows.iter().any(|w| *w >= 1 << 16));
}

#[test]
fn no_more_than_the_limit_are_listed_and_a_note_counts_the_rest() {
    let mut report = listed("heavy-loss", None, 100);
    assert_eq!(report.connections[0].packets_left_out, report.segments - 100);
    assert!(
        report.notes.iter().any(|n| n.starts_with("the first 100 packets are listed")),
        "{:?}",
        report.notes
    );
    assert_eq!(report.take_packets().len(), 100);
    assert!(listed("heavy-loss", Some(":9"), 100).take_packets().is_empty());
    assert_eq!(listed("heavy-loss", Some(":80"), 100).take_packets().len(), 100);
}
