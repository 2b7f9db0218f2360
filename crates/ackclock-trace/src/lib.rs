//! One vocabulary of events for all worlds, and the sinks and tables made of them.
//!
//! Features: `arrow` gives the tables as Arrow record batches.

#[cfg(feature = "arrow")]
pub mod arrow;
mod event;
mod rows;
mod table;
#[cfg(test)]
mod tests;

pub use event::{Event, EventKind, LossClass, Mask, SendKind};
pub use rows::{EpisodeRow, FlowRow, LinkRow, Outcome, SampleRow, SegmentRow, Side, TABLES};
pub use table::{Cell, CellValue, Column, ColumnKind, Label, Row, Table};
