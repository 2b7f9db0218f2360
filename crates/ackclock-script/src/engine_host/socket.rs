//! Descriptors.

use std::collections::VecDeque;

use super::fast_open::PendingFastOpens;
use super::options::SocketOptions;

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
}

/// Connections that nobody has accepted.
#[derive(Debug)]
pub(crate) struct Listener {
    backlog: usize,
    /// In their handshake.
    pub opening: Vec<usize>,
    /// To be accepted.
    pub ready: VecDeque<usize>,
    pub fast_opens: PendingFastOpens,
}

impl Listener {
    /// One that has at most so many Fast Open connections in their handshake.
    pub(crate) fn new(backlog: i64, fast_opens: i64) -> Self {
        Self {
            backlog: usize::try_from(backlog).unwrap_or(0),
            opening: Vec::new(),
            ready: VecDeque::new(),
            fast_opens: PendingFastOpens { most: fast_opens, ..PendingFastOpens::default() },
        }
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
    pub(crate) fn new(options: SocketOptions) -> Self {
        Self { kind: SocketKind::Fresh, options, nonblocking: false, port: None }
    }
}
