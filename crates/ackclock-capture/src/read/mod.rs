//! From a file to packets: compression, pcap and pcapng, link headers, tunnels. Streaming, in bounded memory.

pub(crate) mod encapsulated;
pub(crate) mod fragments;
mod link;
mod open;
mod packets;

pub use encapsulated::Unread;
pub use link::LinkType;
pub use open::{decompressed, open};
pub use packets::{Packet, Packets};
