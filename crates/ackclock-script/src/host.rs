//! The host that a script tests: in virtual time above the engine ([`crate::EngineHost`]), or a real one.

use std::collections::VecDeque;
use std::net::IpAddr;

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

    /// The addresses of the tested host and of the script, where the script says so. False where the host has
    /// its own.
    fn set_addresses(&mut self, _local: Option<IpAddr>, _remote: Option<IpAddr>) -> bool {
        false
    }

    /// Forgets what it knows of peers (`ip tcp_metrics flush`). False where that is not possible.
    fn forget_peers(&mut self) -> bool {
        false
    }

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

    /// Its connections, and its listening sockets; `None` where that is not known.
    fn connections(&self) -> Option<Vec<Listed>> {
        None
    }

    /// Ends the connections in a state (RFC 9293 §3.3.2). False where that is not possible.
    fn drop_connections(&mut self, _state: &str) -> bool {
        false
    }

    /// Sets what has another name than `net.ipv4.NAME`, by its whole name.
    fn set_sysctl(&mut self, _name: &str, _value: &str) -> Setting {
        Setting::Unknown
    }

    /// Sets `net.ipv4.NAME`.
    fn set(&mut self, name: &str, value: &str) -> Setting;
}

/// A connection in a list of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Listed {
    /// Its ports; that of the peer is 0 for a listening socket.
    pub ports: Ports,
    /// Its state by its name (RFC 9293 §3.3.2).
    pub state: &'static str,
    /// A descriptor has it.
    pub owned: bool,
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
    /// The ECN field of its IP header.
    pub ecn: Ecn,
    /// The rest of that header.
    pub ip: IpFields,
    /// The connection that it belongs to.
    pub ports: Ports,
}

/// Fields of the IP header of a packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpFields {
    /// The upper six bits of the type of service, or of the traffic class (RFC 2474 §3).
    pub dscp: u8,
    /// Hops that are left.
    pub hops: u8,
    /// The flow label (RFC 6437); `None` over IPv4.
    pub flow_label: Option<u32>,
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
    /// What `recvmsg` received.
    Message(Message),
    /// The two descriptors of `pipe`: where it is read, where it is written.
    Pair(i64, i64),
    /// What `epoll_wait` found: events, each with the data that `epoll_ctl` gave.
    Ready(Vec<(i64, u64)>),
}

/// What `recvmsg` received beside the bytes, which are zeros.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Bytes of data.
    pub len: u64,
    /// Its flags (`msg_flags`).
    pub flags: i64,
    /// Its control messages, in order.
    pub control: Vec<Control>,
}

/// A control message (`struct cmsghdr`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Control {
    /// The level that it comes from, such as `SOL_TCP`.
    pub level: i64,
    /// Its type at that level.
    pub kind: i64,
    /// What it says.
    pub data: ControlData,
}

/// What a control message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlData {
    /// A number (`TCP_CM_INQ`).
    Int(i64),
    /// A time of the host's clock (`SCM_TIMESTAMPING`).
    Time(Instant),
    /// An entry of the error queue (`IP_RECVERR`, `IPV6_RECVERR`).
    Error(ErrorReport),
}

/// An entry of a socket's error queue (`struct sock_extended_err`). Not all are errors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs, reason = "the names of the structure")]
pub struct ErrorReport {
    pub errno: i64,
    pub origin: i64,
    pub kind: i64,
    pub code: i64,
    pub info: i64,
    pub data: i64,
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
    /// Writes with `MSG_FASTOPEN`.
    FastOpen(FastOpenCall),
    Read {
        fd: i32,
        len: u64,
        flags: i64,
    },
    Shutdown {
        fd: i32,
        how: i64,
    },
    /// `lingers`: the host's own number of what it waits for, and until when, once the call blocks.
    Close {
        fd: i32,
        lingers: Option<(usize, Instant)>,
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
    /// `recvmsg`: a read with control messages.
    Message {
        fd: i32,
        len: u64,
        flags: i64,
    },
    /// A file of zeros, as long as anybody reads.
    Open {
        path: String,
    },
    Pipe,
    /// `done` bytes were taken already, by a call that blocks.
    Sendfile {
        to: i32,
        from: i32,
        len: u64,
        done: u64,
    },
    Splice {
        from: i32,
        to: i32,
        len: u64,
        flags: i64,
    },
    EpollCreate,
    EpollControl {
        epoll: i32,
        operation: i64,
        fd: i32,
        events: i64,
        data: u64,
    },
    /// At most so many results; until when it waits, where it does not do so forever.
    EpollWait {
        epoll: i32,
        most: usize,
        until: Option<Instant>,
        forever: bool,
    },
    /// Descriptors with the events that are asked for; until when it waits, where it does not do so forever.
    Poll {
        fds: Vec<(i32, i64)>,
        until: Option<Instant>,
        forever: bool,
    },
}

/// A call that opens a connection and writes its first data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FastOpenCall {
    /// The descriptor.
    pub fd: i32,
    /// Bytes.
    pub len: u64,
    /// Flags of `sendmsg`.
    pub flags: i64,
    /// The peer's port, where it is given.
    pub port: Option<u16>,
    /// The peer's address is none (`AF_UNSPEC`).
    pub to_nobody: bool,
    /// Bytes that were taken already, by a call that blocks.
    pub done: u64,
    /// The call has been made, and blocks.
    pub begun: bool,
}

impl Call {
    /// When a call that blocks returns even if nothing else happens.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Poll { until, .. } | Self::EpollWait { until, .. } => *until,
            Self::Close { lingers, .. } => lingers.map(|(_, until)| until),
            _ => None,
        }
    }
}
