//! Connections that no program holds any more, in the order in which they began to wait.

use std::collections::BTreeMap;

use ackclock_units::{Bytes, Instant};

/// What a connection that nobody holds waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// The peer's FIN.
    Fin,
    /// The end of TIME-WAIT.
    Time,
    /// Acknowledgments.
    Acks,
}

/// Since a connection is alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Alone {
    pub(super) waits: Waits,
    /// Its place in the order of those that wait alike.
    pub(super) number: u64,
    /// When it is given up.
    pub(super) until: Instant,
    /// What was acknowledged when that was decided.
    pub(super) acked: Bytes,
}

impl Alone {
    /// When it is given up, if TIME-WAIT does not see to it.
    pub(super) fn deadline(self) -> Option<Instant> {
        (self.waits != Waits::Time).then_some(self.until)
    }

    pub(super) fn is_over(self, now: Instant) -> bool {
        self.deadline().is_some_and(|at| at <= now)
    }
}

/// All of them, in the order in which they began to wait.
#[derive(Debug, Default)]
pub(super) struct Alones {
    pub(super) next: u64,
    pub(super) orphans: BTreeMap<u64, u32>,
    pub(super) in_time_wait: BTreeMap<u64, u32>,
}

impl Alones {
    pub(super) fn of(&mut self, waits: Waits) -> &mut BTreeMap<u64, u32> {
        if waits == Waits::Time { &mut self.in_time_wait } else { &mut self.orphans }
    }

    pub(super) fn remove(&mut self, alone: Option<Alone>) {
        if let Some(a) = alone {
            self.of(a.waits).remove(&a.number);
        }
    }
}
