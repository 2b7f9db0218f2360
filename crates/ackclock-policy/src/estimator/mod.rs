//! From round-trip time samples to a retransmission timeout.

mod jacobson88;
mod jacobson88_ticks;
mod rfc6298;
mod rfc793;
mod smooth;

use crate::{Entry, RttEstimator};

/// The built-in ones.
pub(crate) const ENTRIES: &[&Entry<dyn RttEstimator>] = &[&rfc793::ENTRY, &jacobson88::ENTRY, &jacobson88_ticks::ENTRY, &rfc6298::ENTRY];
