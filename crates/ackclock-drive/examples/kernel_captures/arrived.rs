//! Retransmissions that the receiver's capture can show, derived from both captures.

use std::collections::HashSet;
use std::net::SocketAddr;

use ackclock_capture::CapturedSegment;
use ackclock_units::SeqNumber;
use ackclock_wire::Flags;

/// Initial sequence number and highest sequence number seen of a connection.
type Known = Option<(SeqNumber, SeqNumber)>;

/// Packets retransmitted by the sender of one direction, from its own capture; and those recognisable in the
/// receiver's capture, which has seen a higher sequence number before. A retransmitted tail looks new there.
pub fn sent_again(
    ends: (SocketAddr, SocketAddr),
    sent: &[CapturedSegment],
    got: &[CapturedSegment],
) -> (u64, u64) {
    let own = |s: &&CapturedSegment| (s.src, s.dst) == ends && s.segment.seq_len() > 0;
    let mut known = None;
    let again: HashSet<_> = sent.iter().filter(own).filter(|s| !is_new(&mut known, s)).map(name).collect();
    let mut known = None;
    // The network may have duplicated them.
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

/// True when neither these nor later sequence numbers were seen before.
fn is_new(known: &mut Known, s: &CapturedSegment) -> bool {
    let (seq, end) = (s.segment.seq, s.segment.end());
    // A SYN of a new connection on the same ports resets the state.
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
