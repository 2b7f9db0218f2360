//! From a file to packets: compression, pcap and pcapng, link headers. Streaming, in bounded memory.

mod link;
mod open;
mod packets;

pub use link::LinkType;
pub use open::{decompressed, open};
pub use packets::{Packet, Packets};
