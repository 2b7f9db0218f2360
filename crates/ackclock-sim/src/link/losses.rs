//! Packets that a link's wire has lost, by cause.

use std::collections::VecDeque;

/// What loses a packet: the link's schedule, or the fault of this number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LossCause {
    Schedule,
    Fault(usize),
}

/// Counts of losses by cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct WireLosses {
    pub(super) by_schedule: u64,
    /// One for each fault.
    pub(super) by_fault: Vec<u64>,
    /// The latest ones. A first-in first-out link decides as a packet is offered, so that some lie in the future.
    latest: VecDeque<LossCause>,
}

impl WireLosses {
    /// For a link of this many faults.
    pub(super) fn of(faults: usize) -> Self {
        Self { by_schedule: 0, by_fault: vec![0; faults], latest: VecDeque::new() }
    }

    /// Counts the loss of a packet behind `waiting` others.
    pub(super) fn count(&mut self, cause: LossCause, waiting: usize) {
        *self.of_cause(cause) += 1;
        // The packet in service may be one of them.
        while self.latest.len() > waiting + 1 {
            self.latest.pop_front();
        }
        self.latest.push_back(cause);
    }

    /// The counts without the `n` latest losses.
    pub(super) fn without_latest(&self, n: usize) -> Self {
        let mut before = self.clone();
        for cause in self.latest.iter().rev().take(n) {
            *before.of_cause(*cause) -= 1;
        }
        before
    }

    fn of_cause(&mut self, cause: LossCause) -> &mut u64 {
        match cause {
            LossCause::Schedule => &mut self.by_schedule,
            LossCause::Fault(i) => &mut self.by_fault[i],
        }
    }

    /// Memory held by its lists, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.by_fault.capacity() * size_of::<u64>() + self.latest.capacity() * size_of::<LossCause>()) as u64
    }
}
