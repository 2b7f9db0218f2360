//! Writing to a connection as Linux does it: into packets, as far as there is memory for them
//! (`tcp_sendmsg_locked`).

use ackclock_engine::send_memory::is_writable;
use ackclock_engine::{Connection, State, Transmit};
use ackclock_units::{Bytes, Instant};
use ackclock_wire::{Flags, Segment};

use super::options::MAX_BUFFER;
use super::write_queue::WriteQueue;
use super::{EngineHost, Flow};
use crate::constants as c;

/// The memory of what is written, unless a call sets it (`tcp_wmem`).
#[derive(Clone, Copy, Debug)]
pub(super) struct SendMemory {
    first: Bytes,
    most: Bytes,
}

impl SendMemory {
    /// Linux's default.
    pub(super) const DEFAULT: Self = Self { first: 16_384, most: 4 << 20 };

    /// Reads the three numbers of the setting; `None` where they are none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut numbers = text.split_whitespace().skip(1).map(|n| n.parse::<u64>().ok());
        let (first, most) = (numbers.next()??, numbers.next()??);
        Some(Self { first: first.min(MAX_BUFFER), most: most.min(MAX_BUFFER) })
    }
}

/// What Linux keeps of a connection that sends.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) queue: WriteQueue,
    /// The memory that packets may take before a call has to wait, bytes (`sk_sndbuf`).
    memory: Bytes,
    /// How far that grows by itself; `None` where a call has set it.
    most: Option<Bytes>,
    /// A call found no memory, and none has become free since (`SOCK_NOSPACE`).
    pub(super) waits: bool,
    /// When anything left last.
    pub(super) left_at: Option<Instant>,
    /// Nothing has happened since that makes Linux look again.
    pub(super) idle: bool,
    /// The last call said that more follows (`MSG_MORE`), and nothing has arrived since.
    more: bool,
    /// An option has let go all that was queued, in spite of a cork (`TCP_NAGLE_PUSH`), and nothing was written since.
    let_go: bool,
}

impl Sending {
    pub(super) fn new(asked: Option<Bytes>, setting: SendMemory) -> Self {
        let (memory, most) = asked.map_or((setting.first, Some(setting.most)), |asked| (asked, None));
        Self {
            queue: WriteQueue::default(),
            memory,
            most,
            waits: false,
            left_at: None,
            idle: false,
            more: false,
            let_go: false,
        }
    }

    /// The memory that packets may take now, bytes.
    pub(super) fn memory(&self) -> Bytes {
        self.memory
    }

    /// A call has set the memory (`SO_SNDBUF`).
    pub(super) fn set_memory(&mut self, asked: Bytes) {
        (self.memory, self.most) = (asked, None);
    }

    /// Lets the memory grow to what windows take (`tcp_sndbuf_expand`). `degree`: how far segments are reordered.
    pub(super) fn grow(&mut self, connection: &Connection, degree: u32) {
        let Some(most) = self.most else { return };
        self.memory = self.memory.max(connection.wanted_send_memory(degree).min(most));
    }

    /// True when a third of the memory is free (`sk_stream_is_writeable`).
    pub(super) fn is_writable(&self) -> bool {
        is_writable(self.queue.memory(), self.memory)
    }

    /// Before anything is sent: what is acknowledged takes no memory, and where a call waits and the window
    /// is not full, there is more of it (`tcp_new_space`). Also notes the receiver's window.
    pub(super) fn free(&mut self, connection: &Connection, degree: u32, now: Instant) {
        let v = connection.view(now);
        if !matches!(connection.state(), State::SynSent | State::SynReceived) {
            self.queue.note_window(v.rwnd);
        }
        self.queue.acknowledged(self.queue.end().saturating_sub(connection.unacked()));
        if self.waits && v.pipe < v.window.cwnd {
            self.grow(connection, degree);
        }
    }

    /// A burst has left: notes it, and whether a call that waits may go on.
    pub(super) fn sent(&mut self, burst: &mut [Transmit], smss: u32, most: u64) {
        self.queue.depart(burst, smss, most);
        self.waits &= !self.is_writable();
    }
}

impl Flow {
    /// True for the next text, with no news for the sender: Linux looks no further than its header, and sends
    /// nothing but an ack (`tcp_rcv_established`). So does an ack of what was not sent (`tcp_ack`).
    pub(super) fn expects(&self, now: Instant, segment: &Segment) -> bool {
        let connection = &self.connection;
        if segment.flags.has(Flags::ACK) && segment.ack > connection.view(now).snd_nxt {
            return true;
        }
        segment.len > 0
            && segment.ack == connection.view(now).snd_una
            && self.predicting
            && connection.predicts(segment)
    }

    /// Before a segment arrives: after a handshake with scaled windows a client predicts no headers
    /// (`tcp_finish_connect`) until text has arrived, or another window (`tcp_fast_path_check`).
    pub(super) fn learn_to_predict(&mut self, now: Instant, segment: &Segment) {
        let next = segment.len > 0 && segment.seq == self.connection.rcv_nxt();
        let v = self.connection.view(now);
        let window = u64::from(segment.window) << self.connection.window_shifts().0;
        self.predicting |= self.established && (next || window != v.rwnd);
    }

    /// What Linux lets go of a cork: an option that pushes, what a call has held (`MSG_MORE`), and what is queued until
    /// more is (`tcp_skb_entail`).
    pub(super) fn uncork(&mut self, now: Instant, pushes: bool) {
        let (mut more, mut let_go) = (false, pushes && self.options.sends_at_once());
        if let Some(sending) = &mut self.sending {
            sending.more &= !pushes;
            sending.let_go |= let_go;
            (more, let_go) = (sending.more, sending.let_go);
        }
        self.connection.set_cork(now, more || self.options.corks() && !let_go);
    }

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
    /// Writes bytes of a call with these `flags`, of which `done` of `len` were taken before. Returns how
    /// many are taken now; fewer than `len` where the call has to wait.
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
        (sending.more, sending.let_go) = (more, false);
        connection.set_cork(now, more || options.corks());
        let limit = self.lowat(&self.flows[i]);
        let mut taken = done;
        while taken < len {
            let Flow { connection, sending: Some(sending), written: total, .. } = &mut self.flows[i] else {
                break;
            };
            let goal = sending.queue.goal(connection.smss());
            let begins = sending.queue.tail_is_full(goal) || !sending.queue.has_tail();
            let full = begins && limit.is_some_and(|limit| connection.view(now).unsent >= limit);
            let room = if full { 0 } else { sending.queue.room(goal, sending.memory).min(len - taken) };
            let written = connection.write_counted(now, room);
            if written == 0 {
                sending.waits = true;
                break;
            }
            sending.queue.append(written, goal, taken == 0);
            *total += written;
            taken += written;
            if taken == len {
                break;
            }
            if sending.queue.tail_is_full(goal) {
                if sending.queue.must_push(connection.smss()) {
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
        if taken > done && (taken < len || !more || sending.queue.must_push(connection.smss())) {
            sending.queue.push();
        }
        self.flows[i].note_write(now, taken, len, flags, blocks);
        self.run(i);
        taken
    }
}
