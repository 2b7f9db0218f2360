//! The Fast Open option (RFC 7413 §4.1.1). It is not among [`crate::Options`], which are copied with every
//! segment: only SYNs carry it, and few of them do.

use crate::options::MAX_OPTIONS_LEN;

const END: u8 = 0;
const NOP: u8 = 1;
/// Kind of the option (RFC 7413 §4.1.1).
const KIND: u8 = 34;
/// Kind of options for experiments (RFC 6994 §2), with the number of Fast Open's (RFC 7413 §4.1.1).
const EXPERIMENT: u8 = 254;
const EXPERIMENT_ID: [u8; 2] = [0xf9, 0x89];

/// Shortest and longest cookie, bytes (RFC 7413 §4.1.1).
const LEAST: usize = 4;
const MOST: usize = 16;

/// A Fast Open option: a cookie, or the request for one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FastOpen {
    cookie: [u8; MOST],
    len: u8,
    /// Written in the experimental form of RFC 6994, as it was before the option had a number of its own.
    pub experimental: bool,
}

impl FastOpen {
    /// The request for a cookie.
    pub const REQUEST: Self = Self { cookie: [0; MOST], len: 0, experimental: false };

    /// An option with this cookie, or a request where that is empty. `None` for a length that no cookie has:
    /// 0, or an even number from 4 to 16 (RFC 7413 §4.1.1).
    pub fn new(cookie: &[u8], experimental: bool) -> Option<Self> {
        let valid =
            cookie.is_empty() || (LEAST..=MOST).contains(&cookie.len()) && cookie.len().is_multiple_of(2);
        let mut option = Self { len: cookie.len() as u8, experimental, ..Self::REQUEST };
        option.cookie.get_mut(..cookie.len())?.copy_from_slice(cookie);
        valid.then_some(option)
    }

    /// The cookie; empty in a request.
    pub fn cookie(&self) -> &[u8] {
        &self.cookie[..usize::from(self.len)]
    }

    /// True for a request.
    pub fn is_request(&self) -> bool {
        self.len == 0
    }

    /// The last such option among the options of a SYN, of which a peer may send several. One of an odd
    /// length counts as none at all, and so does one that is cut short.
    pub fn find(mut options: &[u8]) -> Option<Self> {
        let mut found = None;
        while let [kind, rest @ ..] = options {
            match *kind {
                END => break,
                NOP => options = rest,
                kind => {
                    let Some(len) = rest.first().map(|len| usize::from(*len)) else { break };
                    let Some(body) = options.get(2..len) else { break };
                    let cookie = match kind {
                        KIND => Some((body, false)),
                        EXPERIMENT => body.strip_prefix(&EXPERIMENT_ID).map(|cookie| (cookie, true)),
                        _ => None,
                    };
                    if let Some((cookie, experimental)) = cookie.filter(|(c, _)| c.len().is_multiple_of(2)) {
                        found = Self::new(cookie, experimental);
                    }
                    options = &options[len..];
                }
            }
        }
        found
    }

    /// The same in a whole packet, IP header first. `None` where it is no SYN of TCP right behind the IP
    /// header.
    pub fn find_in_packet(packet: &[u8]) -> Option<Self> {
        /// TCP's number (RFC 9293 §3.1), where IPv4 (RFC 791 §3.1) and IPv6 (RFC 8200 §3) have it.
        const TCP: u8 = 6;
        const SYN: u8 = 0x02;
        const HEADER: usize = 20;
        let (start, protocol) = match packet.first()? >> 4 {
            4 => (usize::from(packet[0] & 15) * 4, *packet.get(9)?),
            6 => (40, *packet.get(6)?),
            _ => return None,
        };
        let header = packet.get(start..)?;
        if protocol != TCP || header.get(13)? & SYN == 0 {
            return None;
        }
        Self::find(header.get(HEADER..usize::from(header[12] >> 4) * 4)?)
    }

    /// Appends the option to those of a SYN, padded to a multiple of four behind it as Linux does. Returns
    /// false, and appends nothing, where there is no room for it.
    pub fn append(&self, options: &mut Vec<u8>) -> bool {
        let base = if self.experimental { 2 + EXPERIMENT_ID.len() } else { 2 };
        let len = base + usize::from(self.len);
        if options.len() + len.next_multiple_of(4) > MAX_OPTIONS_LEN {
            return false;
        }
        options.extend([if self.experimental { EXPERIMENT } else { KIND }, len as u8]);
        if self.experimental {
            options.extend(EXPERIMENT_ID);
        }
        options.extend(self.cookie());
        options.resize(options.len() + (4 - len % 4) % 4, NOP);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_is_found() {
        for (cookie, experimental, len) in [
            (&[][..], false, 4),
            (&[1; 4], false, 8),
            (&[2; 6], false, 8),
            (&[3; 16], true, 20),
            (&[], true, 4),
        ] {
            let option = FastOpen::new(cookie, experimental).unwrap();
            let mut bytes = vec![2, 4, 5, 180];
            assert!(option.append(&mut bytes));
            assert_eq!((bytes.len(), FastOpen::find(&bytes)), (4 + len, Some(option)));
        }
    }

    #[test]
    fn lengths_that_no_cookie_has_are_refused() {
        for len in [1, 2, 3, 5, 17, 18, 40] {
            assert_eq!(FastOpen::new(&vec![0; len], false), None, "{len}");
        }
        // RFC 7413 §4.1.1: the length is even. An odd one is passed over, an even one of another size is
        // none.
        assert_eq!(FastOpen::find(&[34, 2, 34, 7, 1, 2, 3, 4, 5]), Some(FastOpen::REQUEST));
        assert_eq!(FastOpen::find(&[34, 6, 1, 2, 3, 4, 34, 4, 1, 2]), None);
    }

    #[test]
    fn the_last_of_several_counts() {
        let found = FastOpen::find(&[34, 6, 1, 1, 1, 1, 254, 8, 0xf9, 0x89, 2, 2, 2, 2]).unwrap();
        assert_eq!((found.cookie(), found.experimental), (&[2, 2, 2, 2][..], true));
        // Another experiment.
        assert_eq!(FastOpen::find(&[254, 8, 0xf9, 0x88, 2, 2, 2, 2]), None);
    }

    #[test]
    fn options_that_are_cut_short_end_the_search() {
        for cut in [&[34][..], &[34, 0], &[34, 1], &[34, 6, 1, 2], &[8, 200]] {
            assert_eq!(FastOpen::find(cut), None, "{cut:?}");
        }
        let cut = [34, 6, 1, 2, 3, 4, 8];
        assert!(FastOpen::find(&cut).is_some());
    }

    #[test]
    fn a_header_without_room_stays_as_it_was() {
        let mut bytes = vec![NOP; 36];
        assert!(!FastOpen::new(&[1; 4], false).unwrap().append(&mut bytes));
        assert_eq!(bytes.len(), 36);
    }
}
