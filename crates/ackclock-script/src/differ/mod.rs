//! Finds where two hosts differ: random conversations run on both, and the first difference of each is made
//! smaller until it is one short script.

mod campaign;
mod compare;
mod conversation;
mod generate;
mod known;
mod observe;
mod opening;
mod peer;
mod receiver;
mod script;
mod shrink;
mod sound;
mod timeline;

pub use campaign::{Campaign, Found, Hosts, Progress, run};
pub use compare::{Cause, Difference, Measure, Place, compare};
pub use conversation::{
    Ack, Act, Block, Conversation, Fate, Offer, Op, Role, Segment, SocketOption, Stamp, Step,
};
pub use generate::generate;
pub use known::Known;
pub use observe::{follow, lead};
pub use script::script;
pub use shrink::shrink;
pub use sound::generate_sound;
pub use timeline::{Doing, Sent, Stimulus, Timeline};
