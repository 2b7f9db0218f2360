//! The options of an analysis.

use std::sync::Arc;

use ackclock_policy::Timing;

use crate::what_if::WhatIfRequest;

/// What an analysis keeps and computes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep a sample of round-trip time and flight for every ack that gives one.
    pub samples: bool,
    /// Timers to simulate in place of the senders'.
    pub what_if: Arc<[Timing]>,
}

/// The options of each direction.
pub(crate) struct Wanted {
    pub samples: bool,
    pub what_if: Option<Arc<WhatIfRequest>>,
}

impl Wanted {
    pub(crate) fn new(options: Options) -> Self {
        Self { samples: options.samples, what_if: WhatIfRequest::new(options.what_if) }
    }
}
