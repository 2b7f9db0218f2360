//! Orphans: connections that no program holds any more, in the order in which they began to wait.

use std::collections::BTreeMap;

use ackclock_units::{Bytes, Instant};

/// What an orphan waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum OrphanWait {
    /// The peer's FIN.
    Fin,
    /// The end of TIME-WAIT.
    Time,
    /// Acknowledgments.
    Acks,
}

/// The state of an orphan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Orphan {
    pub(super) waits: OrphanWait,
    /// Its rank among orphans that wait for the same.
    pub(super) number: u64,
    /// When it is aborted.
    pub(super) until: Instant,
    /// Bytes acknowledged when `until` was set.
    pub(super) acked: Bytes,
}

impl Orphan {
    /// When it is aborted; `None` in TIME-WAIT, which has its own timer.
    pub(super) fn deadline(self) -> Option<Instant> {
        (self.waits != OrphanWait::Time).then_some(self.until)
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }
}

/// All orphans, in the order in which they began to wait.
#[derive(Debug, Default)]
pub(super) struct OrphanTable {
    pub(super) next: u64,
    pub(super) waiting: BTreeMap<u64, u32>,
    pub(super) in_time_wait: BTreeMap<u64, u32>,
}

impl OrphanTable {
    pub(super) fn of(&mut self, waits: OrphanWait) -> &mut BTreeMap<u64, u32> {
        if waits == OrphanWait::Time { &mut self.in_time_wait } else { &mut self.waiting }
    }

    pub(super) fn remove(&mut self, orphan: Option<Orphan>) {
        if let Some(a) = orphan {
            self.of(a.waits).remove(&a.number);
        }
    }
}
