//! Calls that read from a connection.

use super::calls::{CallResult, ZERO, value};
use super::socket::SocketKind;
use super::{EngineHost, Errno};
use crate::Dialect;
use crate::constants as c;
use crate::host::{Control, ControlData, Message, Returned};

impl EngineHost {
    pub(super) fn read(&mut self, fd: i32, len: u64, flags: i64) -> CallResult {
        let (now, dialect) = (self.now, self.dialect);
        if let SocketKind::Pipe { number, writes } = self.socket(fd)?.kind {
            return self.read_pipe(number, writes, len);
        }
        if let SocketKind::File = self.socket(fd)?.kind {
            return value(len);
        }
        let (i, blocks) = self.stream(fd)?;
        let blocks = blocks && flags & c::MSG_DONTWAIT == 0;
        let flow = &mut self.flows[i];
        if flags & c::MSG_OOB != 0 {
            return value(flow.read_urgent(len, flags & c::MSG_PEEK != 0)?);
        }
        let readable = flow.ordinary();
        let enough = if flags & c::MSG_WAITALL != 0 { len } else { 1 };
        // A read ends before urgent data, however much it wants.
        let stops = readable < flow.connection.readable();
        if readable > 0 && (readable >= enough.min(len) || flow.is_complete() || stops) {
            let n = readable.min(len);
            if flags & c::MSG_PEEK == 0 {
                flow.take(now, n);
                if let Some(sending) = &mut flow.sending {
                    // Linux sends an ack at most, and no data that waits (`tcp_cleanup_rbuf`).
                    sending.idle = true;
                }
                self.run(i);
            }
            return value(n);
        }
        // Once the peer's FIN is read out, Linux reports that again and keeps the error (`tcp_recvmsg_locked`).
        let done = dialect != Dialect::FreeBsd && flow.connection.peer_has_closed() && flow.is_read_out();
        if let Some(error) = flow.error.take_if(|_| !done) {
            return Err(error);
        }
        if flow.is_read_out() {
            return ZERO;
        }
        if blocks { Ok(None) } else { Err(Errno::EAGAIN) }
    }

    /// `recvmsg`: a read with what the options of the socket want beside it, or an entry of the error queue.
    pub(super) fn receive_message(&mut self, fd: i32, len: u64, flags: i64) -> CallResult {
        let link = self.link;
        if flags & c::MSG_ERRQUEUE != 0 {
            let taken = match self.socket(fd)?.kind {
                SocketKind::Stream(i) => {
                    let flow = &mut self.flows[i];
                    flow.reports.take(link, &flow.options)
                }
                _ => None,
            };
            return taken.map(|m| Some(Returned::Message(m))).ok_or(Errno::EAGAIN);
        }
        let got = self.read(fd, len, flags)?;
        let Some(Returned::Value(n)) = got else { return Ok(got) };
        let (i, _) = self.stream(fd)?;
        let flow = &self.flows[i];
        let mut control = Vec::new();
        if flow.options.int(c::SOL_TCP, c::TCP_INQ) == Some(1) {
            // With nothing left a FIN counts as one byte (`tcp_inq_hint`).
            let left = match flow.queued() {
                0 if flow.is_complete() => 1,
                left => left,
            };
            let data = ControlData::Int(i64::try_from(left).unwrap_or(i64::MAX));
            control.push(Control { level: c::SOL_TCP, kind: c::TCP_CM_INQ, data });
        }
        let flags = flags & c::MSG_OOB;
        Ok(Some(Returned::Message(Message { len: u64::try_from(n).unwrap_or(0), flags, control })))
    }
}
