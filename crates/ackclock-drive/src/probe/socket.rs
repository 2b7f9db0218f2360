//! Sockets of probes: ICMP echo, unprivileged where the system allows it, or UDP with the error queue.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt as nixopt,
};
use nix::sys::time::TimeSpec;
use rustix::io::Errno;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use rustix::net::{
    AddressFamily, SendFlags, SocketFlags, SocketType, connect, ipproto, send, sendto, socket_with,
};

use std::collections::hash_map::RandomState;

use super::options::ProbeMethod;
use super::packet::{LEAST_PAYLOAD, Payload, read_echo, refused, without_ipv4_header, write_echo};
use super::port_code::{FIRST_PORT, latest_to, port_of};
use crate::DriveError;

/// A reply.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// Its probe's number.
    pub number: u64,
    /// The kernel's receive timestamp, nanoseconds since 1970, if there is one.
    pub unix_ns: Option<u64>,
    /// Its sender, if that is not the host itself.
    pub from: Option<IpAddr>,
}

/// A received message.
#[derive(Clone, Copy, Debug)]
pub(super) enum Incoming {
    /// A reply to a probe.
    Reply(Received),
    /// Anything else.
    Foreign,
    /// The path reports that probes of this size are too large.
    TooLarge,
    /// No message is waiting.
    Nothing,
}

/// Sends probes and receives replies. Never blocks.
pub(super) struct ProbeSocket {
    fd: OwnedFd,
    to: SocketAddr,
    kind: SocketKind,
    payload: Payload,
    out: Vec<u8>,
    buffer: Vec<u8>,
    control: Vec<u8>,
    /// Replies dropped because the socket's buffer was full.
    pub overflowed: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SocketKind {
    /// The kernel sets and checks the identifier.
    Unprivileged,
    Raw {
        identifier: u16,
    },
    Udp {
        quotes: Quotes,
    },
}

/// How much of a probe the ICMP errors quote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Quotes {
    /// Not known yet.
    Unknown,
    /// An error had a token. From then on, errors without one are ignored.
    Tokens,
    /// Errors are too short for a token: the port identifies the probe.
    Ports,
}

/// Requested size of the socket's buffers, bytes.
const BUFFER: usize = 8 << 20;

const NO_ICMP: &str = "ICMP echo needs a right that is missing: allow unprivileged ICMP sockets for your \
                       group (sysctl net.ipv4.ping_group_range=\"0 2147483647\"), run with CAP_NET_RAW, or \
                       probe with `--udp-ttl N`, which needs none";

impl ProbeSocket {
    /// Opens it in the calling thread's namespace.
    pub fn open(to: IpAddr, method: ProbeMethod, keys: RandomState) -> Result<Self, DriveError> {
        if let Some(sentence) = refused(to) {
            return Err(DriveError::Input(sentence));
        }
        let failed = |e: Errno| DriveError::System("set up a probe socket", e.into());
        let payload = Payload { keys };
        let (fd, kind) = match method {
            ProbeMethod::Icmp => open_icmp(to, payload.identifier())?,
            ProbeMethod::Udp { ttl } => (
                open_udp(to, ttl).map_err(DriveError::system("open a UDP socket"))?,
                SocketKind::Udp { quotes: Quotes::Unknown },
            ),
        };
        match to {
            // Do not fragment: a probe is one packet, and larger ones are refused.
            IpAddr::V4(_) => sockopt::set_ip_mtu_discover(&fd, Ipv4PathMtuDiscovery::DO).map_err(failed)?,
            IpAddr::V6(_) => sockopt::set_ipv6_mtu_discover(&fd, Ipv6PathMtuDiscovery::DO).map_err(failed)?,
        }
        if sockopt::set_socket_send_buffer_size_force(&fd, BUFFER).is_err() {
            sockopt::set_socket_send_buffer_size(&fd, BUFFER).map_err(failed)?;
        }
        if sockopt::set_socket_recv_buffer_size_force(&fd, BUFFER).is_err() {
            sockopt::set_socket_recv_buffer_size(&fd, BUFFER).map_err(failed)?;
        }
        // Both are optional: without the first, the time of reading is used; without the second, drops of
        // this machine count as losses of the path.
        let _ = setsockopt(&fd, nixopt::ReceiveTimestampns, &true);
        let _ = setsockopt(&fd, nixopt::RxqOvfl, &1);
        let destination =
            SocketAddr::new(to, if matches!(kind, SocketKind::Udp { .. }) { FIRST_PORT } else { 0 });
        if !matches!(kind, SocketKind::Udp { .. }) {
            connect(&fd, &destination).map_err(|e| unreachable(to, e.into()))?;
        }
        let control = cmsg_space!(TimeSpec, u32, libc::sock_extended_err, libc::sockaddr_in6);
        Ok(Self {
            fd,
            to: destination,
            kind,
            payload,
            out: Vec::new(),
            buffer: vec![0; 65_536],
            control,
            overflowed: 0,
        })
    }

    /// Sends a probe. False when this machine's queue was full.
    pub fn send(&mut self, number: u64, len: u32) -> Result<bool, DriveError> {
        let v6 = self.to.is_ipv6();
        if let SocketKind::Udp { quotes } = self.kind {
            self.out.clear();
            self.payload.write(number, len, &mut self.out);
            self.to.set_port(if quotes == Quotes::Ports {
                port_of(&self.payload.keys, number)
            } else {
                FIRST_PORT
            });
        } else {
            let identifier = if let SocketKind::Raw { identifier } = self.kind { identifier } else { 0 };
            write_echo(v6, identifier, &self.payload, number, len, &mut self.out);
        }
        // Pending errors of earlier probes are reported here too, each once: try again.
        for _ in 0..8 {
            let done = match self.kind {
                SocketKind::Udp { .. } => sendto(&self.fd, &self.out, SendFlags::empty(), &self.to),
                _ => send(&self.fd, &self.out, SendFlags::empty()),
            };
            match done {
                Ok(_) => return Ok(true),
                Err(Errno::AGAIN | Errno::NOBUFS) => return Ok(false),
                Err(
                    Errno::INTR
                    | Errno::HOSTUNREACH
                    | Errno::CONNREFUSED
                    | Errno::NOPROTOOPT
                    | Errno::HOSTDOWN
                    | Errno::PROTO,
                ) => {}
                Err(Errno::MSGSIZE) => return Err(too_large(len)),
                Err(e) => return Err(unreachable(self.to.ip(), e.into())),
            }
        }
        Ok(false)
    }

    /// Reads the next message.
    pub fn receive(&mut self, next_number: u64) -> io::Result<Incoming> {
        if let SocketKind::Udp { .. } = self.kind {
            // Data from a port that is in use after all; ignored.
            while self.take(MsgFlags::MSG_DONTWAIT)?.is_some() {}
            return Ok(self
                .take(MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_ERRQUEUE)?
                .map_or(Incoming::Nothing, |m| self.quoted(m, next_number)));
        }
        let Some(m) = self.take(MsgFlags::MSG_DONTWAIT)? else { return Ok(Incoming::Nothing) };
        let bytes = &self.buffer[..m.len];
        let found = match (self.kind, self.to.is_ipv6()) {
            (SocketKind::Raw { identifier }, false) => {
                read_echo(false, Some(identifier), &self.payload, without_ipv4_header(bytes))
            }
            (SocketKind::Raw { identifier }, true) => read_echo(true, Some(identifier), &self.payload, bytes),
            (_, v6) => read_echo(v6, None, &self.payload, bytes),
        };
        Ok(found.map_or(Incoming::Foreign, |number| {
            Incoming::Reply(Received { number, unix_ns: m.unix_ns, from: None })
        }))
    }

    /// Handles an error that quotes a probe. A complete token must be valid. An attacker who sends errors
    /// without a token must guess the port, and such errors are ignored once an error had a token.
    fn quoted(&mut self, m: Message, next_number: u64) -> Incoming {
        let (Some(error), SocketKind::Udp { quotes }) = (m.error, &mut self.kind) else {
            return Incoming::Foreign;
        };
        let proven = self.payload.read(&self.buffer[..m.len]).filter(|number| *number < next_number);
        if proven.is_some() {
            *quotes = Quotes::Tokens;
        }
        let short = m.len < LEAST_PAYLOAD && *quotes != Quotes::Tokens;
        if error.too_large && (error.local || proven.is_some() || short) {
            return Incoming::TooLarge;
        }
        if !error.is_reply {
            return Incoming::Foreign;
        }
        let number = match (proven, *quotes) {
            (Some(number), _) => Some(number),
            (None, Quotes::Ports) if short => {
                m.port.and_then(|port| latest_to(&self.payload.keys, port, next_number))
            }
            (None, Quotes::Unknown) if short => {
                // Probes use distinct ports from the next one on.
                *quotes = Quotes::Ports;
                None
            }
            _ => None,
        };
        number.map_or(Incoming::Foreign, |number| {
            Incoming::Reply(Received { number, unix_ns: m.unix_ns, from: error.from })
        })
    }

    fn take(&mut self, flags: MsgFlags) -> io::Result<Option<Message>> {
        loop {
            let mut parts = [IoSliceMut::new(&mut self.buffer)];
            let got = match recvmsg::<SockaddrStorage>(
                self.fd.as_raw_fd(),
                &mut parts,
                Some(&mut self.control),
                flags,
            ) {
                Ok(got) => got,
                Err(nix::Error::EAGAIN) => return Ok(None),
                // An error of an earlier probe; where the error queue is used, it has the details.
                Err(
                    nix::Error::EINTR
                    | nix::Error::EHOSTUNREACH
                    | nix::Error::ECONNREFUSED
                    | nix::Error::EHOSTDOWN
                    | nix::Error::ENETUNREACH,
                ) => {
                    continue;
                }
                Err(
                    nix::Error::EPROTO | nix::Error::ENOPROTOOPT | nix::Error::EMSGSIZE | nix::Error::EACCES,
                ) => continue,
                Err(e) => return Err(e.into()),
            };
            let port = got.address.and_then(|a| {
                a.as_sockaddr_in().map(|a| a.port()).or_else(|| a.as_sockaddr_in6().map(|a| a.port()))
            });
            let mut message = Message { len: got.bytes, unix_ns: None, error: None, port };
            for control in got.cmsgs().map_err(io::Error::from)? {
                match control {
                    ControlMessageOwned::ScmTimestampns(t) => {
                        let parts = (u64::try_from(t.tv_sec()).ok(), u64::try_from(t.tv_nsec()).ok());
                        message.unix_ns = if let (Some(s), Some(ns)) = parts {
                            s.checked_mul(1_000_000_000).and_then(|s| s.checked_add(ns))
                        } else {
                            None
                        };
                    }
                    ControlMessageOwned::RxqOvfl(n) => self.overflowed = n,
                    ControlMessageOwned::Ipv4RecvErr(e, from) => {
                        message.error = Some(QuotedError::of(
                            e,
                            from.map(|a| IpAddr::V4(Ipv4Addr::from(u32::from_be(a.sin_addr.s_addr)))),
                        ));
                    }
                    ControlMessageOwned::Ipv6RecvErr(e, from) => {
                        message.error = Some(QuotedError::of(
                            e,
                            from.map(|a| IpAddr::V6(Ipv6Addr::from(a.sin6_addr.s6_addr))),
                        ));
                    }
                    _ => {}
                }
            }
            return Ok(Some(message));
        }
    }
}

impl AsFd for ProbeSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A message read, without its bytes.
#[derive(Clone, Copy, Debug)]
struct Message {
    len: usize,
    unix_ns: Option<u64>,
    error: Option<QuotedError>,
    /// For an error, the destination port of the probe.
    port: Option<u16>,
}

/// An ICMP error for a probe.
#[derive(Clone, Copy, Debug)]
struct QuotedError {
    /// The probe got as far as it should: its time to live expired, or the port is unused.
    is_reply: bool,
    too_large: bool,
    /// The error comes from this machine.
    local: bool,
    from: Option<IpAddr>,
}

impl QuotedError {
    fn of(e: libc::sock_extended_err, from: Option<IpAddr>) -> Self {
        let (is_reply, too_large) = match (e.ee_origin, e.ee_type, e.ee_code) {
            // Time exceeded, and destination unreachable of any code except "fragmentation needed" (RFC 792).
            (libc::SO_EE_ORIGIN_ICMP, 3, 4) => (false, true),
            (libc::SO_EE_ORIGIN_ICMP, 3 | 11, _) => (true, false),
            // RFC 4443 §3: unreachable, too big, time exceeded.
            (libc::SO_EE_ORIGIN_ICMP6, 2, _) => (false, true),
            (libc::SO_EE_ORIGIN_ICMP6, 1 | 3, _) => (true, false),
            (libc::SO_EE_ORIGIN_LOCAL, ..) if e.ee_errno == libc::EMSGSIZE as u32 => (false, true),
            _ => (false, false),
        };
        Self { is_reply, too_large, local: e.ee_origin == libc::SO_EE_ORIGIN_LOCAL, from }
    }
}

fn open_icmp(to: IpAddr, identifier: u16) -> Result<(OwnedFd, SocketKind), DriveError> {
    let (family, protocol) = if to.is_ipv4() {
        (AddressFamily::INET, ipproto::ICMP)
    } else {
        (AddressFamily::INET6, ipproto::ICMPV6)
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let refused = |e: Errno| matches!(e, Errno::ACCESS | Errno::PERM | Errno::PROTONOSUPPORT);
    let failed = |e: Errno| DriveError::System("open an ICMP socket", e.into());
    match socket_with(family, SocketType::DGRAM, flags, Some(protocol)) {
        Ok(fd) => return Ok((fd, SocketKind::Unprivileged)),
        Err(e) if refused(e) => {}
        Err(e) => return Err(failed(e)),
    }
    match socket_with(family, SocketType::RAW, flags, Some(protocol)) {
        Ok(fd) => Ok((fd, SocketKind::Raw { identifier })),
        Err(e) if refused(e) => Err(DriveError::Missing(NO_ICMP.into())),
        Err(e) => Err(failed(e)),
    }
}

fn open_udp(to: IpAddr, ttl: u8) -> io::Result<OwnedFd> {
    let any: SocketAddr =
        if to.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
    let socket = UdpSocket::bind(any)?;
    socket.set_nonblocking(true)?;
    if to.is_ipv4() {
        sockopt::set_ip_ttl(&socket, u32::from(ttl))?;
        setsockopt(&socket, nixopt::Ipv4RecvErr, &true)?;
    } else {
        sockopt::set_ipv6_unicast_hops(&socket, Some(ttl))?;
        setsockopt(&socket, nixopt::Ipv6RecvErr, &true)?;
    }
    Ok(socket.into())
}

fn too_large(len: u32) -> DriveError {
    DriveError::Input(format!(
        "a probe of {len} bytes does not fit into one packet on this path: give a smaller `--mss`"
    ))
}

/// The error of a destination that the kernel cannot reach or does not allow.
fn unreachable(to: IpAddr, e: io::Error) -> DriveError {
    match e.raw_os_error() {
        Some(libc::EACCES) => DriveError::Input(format!(
            "`{to}` is a broadcast address, or this machine forbids sending to it: give the address of one \
             host"
        )),
        Some(libc::ENETUNREACH | libc::EHOSTUNREACH) => {
            DriveError::Input(format!("there is no route from this machine to `{to}`: {e}"))
        }
        _ => DriveError::System("send a probe", e),
    }
}
