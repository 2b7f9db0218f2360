//! What acks have reported out of order, from the emulator to the applications: a kernel does not tell it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use ackclock_units::Instant;
use ackclock_wire::SackBlocks;

use crate::emulator::SackListener;
use crate::linux::wait::Waker;

/// Where both sides of all connections learn what acks have reported out of order.
pub(crate) struct SackWatch {
    /// By stream: whether its application waits for acks.
    wanted: Vec<AtomicBool>,
    /// The clients' side and the servers'.
    sides: [(Mutex<Vec<Sacked>>, Waker); 2],
}

/// An ack with SACK blocks has arrived at an end of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sacked {
    /// Number of the connection.
    pub(crate) number: usize,
    /// Positions in the stream of this end, their lower 32 bits.
    pub(crate) blocks: SackBlocks,
    pub(crate) at: Instant,
}

impl SackWatch {
    /// For this many connections; wakes the clients' side and the servers'.
    pub(crate) fn new(connections: usize, wakers: [Waker; 2]) -> Self {
        Self {
            wanted: (0..2 * connections).map(|_| AtomicBool::new(false)).collect(),
            sides: wakers.map(|waker| (Mutex::default(), waker)),
        }
    }

    /// The application at one end of a connection waits for acks: 0 is the client's.
    pub(crate) fn want(&self, side: usize, number: usize) {
        if let Some(wanted) = self.wanted.get(2 * number + side) {
            wanted.store(true, Ordering::Relaxed);
        }
    }

    /// What has arrived at a side since the last call.
    pub(crate) fn take(&self, side: usize) -> Vec<Sacked> {
        std::mem::take(&mut *self.sides[side].0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl SackListener for SackWatch {
    fn wants(&self, stream: u32) -> bool {
        self.wanted.get(stream as usize).is_some_and(|wanted| wanted.load(Ordering::Relaxed))
    }

    fn report(&self, stream: u32, blocks: SackBlocks, at: Instant) {
        let (reports, waker) = &self.sides[stream as usize % 2];
        let report = Sacked { number: stream as usize / 2, blocks, at };
        reports.lock().unwrap_or_else(PoisonError::into_inner).push(report);
        waker.wake();
    }
}
