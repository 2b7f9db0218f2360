//! Transfers at given times.

use std::sync::Arc;

use ackclock_policy::{Application, Chosen, Value};
use ackclock_units::{Bytes, Duration, Instant, Rng};

use super::source::Places;
use crate::flow::{FlowSource, FlowSpec};

/// Transfers whose times and sizes are known: the client sends a request, the server a file.
pub struct Logged {
    places: Places,
    /// Times and sizes, in the order of times.
    rows: Box<dyn Iterator<Item = (Duration, Bytes)> + Send>,
    /// No flow starts at or after this.
    stop: Instant,
    client: Chosen<dyn Application>,
    /// `size` is set for each flow.
    server: Chosen<dyn Application>,
}

impl Logged {
    /// Transfers with these times and sizes, each with a request that both applications agree on.
    pub fn new<T>(
        places: Places,
        rows: Arc<[T]>,
        of: fn(&T) -> (Duration, Bytes),
        stop: Instant,
        (client, server): (Chosen<dyn Application>, Chosen<dyn Application>),
    ) -> Self
    where
        T: Send + Sync + 'static,
    {
        let rows = (0..rows.len()).map(move |i| of(&rows[i]));
        Self { places, rows: Box::new(rows), stop, client, server }
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
        // Cannot fail: a size beyond the declared range is refused when the scenario is read.
        let _ = self.server.set_value("size", Value::Bytes(size));
        self.places.next(start, self.client.build(), self.server.build(), Some(size))
    }
}
