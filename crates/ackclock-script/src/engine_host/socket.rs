//! Descriptors.

use std::collections::VecDeque;

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

/// Connections that nobody has accepted.
#[derive(Debug)]
pub(crate) struct Listener {
    backlog: usize,
    /// In their handshake.
    pub opening: Vec<usize>,
    /// To be accepted.
    pub ready: VecDeque<usize>,
}

impl Listener {
    pub(crate) fn new(backlog: i64) -> Self {
        Self { backlog: usize::try_from(backlog).unwrap_or(0), opening: Vec::new(), ready: VecDeque::new() }
    }

    /// Linux accepts one more than it was asked for (`sk_acceptq_is_full`).
    pub(crate) fn is_full(&self) -> bool {
        self.ready.len() > self.backlog
    }

    pub(crate) fn set_backlog(&mut self, backlog: i64) {
        self.backlog = usize::try_from(backlog).unwrap_or(0);
    }
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
