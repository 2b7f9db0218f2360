//! Why a host or a connection has ended, as errors.

use std::any::Any;
use std::io;
use std::net::SocketAddr;

use ackclock_engine::AbortReason;

/// Why the host has ended.
#[derive(Clone, Debug)]
pub(super) struct HostEnd {
    /// One sentence.
    pub(super) why: String,
    /// After a panic: the table may be inconsistent and must not be used.
    pub(super) broken: bool,
}

impl HostEnd {
    /// The host was dropped.
    pub(super) fn in_order() -> Self {
        Self { why: "the host has ended: it was dropped".into(), broken: false }
    }

    /// Its port failed.
    pub(super) fn port_failed(e: &io::Error) -> Self {
        Self { why: format!("the host has ended: its port failed: {e}"), broken: false }
    }

    /// A thread panicked during an operation on a connection, most likely in a policy.
    pub(super) fn panicked((local, peer): (SocketAddr, SocketAddr), panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|s| (*s).to_string());
        let text =
            text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into());
        Self {
            why: format!("the host has ended: a panic on its connection from {local} to {peer}: {text}"),
            broken: true,
        }
    }

    /// A thread panicked somewhere else in the host.
    pub(super) fn thread_lost() -> Self {
        Self { why: "the host has ended: a panic in one of its threads".into(), broken: true }
    }

    pub(super) fn error(&self) -> io::Error {
        io::Error::new(io::ErrorKind::ConnectionAborted, self.why.clone())
    }
}

/// The error that a kernel would return for this reason.
pub(super) fn error_of(reason: AbortReason) -> io::Error {
    let (kind, text) = match reason {
        AbortReason::Refused => (io::ErrorKind::ConnectionRefused, "the peer refused the connection"),
        AbortReason::Reset => (io::ErrorKind::ConnectionReset, "the peer reset the connection"),
        AbortReason::SynTimeout => (io::ErrorKind::TimedOut, "the peer does not respond"),
        AbortReason::Timeout => (io::ErrorKind::TimedOut, "the peer no longer acknowledges"),
        AbortReason::Unreachable => (io::ErrorKind::HostUnreachable, "the peer cannot be reached"),
        AbortReason::KeepaliveTimeout => {
            (io::ErrorKind::TimedOut, "the peer no longer responds to keepalive probes")
        }
        AbortReason::FalseAck => {
            (io::ErrorKind::ConnectionAborted, "the peer acknowledged data that had not been sent")
        }
        AbortReason::Local => (io::ErrorKind::ConnectionAborted, "the connection was aborted on this side"),
    };
    io::Error::new(kind, text)
}
