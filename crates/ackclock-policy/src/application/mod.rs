//! What runs above a connection.

mod backlogged;
mod bulk;
mod dialogue;
mod distribution;
mod exchange;
mod fan_in;
mod fixed;
mod http;
mod on_off;
mod padded;
mod player;
mod request;
#[cfg(test)]
mod request_tests;
mod respond;
mod serve;
mod sink;
mod telnet;
#[cfg(test)]
mod tests;
mod typing;
mod video;

use crate::{Application, Entry};

/// The built-in applications.
pub(crate) const ENTRIES: &[&Entry<dyn Application>] = &[
    &bulk::ENTRY,
    &fixed::ENTRY,
    &dialogue::ENTRY,
    &request::ENTRY,
    &respond::ENTRY,
    &http::ENTRY,
    &fan_in::ENTRY,
    &video::ENTRY,
    &serve::ENTRY,
    &telnet::ENTRY,
    &padded::ENTRY,
    &backlogged::ENTRY,
    &on_off::ENTRY,
    &sink::ENTRY,
];
