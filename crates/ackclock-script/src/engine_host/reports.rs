//! What a socket reports of data that was sent: when it left and arrived (`SO_TIMESTAMPING`), and that the
//! buffers of zero-copy sends are free again. Both are read from the error queue.

use std::collections::VecDeque;

use ackclock_units::Instant;

use super::options::{Level, SocketOptions};
use crate::constants as c;
use crate::host::{Control, ControlData, ErrorReport, Message};
use crate::link::{IpVersion, Link};

/// Reports of a connection.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    queue: VecDeque<Report>,
    /// Writes whose times are still to be reported.
    stamped: VecDeque<Stamped>,
    /// Zero-copy sends that are not acknowledged: where each ends in the stream.
    pinned: VecDeque<u64>,
    /// The number of the next completion.
    next_completion: i64,
    /// Where the keys of timestamps begin in the stream (`SOF_TIMESTAMPING_OPT_ID`).
    first_key: u64,
}

/// An entry of the error queue.
#[derive(Clone, Copy, Debug)]
struct Report {
    error: ErrorReport,
    at: Option<Instant>,
}

/// A write whose last byte is timestamped.
#[derive(Clone, Copy, Debug)]
struct Stamped {
    /// Where it ends in the stream.
    end: u64,
    left: bool,
}

/// What is timestamped, of `SO_TIMESTAMPING`.
fn stamps(options: &SocketOptions) -> i64 {
    options.int(c::SOL_SOCKET, c::SO_TIMESTAMPING).unwrap_or(0)
}

const ANY_OF_SENT: i64 =
    c::SOF_TIMESTAMPING_TX_SOFTWARE | c::SOF_TIMESTAMPING_TX_SCHED | c::SOF_TIMESTAMPING_TX_ACK;

impl Reports {
    /// True where there is something to read.
    pub(crate) fn any(&self) -> bool {
        !self.queue.is_empty()
    }

    /// Timestamping was turned on when the peer had acknowledged the stream up to `acked`.
    pub(crate) fn begin_keys(&mut self, acked: u64) {
        self.first_key = acked;
    }

    /// A call has written up to `end` of the stream.
    pub(crate) fn wrote(&mut self, end: u64, zero_copy: bool, options: &SocketOptions) {
        if stamps(options) & ANY_OF_SENT != 0 {
            self.stamped.push_back(Stamped { end, left: false });
        }
        if zero_copy && options.int(c::SOL_SOCKET, c::SO_ZEROCOPY) == Some(1) {
            self.pinned.push_back(end);
        }
    }

    /// New data has left up to `end` of the stream. Returns true with a new report.
    pub(crate) fn left(&mut self, now: Instant, end: u64, options: &SocketOptions) -> bool {
        let before = self.queue.len();
        let wanted = stamps(options);
        // They leave in order.
        let mut next = self.stamped.partition_point(|s| s.left);
        while let Some(stamped) = self.stamped.get_mut(next).filter(|s| s.end <= end) {
            stamped.left = true;
            next += 1;
            let last = stamped.end - 1;
            // It goes to the queue of the device, and from there to the device.
            for (flag, what) in [
                (c::SOF_TIMESTAMPING_TX_SCHED, c::SCM_TSTAMP_SCHED),
                (c::SOF_TIMESTAMPING_TX_SOFTWARE, c::SCM_TSTAMP_SND),
            ] {
                if wanted & flag != 0 {
                    self.stamp(now, what, last, wanted);
                }
            }
        }
        self.queue.len() > before
    }

    /// The peer has acknowledged the stream up to `acked`. Returns true with a new report.
    pub(crate) fn acked(&mut self, now: Instant, acked: u64, options: &SocketOptions) -> bool {
        let wanted = stamps(options);
        let mut new = false;
        while let Some(first) = self.stamped.front().filter(|s| s.end <= acked) {
            let last = first.end - 1;
            self.stamped.pop_front();
            if wanted & c::SOF_TIMESTAMPING_TX_ACK != 0 {
                self.stamp(now, c::SCM_TSTAMP_ACK, last, wanted);
                new = true;
            }
        }
        while self.pinned.front().is_some_and(|end| *end <= acked) {
            self.pinned.pop_front();
            self.complete();
            new = true;
        }
        new
    }

    fn stamp(&mut self, now: Instant, what: i64, last: u64, wanted: i64) {
        let key =
            if wanted & c::SOF_TIMESTAMPING_OPT_ID != 0 { last.saturating_sub(self.first_key) } else { 0 };
        let error = ErrorReport {
            errno: c::ENOMSG,
            origin: c::SO_EE_ORIGIN_TIMESTAMPING,
            kind: 0,
            code: 0,
            info: what,
            // 32 bits, which wrap.
            data: i64::from(key as u32),
        };
        let at = (wanted & c::SOF_TIMESTAMPING_SOFTWARE != 0).then_some(now);
        self.queue.push_back(Report { error, at });
    }

    /// A zero-copy send is over. Completions that follow each other become one, which names the first and the
    /// last.
    fn complete(&mut self) {
        let id = self.next_completion;
        self.next_completion += 1;
        if let Some(last) = self.queue.back_mut().map(|r| &mut r.error)
            && last.origin == c::SO_EE_ORIGIN_ZEROCOPY
            && last.data + 1 == id
        {
            last.data = id;
            return;
        }
        // A script's device looks at the bytes, so that they are copied after all.
        let error = ErrorReport {
            errno: 0,
            origin: c::SO_EE_ORIGIN_ZEROCOPY,
            kind: 0,
            code: c::SO_EE_CODE_ZEROCOPY_COPIED,
            info: id,
            data: id,
        };
        self.queue.push_back(Report { error, at: None });
    }

    /// Takes the next entry as `recvmsg` returns it; `None` where there is none.
    pub(crate) fn take(&mut self, link: Link, options: &SocketOptions) -> Option<Message> {
        let Report { error, at } = self.queue.pop_front()?;
        let (level, kind) = match link.ip {
            IpVersion::V4 => (c::SOL_IP, c::IP_RECVERR),
            IpVersion::V6 | IpVersion::V4Mapped => (c::SOL_IPV6, c::IPV6_RECVERR),
        };
        let mut control = Vec::new();
        if let Some(at) = at {
            let data = ControlData::Time(at);
            control.push(Control { level: c::SOL_SOCKET, kind: c::SCM_TIMESTAMPING, data });
        }
        control.push(Control { level, kind, data: ControlData::Error(error) });
        let mut flags = c::MSG_ERRQUEUE;
        // A timestamp comes with its packet, for which there is no room.
        if error.origin == c::SO_EE_ORIGIN_TIMESTAMPING
            && stamps(options) & c::SOF_TIMESTAMPING_OPT_TSONLY == 0
        {
            flags |= c::MSG_TRUNC;
        }
        Some(Message { len: 0, flags, control })
    }
}

/// True for the option that turns timestamps on.
pub(crate) fn is_stamping(level: Level, name: i64) -> bool {
    (level.0, name) == (c::SOL_SOCKET, c::SO_TIMESTAMPING)
}
