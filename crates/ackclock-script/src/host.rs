//! The host that a script tests: in virtual time above the engine ([`crate::EngineHost`]), or a real one.

use std::collections::VecDeque;

use ackclock_units::{Duration, Ecn, Instant};

use crate::ast::{Icmp, Tcp};
use crate::code::TcpInfo;
use crate::constants::Errno;

/// The port that a server binds to, and that a client's peer has, where a script names none.
pub const SERVER_PORT: u16 = 8080;

/// The peer's port of the first connection that it opens, where a script names none.
pub const CLIENT_PORT: u16 = 40_000;

/// A host under test. Everything is in the terms of scripts: sequence numbers count from the first SYN of
/// each side.
pub trait Host {
    /// The present moment; a script begins at zero.
    fn now(&self) -> Instant;

    /// When something may happen by itself next; `None` when nothing will.
    fn deadline(&self) -> Option<Instant>;

    /// How long a call that should return at once, and a packet that may come at any time, are waited for.
    fn patience(&self) -> Duration {
        Duration::from_secs(600)
    }

    /// Lets time pass until `then`. Nothing may be due before: [`Host::deadline`]. A host in real time may
    /// return before `then`, when something has left.
    fn advance(&mut self, then: Instant);

    /// A segment arrives, its payload all zeros.
    ///
    /// # Errors
    ///
    /// The segment is none that a packet can carry.
    fn inject(&mut self, ports: Ports, tcp: &Tcp, ecn: Ecn) -> Result<(), String>;

    /// An ICMP error arrives about a segment of the latest connection.
    ///
    /// # Errors
    ///
    /// Names a type or code that is not known.
    fn inject_icmp(&mut self, ports: Ports, icmp: &Icmp) -> Result<(), String>;

    /// Packets that have left and that nobody has looked at, in the order in which they left.
    fn sent(&mut self) -> &mut VecDeque<Departure>;

    /// The ports of a packet for which the script names none: those of the latest connection, or of a new one where
    /// it opens one, which is where another socket was made since.
    fn ports(&self, opens: bool) -> Ports;

    /// Runs a system call; `None` while it blocks. One that blocks is tried again, with what it has become.
    fn call(&mut self, call: &mut Call) -> Option<Returned>;

    /// What `TCP_INFO` says of the latest connection; `None` where there is none.
    fn info(&mut self) -> Option<TcpInfo>;

    /// The state of the latest connection by its name (RFC 9293 §3.3.2), where it is known.
    fn state(&self) -> &'static str {
        ""
    }

    /// True where time passes by itself.
    fn is_real(&self) -> bool {
        false
    }

    /// By how much [`Host::now`] is behind, in real time.
    fn late(&self) -> Duration {
        Duration::ZERO
    }

    /// Sets `net.ipv4.NAME`.
    fn set(&mut self, name: &str, value: &str) -> Setting;
}

/// What became of a setting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting {
    /// It is set.
    Done,
    /// The host has no such setting.
    Unknown,
    /// It cannot have this value.
    Refused,
}

/// The ports of a connection, which identify it: there is one address on each side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ports {
    /// The tested host's.
    pub local: u16,
    /// The script's.
    pub remote: u16,
}

/// A packet that has left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// When.
    pub at: Instant,
    /// Its segment.
    pub tcp: Tcp,
    /// The field of its IP header.
    pub ecn: Ecn,
    /// The connection that it belongs to.
    pub ports: Ports,
}

/// What a system call returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Returned {
    /// A number: a descriptor, a count of bytes, zero.
    Value(i64),
    /// An error.
    Error(Errno),
    /// What `getsockopt` wrote.
    Option(OptionValue),
    /// What `ioctl` wrote.
    Number(i64),
    /// What `poll` found: the events of each descriptor.
    Events(Vec<i64>),
}

/// What an option of a socket is set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OptionValue {
    /// A number.
    Int(i64),
    /// On or off, and for how many seconds (`struct linger`).
    Linger(i64, i64),
    /// Text: a congestion control, or the name of an error.
    Text(String),
}

/// A system call with its arguments. Numbers are Linux's ([`crate::constant`]).
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "arguments have the names of the manual")]
pub enum Call {
    Socket {
        nonblocking: bool,
    },
    Bind {
        fd: i32,
        port: Option<u16>,
    },
    Listen {
        fd: i32,
        backlog: i64,
    },
    Accept {
        fd: i32,
        nonblocking: bool,
    },
    Connect {
        fd: i32,
        port: Option<u16>,
    },
    /// `done` bytes were taken already, by a call that blocks.
    Write {
        fd: i32,
        len: u64,
        flags: i64,
        done: u64,
    },
    Read {
        fd: i32,
        len: u64,
        flags: i64,
    },
    Shutdown {
        fd: i32,
        how: i64,
    },
    Close {
        fd: i32,
    },
    SetOption {
        fd: i32,
        level: i64,
        name: i64,
        value: OptionValue,
    },
    GetOption {
        fd: i32,
        level: i64,
        name: i64,
    },
    GetFlags {
        fd: i32,
    },
    SetFlags {
        fd: i32,
        flags: i64,
    },
    Ioctl {
        fd: i32,
        request: i64,
    },
    /// Descriptors with the events that are asked for; until when it waits, where it does not do so forever.
    Poll {
        fds: Vec<(i32, i64)>,
        until: Option<Instant>,
        forever: bool,
    },
}
