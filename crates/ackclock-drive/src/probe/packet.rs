//! Encoding of probes: an ICMP echo header for echoes, then a token, the probe's number, and padding.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;

use ackclock_wire::internet_checksum;

/// Size of token and number.
pub(super) const LEAST_PAYLOAD: usize = 16;
/// Size of an ICMP echo header.
const ECHO_HEADER: usize = 8;

/// ICMP types of echo request and reply (RFC 792, RFC 4443 §4).
const ECHO: [(u8, u8); 2] = [(8, 0), (128, 129)];

/// Encodes and decodes the payload of probes. The token of each probe is a keyed hash of its number, with a
/// key of this run. An observer of some probes cannot forge replies to others.
#[derive(Clone, Debug)]
pub(super) struct Payload {
    pub keys: RandomState,
}

impl Payload {
    fn token(&self, number: u64) -> u64 {
        self.keys.hash_one(("probe", number))
    }

    /// Writes `len` bytes, no fewer than [`LEAST_PAYLOAD`], for probe `number`.
    pub fn write(&self, number: u64, len: u32, out: &mut Vec<u8>) {
        let end = out.len() + (len as usize).max(LEAST_PAYLOAD);
        out.extend_from_slice(&self.token(number).to_be_bytes());
        out.extend_from_slice(&number.to_be_bytes());
        out.resize(end, b'a');
    }

    /// The number of the probe with which `bytes` begin; `None` if the token is wrong.
    pub fn read(&self, bytes: &[u8]) -> Option<u64> {
        let (token, rest) = bytes.split_first_chunk()?;
        let number = u64::from_be_bytes(*rest.first_chunk()?);
        (u64::from_be_bytes(*token) == self.token(number)).then_some(number)
    }

    /// The identifier of echoes, for raw sockets.
    pub fn identifier(&self) -> u16 {
        self.keys.hash_one("identifier") as u16
    }
}

/// Writes an ICMP echo request before a payload. The kernel sets identifier and checksum on unprivileged
/// sockets, and the checksum of ICMPv6 always.
pub(super) fn write_echo(
    v6: bool,
    identifier: u16,
    payload: &Payload,
    number: u64,
    len: u32,
    out: &mut Vec<u8>,
) {
    out.clear();
    let [id, sequence] = [identifier, number as u16].map(u16::to_be_bytes);
    out.extend_from_slice(&[ECHO[usize::from(v6)].0, 0, 0, 0, id[0], id[1], sequence[0], sequence[1]]);
    payload.write(number, len, out);
    if !v6 {
        let sum = internet_checksum(out);
        out[2..4].copy_from_slice(&sum);
    }
}

/// The probe number in an ICMP echo reply; `None` for any other packet. `identifier` is checked if given; on
/// unprivileged sockets the kernel does that.
pub(super) fn read_echo(v6: bool, identifier: Option<u16>, payload: &Payload, bytes: &[u8]) -> Option<u64> {
    let (header, rest) = bytes.split_first_chunk::<ECHO_HEADER>()?;
    let ours = identifier.is_none_or(|id| header[4..6] == id.to_be_bytes());
    let number = payload.read(rest)?;
    let sequence = u16::from_be_bytes([header[6], header[7]]);
    (header[0] == ECHO[usize::from(v6)].1 && header[1] == 0 && ours && sequence == number as u16)
        .then_some(number)
}

/// Strips the IPv4 header of a packet from a raw socket.
pub(super) fn without_ipv4_header(bytes: &[u8]) -> &[u8] {
    let len = bytes.first().map_or(0, |b| usize::from(b & 0xf) * 4);
    bytes.get(len..).unwrap_or_default()
}

/// Why this address cannot be probed, if it is not that of a single host.
pub(super) fn refused(to: IpAddr) -> Option<String> {
    let kind = match to {
        IpAddr::V4(a) if a.is_broadcast() => "the broadcast address",
        IpAddr::V4(a) if a.octets()[0] == 0 => "not the address of a host",
        _ if to.is_multicast() => "a multicast address",
        _ if to.is_unspecified() => "not the address of a host",
        _ => return None,
    };
    Some(format!("`{to}` is {kind}: give the address of one host"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours() -> Payload {
        Payload { keys: RandomState::new() }
    }

    fn reply(ours: &Payload, v6: bool, number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_echo(v6, 77, ours, number, 100, &mut bytes);
        bytes[0] = ECHO[usize::from(v6)].1;
        bytes
    }

    #[test]
    fn a_reply_identifies_its_probe() {
        let ours = &ours();
        for v6 in [false, true] {
            for number in [0, 1, 65_535, 65_536, u64::MAX] {
                let bytes = reply(ours, v6, number);
                assert_eq!(bytes.len(), ECHO_HEADER + 100);
                assert_eq!(read_echo(v6, Some(77), ours, &bytes), Some(number));
                assert_eq!(read_echo(v6, None, ours, &bytes), Some(number));
            }
        }
    }

    #[test]
    fn the_checksum_of_an_echo_is_valid() {
        let (ours, mut bytes) = (&ours(), Vec::new());
        for len in [16, 17, 1460] {
            write_echo(false, 0xbeef, ours, 12, len, &mut bytes);
            assert_eq!(internet_checksum(&bytes), [0, 0]);
        }
    }

    #[test]
    fn foreign_forged_and_truncated_replies_are_ignored() {
        let ours = &ours();
        let good = reply(ours, false, 5);
        assert_eq!(read_echo(false, Some(78), ours, &good), None, "another program's identifier");
        assert_eq!(read_echo(false, Some(77), &self::ours(), &good), None, "another token");
        assert_eq!(read_echo(true, Some(77), ours, &good), None, "a type of the other family");
        for len in 0..ECHO_HEADER + LEAST_PAYLOAD {
            assert_eq!(read_echo(false, None, ours, &good[..len]), None, "{len} bytes");
        }
        // The request itself, as it arrives over the loopback device; another code; a sequence number that is
        // not the probe's.
        for (place, value) in [(0, 8), (1, 1), (7, 9)] {
            let mut bad = good.clone();
            bad[place] = value;
            assert_eq!(read_echo(false, None, ours, &bad), None, "byte {place}");
        }
        for i in 0..8 {
            let mut bad = good.clone();
            bad[ECHO_HEADER + i] ^= 1;
            assert_eq!(read_echo(false, None, ours, &bad), None, "byte {i} of the token");
        }
        // The token of one probe with the number of the next, as an attacker would predict it.
        let mut next = good.clone();
        (next[7], next[ECHO_HEADER + 15]) = (6, 6);
        assert_eq!(read_echo(false, None, ours, &next), None);
    }

    #[test]
    fn a_raw_packet_with_an_invalid_header_is_handled() {
        assert_eq!(without_ipv4_header(&[]), &[] as &[u8]);
        assert_eq!(without_ipv4_header(&[0x4f, 1, 2]), &[] as &[u8]);
        let mut packet = vec![0x46; 24];
        packet.push(9);
        assert_eq!(without_ipv4_header(&packet), &[9]);
    }

    #[test]
    fn only_single_hosts_are_probed() {
        for no in ["255.255.255.255", "224.0.0.1", "239.1.2.3", "0.0.0.0", "0.1.2.3", "::", "ff02::1"] {
            assert!(refused(no.parse().unwrap()).unwrap().contains(no), "{no}");
        }
        for yes in ["127.0.0.1", "10.0.0.1", "::1", "fd00::1", "192.0.2.255"] {
            assert_eq!(refused(yes.parse().unwrap()), None, "{yes}");
        }
    }
}
