//! Bytes ↔ IP and TCP headers and options, checksums; and the segment as the engine sees it.

mod segment;

pub use segment::{Flags, Options, SackBlocks, Segment, Timestamps};
