//! Tables as Arrow record batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::table::{Column, ColumnKind, Table};

/// The Arrow schema of a table.
pub fn schema(table: &Table) -> SchemaRef {
    Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()))
}

/// Builds a record batch from the columns of one table.
pub(crate) fn batch(table: &Table, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(schema(table), columns)
        .expect("the table's macro makes schema and columns of one declaration")
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        ColumnKind::UInt32 => DataType::UInt32,
        ColumnKind::UInt64 => DataType::UInt64,
        ColumnKind::Float64 => DataType::Float64,
        ColumnKind::Bool => DataType::Boolean,
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::UInt32List(n) => {
            DataType::FixedSizeList(Arc::new(Field::new("item", DataType::UInt32, false)), n as i32)
        }
        ColumnKind::UInt64List => DataType::List(Arc::new(Field::new("item", DataType::UInt64, false))),
    };
    let notes = [("unit", column.unit), ("meaning", column.meaning.trim())];
    let metadata =
        notes.into_iter().map(|(key, text)| (key.to_owned(), text.to_owned())).collect::<HashMap<_, _>>();
    Field::new(column.name, kind, column.optional).with_metadata(metadata)
}
