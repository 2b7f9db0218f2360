//! System calls of Linux.

mod capture;
mod congestion;
mod namespace;
mod offload;
mod port;
mod rights;
pub(crate) mod sys;
mod tun;
pub(crate) mod wait;

pub use capture::Capture;
pub use namespace::Namespace;
pub(crate) use offload::Offload;
pub use port::Port;
pub use rights::{check, end_with_parent, enter_user_namespace};
pub use tun::{Tun, TunOptions};
