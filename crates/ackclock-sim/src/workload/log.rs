//! Transfers at given times.

use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant, Rng};

use super::source::Places;
use super::transfer::TransferApps;
use crate::flow::{FlowSource, FlowSpec};

/// Transfers whose times and sizes are known: the client sends a request, the server a file.
pub struct Logged {
    places: Places,
    /// Times and sizes, in the order of times.
    rows: Box<dyn Iterator<Item = (Duration, Bytes)> + Send>,
    /// No flow starts at or after this.
    stop: Instant,
    apps: TransferApps,
}

impl Logged {
    /// Transfers with these times and sizes.
    pub fn new<T>(
        places: Places,
        rows: Arc<[T]>,
        of: fn(&T) -> (Duration, Bytes),
        stop: Instant,
        apps: TransferApps,
    ) -> Self
    where
        T: Send + Sync + 'static,
    {
        let rows = (0..rows.len()).map(move |i| of(&rows[i]));
        Self { places, rows: Box::new(rows), stop, apps }
    }
}

impl FlowSource for Logged {
    fn next(&mut self, _: Instant, _: &mut Rng) -> Option<FlowSpec> {
        let (at, size) = self.rows.next()?;
        let start = Instant::ZERO + at;
        if start >= self.stop {
            self.rows = Box::new(std::iter::empty());
            return None;
        }
        let (client, server) = self.apps.build(size);
        self.places.next(start, client, server, Some(size))
    }
}
