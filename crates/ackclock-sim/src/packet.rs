//! Packets in flight.

mod flags;
mod in_flight;
mod pool;

pub(crate) use in_flight::{NIL, Packet};
pub(crate) use pool::Pool;
