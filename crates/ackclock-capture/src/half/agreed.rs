//! What the two SYNs negotiated.

use ackclock_wire::{Options, Segment};

use crate::thresholds::THRESHOLDS;

/// What the two SYNs negotiated, as far as the capture has them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Agreed {
    /// The largest segment of this direction; 0 while unknown.
    pub mss: u32,
    /// The scale of the receiver's window; zero while unknown.
    pub window_scale: u8,
    /// The handshake is in the capture, with all of its options: the scale is known.
    pub scale_known: bool,
    /// Both ends offered SACK, or blocks were seen.
    pub sack: bool,
}

impl Agreed {
    /// The segment size, or the usual one where the capture has no handshake.
    pub(super) fn mss_or_usual(&self) -> u32 {
        if self.mss > 0 { self.mss } else { THRESHOLDS.segments.usual_mss }
    }

    /// How many packets on the wire carry `len` bytes.
    pub(super) fn packets(&self, len: u32) -> u32 {
        let mss = self.mss_or_usual();
        // Nearly always one: this saves a division in the common case.
        if len <= mss { 1 } else { len.div_ceil(mss) }
    }

    /// The same for a segment whose packets each carry its SACK blocks, which leaves less room (RFC 2018 §3).
    pub(super) fn packets_with(&self, s: &Segment, len: u32) -> u32 {
        // Four blocks at most.
        if len + 36 <= self.mss || self.mss == 0 {
            return self.packets(len);
        }
        match s.options.sack.as_slice().len() as u32 {
            0 => self.packets(len),
            blocks => len.div_ceil(self.mss.saturating_sub(4 + 8 * blocks).max(1)),
        }
    }
}

/// Segment size of a direction from the two SYNs: the smaller limit, less timestamps (RFC 6691).
pub(crate) fn segment_size(own: &Options, peer: &Options) -> u32 {
    let limit = |o: &Options| o.mss.map_or(THRESHOLDS.segments.mss_without_option, u32::from);
    let timestamps = if own.timestamps.is_some() && peer.timestamps.is_some() { 12 } else { 0 };
    limit(own).min(limit(peer)).saturating_sub(timestamps).max(1)
}
