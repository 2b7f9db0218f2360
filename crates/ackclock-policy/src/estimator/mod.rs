//! From round-trip time samples to a retransmission timeout.

mod coap;
mod cocoa;
mod eifel;
mod eifel_agg;
mod flight;
mod jacobson88;
mod jacobson88_ticks;
mod linux;
mod lite;
mod quic;
mod rfc6298;
mod rfc793;
mod smooth;

use crate::{Entry, RttEstimator};

/// The built-in estimators.
pub(crate) const ENTRIES: &[&Entry<dyn RttEstimator>] = &[
    &rfc793::ENTRY,
    &jacobson88::ENTRY,
    &jacobson88_ticks::ENTRY,
    &lite::ENTRY,
    &eifel::ENTRY,
    &eifel_agg::ENTRY,
    &rfc6298::ENTRY,
    &linux::ENTRY,
    &quic::ENTRY,
    &coap::ENTRY,
    &cocoa::ENTRY,
];

#[cfg(test)]
mod tests;
