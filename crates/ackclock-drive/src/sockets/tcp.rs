//! Sockets of both ends, their options, and what the kernel says of a connection.

use std::io;
use std::mem::offset_of;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use ackclock_units::{Bytes, Duration};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, listen, socket_with};

use crate::DriveError;
use crate::linux::sys;

/// An option of TCP sockets whose value is a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpOption {
    name: &'static str,
    number: libc::c_int,
}

/// Those that a run may set, with their numbers in `linux/tcp.h`.
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
    /// When it is not one that a run may set.
    pub fn named(name: &str) -> Result<Self, DriveError> {
        let known = || OPTIONS.iter().map(|o| o.name).collect::<Vec<_>>().join(", ");
        let found = OPTIONS.iter().find(|o| o.name == name).copied();
        found.ok_or_else(|| {
            DriveError::Input(format!(
                "`{name}` is not an option of TCP sockets that a run may set; known are {}",
                known()
            ))
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        self.name
    }
}

/// An option that was set, and what sockets answered when they were asked for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OptionSeen {
    /// The option.
    pub option: TcpOption,
    /// What was set.
    pub value: i32,
    /// Sockets that answered the same.
    pub same: u64,
    /// Sockets that answered anything else.
    pub other: u64,
}

/// The options of one end's sockets, and how many were seen to have them.
pub(crate) struct SocketOptions(pub(crate) Vec<OptionSeen>);

impl SocketOptions {
    pub(crate) fn new(options: &[(TcpOption, i32)]) -> Self {
        Self(options.iter().map(|&(option, value)| OptionSeen { option, value, same: 0, other: 0 }).collect())
    }

    /// Sets them.
    fn set(&self, socket: BorrowedFd<'_>) -> Result<(), DriveError> {
        for &OptionSeen { option, value, .. } in &self.0 {
            sys::set_tcp_option(socket, option.number, value).map_err(|e| {
                DriveError::Missing(format!(
                    "this kernel does not take the option {} = {value} of a TCP socket: {e}",
                    option.name
                ))
            })?;
        }
        Ok(())
    }

    /// Asks a socket for them.
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

/// A socket that listens. Its options are those of the connections that it accepts.
pub(crate) fn listener(at: SocketAddr, wanted: &SocketOptions) -> Result<OwnedFd, DriveError> {
    let socket = tcp_socket().map_err(DriveError::system("make a socket"))?;
    wanted.set(socket.as_fd())?;
    bind(&socket, &at)
        .and_then(|()| listen(&socket, BACKLOG))
        .map_err(|e| DriveError::System("listen in a namespace", e.into()))?;
    Ok(socket)
}

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 16_384;

/// A socket that is on its way to open a connection.
pub(crate) fn opening(
    from: SocketAddr,
    to: SocketAddr,
    wanted: &SocketOptions,
) -> Result<OwnedFd, DriveError> {
    let socket = tcp_socket().map_err(DriveError::system("make a socket"))?;
    wanted.set(socket.as_fd())?;
    let opened = bind(&socket, &from).and_then(|()| match connect(&socket, &to) {
        Err(Errno::INPROGRESS) => Ok(()),
        other => other,
    });
    opened.map_err(|e| DriveError::System("open a connection in a namespace", e.into()))?;
    Ok(socket)
}

/// What the kernel counted of one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TcpCounts {
    /// Segments sent, acks and retransmissions included.
    pub segments_sent: u64,
    /// Segments with payload sent, retransmissions included.
    pub data_segments_sent: u64,
    /// Segments sent again, SYNs and SYN-ACKs among them.
    pub retransmitted_segments: u64,
    /// Payload sent, retransmissions included.
    pub bytes_sent: Bytes,
    /// Payload sent again.
    pub retransmitted_bytes: Bytes,
    /// Payload acknowledged, and a FIN or SYN as a byte each.
    pub bytes_acked: Bytes,
    /// Shortest round trip that the kernel saw; `None` when it saw none.
    pub min_rtt: Option<Duration>,
    /// Its timeout as it stands, backed off if it is.
    pub rto: Duration,
    /// Its congestion window as it stands, which Linux counts in segments of whatever size.
    pub cwnd_segs: u64,
    /// Expiries of the retransmission timer (`tcpi_total_rto`); `None` with a kernel that does not tell
    /// (before 6.7).
    pub timeouts: Option<u64>,
}

impl TcpCounts {
    /// What the kernel says now; `None` when it says nothing.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> Option<Self> {
        let (i, known) = sys::tcp_info(socket).ok()?;
        let tells_timeouts = known >= offset_of!(libc::tcp_info, tcpi_total_rto_time);
        Some(Self {
            segments_sent: i.tcpi_segs_out.into(),
            data_segments_sent: i.tcpi_data_segs_out.into(),
            retransmitted_segments: i.tcpi_total_retrans.into(),
            bytes_sent: i.tcpi_bytes_sent,
            retransmitted_bytes: i.tcpi_bytes_retrans,
            bytes_acked: i.tcpi_bytes_acked,
            // All ones stand for no sample.
            min_rtt: (i.tcpi_min_rtt != u32::MAX).then(|| Duration::from_micros(i.tcpi_min_rtt.into())),
            rto: Duration::from_micros(i.tcpi_rto.into()),
            cwnd_segs: i.tcpi_snd_cwnd.into(),
            timeouts: tells_timeouts.then(|| i.tcpi_total_rto.into()),
        })
    }
}

/// What would leave at once if it were written now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpRoom {
    cwnd_segs: u64,
    in_flight_segs: u64,
    mss: Bytes,
    unsent: Bytes,
}

impl TcpRoom {
    /// What the kernel says now; `None` when it says nothing.
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

    /// The room of the congestion window: Linux counts it in segments, of whatever size. The receiver's is
    /// left to the kernel, which buffers for it.
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
