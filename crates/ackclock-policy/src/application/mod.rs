//! What runs above a connection.

mod backlogged;
mod bulk;
mod dialogue;
mod fixed;
mod on_off;
mod padded;
mod request;
mod respond;
mod sink;
mod telnet;
#[cfg(test)]
mod tests;
mod typing;

use crate::{Application, Entry};

/// The built-in applications.
pub(crate) const ENTRIES: &[&Entry<dyn Application>] = &[
    &bulk::ENTRY,
    &fixed::ENTRY,
    &dialogue::ENTRY,
    &request::ENTRY,
    &respond::ENTRY,
    &telnet::ENTRY,
    &padded::ENTRY,
    &backlogged::ENTRY,
    &on_off::ENTRY,
    &sink::ENTRY,
];
