//! TCP Fast Open (RFC 7413) as far as it is not part of a connection: what a client remembers of servers
//! ([`FastOpenCache`]), the key by which a server makes cookies ([`CookieKey`]), and what became of an
//! attempt. A world owns the cache and the key, and passes options to connections:
//! [`crate::Connection::connect_fast_open`], [`crate::Connection::accept_fast_open`].

mod cache;
mod key;

pub use cache::{CachedServer, FastOpenCache};
pub use key::CookieKey;

use ackclock_wire::FastOpen;

/// What a connection has done with Fast Open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastOpenReport {
    /// The option on our SYN, if there was one.
    pub option: Option<FastOpen>,
    /// Bytes of text on our SYN.
    pub sent: u32,
    /// Our SYN was sent again, without option and text.
    pub repeated: bool,
    /// All the text of a SYN was taken: of ours by the peer, or of the peer's by us.
    pub text_taken: bool,
    /// The connection was opened by a SYN that [`crate::Connection::accept_fast_open`] accepted.
    pub accepted: bool,
}

impl FastOpenReport {
    /// True where text was sent on a SYN and has to be sent again.
    pub fn has_failed(&self) -> bool {
        self.sent > 0 && !self.text_taken
    }
}
