//! A socket of a script.

use std::os::fd::OwnedFd;

use ackclock_script::Ports;

/// An open socket. The real one never blocks.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) fd: OwnedFd,
    /// What the script takes it for.
    pub(super) nonblocking: bool,
    /// Those of its connection.
    pub(super) ports: Option<Ports>,
    /// A call that writes waits for room.
    pub(super) waits_for_room: bool,
}

impl Socket {
    pub(super) fn new(fd: OwnedFd, nonblocking: bool) -> Self {
        Self { fd, nonblocking, ports: None, waits_for_room: false }
    }
}
