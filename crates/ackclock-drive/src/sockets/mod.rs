//! Many sockets of a kernel: readiness, options, TCP_INFO and timestamps of acknowledgments.

mod acked;
mod control;
mod ready;
mod state;
mod tcp;

pub(crate) use acked::AckStamps;
pub(crate) use control::{RunControl, join, then_stop};
pub(crate) use ready::{EDGES, Ready, ReadyEvent};
pub(crate) use state::{TcpState, tcp_of};
pub use tcp::{OptionSeen, TcpCounts, TcpOption};
pub(crate) use tcp::{SocketOptions, TcpRoom, listener, opening, reason};

/// Raises the limit of open descriptors, since each connection between two kernels takes two.
pub(crate) fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // If this fails, a run with too many connections fails with an error when it opens them.
    let _ = setrlimit(Resource::Nofile, limit);
}
