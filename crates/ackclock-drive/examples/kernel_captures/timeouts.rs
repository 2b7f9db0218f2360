//! The kernel's timeouts, with whether they were Eifel-spurious.

use std::net::SocketAddr;

use ackclock_capture::CapturedSegment;
use ackclock_units::Instant;
use ackclock_wire::Flags;

/// Source and destination of a direction.
pub type Ends = (SocketAddr, SocketAddr);

/// Timeouts of one direction: time, round, and whether a longer timer would have avoided it.
pub struct KernelTimeout {
    pub at: u64,
    pub round: u32,
    pub spurious: Option<bool>,
}

/// Derives the timeouts of one direction from both captures and the kernel's events.
pub fn kernel_timeouts(
    events: &[u64],
    ends: Ends,
    near: &[CapturedSegment],
    far: &[CapturedSegment],
) -> Vec<KernelTimeout> {
    let mut out: Vec<KernelTimeout> = Vec::new();
    let sent: Vec<&CapturedSegment> = near.iter().filter(|s| (s.src, s.dst) == ends).collect();
    let mut highest_ack = None::<ackclock_units::SeqNumber>;
    let mut back = Vec::new();
    for s in near {
        if (s.src, s.dst) == ends && s.segment.flags.has(Flags::ACK) {
            highest_ack = Some(
                highest_ack
                    .map_or(s.segment.ack, |t| if s.segment.ack.diff(t) > 0 { s.segment.ack } else { t }),
            );
        }
        // The receiver of a segment whose data was all acknowledged before ignores its acknowledgment (RFC
        // 9293 §3.10.7.4).
        let below = highest_ack.is_some_and(|t| t.diff(s.segment.end()) > 0);
        if (s.dst, s.src) == ends && s.segment.flags.has(Flags::ACK) && !below {
            back.push(s);
        }
    }
    for &at in events {
        let before = back
            .iter()
            .filter(|s| s.at.as_nanos() < at)
            .map(|s| s.segment.ack)
            .reduce(|a, b| if b.diff(a) > 0 { b } else { a });
        let advance = back
            .iter()
            .find(|s| s.at.as_nanos() >= at && before.is_none_or(|una| s.segment.ack.diff(una) > 0));
        let since = out.last().map(|e| e.at);
        let progress = since.is_some_and(|since| {
            let una = back
                .iter()
                .filter(|s| s.at.as_nanos() < since)
                .map(|s| s.segment.ack)
                .reduce(|a, b| if b.diff(a) > 0 { b } else { a });
            una != before
        });
        let round = if progress { 1 } else { out.last().map_or(1, |e| e.round + 1) };
        // Arrival times of copies of the oldest segment sent before the timeout, and of the first one sent
        // since; when its ack was sent.
        let copies = before.map(|una| {
            let covers = |s: &CapturedSegment| {
                s.segment.seq_len() > 0 && s.segment.seq.diff(una) <= 0 && s.segment.end().diff(una) > 0
            };
            let arrived = far.iter().filter(|s| (s.src, s.dst) == ends && covers(s)).map(|s| {
                let sent = sent
                    .iter()
                    .find(|f| f.id == s.id && f.segment.seq == s.segment.seq)
                    .map_or(0, |f| f.at.as_nanos());
                (sent, s.at)
            });
            // The capture's time may lag the kernel's by the emulator's wait.
            let (earlier, since): (Vec<_>, Vec<_>) = arrived.partition(|(sent, _)| sent + 200_000 < at);
            (earlier.into_iter().map(|c| c.1).collect::<Vec<_>>(), since.into_iter().map(|c| c.1).min())
        });
        let theirs = || far.iter().filter(|s| (s.dst, s.src) == ends && s.segment.flags.has(Flags::ACK));
        // In TIME-WAIT all have the identification 0.
        let same = |a: &CapturedSegment, b: &CapturedSegment| {
            a.id == b.id && a.segment.ack == b.segment.ack && a.segment.seq == b.segment.seq && a.at < b.at
        };
        let spurious = copies.zip(advance).and_then(|((earlier, since), advance)| {
            let acked_at = theirs().rfind(|s| same(s, advance))?.at;
            // New acknowledgments in the peer's own retransmissions are a coincidence.
            let a = &advance.segment;
            let by_chance = a.seq_len() > 0
                && theirs().any(|s| s.segment.seq == a.seq && s.segment.seq_len() > 0 && s.at < acked_at);
            if by_chance {
                return None;
            }
            // Sent between the arrival of an earlier copy and that of one sent since.
            let between = |s: &CapturedSegment| {
                earlier.iter().any(|e| *e <= s.at) && since.is_none_or(|since| s.at < since)
            };
            // A copy sent since may have overtaken an earlier one, which was acknowledged nevertheless.
            let came = |s: &CapturedSegment| {
                back.iter().any(|b| {
                    b.at.as_nanos() >= at
                        && theirs().rfind(|s| same(s, b)).is_some_and(|latest| latest.at == s.at)
                })
            };
            let own = |e: &Instant| theirs().find(|s| s.at >= *e).is_some_and(came);
            Some(theirs().any(|s| between(s) && came(s)) || earlier.iter().any(own))
        });
        out.push(KernelTimeout { at, round, spurious });
    }
    out
}
