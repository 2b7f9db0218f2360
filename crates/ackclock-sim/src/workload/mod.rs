//! Workloads: sizes, arrivals, and the sources of flows and datagrams made of them.
//!
//! Every random number comes from a stream named after the workload and the purpose, and each purpose draws
//! the same count of numbers for every flow. So adding a workload does not change the others, and all stacks
//! compared in one scenario get the same arrivals, sizes and round-trip times.

mod arrivals;
mod cdf;
pub(crate) mod declare;
pub(crate) mod log;
mod pareto;
mod sizes;
pub(crate) mod source;
pub(crate) mod transfer;

pub use arrivals::{Arrivals, OnOff, Pattern, Periods};
pub use cdf::{Cdf, CdfError};
pub use declare::{FLOWS, declarations};
pub use pareto::BoundedPareto;
pub use sizes::{Base, Sizes, Trace};
