//! For tests only: generators, endpoints that exchange real packets, a lossy path in virtual time, and
//! scripts of segments to inject and expect.

mod endpoint;
pub mod generate;
mod icmp;
pub mod pipe;
mod plan;
mod seg;
mod setup;
mod side;
pub mod timeline;

pub use ackclock_policy::laws;
pub use endpoint::{Endpoint, packet, pattern, segment_of};
pub use icmp::{icmp_header, icmp_packet};
pub use setup::{Setup, choose};
