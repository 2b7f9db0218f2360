//! Expiries of which a receiver can know nothing, by both captures and by how the sender was set.

use ackclock_capture::CapturedSegment;
use ackclock_capture::gaps::LEAST;

use crate::tally::SAME;
use crate::timeouts::Ends;

/// Why nothing can be known of an expiry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hidden {
    /// What it sent, and what was sent after it of the same, was lost; or nothing came before with an identification,
    /// so that none is skipped (a SYN-ACK of Linux has none); or its sender has no timestamps, and its packet came
    /// without a silence before it.
    Leaves = 0,
    /// It sent the first copy of the newest segment, and its host sends no probes. Linux plans its probe no later than
    /// its timeout (`tcp_schedule_loss_probe`): that of another host would have come at the same time.
    LikeAProbe = 1,
}

/// An expiry of the kernel's timer.
pub struct Expiry {
    /// By the kernel's clock, ns.
    pub at: u64,
    /// The way to the receiver.
    pub shift: u64,
    pub ends: Ends,
    /// Its host sends tail loss probes.
    pub probes: bool,
}

/// Why nothing can be known at the receiver of an expiry; `None` if something can.
pub fn why(e: &Expiry, sent: &[CapturedSegment], got: &[CapturedSegment]) -> Option<Hidden> {
    let ours = |s: &&CapturedSegment| (s.src, s.dst) == e.ends && s.segment.seq_len() > 0;
    let at = |s: &CapturedSegment| s.at.as_nanos();
    let again = sent.iter().filter(ours).min_by_key(|s| at(s).abs_diff(e.at))?;
    if at(again).abs_diff(e.at) >= SAME / 10 {
        return None;
    }
    let copy = |s: &&CapturedSegment| s.segment.seq == again.segment.seq && at(s) + SAME / 2 > e.at + e.shift;
    let Some(came) = got.iter().filter(ours).find(copy).map(at) else { return Some(Hidden::Leaves) };
    let numbered = got.iter().any(|s| (s.src, s.dst) == e.ends && at(s) < came && s.id != 0);
    let before = got.iter().filter(ours).map(at).filter(|t| *t < came).max();
    let close = before.is_some_and(|before| came - before < LEAST.as_nanos());
    if !numbered || again.segment.options.timestamps.is_none() && close {
        return Some(Hidden::Leaves);
    }
    let earlier = || sent.iter().filter(ours).filter(|s| at(s) < at(again));
    let newest = earlier().all(|s| s.segment.end() <= again.segment.end());
    let copies = earlier().filter(|s| s.segment.seq == again.segment.seq).count();
    (!e.probes && newest && copies == 1).then_some(Hidden::LikeAProbe)
}
