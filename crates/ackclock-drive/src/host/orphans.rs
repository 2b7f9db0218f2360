//! Limits of the number and the age of connections that no program holds. Otherwise a peer that never closes,
//! or never acknowledges, would keep them for ever.

use ackclock_engine::State;
use ackclock_units::Instant;

use super::core::{ConnEntry, Core};
use super::orphan_table::{Orphan, OrphanWait};
use crate::Port;

impl ConnEntry {
    /// True when it has been an orphan for too long.
    pub(super) fn is_overdue(&self, now: Instant) -> bool {
        self.orphan.is_some_and(|a| a.is_over(now))
    }

    /// True when it is overdue in FIN-WAIT-2. It is then removed without a reset, as with kernels: a reset
    /// could destroy data that the peer has not read yet (see docs/departures.md).
    pub(super) fn is_given_up(&self, now: Instant) -> bool {
        self.connection.state() == State::FinWait2 && self.is_overdue(now)
    }
}

impl Core {
    /// Updates the orphan state of a connection that no program holds.
    pub(super) fn track_orphan(&mut self, now: Instant, id: u32, entry: &mut ConnEntry) {
        if entry.held || entry.listener.is_some() {
            return;
        }
        let limits = &self.options.limits;
        let (waits, patience) = match entry.connection.state() {
            State::Closed | State::Listen => return,
            State::TimeWait => (OrphanWait::Time, limits.fin_timeout),
            State::FinWait2 => (OrphanWait::Fin, limits.fin_timeout),
            _ => (OrphanWait::Acks, limits.orphan_timeout),
        };
        let acked = entry.connection.stats().bytes_acked;
        match &mut entry.orphan {
            Some(a) if a.waits == waits && (waits != OrphanWait::Acks || a.acked == acked) => {}
            Some(a) if a.waits == waits => (a.until, a.acked) = (now + patience, acked),
            other => {
                self.orphans.remove(*other);
                let number = self.orphans.next;
                self.orphans.next += 1;
                self.orphans.of(waits).insert(number, id);
                *other = Some(Orphan { waits, number, until: now + patience, acked });
            }
        }
    }

    /// Aborts the oldest orphans while there are too many, or while buffers exceed their limit.
    pub(super) fn keep_limits(&mut self, now: Instant, port: &Port) {
        let limits = self.options.limits;
        while self.orphans.waiting.len() > limits.orphans
            || (self.held_bytes > limits.held_bytes && !self.orphans.waiting.is_empty())
        {
            let Some((_, id)) = self.orphans.waiting.pop_first() else { break };
            self.abort_orphan(now, port, id);
        }
        while self.orphans.in_time_wait.len() > limits.time_wait {
            let Some((_, id)) = self.orphans.in_time_wait.pop_first() else { break };
            self.abort_orphan(now, port, id);
        }
    }

    fn abort_orphan(&mut self, now: Instant, port: &Port, id: u32) {
        self.counters.orphans_ended += 1;
        self.operate(now, port, id, |entry| entry.connection.abort(now));
    }
}
