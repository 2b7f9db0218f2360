//! Other timers in place of the sender's: what they would have done given what it sent and received.
//!
//! While a direction is read, each timer is notified of what is sent and acknowledged, as by a connection of
//! its own. If its deadline passes before an ack arrives, or the sender's own timer fires, a
//! [`stall::Stall`] is recorded. Stalls are evaluated at the end ([`evaluate`]), when the verdicts on
//! retransmissions are final.

mod attempts;
mod evaluate;
mod follower;
mod followers;
mod rerun;
mod stall;

pub(crate) use self::evaluate::{Evidence, evaluate};
pub(crate) use self::followers::{Followers, MOST_STALLS, WhatIfRequest};
pub(crate) use self::stall::{Advance, Flight};
