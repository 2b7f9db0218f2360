//! One vocabulary of events for all worlds, and the sinks and tables made of them.

mod event;

pub use event::{Event, EventKind, LossClass, Mask, SendKind};
