//! System calls of a script as calls of the host.

use std::collections::BTreeMap;

use ackclock_units::{Duration, Instant};

use super::World;
use crate::ast::{self, Expr};
use crate::constants::{self as c, constant};
use crate::host::{Call, FastOpenCall, OptionValue};

impl World<'_> {
    /// The call that a script writes.
    ///
    /// # Errors
    ///
    /// Names what is not known here.
    pub(super) fn prepare(&self, call: &ast::Call) -> Result<Call, String> {
        let args = Arguments { fds: &self.fds, call };
        let flags = |at| if call.arguments.len() > at { args.int(at) } else { Ok(0) };
        Ok(match call.name.as_str() {
            "socket" => Call::Socket { nonblocking: args.int(1)? & c::SOCK_NONBLOCK != 0 },
            "bind" => Call::Bind { fd: args.fd(0)?, port: args.port(1) },
            "listen" => Call::Listen { fd: args.fd(0)?, backlog: args.int(1)? },
            "accept" => Call::Accept { fd: args.fd(0)?, nonblocking: false },
            "accept4" => Call::Accept { fd: args.fd(0)?, nonblocking: args.int(3)? & c::SOCK_NONBLOCK != 0 },
            "connect" => Call::Connect { fd: args.fd(0)?, port: args.port(1) },
            "write" => Call::Write { fd: args.fd(0)?, len: args.len(2)?, flags: 0, done: 0 },
            "sendto" if flags(3)? & c::MSG_FASTOPEN != 0 => {
                let to = call.arguments.get(4);
                fast_open(args.fd(0)?, args.len(2)?, args.int(3)?, to)
            }
            "sendmsg" if args.int(2)? & c::MSG_FASTOPEN != 0 => {
                let to = match call.arguments.get(1) {
                    Some(Expr::Struct(fields)) => {
                        fields.iter().find(|(name, _)| name.as_deref() == Some("msg_name")).map(|(_, to)| to)
                    }
                    _ => None,
                };
                fast_open(args.fd(0)?, args.message(1)?, args.int(2)?, to)
            }
            "send" | "sendto" => {
                Call::Write { fd: args.fd(0)?, len: args.len(2)?, flags: flags(3)?, done: 0 }
            }
            "writev" => Call::Write { fd: args.fd(0)?, len: args.vector(1)?, flags: 0, done: 0 },
            "sendmsg" => Call::Write { fd: args.fd(0)?, len: args.message(1)?, flags: args.int(2)?, done: 0 },
            "read" => Call::Read { fd: args.fd(0)?, len: args.len(2)?, flags: 0 },
            "recv" | "recvfrom" => Call::Read { fd: args.fd(0)?, len: args.len(2)?, flags: flags(3)? },
            "readv" => Call::Read { fd: args.fd(0)?, len: args.vector(1)?, flags: 0 },
            "recvmsg" => Call::Message { fd: args.fd(0)?, len: args.message(1)?, flags: args.int(2)? },
            "shutdown" => Call::Shutdown { fd: args.fd(0)?, how: args.int(1)? },
            "close" => Call::Close { fd: args.fd(0)?, lingers: None },
            "setsockopt" => Call::SetOption {
                fd: args.fd(0)?,
                level: args.int(1)?,
                name: args.int(2)?,
                value: option_value(args.get(3)?)?,
            },
            "getsockopt" => Call::GetOption { fd: args.fd(0)?, level: args.int(1)?, name: args.int(2)? },
            "fcntl" if args.int(1)? == c::F_GETFL => Call::GetFlags { fd: args.fd(0)? },
            "fcntl" if args.int(1)? == c::F_SETFL => Call::SetFlags { fd: args.fd(0)?, flags: args.int(2)? },
            "ioctl" => Call::Ioctl { fd: args.fd(0)?, request: args.int(1)? },
            "poll" => {
                let (until, forever) = self.timeout(args.int(2)?);
                Call::Poll { fds: args.polled()?, until, forever }
            }
            "open" => Call::Open { path: args.text(0)? },
            "pipe" => Call::Pipe,
            "sendfile" => Call::Sendfile { to: args.fd(0)?, from: args.fd(1)?, len: args.len(3)?, done: 0 },
            "splice" => {
                Call::Splice { from: args.fd(0)?, to: args.fd(2)?, len: args.len(4)?, flags: args.int(5)? }
            }
            "epoll_create" => Call::EpollCreate,
            "epoll_ctl" => Call::EpollControl {
                epoll: args.fd(0)?,
                operation: args.int(1)?,
                fd: args.fd(2)?,
                events: args.field(3, "events")?.map_or(Ok(0), int)?,
                data: epoll_data(args.get(3)?)?,
            },
            "epoll_wait" => {
                let (until, forever) = self.timeout(args.int(3)?);
                let most = usize::try_from(args.int(2)?).unwrap_or(0);
                Call::EpollWait { epoll: args.fd(0)?, most, until, forever }
            }
            name => return Err(format!("the system call {name} is not known here")),
        })
    }
}

impl World<'_> {
    /// Until when a call waits whose timeout is in milliseconds, and whether it does so forever.
    fn timeout(&self, timeout: i64) -> (Option<Instant>, bool) {
        let until = u64::try_from(timeout).ok().filter(|ms| *ms > 0);
        (until.map(|ms| self.host.now() + Duration::from_millis(ms)), timeout < 0)
    }
}

/// The data of an event: whichever of its members is written (`union epoll_data`).
pub(super) fn epoll_data(expr: &Expr) -> Result<u64, String> {
    let Expr::Struct(fields) = expr else { return Err("an event is {events=.., fd=..}".to_owned()) };
    let is_data = |name: &Option<String>| matches!(name.as_deref(), Some("fd" | "ptr" | "u32" | "u64"));
    let data = fields.iter().find(|(name, _)| is_data(name));
    data.map_or(Ok(0), |(_, value)| int(value).map(|n| n as u64))
}

/// True for a call that moves bytes from or to a null pointer.
pub(super) fn has_no_buffer(call: &ast::Call) -> bool {
    let moves = matches!(call.name.as_str(), "write" | "send" | "sendto" | "read" | "recv" | "recvfrom");
    let null = match call.arguments.get(1) {
        Some(Expr::Int(n)) => *n == 0,
        Some(Expr::Word(word)) => word == "NULL",
        _ => false,
    };
    moves && null && call.arguments.get(2).is_some_and(|len| int(len) != Ok(0))
}

/// The arguments of a call.
struct Arguments<'a> {
    fds: &'a BTreeMap<i64, i32>,
    call: &'a ast::Call,
}

impl Arguments<'_> {
    fn get(&self, at: usize) -> Result<&Expr, String> {
        let missing = || format!("{} needs argument {}", self.call.name, at + 1);
        self.call.arguments.get(at).ok_or_else(missing)
    }

    fn int(&self, at: usize) -> Result<i64, String> {
        int(self.get(at)?)
    }

    /// A descriptor. One that the script never got is none that is open.
    fn fd(&self, at: usize) -> Result<i32, String> {
        let fd = self.int(at)?;
        Ok(self.fds.get(&fd).copied().unwrap_or(-1))
    }

    /// A number of bytes.
    fn len(&self, at: usize) -> Result<u64, String> {
        let n = self.int(at)?;
        // What a script moves at once fits into memory many times over.
        u64::try_from(n)
            .ok()
            .filter(|n| *n <= 1 << 30)
            .ok_or_else(|| format!("{n} is no number of bytes up to 1 GiB"))
    }

    /// A field of a structure; `None` where it is not written.
    fn field(&self, at: usize, wanted: &str) -> Result<Option<&Expr>, String> {
        let Expr::Struct(fields) = self.get(at)? else {
            return Err(format!("argument {} of {} is a structure", at + 1, self.call.name));
        };
        Ok(fields.iter().find(|(name, _)| name.as_deref() == Some(wanted)).map(|(_, value)| value))
    }

    fn text(&self, at: usize) -> Result<String, String> {
        match self.get(at)? {
            Expr::Text(text, _) => Ok(String::from_utf8_lossy(text).into_owned()),
            other => Err(format!("{} is no text", kind(other))),
        }
    }

    /// The port of an address, where it is given.
    fn port(&self, at: usize) -> Option<u16> {
        port(self.call.arguments.get(at)?)
    }

    /// The bytes of a vector of buffers.
    fn vector(&self, at: usize) -> Result<u64, String> {
        vector(self.get(at)?)
    }

    /// The bytes of a message's buffers.
    fn message(&self, at: usize) -> Result<u64, String> {
        let Expr::Struct(fields) = self.get(at)? else { return Err("a message is a structure".to_owned()) };
        let vectors = fields.iter().find(|(name, _)| name.as_deref() == Some("msg_iov"));
        vectors.map_or(Ok(0), |(_, v)| vector(v))
    }

    fn polled(&self) -> Result<Vec<(i32, i64)>, String> {
        let Expr::Array(all) = self.get(0)? else {
            return Err("poll needs an array of descriptors".to_owned());
        };
        let one = |expr: &Expr| {
            let Expr::Struct(fields) = expr else { return Err("poll needs {fd=.., events=..}".to_owned()) };
            let field = |wanted: &str| {
                let found = fields.iter().find(|(name, _)| name.as_deref() == Some(wanted));
                found.map_or(Ok(0), |(_, value)| int(value))
            };
            let fd = self.fds.get(&field("fd")?).copied().unwrap_or(-1);
            Ok((fd, field("events")?))
        };
        all.iter().map(one).collect()
    }
}

/// The port of an address, where it is given.
fn port(address: &Expr) -> Option<u16> {
    let Expr::Struct(fields) = address else { return None };
    let (_, port) = fields.iter().find(|(name, _)| name.as_deref() == Some("sin_port"))?;
    int(port).ok().and_then(|p| u16::try_from(p).ok())
}

/// A call that writes with `MSG_FASTOPEN` to the address `to`.
fn fast_open(fd: i32, len: u64, flags: i64, to: Option<&Expr>) -> Call {
    let of_no_family = |word: &Expr| matches!(word, Expr::Word(word) if word == "AF_UNSPEC");
    let to_nobody = match to {
        Some(Expr::Struct(fields)) => {
            fields.iter().any(|(name, f)| name.as_deref() == Some("sa_family") && of_no_family(f))
        }
        Some(word) => of_no_family(word),
        None => false,
    };
    Call::FastOpen(FastOpenCall { fd, len, flags, port: to.and_then(port), to_nobody, done: 0, begun: false })
}

fn vector(expr: &Expr) -> Result<u64, String> {
    let Expr::Array(all) = expr else { return Err("buffers are an array".to_owned()) };
    let mut total = 0_u64;
    for buffer in all {
        let Expr::Struct(fields) = buffer else { return Err("a buffer is {..., length}".to_owned()) };
        let Some((_, len)) = fields.get(1) else { return Err("a buffer is {..., length}".to_owned()) };
        total = total.saturating_add(u64::try_from(int(len)?).unwrap_or(0));
    }
    if total > 1 << 30 { Err(format!("{total} bytes at once; at most 1 GiB")) } else { Ok(total) }
}

/// The value of an expression: a number, a constant, or bits of several; what is passed by address too.
pub(super) fn int(expr: &Expr) -> Result<i64, String> {
    match expr {
        Expr::Int(n) => Ok(*n),
        Expr::Word(word) => constant(word).ok_or_else(|| format!("{word} is not known here")),
        Expr::Or(all) => all.iter().try_fold(0, |sum, e| Ok(sum | int(e)?)),
        Expr::Array(all) if all.len() == 1 => int(&all[0]),
        Expr::Function(name, args) if name == "htons" && args.len() == 1 => int(&args[0]),
        other => Err(format!("{} is no number", kind(other))),
    }
}

fn kind(expr: &Expr) -> &'static str {
    match expr {
        Expr::Any => "...",
        Expr::Text(..) => "text",
        Expr::Array(_) => "an array",
        Expr::Struct(_) => "a structure",
        Expr::Function(..) => "a function",
        _ => "this",
    }
}

/// What an option is set to, or was read as.
pub(super) fn option_value(expr: &Expr) -> Result<OptionValue, String> {
    match expr {
        Expr::Text(text, _) => Ok(OptionValue::Text(String::from_utf8_lossy(text).into_owned())),
        Expr::Array(all) if all.len() == 1 => option_value(&all[0]),
        Expr::Struct(fields) if fields.len() == 2 => {
            Ok(OptionValue::Linger(int(&fields[0].1)?, int(&fields[1].1)?))
        }
        other => int(other).map(OptionValue::Int),
    }
}
