use std::collections::BTreeSet;

use crate::*;

fn values<R: Row>(row: &R) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    row.for_each_cell(&mut |column, value| out.push((column.name, format!("{value:?}"))));
    out
}

#[test]
fn every_column_is_declared_once_and_in_order() {
    fn check<R: Row + Default>() {
        let names: Vec<_> = R::TABLE.columns.iter().map(|c| c.name).collect();
        assert_eq!(values(&R::default()).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}", R::TABLE.name);
        assert!(R::TABLE.columns.iter().all(|c| c.meaning.trim().ends_with('.')), "{}", R::TABLE.name);
        assert!(TABLES.contains(&R::TABLE));
    }
    check::<FlowRow>();
    check::<LinkRow>();
    check::<FlowSeriesRow>();
    check::<LinkSeriesRow>();
    check::<ExchangeRow>();
    check::<RoundRow>();
    check::<PlaybackRow>();
    check::<SampleRow>();
    check::<EpisodeRow>();
    check::<SegmentRow>();
    check::<StateRow>();
}

#[test]
fn the_reference_page_comes_from_the_declaration() {
    let page = FlowRow::TABLE.to_markdown();
    assert!(page.starts_with("## `flows`\n\nOne flow: a TCP connection or a stream of datagrams."), "{page}");
    assert!(
        page.contains("| `rtt_mean` | float64, may be missing | s | Mean of all round-trip time samples. |"),
        "{page}"
    );
    assert!(page.contains("| `timeouts_by_round` | 8 x uint32 |  | "), "{page}");
}

#[cfg(feature = "arrow")]
mod arrow {
    use ackclock_units::{Duration, Instant, Rate};
    use arrow_array::RecordBatch;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt32Type};

    use crate::*;

    #[test]
    fn rows_become_a_record_batch_and_keep_units() {
        let row = FlowRow {
            stack: "tcp".into(),
            flow: 3,
            start: Instant::from_nanos(1_500_000_000),
            response_time: Some(Duration::from_millis(250)),
            goodput: Some(Rate::from_bits_per_sec(10_000_000)),
            timeouts_by_round: [1, 2, 3, 4, 5, 6, 7, 8],
            outcome: Outcome::Finished,
            ..FlowRow::default()
        };
        let batch: RecordBatch = FlowRow::record_batch(&[row, FlowRow::default()]);
        let column = |name: &str| batch.column_by_name(name).unwrap();
        assert_eq!((batch.num_rows(), batch.num_columns()), (2, FlowRow::TABLE.columns.len()));
        assert_eq!(column("stack").as_string::<i32>().value(0), "tcp");
        assert_eq!(
            column("outcome").as_string::<i32>().iter().collect::<Vec<_>>(),
            [Some("finished"), Some("unfinished")]
        );
        assert_eq!(column("start").as_primitive::<Float64Type>().value(0), 1.5);
        assert_eq!(
            column("response_time").as_primitive::<Float64Type>().iter().collect::<Vec<_>>(),
            [Some(0.25), None]
        );
        assert_eq!(column("goodput").as_primitive::<Float64Type>().value(0), 1e7);
        let rounds = column("timeouts_by_round").as_fixed_size_list().value(0);
        assert_eq!(rounds.as_primitive::<UInt32Type>().values()[..], [1, 2, 3, 4, 5, 6, 7, 8]);
        let schema = batch.schema();
        let field = schema.field_with_name("response_time").unwrap();
        assert_eq!(field.metadata()["unit"], "s");
        assert!(field.is_nullable() && !schema.field_with_name("flow").unwrap().is_nullable());
    }

    #[test]
    fn empty_tables_keep_their_columns() {
        assert_eq!(LinkRow::record_batch(&[]).num_columns(), LinkRow::TABLE.columns.len());
        assert_eq!(SegmentRow::record_batch(&[]).num_rows(), 0);
    }
}

mod events {
    use ackclock_units::{Duration, Instant, SeqNumber, SeqRange};

    use crate::*;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn event(ms: u64, connection: u32, kind: EventKind) -> Event {
        Event { at: at(ms), connection, kind }
    }

    fn rows(events: &[Event]) -> (Vec<SampleRow>, Vec<EpisodeRow>, Vec<SegmentRow>) {
        let mut tables = EventTables::default();
        events.iter().for_each(|e| tables.record(e));
        let rows = tables.finish();
        (rows.samples, rows.episodes, rows.segments)
    }

    const LOST: EventKind = EventKind::Lost { range: SeqRange::new(SeqNumber(1), SeqNumber(1001)) };

    fn timeout(round: u32) -> EventKind {
        EventKind::Timeout { seq: SeqNumber(1), round, rto: Duration::from_secs(1) }
    }

    fn sent(kind: SendKind) -> EventKind {
        EventKind::Sent { kind, seq: SeqNumber(1), len: 1000, ack: SeqNumber(7) }
    }

    fn began(class: LossClass) -> EventKind {
        EventKind::EpisodeBegan { class, recovery_point: SeqNumber(9) }
    }

    #[test]
    fn an_episode_gathers_what_happens_in_it_and_at_the_moment_it_begins() {
        let (_, episodes, _) = rows(&[
            // A SYN's timeout long before, and another connection's, do not belong to it.
            event(1, 0, timeout(1)),
            event(10, 1, timeout(1)),
            event(10, 0, timeout(1)),
            event(10, 0, LOST),
            event(10, 0, began(LossClass::Ca)),
            event(10, 0, sent(SendKind::TimeoutRetransmit)),
            event(20, 0, timeout(2)),
            event(20, 0, began(LossClass::NonCa)),
            event(20, 0, sent(SendKind::TimeoutRetransmit)),
            event(20, 0, sent(SendKind::New)),
            event(30, 0, EventKind::EpisodeEnded { class: LossClass::NonCa, spurious: true }),
            event(40, 0, sent(SendKind::FastRetransmit)),
            event(50, 0, began(LossClass::Ca)),
        ]);
        let first = EpisodeRow {
            connection: 0,
            flow: 0,
            side: Side::Client,
            class: LossClass::NonCa,
            begin: at(10),
            end: Some(at(30)),
            recovery_point: SeqNumber(9),
            timeouts: 2,
            rounds: 2,
            losses: 1,
            lost_bytes: 1000,
            retransmissions: 2,
            spurious: true,
        };
        let open = EpisodeRow {
            begin: at(50),
            side: Side::Client,
            recovery_point: SeqNumber(9),
            ..EpisodeRow::default()
        };
        assert_eq!(episodes, [first, open]);
    }

    #[test]
    fn rows_name_the_flow_and_its_end() {
        let window = EventKind::Window { cwnd: 2000, ssthresh: 1, pipe: 1000 };
        let (samples, _, segments) =
            rows(&[event(1, 4, window), event(2, 5, window), event(3, 7, sent(SendKind::New))]);
        assert_eq!(
            samples.iter().map(|r| (r.connection, r.flow, r.side)).collect::<Vec<_>>(),
            [(4, 2, Side::Client), (5, 2, Side::Server)]
        );
        assert_eq!((segments[0].flow, segments[0].side), (3, Side::Server));
    }

    #[test]
    fn samples_carry_the_state_on_and_rows_come_in_order_of_time() {
        let ms = Duration::from_millis;
        let sample = EventKind::RttSample { rtt: ms(5), srtt: ms(6), rttvar: ms(1), rto: ms(10) };
        let window = |ssthresh| EventKind::Window { cwnd: 2000, ssthresh, pipe: 1000 };
        let (samples, _, segments) = rows(&[
            event(3, 1, window(u64::MAX)),
            event(4, 1, sample),
            event(5, 1, window(4000)),
            event(1, 0, sample),
            event(1, 0, sent(SendKind::Syn { repeat: 0 })),
            event(2, 0, EventKind::Received { seq: SeqNumber(7), len: 0, ack: SeqNumber(2) }),
        ]);
        let brief: Vec<_> =
            samples.iter().map(|s| (s.time, s.connection, s.rtt, s.srtt, s.cwnd, s.ssthresh)).collect();
        assert_eq!(
            brief,
            [
                (at(1), 0, Some(ms(5)), Some(ms(6)), None, None),
                (at(3), 1, None, None, Some(2000), None),
                (at(4), 1, Some(ms(5)), Some(ms(6)), Some(2000), None),
                (at(5), 1, None, Some(ms(6)), Some(2000), Some(4000)),
            ]
        );
        let brief: Vec<_> = segments.iter().map(|s| (s.time, s.sent, s.kind)).collect();
        assert_eq!(brief, [(at(1), true, Some("syn")), (at(2), false, None)]);
    }

    #[cfg(feature = "json")]
    #[test]
    fn json_lines_hold_one_object_each() {
        let mut lines = JsonLines::new(Vec::new());
        lines.record(&event(1500, 2, timeout(3)));
        lines.record(&event(1500, 2, sent(SendKind::Ack)));
        lines.record(&event(1500, 2, EventKind::State { policy: "window", name: "w_max", value: 8.5 }));
        lines.row(&FlowRow { stack: "a \"b\"\n".into(), ..FlowRow::default() }).unwrap();
        let text = String::from_utf8(lines.finish().unwrap()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], r#"{"time":1.5,"connection":2,"event":"timeout","seq":1,"round":3,"rto":1.0}"#);
        assert_eq!(
            lines[1],
            r#"{"time":1.5,"connection":2,"event":"sent","kind":"ack","seq":1,"len":1000,"ack":7}"#
        );
        assert_eq!(
            lines[2],
            r#"{"time":1.5,"connection":2,"event":"state","policy":"window","name":"w_max","value":8.5}"#
        );
        let row: serde_json::Value = serde_json::from_str(lines[3]).unwrap();
        assert_eq!((&row["stack"], &row["rtt_mean"]), (&"a \"b\"\n".into(), &serde_json::Value::Null));
        assert_eq!((lines.len(), row.as_object().unwrap().len()), (4, FlowRow::TABLE.columns.len()));
    }

    #[cfg(feature = "json")]
    #[test]
    fn a_full_disk_is_reported_at_the_end() {
        struct Full;
        impl std::io::Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let mut lines = JsonLines::new(Full);
        lines.record(&event(0, 0, LOST));
        lines.record(&event(0, 0, LOST));
        assert_eq!(lines.finish().err().map(|e| e.kind()), Some(std::io::ErrorKind::StorageFull));
    }

    #[cfg(feature = "pcapng")]
    #[test]
    fn packets_keep_nanoseconds_original_length_and_comment() {
        use ackclock_units::Rate;
        use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
        use pcap_file::pcapng::{Block, PcapNgReader};

        let mut file = Pcapng::new(Vec::new(), Duration::from_secs(5)).unwrap();
        let link = file.interface("bottleneck", Some(Rate::from_bits_per_sec(1000))).unwrap();
        file.packet(link, Instant::from_nanos(1), &[0x45, 0, 0], 1500, Some("dropped")).unwrap();
        file.packet(link, Instant::from_nanos(2), &[0x45, 0, 0, 1], 4, None).unwrap();
        assert!(file.packet(7, Instant::ZERO, &[], 0, None).is_err(), "an undeclared interface");
        let bytes = file.finish().unwrap();
        let mut reader = PcapNgReader::new(&bytes[..]).unwrap();
        let mut packets = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(p) = block.unwrap().into_owned() {
                packets.push(p);
            }
        }
        assert_eq!(
            packets.iter().map(|p| p.timestamp.as_nanos()).collect::<Vec<_>>(),
            [5_000_000_001, 5_000_000_002]
        );
        assert_eq!(
            packets.iter().map(|p| (p.data.len(), p.original_len)).collect::<Vec<_>>(),
            [(3, 1500), (4, 4)]
        );
        assert_eq!(packets[0].options, [EnhancedPacketOption::Comment("dropped".into())]);
    }
}
