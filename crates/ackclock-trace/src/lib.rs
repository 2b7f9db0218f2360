//! The events of connections, simulated or real, and the sinks and tables made from them.
//!
//! Features: `arrow` for tables as Arrow record batches, `json` for events and rows as JSON lines, `pcapng`
//! for capture files.

#[cfg(feature = "arrow")]
pub mod arrow;
mod captured;
mod event;
mod exchanges;
#[cfg(feature = "json")]
mod json;
#[cfg(feature = "pcapng")]
mod pcapng;
mod rows;
mod sink;
mod table;
#[cfg(test)]
mod tests;

pub use captured::{DirectionRow, PacketRow, RetransmissionRow, StallRow, TimeoutRow, WhatIfRow};
pub use event::{Event, EventKind, LossClass, Mask, SendKind};
pub use exchanges::{ExchangeRow, PlaybackRow, RoundRow};
#[cfg(feature = "json")]
pub use json::JsonLines;
#[cfg(feature = "pcapng")]
pub use pcapng::Pcapng;
pub use rows::{EpisodeRow, FlowRow, LinkRow, Outcome, SampleRow, SegmentRow, Side, StateRow, TABLES};
pub use sink::{EventTables, Sink, TracedRows};
pub use table::{Cell, CellValue, Column, ColumnKind, Label, Row, Table};
