//! 802.11 frames, and the headers that capturing machines put before them.

use super::{Layer, Rest, Step, Stop, Unread};

/// A frame (IEEE 802.11-2020 §9.2.4): only data frames hold LLC.
pub(super) fn frame(rest: Rest<'_>) -> Step<'_> {
    frame_with(rest, false)
}

/// `padded`: the header is filled up to words of four bytes.
fn frame_with(rest: Rest<'_>, padded: bool) -> Step<'_> {
    let (control, flags) = (rest.byte(0)?, rest.byte(1)?);
    let (data, qos, null) = (control & 0x0c == 0x08, control & 0x80 != 0, control & 0x40 != 0);
    if !data || null {
        return Err(Stop::Other);
    }
    if flags & 0x40 != 0 {
        return Err(Stop::Unread(Unread::EncryptedWifi));
    }
    // A fourth address between two stations of the distribution system.
    let addresses = if flags & 3 == 3 { 30 } else { 24 };
    if qos && rest.byte(addresses)? & 0x80 != 0 {
        return Err(Stop::Unread(Unread::Amsdu));
    }
    // HT control, where the order bit is set.
    let len = addresses + if qos { 2 } else { 0 } + if qos && flags & 0x80 != 0 { 4 } else { 0 };
    rest.then(if padded { len.next_multiple_of(4) } else { len }, Layer::Llc)
}

/// Radiotap (radiotap.org): its length, and whether the header behind it is padded.
pub(super) fn radiotap(rest: Rest<'_>) -> Step<'_> {
    let len = usize::from(rest.half_le(2)?);
    // The words that say what is present go on while their highest bit is set.
    let mut fields = 8;
    while rest.word_le(fields - 4)? & 1 << 31 != 0 {
        fields += 4;
    }
    let present = rest.word_le(4)?;
    // The flags follow the time, which is aligned to eight bytes.
    let flags = if present & 1 != 0 { fields.next_multiple_of(8) + 8 } else { fields };
    let padded = present & 2 != 0 && rest.byte(flags)? & 0x20 != 0;
    let (_, behind) = rest.then(len.max(8), Layer::Wifi)?;
    if padded { frame_with(behind, true) } else { Ok((Layer::Wifi, behind)) }
}

/// Prism's header, whose length is its second word in the byte order of the machine, or AVS's, in network
/// order.
pub(super) fn prism(rest: Rest<'_>) -> Step<'_> {
    let avs = rest.half(0)? == 0x8021;
    let len = if avs { rest.word_le(4)?.swap_bytes() } else { rest.word_le(4)? };
    rest.then(usize::try_from(len).map_err(|_| Stop::Cut)?.max(8), Layer::Wifi)
}
