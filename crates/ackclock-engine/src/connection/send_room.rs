//! How much may be written: what the send buffer has room for. It is of a size in bytes, or the memory of packets, which
//! grows with the congestion window, as in Linux (`tcp_sendmsg_locked`, `tcp_new_space`).

use ackclock_units::{Bytes, Instant, mostly, seldom};

use super::pending_events::PendingEvents;
use super::{Connection, State};
use crate::Config;
use crate::buffer::SendBuffer;
use crate::offload::Waiting;
use crate::send_memory::{PACKET_OVERHEAD, is_writable, memory_of_windows, packet_goal};

/// A send buffer that grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendMemory {
    /// What packets may take before a write has to wait, bytes (`sk_sndbuf`).
    memory: Bytes,
    /// It has been made as large as the initial window asks for (`tcp_init_buffer_space`).
    begun: bool,
    /// Position in the stream where the last packet begins.
    last: u64,
    /// An ack has arrived since it was last looked whether a write that waits may go on.
    look: bool,
    /// Position of the oldest byte that was not acknowledged, before which it is not worth looking again.
    look_from: u64,
}

impl SendMemory {
    pub(super) fn new(config: &Config) -> Self {
        let memory = config.snd_buf_initial.min(config.snd_buf);
        Self { memory, begun: false, last: 0, look: false, look_from: 0 }
    }
}

impl Connection {
    /// The memory that the send buffer grows to for the congestion window of the moment. `degree`: how far segments
    /// are reordered.
    pub fn wanted_send_memory(&self, degree: u32) -> Bytes {
        memory_of_windows(self.sender.buffered_windows(), self.sender.window.cwnd, self.smss, degree)
    }

    /// Free space in the send buffer; 0 if nothing may be written.
    pub fn writable(&self) -> Bytes {
        if self.may_write() { self.send_room(Bytes::MAX) } else { 0 }
    }

    /// Writes up to `n` bytes by `write`, which appends to the send buffer as far as its size allows, in bytes of
    /// payload. Returns how many were written.
    #[inline]
    pub(super) fn write_into(
        &mut self,
        n: Bytes,
        now: Instant,
        write: impl FnOnce(&mut SendBuffer, Bytes) -> Bytes,
    ) -> Bytes {
        if mostly(!self.rare.is_some_and(|r| r.send_memory.is_some())) {
            return write(&mut self.send, self.config.snd_buf);
        }
        self.begin_send_memory(now);
        let room = self.room_of_last_packet(self.packet_goal());
        let limit = self.send.len() + self.send_room(n);
        let taken = write(&mut self.send, limit);
        self.note_written(taken, room);
        taken
    }

    /// What a write of `n` bytes has room for. More than `n` says that all of them have.
    fn send_room(&self, n: Bytes) -> Bytes {
        let Some(SendMemory { memory, .. }) = self.rare.send_memory.as_deref().copied() else {
            return self.config.snd_buf.saturating_sub(self.send.len());
        };
        let (unsent, goal) = (self.unsent(), self.packet_goal());
        // No more than that: each outstanding segment a packet, and so all that is written.
        let most =
            self.send.len() + PACKET_OVERHEAD * (u64::from(self.sender.sent.segments()) + unsent / goal + 2);
        let whole = n.div_ceil(goal).saturating_mul(goal + PACKET_OVERHEAD);
        if whole.saturating_add(most) < memory {
            return n;
        }
        // The last packet is filled, whatever it takes (`tcp_sendmsg_locked`), and packets are begun while there is
        // memory left.
        let last = self.room_of_last_packet(goal);
        let left = memory.saturating_sub(self.used_send_memory() + last);
        last + left.div_ceil(goal + PACKET_OVERHEAD) * goal
    }

    /// How much of `n` bytes a write takes before what may leave does: with a buffer that grows what fills the last
    /// packet, or another one (`tcp_push_one`).
    pub fn next_write(&mut self, n: Bytes, now: Instant) -> Bytes {
        if self.rare.send_memory.is_none() {
            return n;
        }
        self.begin_send_memory(now);
        let goal = self.packet_goal();
        let room = self.room_of_last_packet(goal);
        n.min(if room > 0 { room } else { goal })
    }

    /// What waits of the packet that leaves next, and whether more can still be added to it.
    pub(super) fn next_packet(&self, unsent: Bytes, fin_due: bool) -> Waiting {
        let position = self.send.end() - unsent;
        match self.rare.send_memory.as_ref().map_or(0, |m| m.last) {
            // All before the last one are full.
            last if position < last => {
                Waiting { bytes: (last - position - 1) % self.packet_goal() + 1, last: false, ends: false }
            }
            _ => Waiting { bytes: unsent, last: true, ends: fin_due },
        }
    }

    /// What the last packet has room for, of which nothing was sent or a part.
    fn room_of_last_packet(&self, goal: Bytes) -> Bytes {
        let (unsent, end) = (self.unsent(), self.send.end());
        let last = self.rare.send_memory.as_ref().map_or(0, |m| m.last);
        if unsent == 0 { 0 } else { goal.saturating_sub(end - last.max(end - unsent)) }
    }

    /// `taken` bytes were written, while the last packet had `room`.
    fn note_written(&mut self, taken: Bytes, room: Bytes) {
        let (goal, end) = (self.packet_goal(), self.send.end());
        if taken > room {
            let of_the_last = (taken - room - 1) % goal + 1;
            self.rare.reset(|r| r.send_memory.as_mut().into_iter().for_each(|m| m.last = end - of_the_last));
        }
    }

    fn packet_goal(&self) -> Bytes {
        packet_goal(self.max_snd_wnd.into(), self.smss)
    }

    /// What packets take (`sk_wmem_queued`).
    fn used_send_memory(&self) -> Bytes {
        let packets = u64::from(self.sender.sent.packets()) + self.unsent().div_ceil(self.packet_goal());
        self.send.len() + PACKET_OVERHEAD * packets
    }

    /// At the first write of an established connection the buffer holds what the initial window asks for
    /// (`tcp_init_buffer_space`).
    fn begin_send_memory(&mut self, now: Instant) {
        let begun = self.rare.send_memory.as_ref().is_none_or(|m| m.begun);
        if begun || !matches!(self.state, State::Established | State::CloseWait) {
            return;
        }
        self.ensure_sender(now);
        self.grow_send_memory();
    }

    /// Lets the buffer grow to what the congestion window asks for.
    fn grow_send_memory(&mut self) {
        // How far segments are reordered counts only where that is more than the window.
        let wanted = self.wanted_send_memory(0).min(self.config.snd_buf);
        if let Some(m) = self.rare.part_mut(|r| r.send_memory.as_deref_mut()) {
            m.begun = true;
            if wanted > m.memory {
                (m.memory, m.look_from) = (wanted, 0);
            }
        }
    }

    /// An ack has arrived while a write waits: if there is room for it, the application is notified. With a buffer that
    /// grows, that is seen once what the ack lets go has left ([`Connection::poll_event`]).
    pub(super) fn note_room(&mut self) {
        if seldom(self.rare.is_some_and(|r| r.send_memory.is_some())) {
            self.rare.reset(|r| r.send_memory.as_mut().into_iter().for_each(|m| m.look = true));
        } else if self.config.snd_buf.saturating_sub(self.send.len()) * u64::from(self.config.snd_wake)
            >= self.config.snd_buf
        {
            self.notify_writable();
        }
    }

    /// What an ack has let go has left: a write that waits may have room now (`tcp_check_space`).
    #[cold]
    #[inline(never)]
    pub(super) fn look_for_room(&mut self) {
        let Some(m) = self.rare.part_mut(|r| r.send_memory.as_deref_mut()) else { return };
        if !std::mem::take(&mut m.look) {
            return;
        }
        // Linux asks for no more while the window is full (`tcp_should_expand_sndbuf`), which it is seldom: an ack leaves
        // room for which a larger packet is awaited (`tcp_tso_should_defer`). On the kernel the buffer is that of the
        // window at each ack.
        self.grow_send_memory();
        let start = self.send.start();
        let Some(SendMemory { memory, look_from, .. }) = self.rare.send_memory.as_deref().copied() else {
            return;
        };
        if start < look_from || !is_writable(self.send.len(), memory) {
            return;
        }
        let used = self.used_send_memory();
        if is_writable(used, memory) {
            self.notify_writable();
        } else if let Some(m) = self.rare.part_mut(|r| r.send_memory.as_deref_mut()) {
            // A byte that is acknowledged frees twice its size at most, in packets of a full segment.
            m.look_from = start + (used - memory * 2 / 3) / 2;
        }
    }

    fn notify_writable(&mut self) {
        self.write_blocked = false;
        self.events.add(PendingEvents::WRITABLE);
    }
}
