//! Closing: FIN, TIME-WAIT, abort (RFC 9293 §3.6, §3.10.4, §3.10.5).

use ackclock_units::Instant;
use ackclock_wire::{Flags, Options, Segment};

use super::{Connection, PendingEvents, State};
use crate::AbortReason;
use crate::timer::Timer;

impl Connection {
    /// Closes the sending direction: a FIN is sent after all data. Reading continues until the peer closes
    /// too.
    pub fn close(&mut self, now: Instant) {
        if self.closing {
            return;
        }
        self.rare.reset(|r| r.repairs_only = false);
        match self.state {
            State::Closed => {}
            State::Listen => self.end(true, now),
            // Nothing was exchanged yet, so nothing has to be closed in order (RFC 9293 §3.10.4).
            State::SynSent if self.send.len() == 0 => {
                self.events.add(PendingEvents::FINISHED);
                self.end(true, now);
            }
            State::SynSent | State::SynReceived => self.closing = true,
            State::Established => {
                self.closing = true;
                self.state = State::FinWait1;
            }
            State::CloseWait => {
                self.closing = true;
                self.state = State::LastAck;
            }
            State::FinWait1 | State::FinWait2 | State::Closing | State::LastAck | State::TimeWait => {}
        }
    }

    /// Closes both directions: the application leaves, and nothing is read any more. Where data that arrived
    /// was not read, and once more arrives, the peer gets a reset (RFC 1122 §4.2.2.13, RFC 2525 §2.17).
    pub fn leave(&mut self, now: Instant) {
        // In TIME-WAIT the peer is done (RFC 9293 §3.10.4).
        if self.readable() > 0 && self.state != State::TimeWait {
            self.abort(now);
            return;
        }
        self.stop_reading();
        self.close(now);
    }

    /// Nothing is read any more. Data that arrives after [`Connection::close`] gets a reset from then on.
    pub fn stop_reading(&mut self) {
        if !matches!(self.state, State::Closed | State::Listen) {
            self.rare.make_mut().reads_no_more = true;
        }
    }

    /// True for a segment with new text, or behind it, that nobody will ever read, after a close: the connection is
    /// then reset (RFC 1122 §4.2.2.13).
    #[cold]
    pub(super) fn refuses_text(&mut self, now: Instant, segment: &Segment) -> bool {
        let refused = matches!(self.state, State::FinWait1 | State::FinWait2)
            && self.rare.is_some_and(|r| r.reads_no_more)
            && segment.seq + segment.len > self.rcv_nxt;
        if refused {
            self.rare.make_mut().reset = Self::reset_for(segment).map(Box::new);
            self.abandon(AbortReason::Local, now);
        }
        refused
    }

    /// Resets the connection: queued data is lost, and the peer gets a RST (RFC 9293 §3.10.5).
    pub fn abort(&mut self, now: Instant) {
        // If both sides have closed, a RST is sent only if received data was not read (RFC 2525 §2.17), and none in
        // TIME-WAIT, where the peer has finished (RFC 9293 §3.10.5).
        let send_reset = matches!(
            self.state,
            State::SynReceived | State::Established | State::FinWait1 | State::FinWait2 | State::CloseWait
        ) || (!matches!(self.state, State::Closed | State::TimeWait) && self.readable() > 0);
        if send_reset {
            self.rare.make_mut().reset = Some(self.reset(now));
        }
        match self.state {
            State::Closed => {}
            // Both sides have closed in order, and the application was notified: only the wait ends (RFC 9293
            // §3.10.5).
            State::TimeWait => self.end(true, now),
            _ => self.abandon(AbortReason::Local, now),
        }
    }

    /// A reset for this connection.
    pub(super) fn reset(&self, now: Instant) -> Box<Segment> {
        // RFC 7323 §3.2: a RST carries timestamps too, if they are in use.
        let options = Options { timestamps: self.timestamps(now), ..Options::default() };
        Box::new(Segment {
            seq: self.seq_of_acks(),
            ack: self.rcv_nxt,
            flags: Flags::RST | Flags::ACK | self.counter_flags(),
            options,
            ..Segment::default()
        })
    }

    /// Gives up the connection, and sends a RST. If an ICMP error was the last thing received about the peer,
    /// it is the reason reported (RFC 9293 §3.9.2.2, SHLD-25).
    pub(super) fn give_up(&mut self, reason: AbortReason, now: Instant) {
        if !matches!(self.state, State::SynSent) {
            self.rare.make_mut().reset = Some(self.reset(now));
        }
        let unreachable = self.rare.unreachable_at.is_some_and(|at| at >= self.last_received_at);
        self.abandon(if unreachable { AbortReason::Unreachable } else { reason }, now);
    }

    /// Sends an ack at once, whatever has arrived: for hosts that answer more than the standard asks for.
    pub fn owe_ack(&mut self) {
        self.pending.ack |= self.state.is_synchronized();
    }

    /// Both sides are closed: enters TIME-WAIT for 2 MSL (RFC 9293 §3.6.1).
    pub(super) fn start_time_wait(&mut self, now: Instant) {
        self.state = State::TimeWait;
        self.events.add(PendingEvents::FINISHED);
        self.stats.closed_at.set_once(now);
        self.timers.disarm_all();
        self.restart_time_wait(now);
    }

    /// Starts the 2 MSL timer again.
    pub(super) fn restart_time_wait(&mut self, now: Instant) {
        self.timers.arm(Timer::TimeWait, now + self.config.time_wait);
    }

    /// In TIME-WAIT: true when a new SYN may reopen the pair of addresses at once (RFC 9293 §3.6.1): its
    /// timestamp is newer (RFC 6191 §2), or, if timestamps do not decide, its sequence number is beyond the
    /// old ones.
    pub fn may_be_replaced_by(&self, syn: &Segment) -> bool {
        let ts = syn.options.timestamps.filter(|_| self.rare.is_some_and(|r| r.timestamps.on));
        let newer = ts.map_or(0, |ts| ts.tsval.wrapping_sub(self.rare.timestamps.ts_recent) as i32);
        let fresh = newer > 0 || (newer == 0 && syn.seq > self.rcv_nxt);
        self.state == State::TimeWait && syn.flags.has(Flags::SYN) && !syn.flags.has(Flags::ACK) && fresh
    }
}
