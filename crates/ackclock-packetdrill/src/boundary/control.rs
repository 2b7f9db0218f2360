//! Control messages in bytes (`struct cmsghdr`).

use std::mem::size_of;

use ackclock_script::{Control, ControlData};
use ackclock_units::Instant;

use super::device::EPOCH;

/// Control messages start and end at words.
const WORD: usize = size_of::<usize>();

/// The bytes of control messages, one after the other, as far as they fit into `room` bytes; and whether all
/// did.
pub(super) fn write(control: &[Control], room: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    for message in control {
        let data = data(&message.data, message.level == i64::from(libc::SOL_IPV6));
        let len = size_of::<libc::cmsghdr>() + data.len();
        if bytes.len() + len > room {
            return (bytes, false);
        }
        bytes.extend(len.to_ne_bytes());
        bytes.extend((message.level as i32).to_ne_bytes());
        bytes.extend((message.kind as i32).to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(WORD), 0);
    }
    bytes.truncate(room);
    (bytes, true)
}

/// `v6`: addresses are of IPv6.
fn data(data: &ControlData, v6: bool) -> Vec<u8> {
    match data {
        ControlData::Int(n) => (*n as i32).to_ne_bytes().to_vec(),
        // The first of three times is that of software (`struct scm_timestamping`).
        ControlData::Time(at) => [time(*at), [0; 16], [0; 16]].concat(),
        // `struct sock_extended_err`, and an address that stands for none.
        ControlData::Error(e) => {
            let mut bytes = (e.errno as u32).to_ne_bytes().to_vec();
            bytes.extend([e.origin as u8, e.kind as u8, e.code as u8, 0]);
            bytes.extend((e.info as u32).to_ne_bytes());
            bytes.extend((e.data as u32).to_ne_bytes());
            let address = if v6 { size_of::<libc::sockaddr_in6>() } else { size_of::<libc::sockaddr_in>() };
            bytes.resize(bytes.len() + address, 0);
            bytes
        }
    }
}

/// A `struct timespec` of the clock that the lab shows.
fn time(at: Instant) -> [u8; 16] {
    let nanos = at.as_nanos();
    let mut bytes = [0; 16];
    let seconds = EPOCH + (nanos / 1_000_000_000) as i64;
    bytes[..8].copy_from_slice(&seconds.to_ne_bytes());
    bytes[8..].copy_from_slice(&((nanos % 1_000_000_000) as i64).to_ne_bytes());
    bytes
}
