//! Real packets in real time: network namespaces, TUN devices, the real-time link emulator, and the engine
//! behind a small blocking interface.
//!
//! This is the crate with system calls and `unsafe`; `ackclock-packetdrill` alone has some too. It needs Linux;
//! on other systems it compiles, and [`check`] returns an error.
//!
//! Nothing outlives the process: namespaces have no name and are held by file descriptors, so that the kernel
//! removes them with their devices, addresses and routes when the process ends in any way.

mod clock;
#[cfg(target_os = "linux")]
mod demo;
mod emulator;
mod error;
#[cfg(target_os = "linux")]
mod flows;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod kernel_transfer;
#[cfg(target_os = "linux")]
mod kernels;
#[cfg(target_os = "linux")]
mod lab;
#[cfg(target_os = "linux")]
mod ledger;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "linux")]
mod pattern;
mod probe;
#[cfg(target_os = "linux")]
mod script;
#[cfg(target_os = "linux")]
mod sockets;
#[cfg(target_os = "linux")]
mod testbed;
#[cfg(target_os = "linux")]
mod web;

pub use clock::Clock;
#[cfg(target_os = "linux")]
pub use demo::*;
pub use emulator::*;
pub use error::DriveError;
#[cfg(target_os = "linux")]
pub use flows::*;
#[cfg(target_os = "linux")]
pub use host::*;
#[cfg(target_os = "linux")]
pub use kernel_transfer::{KernelTransfer, KernelTransferReport};
#[cfg(target_os = "linux")]
pub use kernels::{Kernels, KernelsOptions};
#[cfg(target_os = "linux")]
pub use lab::{Lab, LabOptions};
#[cfg(target_os = "linux")]
pub use ledger::Response;
#[cfg(target_os = "linux")]
pub use link::{LinkOptions, LinkProgress, LinkReport, LinkSample, RelayReport, run_link};
#[cfg(target_os = "linux")]
pub(crate) use linux::Offload;
#[cfg(target_os = "linux")]
pub use linux::*;
pub use probe::*;
#[cfg(target_os = "linux")]
pub use script::{KernelHost, against_kernel, run_script};
#[cfg(target_os = "linux")]
pub use sockets::{OptionSeen, TcpCounts, TcpOption};
#[cfg(target_os = "linux")]
pub use testbed::*;
#[cfg(target_os = "linux")]
pub use web::*;

/// Makes the policies of a new connection.
pub type PolicyFactory = std::sync::Arc<dyn Fn() -> ackclock_engine::Policies + Send + Sync>;

/// How network namespaces and TUN devices can be created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Means {
    /// By this process directly.
    Direct,
    /// After the process has entered its own user namespace, which it must do while it has a single thread.
    UserNamespace,
}

/// Returns an error, since this system is not Linux.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub fn check() -> Result<Means, DriveError> {
    Err(DriveError::Missing(
        "real packets need Linux (network namespaces and /dev/net/tun); simulations run everywhere".into(),
    ))
}
