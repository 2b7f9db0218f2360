//! Events for the application above a connection.

/// An event for the application above a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectionEvent {
    /// The handshake is complete.
    Established,
    /// Data can be read, or the peer has closed its side.
    Readable,
    /// There is room to write again after a write was cut short.
    Writable,
    /// Everything written so far is acknowledged.
    Flushed,
    /// The peer has sent urgent data ([`crate::Connection::urgent_left`]).
    Urgent,
    /// Both sides are closed (TIME-WAIT may still run).
    Finished,
    /// The connection ended without an orderly close.
    Aborted(AbortReason),
}

/// Why a connection ended without an orderly close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbortReason {
    /// The peer refused it (RST or ICMP port unreachable in response to a SYN).
    Refused,
    /// The peer reset it.
    Reset,
    /// No response to the SYNs.
    SynTimeout,
    /// Data stayed unacknowledged too long (R2 or the user timeout).
    Timeout,
    /// An ICMP error reports that the peer cannot be reached: in response to a SYN, or as the last thing
    /// received before a timeout.
    Unreachable,
    /// The peer did not respond to keepalive probes.
    KeepaliveTimeout,
    /// The peer acknowledged data that was not sent to it (`skip_test`).
    FalseAck,
    /// The application aborted it.
    Local,
}

impl AbortReason {
    /// The name of the reason in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Reset => "reset",
            Self::SynTimeout => "syn-timeout",
            Self::Timeout => "timeout",
            Self::Unreachable => "unreachable",
            Self::KeepaliveTimeout => "keepalive-timeout",
            Self::FalseAck => "false-ack",
            Self::Local => "local",
        }
    }
}
