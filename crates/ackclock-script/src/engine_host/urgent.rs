//! Urgent data as sockets have it: the last byte below the urgent pointer is taken out of the stream, and read by
//! `MSG_OOB`, unless `SO_OOBINLINE` leaves it there (RFC 6093 §3.4).

use super::{Errno, Flow};
use crate::constants as c;

/// The urgent byte of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UrgentByte {
    /// Its place in the stream that is read.
    at: u64,
    /// It was read by `MSG_OOB`.
    taken: bool,
}

impl Flow {
    fn inline(&self) -> bool {
        self.options.int(c::SOL_SOCKET, c::SO_OOBINLINE).is_some_and(|on| on != 0)
    }

    /// The urgent pointer has moved.
    pub(crate) fn note_urgent(&mut self, now: ackclock_units::Instant) {
        let Some(left) = self.connection.urgent_left() else { return };
        // An urgent byte that was next is dropped where another comes (`tcp_check_urg`).
        if !self.inline() && self.urgent.is_some_and(|u| u.at == self.read) && self.connection.readable() > 1
        {
            self.read += self.connection.read_counted(now, 1);
            let at = self.read + left - 2;
            self.urgent = Some(UrgentByte { at, taken: false });
            return;
        }
        self.urgent = Some(UrgentByte { at: self.read + left - 1, taken: false });
    }

    /// True where the next byte is the urgent one (`SIOCATMARK`).
    pub(crate) fn is_at_mark(&self) -> bool {
        self.urgent.is_some_and(|u| u.at == self.read)
    }

    /// True where the urgent byte has arrived and was not read.
    pub(crate) fn has_urgent_byte(&self) -> bool {
        self.urgent.is_some_and(|u| !u.taken && u.at < self.read + self.connection.readable())
    }

    /// Bytes that one read may take: it ends before the urgent byte (`tcp_recvmsg_locked`).
    pub(crate) fn ordinary(&self) -> u64 {
        let readable = self.connection.readable();
        match self.urgent {
            Some(u) if u.at > self.read => readable.min(u.at - self.read),
            Some(u) if u.at == self.read && !self.inline() => readable.saturating_sub(1),
            _ => readable,
        }
    }

    /// Takes `n` bytes of the stream, and an urgent byte before them that is not in line.
    pub(crate) fn take(&mut self, now: ackclock_units::Instant, n: u64) {
        if self.is_at_mark() && !self.inline() {
            self.read += self.connection.read_counted(now, 1);
        }
        self.read += self.connection.read_counted(now, n);
        if self.urgent.is_some_and(|u| u.at < self.read) {
            self.urgent = None;
        }
    }

    /// `recv` with `MSG_OOB` (`tcp_recv_urg`).
    pub(crate) fn read_urgent(&mut self, len: u64, peek: bool) -> Result<u64, Errno> {
        let available = self.has_urgent_byte();
        let (over, inline) = (self.is_read_out(), self.inline());
        match &mut self.urgent {
            Some(u) if !u.taken && !inline => {
                if available {
                    u.taken = !peek;
                    Ok(len.min(1))
                } else if over {
                    Ok(0)
                } else {
                    Err(Errno::EAGAIN)
                }
            }
            _ => Err(Errno::EINVAL),
        }
    }

    /// What `SIOCINQ` says: up to the urgent byte, where that is not in line (`tcp_inq`).
    pub(crate) fn queued(&self) -> u64 {
        match self.urgent {
            Some(u) if !self.inline() && self.has_urgent_place(u) => u.at - self.read,
            _ => self.connection.readable(),
        }
    }

    fn has_urgent_place(&self, u: UrgentByte) -> bool {
        u.at >= self.read && u.at < self.read + self.connection.readable()
    }
}
