//! What a receiver can know of packets sent again, told by both captures together.

use std::collections::HashSet;
use std::net::SocketAddr;

use ackclock_capture::CapturedSegment;
use ackclock_units::SeqNumber;
use ackclock_wire::Flags;

/// Where a connection begins, and the highest that was seen of it.
type Known = Option<(SeqNumber, SeqNumber)>;

/// Packets that the sender of one direction sent again, as its own capture has them; and those in its
/// receiver's that can be told to be some: of a later sequence number the receiver had heard before. A lost
/// tail that is sent again looks new to it.
pub fn sent_again(
    ends: (SocketAddr, SocketAddr),
    sent: &[CapturedSegment],
    got: &[CapturedSegment],
) -> (u64, u64) {
    let own = |s: &&CapturedSegment| (s.src, s.dst) == ends && s.segment.seq_len() > 0;
    let mut known = None;
    let again: HashSet<_> = sent.iter().filter(own).filter(|s| !is_new(&mut known, s)).map(name).collect();
    let mut known = None;
    // The network may have made copies of them.
    let came: HashSet<_> = got
        .iter()
        .filter(own)
        .filter(|s| !is_new(&mut known, s))
        .map(name)
        .filter(|s| again.contains(s))
        .collect();
    (again.len() as u64, came.len() as u64)
}

fn name(s: &CapturedSegment) -> (u16, SeqNumber, u32) {
    (s.id, s.segment.seq, s.segment.seq_len())
}

/// True where nothing of it, nor behind it, was seen before.
fn is_new(known: &mut Known, s: &CapturedSegment) -> bool {
    let (seq, end) = (s.segment.seq, s.segment.end());
    // A SYN of another connection on the same ports begins anew.
    let other = s.segment.flags.has(Flags::SYN) && known.is_some_and(|k| k.0 != seq);
    let Some((first, high)) = known.filter(|_| !other) else {
        *known = Some((seq, end));
        return true;
    };
    let further = end.diff(high) > 0;
    if further {
        *known = Some((first, end));
    }
    seq.diff(high) >= 0
}
