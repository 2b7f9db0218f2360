//! The real-time link emulator: two ports with two links of the simulator between them, one for each
//! direction.

#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod direction;
mod flow_numbers;
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod hosts;
#[cfg(target_os = "linux")]
mod run;

pub use hosts::AccessDelays;
#[cfg(target_os = "linux")]
pub use run::{Emulator, EmulatorOptions, EmulatorReport};
