//! Many sockets of a kernel at once: which of them is ready, their options, what the kernel says of a
//! connection and when it saw its data acknowledged.

mod acked;
mod control;
mod ready;
mod tcp;

pub(crate) use acked::AckStamps;
pub(crate) use control::{RunControl, join, then_stop};
pub(crate) use ready::{EDGES, Ready};
pub use tcp::{OptionSeen, TcpCounts, TcpOption};
pub(crate) use tcp::{SocketOptions, TcpRoom, listener, opening, reason};

/// Each connection between two kernels takes two descriptors while it lasts.
pub(crate) fn open_as_many_as_allowed() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Without it a run with many connections at once fails when it opens one too many, and says so.
    let _ = setrlimit(Resource::Nofile, limit);
}
