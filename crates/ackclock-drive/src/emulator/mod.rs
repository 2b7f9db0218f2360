//! The real-time link emulator: ports with links of the simulator between them.

mod flow_numbers;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod held;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod hosts;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod network;
mod packet;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod routes;
#[cfg(target_os = "linux")]
mod run;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod streams;

pub use hosts::AccessDelays;
#[cfg(target_os = "linux")]
pub use network::Lane;
#[cfg(target_os = "linux")]
pub use routes::{Route, Way, WayTable};
#[cfg(target_os = "linux")]
pub use run::{Emulator, EmulatorOptions, EmulatorReport, NetworkOptions, Watch};
#[cfg(target_os = "linux")]
pub(crate) use streams::{LoggedSegment, Retransmission, SackListener, StreamLog};
