//! A conversation: what an application and a peer do, one after the other, in terms that keep their meaning
//! when steps before are left out.

use ackclock_units::{Duration, Ecn};

use crate::constants as c;
use crate::host::{Call, OptionValue, Returned};

/// A conversation over one connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conversation {
    /// Settings under `net.ipv4`.
    pub settings: Vec<(&'static str, &'static str)>,
    /// Which end the tested host is.
    pub role: Role,
    /// Options of the socket before it listens or connects.
    pub options: Vec<SocketOption>,
    /// What the peer's SYN offers.
    pub peer: Offer,
    /// What happens, in order.
    pub steps: Vec<Step>,
    /// The peer reports what has arrived.
    pub sound: bool,
    /// How long the host is watched after the last step.
    pub rest: Duration,
}

/// Which end of the connection the tested host is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It listens.
    Server,
    /// It connects.
    Client,
}

/// What the peer's SYN offers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offer {
    /// Largest segment, bytes; none where it is not said.
    pub mss: Option<u16>,
    /// SACK (RFC 2018 §2).
    pub sack: bool,
    /// Timestamps (RFC 7323 §3.2).
    pub timestamps: bool,
    /// Window scale (RFC 7323 §2.2).
    pub window_scale: Option<u8>,
    /// ECN (RFC 3168 §6.1.1).
    pub ecn: bool,
}

/// One step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The time since the step before.
    pub after: Duration,
    /// What happens.
    pub act: Act,
}

/// What happens in a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// The application makes a call.
    Call(Op),
    /// A segment arrives.
    Inject(Segment),
}

/// A call of the application. Sockets do not block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Takes a connection of the socket that listens.
    Accept,
    /// So many bytes are written; the flag says whether more are to follow.
    Write(u32, bool),
    /// At most so many bytes are read.
    Read(u32),
    /// A direction is closed: `SHUT_RD`, `SHUT_WR` or `SHUT_RDWR`.
    Shutdown(i64),
    /// The descriptor is closed.
    Close,
    /// An option is set.
    Set(SocketOption),
    /// The pending error is taken.
    Error,
}

/// An option of a socket with its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SocketOption {
    /// Nagle's algorithm is off.
    NoDelay(bool),
    /// Small segments wait.
    Cork(bool),
    /// Acknowledgments are not delayed.
    QuickAck(bool),
    /// The largest segment, bytes.
    MaxSegment(u16),
    /// A close is a reset.
    NoLinger,
}

/// A segment in terms of what both ends have sent before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Bits of the header, ACK among them where an acknowledgment is carried.
    pub flags: u16,
    /// Where it begins, bytes from the next one that the peer has to send.
    pub offset: i64,
    /// Payload, bytes.
    pub len: u32,
    /// What it acknowledges.
    pub ack: Ack,
    /// Window, bytes.
    pub window: u32,
    /// Urgent pointer.
    pub urgent: Option<u16>,
    /// SACK blocks.
    pub sack: Vec<Block>,
    /// Timestamps, where they were negotiated.
    pub stamp: Stamp,
    /// The mark of its IP header.
    pub ecn: Ecn,
}

/// What a segment acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ack {
    /// All that the host has sent.
    All,
    /// The same as before.
    Same,
    /// So many of the segments that are outstanding.
    Segments(u8),
    /// Bytes more, or fewer, than before.
    Offset(i64),
    /// Bytes beyond all that the host has sent.
    Beyond(u32),
    /// What a sound receiver has after this, with its SACK blocks and the timestamp that it echoes.
    Arrived(Fate),
}

/// What becomes of the host's segments that are on their way to the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Nothing.
    Nothing,
    /// The first ones are lost, and the next one arrives.
    Lost(u8),
    /// One arrives before so many that were sent earlier.
    Later(u8),
    /// So many arrive in the order in which they were sent, with one ack unless something is missing.
    Through(u8),
    /// What arrived last arrives once more.
    Again,
}

/// A SACK block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// Outstanding segments, from and to, counted from the first.
    Segments(u8, u8),
    /// Bytes from and to, counted from the acknowledgment number.
    Bytes(i64, i64),
}

/// The timestamps of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamp {
    /// The peer's clock, and the latest value of the host.
    Fresh,
    /// The peer's clock was so many ticks behind.
    Old(u32),
    /// The peer's clock, and no echo.
    NoEcho,
    /// None, although they were negotiated.
    Missing,
}

impl SocketOption {
    /// Level, name and value.
    fn parts(self) -> (i64, i64, OptionValue) {
        match self {
            Self::NoDelay(on) => (c::SOL_TCP, c::TCP_NODELAY, OptionValue::Int(on.into())),
            Self::Cork(on) => (c::SOL_TCP, c::TCP_CORK, OptionValue::Int(on.into())),
            Self::QuickAck(on) => (c::SOL_TCP, c::TCP_QUICKACK, OptionValue::Int(on.into())),
            Self::MaxSegment(mss) => (c::SOL_TCP, c::TCP_MAXSEG, OptionValue::Int(mss.into())),
            Self::NoLinger => (c::SOL_SOCKET, c::SO_LINGER, OptionValue::Linger(1, 0)),
        }
    }

    /// The arguments behind the descriptor, as scripts write them.
    fn text(self) -> String {
        match self {
            Self::NoDelay(on) => format!("SOL_TCP, TCP_NODELAY, [{}], 4", u8::from(on)),
            Self::Cork(on) => format!("SOL_TCP, TCP_CORK, [{}], 4", u8::from(on)),
            Self::QuickAck(on) => format!("SOL_TCP, TCP_QUICKACK, [{}], 4", u8::from(on)),
            Self::MaxSegment(mss) => format!("SOL_TCP, TCP_MAXSEG, [{mss}], 4"),
            Self::NoLinger => "SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8".to_owned(),
        }
    }
}

impl Op {
    /// The call on a descriptor.
    pub(super) fn call(self, fd: i32) -> Call {
        match self {
            Self::Accept => Call::Accept { fd, nonblocking: true },
            Self::Write(len, more) => {
                let flags = if more { c::MSG_MORE } else { 0 };
                Call::Write { fd, len: len.into(), flags, done: 0 }
            }
            Self::Read(len) => Call::Read { fd, len: len.into(), flags: 0 },
            Self::Shutdown(how) => Call::Shutdown { fd, how },
            Self::Close => Call::Close { fd, lingers: None },
            Self::Set(option) => {
                let (level, name, value) = option.parts();
                Call::SetOption { fd, level, name, value }
            }
            Self::Error => Call::GetOption { fd, level: c::SOL_SOCKET, name: c::SO_ERROR },
        }
    }

    /// The call with what it returned, as scripts write it.
    pub(super) fn text(self, fd: i32, returned: &Returned) -> String {
        if let (Self::Error, Returned::Option(value)) = (self, returned) {
            let value = match value {
                OptionValue::Text(name) => name.clone(),
                OptionValue::Int(n) => n.to_string(),
                OptionValue::Linger(..) => "...".to_owned(),
            };
            return format!("getsockopt({fd}, SOL_SOCKET, SO_ERROR, [{value}], [4]) = 0");
        }
        let call = match self {
            Self::Accept => format!("accept({fd}, ..., ...)"),
            Self::Write(len, false) => format!("write({fd}, ..., {len})"),
            Self::Write(len, true) => format!("send({fd}, ..., {len}, MSG_MORE)"),
            Self::Read(len) => format!("read({fd}, ..., {len})"),
            Self::Shutdown(how) => {
                let how = match how {
                    c::SHUT_RD => "SHUT_RD",
                    c::SHUT_WR => "SHUT_WR",
                    _ => "SHUT_RDWR",
                };
                format!("shutdown({fd}, {how})")
            }
            Self::Close => format!("close({fd})"),
            Self::Set(option) => format!("setsockopt({fd}, {})", option.text()),
            Self::Error => format!("getsockopt({fd}, SOL_SOCKET, SO_ERROR, [0], [4])"),
        };
        match returned {
            Returned::Error(errno) => format!("{call} = -1 {} ({})", errno.0, errno.0),
            Returned::Value(_) if self == Self::Accept => format!("{call} = {ACCEPTED}"),
            Returned::Value(n) => format!("{call} = {n}"),
            _ => format!("{call} = 0"),
        }
    }

    /// What a cause calls it.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Accept => "accept",
            Self::Write(_, false) => "write",
            Self::Write(_, true) => "write with more to follow",
            Self::Read(_) => "read",
            Self::Shutdown(c::SHUT_RD) => "shutdown of reading",
            Self::Shutdown(c::SHUT_WR) => "shutdown of writing",
            Self::Shutdown(_) => "shutdown",
            Self::Close => "close",
            Self::Set(SocketOption::NoDelay(_)) => "TCP_NODELAY",
            Self::Set(SocketOption::Cork(_)) => "TCP_CORK",
            Self::Set(SocketOption::QuickAck(_)) => "TCP_QUICKACK",
            Self::Set(SocketOption::MaxSegment(_)) => "TCP_MAXSEG",
            Self::Set(SocketOption::NoLinger) => "SO_LINGER",
            Self::Error => "SO_ERROR",
        }
    }
}

/// What scripts call the first socket.
pub(super) const FIRST: i32 = 3;

/// What scripts call the socket of an accepted connection.
pub(super) const ACCEPTED: i32 = 4;
