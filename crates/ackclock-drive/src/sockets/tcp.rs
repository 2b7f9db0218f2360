//! TCP sockets of both ends, their options, and TCP_INFO.

use std::io;
use std::mem::offset_of;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ackclock_units::{Bytes, Count, Duration, since};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};

use crate::DriveError;
use crate::linux::sys;

/// An integer option of TCP sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpOption {
    name: &'static str,
    number: libc::c_int,
}

/// The options that a run may set, with their numbers in `linux/tcp.h`.
const OPTIONS: &[TcpOption] = &[
    TcpOption { name: "TCP_THIN_LINEAR_TIMEOUTS", number: 16 },
    TcpOption { name: "TCP_RTO_MAX_MS", number: 44 },
    TcpOption { name: "TCP_RTO_MIN_US", number: 45 },
    TcpOption { name: "TCP_NODELAY", number: 1 },
];

impl TcpOption {
    /// The option of that name.
    ///
    /// # Errors
    /// When a run may not set it.
    pub fn named(name: &str) -> Result<Self, DriveError> {
        let known = || OPTIONS.iter().map(|o| o.name).collect::<Vec<_>>().join(", ");
        let found = OPTIONS.iter().find(|o| o.name == name).copied();
        found.ok_or_else(|| {
            DriveError::Input(format!(
                "`{name}` is not an option of TCP sockets that a run may set; expected one of {}",
                known()
            ))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.name
    }
}

/// An option that was set, and the values read back from sockets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionSeen {
    /// The option.
    pub option: TcpOption,
    /// The value set.
    pub value: i32,
    /// Sockets that returned the same value.
    pub same: u64,
    /// Sockets that returned another value, or an error.
    pub other: u64,
}

/// The options of one end's sockets, with counts of sockets that have them.
pub(crate) struct SocketOptions(pub(crate) Vec<OptionSeen>);

impl SocketOptions {
    pub(crate) fn new(options: &[(TcpOption, i32)]) -> Self {
        Self(options.iter().map(|&(option, value)| OptionSeen { option, value, same: 0, other: 0 }).collect())
    }

    /// Sets the options of a socket.
    fn set(&self, socket: BorrowedFd<'_>) -> Result<(), DriveError> {
        for &OptionSeen { option, value, .. } in &self.0 {
            sys::set_tcp_option(socket, option.number, value).map_err(|e| {
                DriveError::Missing(format!(
                    "this kernel does not support the option {} = {value} of a TCP socket: {e}",
                    option.name
                ))
            })?;
        }
        Ok(())
    }

    /// Reads the options back from a socket.
    pub(crate) fn check(&mut self, socket: BorrowedFd<'_>) {
        for seen in &mut self.0 {
            let same = sys::tcp_option(socket, seen.option.number).is_ok_and(|v| v == seen.value);
            seen.same += u64::from(same);
            seen.other += u64::from(!same);
        }
    }
}

fn tcp_socket() -> io::Result<OwnedFd> {
    Ok(socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )?)
}

/// A listening socket. Accepted connections inherit its options.
pub(crate) fn listener(at: SocketAddr, wanted: &SocketOptions) -> Result<OwnedFd, DriveError> {
    let socket = tcp_socket().map_err(DriveError::system("create a socket"))?;
    wanted.set(socket.as_fd())?;
    bind(&socket, &at)
        .and_then(|()| listen(&socket, BACKLOG))
        .map_err(|e| DriveError::System("listen in a namespace", e.into()))?;
    Ok(socket)
}

/// Largest number of connections that wait to be accepted.
const BACKLOG: i32 = 16_384;

/// A socket that is opening a connection.
pub(crate) fn opening(
    from: SocketAddr,
    to: SocketAddr,
    wanted: &SocketOptions,
) -> Result<OwnedFd, DriveError> {
    let socket = tcp_socket().map_err(DriveError::system("create a socket"))?;
    wanted.set(socket.as_fd())?;
    let opened = bind(&socket, &from).and_then(|()| match connect(&socket, &to) {
        Err(Errno::INPROGRESS) => Ok(()),
        other => other,
    });
    opened.map_err(|e| DriveError::System("open a connection in a namespace", e.into()))?;
    Ok(socket)
}

/// The kernel's counters of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpCounts {
    /// Segments sent, acks and retransmissions included.
    pub segments_sent: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments retransmitted, SYNs and SYN-ACKs included.
    pub retransmitted_segments: u64,
    /// Payload sent, retransmissions included.
    pub bytes_sent: Bytes,
    /// Payload retransmitted.
    pub retransmitted_bytes: Bytes,
    /// Payload acknowledged; a SYN or FIN counts as a byte.
    pub bytes_acked: Bytes,
    /// Smallest round-trip time sample; `None` without samples.
    pub min_rtt: Option<Duration>,
    /// The present retransmission timeout, with backoff.
    pub rto: Duration,
    /// The present congestion window, which Linux counts in segments of any size.
    pub cwnd_segs: u64,
    /// Retransmission timeouts (`tcpi_total_rto`); `None` with kernels before 6.7, which do not report them.
    pub timeouts: Option<u64>,
    /// Payload received in order.
    pub bytes_received: Bytes,
    /// Largest payload of a segment that it sends.
    pub mss: Bytes,
    /// Segments that the other end has reported as arrived twice (`tcpi_dsack_dups`). This and the following are
    /// `None` with kernels that do not report them.
    pub dsacks_received: Option<u64>,
    /// Reorderings that it has detected (`tcpi_reord_seen`).
    pub reorderings: Option<u64>,
    /// Segments that the other end has reported as marked Congestion Experienced (`tcpi_delivered_ce`).
    pub delivered_ce: Option<u64>,
    /// Time in which it had data to send or to be acknowledged (`tcpi_busy_time`).
    pub busy: Option<Duration>,
    /// Time of that in which the receiver's window stopped it (`tcpi_rwnd_limited`).
    pub rwnd_limited: Option<Duration>,
    /// Time of that in which its send buffer stopped it (`tcpi_sndbuf_limited`).
    pub sndbuf_limited: Option<Duration>,
}

impl TcpCounts {
    /// Reads TCP_INFO; `None` when that fails.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> Option<Self> {
        let (info, known) = sys::tcp_info(socket).ok()?;
        Some(Self::read(&info, known))
    }

    /// From TCP_INFO, of which this kernel has filled in `known` bytes.
    pub(super) fn read(i: &libc::tcp_info, known: usize) -> Self {
        // What comes before the field at `next`.
        let has = |next: usize| known >= next;
        let has_timeouts = has(offset_of!(libc::tcp_info, tcpi_total_rto_time));
        let timed = has(offset_of!(libc::tcp_info, tcpi_delivered));
        Self {
            segments_sent: i.tcpi_segs_out.into(),
            data_segments_sent: i.tcpi_data_segs_out.into(),
            retransmitted_segments: i.tcpi_total_retrans.into(),
            bytes_sent: i.tcpi_bytes_sent,
            retransmitted_bytes: i.tcpi_bytes_retrans,
            bytes_acked: i.tcpi_bytes_acked,
            // All ones mean no sample.
            min_rtt: (i.tcpi_min_rtt != u32::MAX).then(|| Duration::from_micros(i.tcpi_min_rtt.into())),
            rto: Duration::from_micros(i.tcpi_rto.into()),
            cwnd_segs: i.tcpi_snd_cwnd.into(),
            timeouts: has_timeouts.then(|| i.tcpi_total_rto.into()),
            bytes_received: i.tcpi_bytes_received,
            mss: i.tcpi_snd_mss.into(),
            dsacks_received: has(offset_of!(libc::tcp_info, tcpi_reord_seen))
                .then(|| i.tcpi_dsack_dups.into()),
            reorderings: has(offset_of!(libc::tcp_info, tcpi_rcv_ooopack)).then(|| i.tcpi_reord_seen.into()),
            delivered_ce: has(offset_of!(libc::tcp_info, tcpi_bytes_sent))
                .then(|| i.tcpi_delivered_ce.into()),
            busy: timed.then(|| Duration::from_micros(i.tcpi_busy_time)),
            rwnd_limited: timed.then(|| Duration::from_micros(i.tcpi_rwnd_limited)),
            sndbuf_limited: timed.then(|| Duration::from_micros(i.tcpi_sndbuf_limited)),
        }
    }
}

impl Count for TcpCounts {
    fn since(&self, before: &Self) -> Self {
        since!(Self { self, before }
            counted {
                segments_sent, data_segments_sent, retransmitted_segments, bytes_sent, retransmitted_bytes, bytes_acked,
                timeouts, bytes_received, dsacks_received, reorderings, delivered_ce, busy, rwnd_limited, sndbuf_limited,
            }
            kept { min_rtt, rto, cwnd_segs, mss }
            set {}
        )
    }
}

/// Bytes that would be sent at once if they were written now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpRoom {
    cwnd_segs: u64,
    in_flight_segs: u64,
    mss: Bytes,
    unsent: Bytes,
}

impl TcpRoom {
    /// Reads TCP_INFO; `None` when that fails.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> Option<Self> {
        let (i, _) = sys::tcp_info(socket).ok()?;
        // Linux: packets_out - (sacked_out + lost_out) + retrans_out.
        let gone = u64::from(i.tcpi_sacked) + u64::from(i.tcpi_lost);
        Some(Self {
            cwnd_segs: i.tcpi_snd_cwnd.into(),
            in_flight_segs: (u64::from(i.tcpi_unacked) + u64::from(i.tcpi_retrans)).saturating_sub(gone),
            mss: i.tcpi_snd_mss.into(),
            unsent: i.tcpi_notsent_bytes.into(),
        })
    }

    /// The free part of the congestion window, which Linux counts in segments of any size. The receiver's
    /// window is not considered, since the kernel buffers data beyond it.
    pub(crate) fn bytes(self) -> Bytes {
        (self.cwnd_segs.saturating_sub(self.in_flight_segs) * self.mss).saturating_sub(self.unsent)
    }
}

/// Why a connection failed, in the words of the tables.
pub(crate) fn reason(e: Errno) -> &'static str {
    match e {
        Errno::CONNREFUSED => "refused",
        Errno::TIMEDOUT => "timeout",
        _ => "reset",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_known_by_name() {
        assert_eq!(TcpOption::named("TCP_RTO_MAX_MS").unwrap().number, 44);
        let refused = TcpOption::named("TCP_RTO_MAX").unwrap_err().to_string();
        assert!(
            refused.contains("`TCP_RTO_MAX`") && refused.contains("TCP_THIN_LINEAR_TIMEOUTS"),
            "{refused}"
        );
    }

    #[test]
    fn room_is_what_the_window_leaves() {
        let room = TcpRoom { cwnd_segs: 10, in_flight_segs: 4, mss: 1000, unsent: 500 };
        assert_eq!(room.bytes(), 5500);
        assert_eq!(TcpRoom { in_flight_segs: 12, ..room }.bytes(), 0);
        assert_eq!(TcpRoom { unsent: 9000, ..room }.bytes(), 0);
    }
}
