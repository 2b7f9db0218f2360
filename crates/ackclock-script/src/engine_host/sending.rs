//! Writing to a connection as Linux does it: into packets, as far as there is memory for them (`tcp_sendmsg_locked`).

use ackclock_engine::Connection;
use ackclock_units::{Bytes, Instant};

use super::write_queue::WriteQueue;
use super::{EngineHost, Flow};
use crate::constants as c;

/// What Linux keeps of a connection that sends.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) queue: WriteQueue,
    /// The memory that packets may take before a call has to wait, bytes (`sk_sndbuf`).
    pub(super) memory: Bytes,
    /// A call found no memory, and none has become free since (`SOCK_NOSPACE`).
    pub(super) waits: bool,
    /// The last call said that more follows (`MSG_MORE`), and nothing has arrived since.
    more: bool,
}

impl Sending {
    pub(super) fn new(memory: Bytes) -> Self {
        Self { queue: WriteQueue::default(), memory, waits: false, more: false }
    }

    /// True when a third of the memory is free (`sk_stream_is_writeable`).
    pub(super) fn is_writable(&self) -> bool {
        let used = self.queue.memory();
        used < self.memory && self.memory - used >= used / 2
    }

    /// What is acknowledged takes no memory.
    pub(super) fn free(&mut self, connection: &Connection) {
        self.queue.acknowledged(self.queue.end().saturating_sub(connection.unacked()));
        self.waits &= !self.is_writable();
    }
}

impl Flow {
    /// An ack lets go what `MSG_MORE` has held: it holds small segments for the call alone (`tcp_push`).
    pub(super) fn release_more(&mut self, now: Instant) {
        let corks = self.options.corks();
        if let Some(sending) = &mut self.sending
            && std::mem::take(&mut sending.more)
        {
            self.connection.set_cork(now, corks);
        }
    }
}

impl EngineHost {
    /// Writes bytes of a call with these `flags`, of which `done` of `len` were taken before. Returns how many are
    /// taken now; fewer than `len` where the call has to wait.
    pub(super) fn write_packets(
        &mut self,
        i: usize,
        len: Bytes,
        flags: i64,
        done: Bytes,
        blocks: bool,
    ) -> Bytes {
        let now = self.now;
        let Flow { connection, options, sending: Some(sending), .. } = &mut self.flows[i] else {
            return done;
        };
        if blocks && sending.waits {
            return done;
        }
        let more = flags & c::MSG_MORE != 0;
        sending.more = more;
        connection.set_cork(now, more || options.corks());
        let mut taken = done;
        while taken < len {
            let Flow { connection, sending: Some(sending), .. } = &mut self.flows[i] else { break };
            let goal = WriteQueue::goal(connection);
            let room = sending.queue.room(goal, sending.memory).min(len - taken);
            let written = connection.write_counted(now, room);
            if written == 0 {
                sending.waits = true;
                break;
            }
            sending.queue.append(written, goal, taken == 0);
            taken += written;
            if taken == len {
                break;
            }
            if sending.queue.tail_is_full(goal) {
                if sending.queue.must_push(connection) {
                    sending.queue.push();
                    self.run(i);
                } else if sending.queue.tail_is_next() {
                    self.run(i);
                }
            }
        }
        let Flow { connection, sending: Some(sending), .. } = &mut self.flows[i] else { return taken };
        if taken == len && flags & c::MSG_EOR != 0 {
            sending.queue.end_record();
            connection.end_record();
        }
        if taken > done && (taken < len || !more || sending.queue.must_push(connection)) {
            sending.queue.push();
        }
        self.run(i);
        taken
    }
}
