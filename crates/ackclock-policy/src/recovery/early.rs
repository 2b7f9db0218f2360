use crate::{Param, Params, ScoreboardView, SenderView};

use super::episode::new_data;

/// Early Retransmit (RFC 5827): when too few segments are outstanding to elicit DupThresh duplicate acks, and
/// no new data can be sent to elicit more, duplicate acks for all of them but one are enough.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EarlyRetransmit {
    Off,
    Segments,
    Bytes,
}

impl EarlyRetransmit {
    /// Reads [`EARLY_RETRANSMIT`].
    pub fn new(p: &Params) -> Self {
        match p.choice("early_retransmit") {
            "segments" => Self::Segments,
            "bytes" => Self::Bytes,
            _ => Self::Off,
        }
    }

    /// True when everything outstanding but one segment has left the network, as counted by duplicate acks
    /// or, with SACK, as reported by SACKs.
    pub fn is_due(self, b: &dyn ScoreboardView, v: &SenderView) -> bool {
        if self == Self::Off {
            return false;
        }
        // Conditions 2.b and 3.b: where new data is ready and there is room for it, Limited Transmit (RFC
        // 3042) elicits the missing duplicate acks.
        let ready = v.unsent >= u64::from(v.smss) || !v.holds_small;
        if ready && new_data(v).is_some() {
            return false;
        }
        let (missing, left) = if self == Self::Segments {
            // §3.2: fewer than four segments, whatever their size.
            let Some((segments, sacked)) = count(b, v) else { return false };
            (segments - 1, if v.sack { sacked } else { v.dup_acks })
        } else {
            // §3.1: fewer than four segments' worth of bytes.
            let smss = u64::from(v.smss);
            if v.data_outstanding() >= u64::from(MOST) * smss {
                return false;
            }
            if v.sack {
                let sacked: u64 = b.sacked().iter().map(|range| u64::from(range.len())).sum();
                return sacked > 0 && sacked >= v.flight_size.saturating_sub(smss);
            }
            ((v.data_outstanding().div_ceil(smss) as u32).saturating_sub(1), v.dup_acks)
        };
        // A single segment elicits no duplicate acks.
        missing > 0 && left >= missing
    }
}

/// The outstanding segments and those of them that are SACKed; `None` when there are none, or too many.
fn count(b: &dyn ScoreboardView, v: &SenderView) -> Option<(u32, u32)> {
    let (mut at, mut segments, mut sacked) = (v.snd_una, 0, 0);
    while at < v.snd_nxt {
        let s = b.segment(at)?;
        segments += 1;
        sacked += u32::from(s.sacked);
        if segments == MOST {
            return None;
        }
        at = s.range.end;
    }
    (segments > 0).then_some((segments, sacked))
}

/// With this many segments outstanding, the others elicit enough duplicate acks (RFC 5827 §3: "less than
/// four").
const MOST: u32 = 4;

/// RFC 5827.
pub(super) const EARLY_RETRANSMIT: Param = Param::choice(
    "early_retransmit",
    "off",
    &["off", "segments", "bytes"],
    "Early Retransmit (RFC 5827): when fewer than four segments are outstanding and no new data can be sent, \
     duplicate acks for all but one of them indicate a loss: `off`, counting `segments` (3.2), or counting \
     `bytes` (3.1)",
);
