//! Tables. The columns of each are declared once, with unit and meaning, for Arrow, JSON and the reference
//! pages.

use std::fmt::Write as _;
use std::sync::Arc;

use ackclock_units::{Duration, Instant, Rate, SeqNumber};

/// A string that many rows share.
pub type Label = Arc<str>;

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// 32-bit unsigned integers.
    UInt32,
    /// 64-bit unsigned integers.
    UInt64,
    /// Floating-point numbers. Times are in seconds and rates in bit/s, converted from integer nanoseconds
    /// and bit/s.
    Float64,
    /// True or false.
    Bool,
    /// A string.
    Text,
    /// A fixed number of 32-bit integers.
    UInt32List(usize),
    /// A list of 64-bit integers.
    UInt64List,
}

/// One column, with its documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: ColumnKind,
    /// True if a row may lack the value.
    pub optional: bool,
    /// Unit; empty for counts and words.
    pub unit: &'static str,
    /// Definition.
    pub meaning: &'static str,
}

/// One table's declaration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// Its name: that of the file in a run folder, without extension.
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
}

impl Table {
    /// A page of the reference in Markdown.
    pub fn to_markdown(&self) -> String {
        let mut page = format!(
            "## `{}`\n\n{}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
            self.name,
            self.about.trim()
        );
        for c in self.columns {
            let kind = match c.kind {
                ColumnKind::UInt32 => "uint32".to_owned(),
                ColumnKind::UInt64 => "uint64".to_owned(),
                ColumnKind::Float64 => "float64".to_owned(),
                ColumnKind::Bool => "bool".to_owned(),
                ColumnKind::Text => "text".to_owned(),
                ColumnKind::UInt32List(n) => format!("{n} x uint32"),
                ColumnKind::UInt64List => "list of uint64".to_owned(),
            };
            let optional = if c.optional { ", may be missing" } else { "" };
            // Writing to a String cannot fail.
            let _ = writeln!(page, "| `{}` | {kind}{optional} | {} | {} |", c.name, c.unit, c.meaning.trim());
        }
        page
    }
}

/// One value of a row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CellValue<'a> {
    /// No value.
    Missing,
    /// An integer.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A string.
    Text(&'a str),
    /// 32-bit integers.
    UInt32List(&'a [u32]),
    /// 64-bit integers.
    UInt64List(&'a [u64]),
}

/// A row of a table.
pub trait Row: Sized {
    /// The table's declaration.
    const TABLE: Table;

    /// Passes every value to `f`, in the order of the columns.
    fn for_each_cell<'a>(&'a self, f: &mut dyn FnMut(&'static Column, CellValue<'a>));

    /// The rows as an Arrow record batch; units and meanings are in the fields' metadata (`unit`, `meaning`).
    #[cfg(feature = "arrow")]
    fn record_batch(rows: &[Self]) -> arrow_array::RecordBatch;
}

/// A type that can be the value of a column.
pub trait Cell {
    /// What its column holds.
    const KIND: ColumnKind;
    /// True if it may be missing.
    const OPTIONAL: bool = false;

    /// The value.
    fn value(&self) -> CellValue<'_>;

    /// A column of them.
    #[cfg(feature = "arrow")]
    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> arrow_array::ArrayRef
    where
        Self: 'a;
}

/// Implements [`Cell`] for a type and for its option: the column's kind, the Arrow array, and the conversion
/// of the value.
macro_rules! cell {
    ($type:ty, $kind:ident, $variant:ident, $array:ident, |$x:ident| $value:expr) => {
        impl Cell for $type {
            const KIND: ColumnKind = ColumnKind::$kind;

            fn value(&self) -> CellValue<'_> {
                let $x = self;
                CellValue::$variant(cell!(@value $kind, $value))
            }

            #[cfg(feature = "arrow")]
            fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> arrow_array::ArrayRef {
                std::sync::Arc::new(arrow_array::$array::from_iter(cells.map(|$x| Some($value))))
            }
        }

        impl Cell for Option<$type> {
            const KIND: ColumnKind = ColumnKind::$kind;
            const OPTIONAL: bool = true;

            fn value(&self) -> CellValue<'_> {
                self.as_ref().map_or(CellValue::Missing, Cell::value)
            }

            #[cfg(feature = "arrow")]
            fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> arrow_array::ArrayRef {
                std::sync::Arc::new(arrow_array::$array::from_iter(cells.map(|cell| cell.as_ref().map(|$x| $value))))
            }
        }
    };
    (@value UInt32, $value:expr) => { u64::from($value) };
    (@value $kind:ident, $value:expr) => { $value };
}
pub(crate) use cell;

cell!(u32, UInt32, UInt, UInt32Array, |x| *x);
cell!(u64, UInt64, UInt, UInt64Array, |x| *x);
cell!(f64, Float64, Float, Float64Array, |x| *x);
cell!(bool, Bool, Bool, BooleanArray, |x| *x);
cell!(SeqNumber, UInt32, UInt, UInt32Array, |x| x.0);
cell!(Instant, Float64, Float, Float64Array, |x| x.as_secs_f64());
cell!(Duration, Float64, Float, Float64Array, |x| x.as_secs_f64());
cell!(Rate, Float64, Float, Float64Array, |x| x.bits_per_sec() as f64);
cell!(Label, Text, Text, StringArray, |x| x.as_ref());
cell!(&'static str, Text, Text, StringArray, |x| *x);

impl<const N: usize> Cell for [u32; N] {
    const KIND: ColumnKind = ColumnKind::UInt32List(N);

    fn value(&self) -> CellValue<'_> {
        CellValue::UInt32List(self)
    }

    #[cfg(feature = "arrow")]
    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> arrow_array::ArrayRef {
        let values = arrow_array::UInt32Array::from_iter_values(cells.flatten().copied());
        let item = Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::UInt32, false));
        Arc::new(arrow_array::FixedSizeListArray::new(item, N as i32, Arc::new(values), None))
    }
}

impl Cell for Vec<u64> {
    const KIND: ColumnKind = ColumnKind::UInt64List;

    fn value(&self) -> CellValue<'_> {
        CellValue::UInt64List(self)
    }

    #[cfg(feature = "arrow")]
    fn array<'a>(cells: impl ExactSizeIterator<Item = &'a Self>) -> arrow_array::ArrayRef {
        let item = Arc::new(arrow_schema::Field::new("item", arrow_schema::DataType::UInt64, false));
        let mut lists = arrow_array::builder::ListBuilder::new(arrow_array::builder::UInt64Builder::new())
            .with_field(item);
        for cell in cells {
            lists.values().append_slice(cell);
            lists.append(true);
        }
        Arc::new(lists.finish())
    }
}

/// Declares a row: the struct and its table together.
macro_rules! table {
    ($(#[doc = $about:literal])+ $name:literal $row:ident { $($(#[doc = $doc:literal])+ $field:ident: $type:ty, $unit:literal;)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, PartialEq, Debug, Default)]
        pub struct $row {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl $crate::table::Row for $row {
            const TABLE: $crate::table::Table = $crate::table::Table {
                name: $name,
                about: concat!($($about),+),
                columns: &[$($crate::table::Column {
                    name: stringify!($field),
                    kind: <$type as $crate::table::Cell>::KIND,
                    optional: <$type as $crate::table::Cell>::OPTIONAL,
                    unit: $unit,
                    meaning: concat!($($doc),+),
                }),+],
            };

            fn for_each_cell<'a>(&'a self, f: &mut dyn FnMut(&'static $crate::table::Column, $crate::table::CellValue<'a>)) {
                let mut columns = <Self as $crate::table::Row>::TABLE.columns.iter();
                $(if let Some(column) = columns.next() {
                    f(column, $crate::table::Cell::value(&self.$field));
                })+
            }

            #[cfg(feature = "arrow")]
            fn record_batch(rows: &[Self]) -> arrow_array::RecordBatch {
                let arrays = vec![$(<$type as $crate::table::Cell>::array(rows.iter().map(|row| &row.$field))),+];
                $crate::arrow::batch(&<Self as $crate::table::Row>::TABLE, arrays)
            }
        }
    };
}
pub(crate) use table;
