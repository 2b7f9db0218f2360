//! Times at which the kernel received acknowledgments: timestamps of SO_TIMESTAMPING, one for each write,
//! from the socket's error queue.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use ackclock_units::Bytes;
use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, TimestampingFlag, recvmsg, setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

use crate::DriveError;

/// An acknowledgment with the kernel's timestamp.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Acked {
    /// Bytes of the stream acknowledged so far.
    pub(crate) bytes: Bytes,
    /// The timestamp, nanoseconds since 1970.
    pub(crate) unix_ns: u64,
}

/// The timestamps of one connection.
pub(crate) struct AckStamps {
    acked: Bytes,
    control: Vec<u8>,
}

/// `SCM_TSTAMP_ACK` of `linux/errqueue.h`: the timestamp is of an acknowledgment.
const SCM_TSTAMP_ACK: u32 = 2;

impl AckStamps {
    /// Enables a timestamp for each write from now on. The connection must be established, with nothing
    /// written to it.
    pub(crate) fn of(socket: &BorrowedFd<'_>) -> Result<Self, DriveError> {
        let flags = TimestampingFlag::SOF_TIMESTAMPING_SOFTWARE | TimestampingFlag::SOF_TIMESTAMPING_OPT_ID;
        let flags = flags
            | TimestampingFlag::SOF_TIMESTAMPING_OPT_TSONLY
            | TimestampingFlag::from_bits_retain(libc::SOF_TIMESTAMPING_TX_ACK);
        setsockopt(socket, sockopt::Timestamping, &flags).map_err(|e| {
            DriveError::Missing(format!(
                "this kernel has no timestamps of acknowledgments (SO_TIMESTAMPING, TX_ACK): {e}"
            ))
        })?;
        Ok(Self {
            acked: 0,
            control: cmsg_space!([TimeSpec; 3], libc::sock_extended_err, libc::sockaddr_in6),
        })
    }

    /// The next timestamp that acknowledges new data; `None` when there is none for now.
    pub(crate) fn next(&mut self, socket: &BorrowedFd<'_>) -> io::Result<Option<Acked>> {
        loop {
            let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
            let got =
                match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut [], Some(&mut self.control), flags)
                {
                    Ok(got) => got,
                    Err(nix::Error::EAGAIN) => return Ok(None),
                    Err(nix::Error::EINTR) => continue,
                    Err(e) => return Err(e.into()),
                };
            let (mut at, mut key) = (None, None);
            for control in got.cmsgs().map_err(io::Error::from)? {
                match control {
                    ControlMessageOwned::ScmTimestampsns(t) => at = nanos(t.system),
                    ControlMessageOwned::Ipv4RecvErr(e, _) | ControlMessageOwned::Ipv6RecvErr(e, _)
                        if e.ee_origin == libc::SO_EE_ORIGIN_TIMESTAMPING && e.ee_info == SCM_TSTAMP_ACK =>
                    {
                        key = Some(e.ee_data);
                    }
                    _ => {}
                }
            }
            if let Some((unix_ns, bytes)) = at.zip(key.and_then(|key| self.advance(key))) {
                return Ok(Some(Acked { bytes, unix_ns }));
            }
        }
    }

    /// Bytes acknowledged, from the lower 32 bits of the position of a write's last byte; `None` when they
    /// were acknowledged before.
    fn advance(&mut self, last: u32) -> Option<Bytes> {
        let step = last.wrapping_add(1).wrapping_sub(self.acked as u32);
        if step == 0 || step > u32::MAX / 2 {
            return None;
        }
        self.acked += Bytes::from(step);
        Some(self.acked)
    }
}

fn nanos(t: TimeSpec) -> Option<u64> {
    let (s, ns) = (u64::try_from(t.tv_sec()).ok()?, u64::try_from(t.tv_nsec()).ok()?);
    s.checked_mul(1_000_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_continue_past_32_bits() {
        let mut stamps = AckStamps { acked: 0, control: Vec::new() };
        assert_eq!((stamps.advance(499), stamps.advance(519)), (Some(500), Some(520)));
        // A repeated or late timestamp acknowledges nothing new.
        assert_eq!((stamps.advance(519), stamps.advance(499)), (None, None));
        stamps.acked = (1 << 32) - 10;
        assert_eq!(stamps.advance(9), Some((1 << 32) + 10));
    }
}
