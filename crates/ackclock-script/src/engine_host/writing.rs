//! Calls that write to a connection.

use ackclock_units::Instant;

use super::calls::{CallResult, value};
use super::socket::SocketKind;
use super::{EngineHost, Errno, Flow};
use crate::constants as c;

/// Most bytes of a packet that a burst is handed over in (`GSO_LEGACY_MAX_SIZE` less headers).
const MOST_AT_ONCE: u64 = 65_535 - 320;

impl EngineHost {
    pub(super) fn write(&mut self, fd: i32, len: u64, flags: i64, done: &mut u64) -> CallResult {
        let now = self.now;
        if let SocketKind::Pipe { number, writes } = self.socket(fd)?.kind {
            return self.write_pipe(number, writes, len);
        }
        let (i, blocks) = match self.stream(fd) {
            // Not connected at all.
            Err(Errno::ENOTCONN) => return Err(Errno::EPIPE),
            other => other?,
        };
        let blocks = blocks && flags & c::MSG_DONTWAIT == 0;
        let flow = &mut self.flows[i];
        if flow.deferred {
            return self.write_deferred(i, blocks, len, done);
        }
        if let Some(error) = flow.error.take() {
            // What went with a SYN that was refused was not taken.
            return if *done > 0 && flow.established { value(*done) } else { Err(error) };
        }
        if flow.shut_write || flow.aborted {
            return Err(Errno::EPIPE);
        }
        if flow.is_opening() {
            if blocks && *done < len {
                // As in `write_deferred`.
                flow.connection.set_quick_acks(now, false);
            }
            return if blocks { Ok(None) } else { Err(Errno::EAGAIN) };
        }
        if flow.sending.is_some() {
            *done = self.write_packets(i, len, flags, *done, blocks);
        } else {
            let more = flags & c::MSG_MORE != 0;
            flow.connection.set_cork(now, more || flow.options.corks());
            *done += self.fill(i, len - *done);
            self.flows[i].note_write(now, *done, len, flags, blocks);
            self.run(i);
        }
        match (*done, blocks) {
            (done, _) if done == len => value(done),
            (_, true) => Ok(None),
            (0, false) => Err(Errno::EAGAIN),
            (done, false) => value(done),
        }
    }

    /// Queues up to `n` bytes, as far as there is room and the limit of unsent data lets them in; returns how
    /// many.
    fn fill(&mut self, i: usize, n: u64) -> u64 {
        let now = self.now;
        let Some(limit) = self.lowat(&self.flows[i]) else {
            let flow = &mut self.flows[i];
            let taken = flow.connection.write_counted(now, n);
            flow.written += taken;
            return taken;
        };
        let mut done = 0;
        while done < n {
            let flow = &mut self.flows[i];
            let piece = flow.admits(now, limit).min(n - done);
            let taken = flow.connection.write_counted(now, piece);
            flow.written += taken;
            done += taken;
            if taken < piece || piece == 0 || done == n {
                break;
            }
            // A packet that is full leaves as far as it can before another is begun.
            self.run(i);
        }
        done
    }

    /// Unsent bytes below which a write may begin another packet: `TCP_NOTSENT_LOWAT`, and the host's where that is 0;
    /// `None` without limit.
    pub(super) fn lowat(&self, flow: &Flow) -> Option<u64> {
        let own = flow.options.int(c::SOL_TCP, c::TCP_NOTSENT_LOWAT).filter(|n| *n != 0);
        let limit = own.map_or(self.notsent_lowat, |n| u64::from(n as u32));
        (limit < u64::from(u32::MAX)).then_some(limit)
    }

    /// True where `poll` reports that there is room.
    pub(super) fn is_writable(&self, flow: &Flow) -> bool {
        let connection = &flow.connection;
        if let Some(sending) = &flow.sending {
            let unsent = connection.view(self.now).unsent;
            return sending.is_writable() && self.lowat(flow).is_none_or(|limit| 2 * unsent < limit);
        }
        // Linux asks for a third of the buffer to be free, and for half of what may be unsent (`sk_stream_is_writeable`,
        // `tcp_stream_memory_free`).
        let unsent = connection.view(self.now).unsent;
        connection.writable() > 0
            && connection.writable() >= connection.unacked() / 2
            && self.lowat(flow).is_none_or(|limit| 2 * unsent < limit)
    }

    /// `sendfile`: a write of what is read from a file.
    pub(super) fn send_file(&mut self, to: i32, from: i32, len: u64, done: &mut u64) -> CallResult {
        match self.socket(from)?.kind {
            SocketKind::File => self.write(to, len, 0, done),
            _ => Err(Errno::EINVAL),
        }
    }
}

impl Flow {
    /// A call with these `flags` has queued `done` of `len` bytes, of which some may not have left yet.
    pub(super) fn note_write(&mut self, now: Instant, done: u64, len: u64, flags: i64, blocks: bool) {
        if done == len {
            self.counts.last_data_sent = Some(now);
            if flags & c::MSG_OOB != 0 && len > 0 {
                self.connection.mark_urgent(now);
            }
        } else {
            self.wants_room = true;
        }
        if done > 0 && (done == len || !blocks) {
            self.reports.wrote(self.written, flags & c::MSG_ZEROCOPY != 0, &self.options);
        }
    }

    /// Bytes that a write may queue now where unsent data is limited: what fills the packet that was begun,
    /// or another packet while less than `limit` is unsent (`tcp_sendmsg_locked`).
    fn admits(&self, now: Instant, limit: u64) -> u64 {
        let view = self.connection.view(now);
        let smss = u64::from(view.smss.max(1));
        // No more than half of the peer's window (`tcp_bound_to_half_wnd`).
        let most = (MOST_AT_ONCE.min(view.rwnd / 2) / smss).max(1) * smss;
        match view.unsent % most {
            0 if view.unsent < limit => most,
            0 => 0,
            begun => most - begun,
        }
    }
}
