//! How the timeout grows when the same segment times out again.

mod bsd43_table;
mod coap;
mod cocoa;
mod exponential;
mod freebsd_syn;
mod limits;
mod linear;
mod linux;
mod none;
mod sub_exponential;
mod thin_linear;

use crate::{Backoff, Entry};

/// The built-in backoffs.
pub(crate) const ENTRIES: &[&Entry<dyn Backoff>] = &[
    &exponential::ENTRY,
    &linear::ENTRY,
    &sub_exponential::ENTRY,
    &none::ENTRY,
    &bsd43_table::ENTRY,
    &freebsd_syn::ENTRY,
    &thin_linear::ENTRY,
    &linux::ENTRY,
    &coap::ENTRY,
    &cocoa::ENTRY,
];

#[cfg(test)]
mod tests;
