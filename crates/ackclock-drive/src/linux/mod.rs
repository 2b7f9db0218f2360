//! System calls of Linux.

#[cfg(any(target_arch = "aarch64", target_arch = "riscv64", target_arch = "x86_64"))]
mod awake;
mod capture;
mod congestion;
mod first_process;
mod namespace;
mod offload;
mod port;
mod program;
mod rights;
mod route;
mod signals;
pub(crate) mod sys;
pub(crate) mod tracepoints;
mod tun;
pub(crate) mod wait;

pub use capture::Capture;
pub use namespace::Namespace;
pub(crate) use offload::Offload;
pub(crate) use port::Gate;
pub use port::Port;
pub(crate) use program::{Ended, Program, ProgramOptions};
pub use rights::{check, end_with_parent, enter_user_namespace, enter_user_namespace_only};
pub(crate) use signals::Signals;
pub use tun::{Tun, TunOptions};
