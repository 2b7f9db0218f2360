//! The options of an analysis.

use std::collections::BTreeMap;
use std::sync::Arc;

use ackclock_policy::Timing;

use crate::Cause;
use crate::what_if::WhatIfRequest;

/// A cause of a retransmission that is known from elsewhere than from the acks of the capture.
#[derive(Clone, Debug)]
pub struct KnownCause {
    /// The cause, of those that count as retransmissions of data.
    pub cause: Cause,
    /// How that is known, in words.
    pub evidence: Arc<str>,
}

/// Known causes, by the numbers of the packets in the file.
pub type KnownCauses = BTreeMap<u64, KnownCause>;

/// What an analysis keeps and computes.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Keep a sample of round-trip time and flight for every ack that gives one.
    pub samples: bool,
    /// Timers to simulate in place of the senders'.
    pub what_if: Arc<[Timing]>,
    /// Causes that need not be derived.
    pub causes: Arc<KnownCauses>,
}

/// The options of each direction.
pub(crate) struct Wanted {
    pub samples: bool,
    pub what_if: Option<Arc<WhatIfRequest>>,
    pub causes: Arc<KnownCauses>,
}

impl Wanted {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            samples: options.samples,
            what_if: WhatIfRequest::new(options.what_if),
            causes: options.causes,
        }
    }
}
