//! TReno (M-U3): bulk-transfer capacity of a path, measured from its near end only.
//!
//! Both connections of the engine, sender and receiver, are at the near end. Each data segment of the sender
//! goes out as a probe with a reply: an ICMP echo, or a UDP datagram whose time to live expires on the path.
//! When the reply arrives, the segment is passed to the receiver, whose acknowledgments go to the sender at
//! once. The engine decides what is sent and when; this module has no rules of TCP.
//!
//! `session::Session` is a run without clock and sockets; [`simulate_probe`] drives it over the simulator's
//! links, [`run_probe`] over a real path.

mod background;
mod limit;
mod options;
#[cfg(target_os = "linux")]
mod packet;
#[cfg(target_os = "linux")]
mod port_code;
mod probe_table;
mod report;
#[cfg(target_os = "linux")]
mod run;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod session;
mod simulate;
#[cfg(target_os = "linux")]
mod socket;
#[cfg(test)]
mod tests;
mod treno;

pub use background::{Background, When};
pub use limit::{LimitSign, ReplyLimit};
pub use options::{ProbeMethod, ProbeOptions};
pub use report::{Measured, ProbePhase, ProbeProgress, ProbeReport, Replies};
#[cfg(target_os = "linux")]
pub use run::{ProbeTarget, RealProbe, run_probe};
pub use simulate::{SimulatedPath, SimulatedProbe, simulate_probe};
