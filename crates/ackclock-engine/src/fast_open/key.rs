//! The cookies of a server.

use std::hash::Hasher as _;
use std::net::IpAddr;

use ackclock_wire::FastOpen;
use siphasher::sip::SipHasher24;

/// A server's secret, from which it makes cookies (RFC 7413 §4.1.2): keyed hashes of the client's address and
/// its own, so that a client can use a cookie only from the address to which it was given. Changing the key
/// makes old cookies invalid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CookieKey([u8; 16]);

impl CookieKey {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The cookie for a client, of eight bytes: SipHash-2-4 of both addresses as they are in the IP header,
    /// as Linux makes it, so that servers which share a key accept each other's cookies.
    pub fn cookie(&self, client: IpAddr, server: IpAddr, experimental: bool) -> FastOpen {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        for address in [client, server] {
            match address {
                IpAddr::V4(ip) => hasher.write(&ip.octets()),
                IpAddr::V6(ip) => hasher.write(&ip.octets()),
            }
        }
        FastOpen::new(&hasher.finish().to_le_bytes(), experimental).unwrap_or(FastOpen::REQUEST)
    }

    /// True for the cookie that this key makes for a client.
    pub fn accepts(&self, option: &FastOpen, client: IpAddr, server: IpAddr) -> bool {
        let own = self.cookie(client, server, option.experimental);
        // Looks at all bytes, so that the time tells nothing about them.
        option.cookie().len() == own.cookie().len()
            && option.cookie().iter().zip(own.cookie()).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
    }
}

impl std::fmt::Debug for CookieKey {
    /// Without the key, which is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CookieKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: CookieKey = CookieKey([
        0xa1, 0xa1, 0xa1, 0xa1, 0xb2, 0xb2, 0xb2, 0xb2, 0xc3, 0xc3, 0xc3, 0xc3, 0xd4, 0xd4, 0xd4, 0xd4,
    ]);

    #[test]
    fn cookies_are_those_of_linux() {
        let (client, server) = ([192, 0, 2, 1].into(), [192, 168, 0, 1].into());
        let cookie = KEY.cookie(client, server, false);
        assert_eq!(cookie.cookie(), [0x30, 0x21, 0xb9, 0xd8, 0x89, 0x01, 0x7e, 0xeb]);
        assert!(KEY.accepts(&cookie, client, server));
        assert!(!KEY.accepts(&cookie, server, client), "another client");
        assert!(!KEY.accepts(&FastOpen::REQUEST, client, server));
        assert!(!CookieKey([0; 16]).accepts(&cookie, client, server), "another key");
    }
}
