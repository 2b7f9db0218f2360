//! TReno (M-U3): bulk-transfer capacity of a path, measured from its near end alone.
//!
//! Two connections of the engine, a sender and a receiver, both live here. Each data segment that the sender
//! emits goes out as one probe that somebody at the far end answers: an ICMP echo, or a UDP datagram whose
//! time to live ends on the way. When the answer is back the segment is handed to the receiver, and the
//! receiver's acknowledgments go to the sender at once. All that decides what is sent when is the engine's;
//! nothing here knows a rule of TCP.
//!
//! `session::Session` is the whole run without clock and sockets; [`simulate_probe`] drives it over the
//! simulator's links, [`run_probe`] over real ones.

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
