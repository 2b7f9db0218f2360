//! What needs Linux.

mod namespace;
mod rights;
mod sys;
mod tun;

pub use namespace::Namespace;
pub use rights::{check, enter_user_namespace};
pub use tun::{Tun, TunOptions};
