//! Descriptors.

use ackclock_engine::AcceptQueue;

use super::fast_open::PendingFastOpens;
use super::options::{KEEPALIVE_TIME, SocketOptions};
use super::polling::Epoll;

/// An open descriptor.
#[derive(Debug)]
pub(crate) struct Socket {
    pub kind: SocketKind,
    /// Set before it is connected or listens; its connections have their own from then on.
    pub options: SocketOptions,
    pub nonblocking: bool,
    /// The port that it is bound to.
    pub port: Option<u16>,
}

/// What a descriptor is.
#[derive(Debug)]
pub(crate) enum SocketKind {
    /// Neither connected nor listening.
    Fresh,
    /// It listens.
    Listener(Listener),
    /// It has a connection, by its index.
    Stream(usize),
    /// It watches others.
    Epoll(Epoll),
    /// An end of a pipe, by its number: the one that is written, or the one that is read.
    Pipe { number: usize, writes: bool },
    /// A file of zeros.
    File,
}

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Listener {
    pub queue: AcceptQueue<usize>,
    pub fast_opens: PendingFastOpens,
}

impl Listener {
    /// One that has at most so many Fast Open connections in their handshake.
    pub(crate) fn new(asked: i64, fast_opens: i64) -> Self {
        Self {
            queue: AcceptQueue::new(backlog(asked)),
            fast_opens: PendingFastOpens { most: fast_opens, ..PendingFastOpens::default() },
        }
    }
}

/// The queues of a listening socket. Linux accepts one more than it was asked for (`sk_acceptq_is_full`).
pub(crate) fn backlog(asked: i64) -> usize {
    usize::try_from(asked).unwrap_or(0).saturating_add(1)
}

impl Socket {
    /// A descriptor that is no socket.
    pub(crate) fn of(kind: SocketKind) -> Self {
        Self { kind, ..Self::new(SocketOptions::new(KEEPALIVE_TIME)) }
    }

    pub(crate) fn new(options: SocketOptions) -> Self {
        Self { kind: SocketKind::Fresh, options, nonblocking: false, port: None }
    }
}
