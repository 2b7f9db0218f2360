//! Any bytes as a frame, with tunnels in it.

use ackclock_capture::CapturedSegment;
use ackclock_capture::read::{LinkType, Packet};
use ackclock_units::Instant;

/// Reads `data` as a link type (two bytes, little-endian) and a frame of it, whole and cut at every length.
pub fn encapsulated(data: &[u8]) {
    let Some((number, frame)) = data.split_first_chunk() else { return };
    let link = LinkType::from_number(u16::from_le_bytes(*number).into());
    let read = |kept: usize| {
        CapturedSegment::in_packet(&Packet {
            at: Instant::ZERO,
            link,
            interface: 0,
            original_len: frame.len() as u32,
            frame: 1,
            data: &frame[..kept],
        })
    };
    let whole = read(frame.len());
    for kept in 0..frame.len().min(CUTS) {
        let _ = read(kept);
    }
    assert_eq!(read(frame.len()), whole, "a frame is read in one way");
}

/// Lengths tried: headers are shorter.
const CUTS: usize = 512;
