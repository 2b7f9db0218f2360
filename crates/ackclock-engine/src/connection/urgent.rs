//! Urgent data (RFC 9293 §3.8.5, RFC 6093). The urgent pointer says that everything below it should be read
//! soon. It is a mark in the stream, and takes no byte out of it: that is an interface's own (RFC 6093 §3.4).

use ackclock_units::{Instant, SeqNumber};
use ackclock_wire::Segment;

use super::{Connection, PendingEvents, State};

/// The urgent pointers of both directions: sequence numbers of the byte after the urgent data (RFC 6093 §4).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Urgent {
    /// SND.UP.
    sent: Option<SeqNumber>,
    /// RCV.UP.
    received: Option<SeqNumber>,
}

impl Connection {
    /// Everything written so far is urgent: segments from below its end carry the urgent pointer until it is
    /// acknowledged, and no longer wait for acknowledgments of others (as in Linux).
    pub fn mark_urgent(&mut self, _now: Instant) {
        if self.send.len() > 0 {
            // A buffer is smaller than half the sequence space.
            let end = self.first_unacked() + self.send.len() as u32;
            self.rare.make_mut().urgent.get_or_insert_default().sent = Some(end);
        }
    }

    /// Bytes to be read up to the urgent pointer of the peer; `None` where there is none beyond what was
    /// read.
    pub fn urgent_left(&self) -> Option<u64> {
        let up = self.rare.urgent.as_ref()?.received?;
        let end = if self.fin_received { self.rcv_nxt - 1 } else { self.rcv_nxt };
        let ahead = i64::from(up.diff(end)) + self.receive.readable() as i64;
        u64::try_from(ahead).ok().filter(|left| *left > 0)
    }

    /// True while urgent data is not acknowledged.
    #[cold]
    pub(super) fn sends_urgent(&self) -> bool {
        let sent = self.rare.urgent.as_ref().and_then(|u| u.sent);
        sent.is_some_and(|up| self.snd_una < up)
    }

    /// The urgent pointer of a segment that begins at `seq`; `None` without URG. Urgent data that ends
    /// further away than the field reaches is announced as far as that.
    #[cold]
    pub(super) fn urgent_pointer(&self, seq: SeqNumber) -> Option<u16> {
        let up = self.rare.urgent.as_ref().and_then(|u| u.sent)?;
        (seq < up).then(|| u16::try_from(up.bytes_since(seq)).unwrap_or(u16::MAX))
    }

    /// Takes the urgent pointer of a segment whose sequence number after a SYN is `seq` (RFC 9293 §3.10.7.4,
    /// sixth).
    #[cold]
    pub(super) fn note_urgent(&mut self, segment: &Segment, seq: SeqNumber) {
        if !matches!(self.state, State::Established | State::FinWait1 | State::FinWait2) {
            return;
        }
        let up = seq + u32::from(segment.urgent);
        let known = self.rare.urgent.as_ref().and_then(|u| u.received);
        // Neither a pointer before another nor one to what was read is news.
        if known.is_some_and(|known| up <= known) || up <= self.rcv_nxt - self.held_in_order() {
            return;
        }
        self.rare.make_mut().urgent.get_or_insert_default().received = Some(up);
        // RFC 9293 §3.8.5, MUST-32: the application is informed.
        self.events.add(PendingEvents::URGENT);
    }

    /// Bytes received in order and not read.
    fn held_in_order(&self) -> u32 {
        u32::try_from(self.receive.readable()).unwrap_or(u32::MAX)
    }
}
