use std::collections::BTreeSet;

use crate::*;

fn values<R: Row>(row: &R) -> Vec<(&'static str, String)> {
    let mut out = Vec::new();
    row.for_each_cell(&mut |column, value| out.push((column.name, format!("{value:?}"))));
    out
}

#[test]
fn every_column_is_declared_once_and_shown_in_order() {
    fn check<R: Row + Default>() {
        let names: Vec<_> = R::TABLE.columns.iter().map(|c| c.name).collect();
        assert_eq!(values(&R::default()).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{}", R::TABLE.name);
        assert!(R::TABLE.columns.iter().all(|c| c.meaning.trim().ends_with('.')), "{}", R::TABLE.name);
        assert!(TABLES.contains(&R::TABLE));
    }
    check::<FlowRow>();
    check::<LinkRow>();
    check::<SampleRow>();
    check::<EpisodeRow>();
    check::<SegmentRow>();
}

#[test]
fn the_reference_page_comes_from_the_declaration() {
    let page = FlowRow::TABLE.to_markdown();
    assert!(page.starts_with("## `flows`\n\nOne flow: a TCP connection or a stream of datagrams."), "{page}");
    assert!(page.contains("| `rtt_mean` | float64, may be missing | s | Mean of all round-trip time samples. |"), "{page}");
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
        assert_eq!(column("outcome").as_string::<i32>().iter().collect::<Vec<_>>(), [Some("finished"), Some("unfinished")]);
        assert_eq!(column("start").as_primitive::<Float64Type>().value(0), 1.5);
        assert_eq!(column("response_time").as_primitive::<Float64Type>().iter().collect::<Vec<_>>(), [Some(0.25), None]);
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
