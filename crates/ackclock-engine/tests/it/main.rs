//! Tests of connections through the crate's interface: a file for each subject, in one program, which links once.

mod support;

mod diversity;
mod fast_open;
mod rack;
mod room;
mod send_memory;
mod signals;
mod smart_framing;
mod stacks;
mod thin;
mod transfer;
mod undo;
mod wrap;
