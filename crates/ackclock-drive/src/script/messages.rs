//! `recvmsg`: data with control messages, and the error queue.

use std::os::fd::AsFd as _;
use std::time::{Duration as Time, SystemTime, UNIX_EPOCH};

use ackclock_script::{Control, ControlData, ErrorReport, Message, Returned};
use ackclock_units::{Duration, Instant};
use rustix::io::Errno;

use super::KernelHost;
use super::calls::{CallResult, number, system};
use crate::linux::sys::{self, ControlBytes};

impl KernelHost {
    pub(super) fn receive_message(&mut self, fd: i32, len: u64, flags: i64) -> CallResult {
        let begun = self.begun_at;
        let socket = self.socket(fd)?;
        let errors = flags & number("MSG_ERRQUEUE") != 0;
        // The error queue never blocks (recv(2)).
        let blocks = !errors && !socket.nonblocking && flags & number("MSG_DONTWAIT") == 0;
        let got = sys::receive_message(socket.fd.as_fd(), len, flags as i32 | libc::MSG_DONTWAIT);
        let (n, flags, control) = match got.map_err(|e| system(&e)) {
            Ok(got) => got,
            Err(Errno::AGAIN) if blocks => return Ok(None),
            Err(e) => return Err(e),
        };
        let control = control.iter().map(|c| read(c, begun)).collect();
        Ok(Some(Returned::Message(Message { len: n, flags: i64::from(flags), control })))
    }
}

/// What a control message says, by its level and type.
fn read(bytes: &ControlBytes, begun: SystemTime) -> Control {
    let (level, kind) = (i64::from(bytes.level), i64::from(bytes.kind));
    let word = |at: usize| {
        let four = bytes.data.get(at..).and_then(|rest| rest.first_chunk());
        i64::from(four.map_or(0, |four| u32::from_ne_bytes(*four)))
    };
    let byte = |at: usize| i64::from(bytes.data.get(at).copied().unwrap_or(0));
    let is = |of: &str, wanted: &str| level == number(of) && kind == number(wanted);
    let data = if is("SOL_SOCKET", "SCM_TIMESTAMPING") {
        ControlData::Time(time(&bytes.data, begun))
    } else if is("SOL_IP", "IP_RECVERR") || is("SOL_IPV6", "IPV6_RECVERR") {
        // `struct sock_extended_err` (`linux/errqueue.h`).
        ControlData::Error(ErrorReport {
            errno: word(0),
            origin: byte(4),
            kind: byte(5),
            code: byte(6),
            info: word(8),
            data: word(12),
        })
    } else {
        ControlData::Int(word(0))
    };
    Control { level, kind, data }
}

/// The first of the three times of `struct scm_timestamping`, that of software, on the script's clock.
fn time(bytes: &[u8], begun: SystemTime) -> Instant {
    let long = |at: usize| {
        let eight = bytes.get(at..).and_then(|rest| rest.first_chunk());
        u64::try_from(eight.map_or(0, |eight| i64::from_ne_bytes(*eight))).unwrap_or(0)
    };
    let at = UNIX_EPOCH + Time::from_secs(long(0)) + Time::from_nanos(long(8));
    let since = at.duration_since(begun).unwrap_or_default();
    Instant::ZERO + Duration::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}
