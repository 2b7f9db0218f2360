//! TCP options between bytes and [`Options`].

use std::num::NonZeroU8;

use ackclock_units::{SeqNumber, SeqRange};

use crate::{AccEcn, Options, Timestamps, WireError};

// Kinds (RFC 9293 §3.1, RFC 7323 §2.2 and §3.2, RFC 2018 §2 and §3, RFC 9768 §3.2.3).
const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const ACCECN_0: u8 = AccEcn::ORDER_0.get();
const ACCECN_1: u8 = AccEcn::ORDER_1.get();

/// Room for options in a TCP header: 15 words less the fixed five.
pub const MAX_OPTIONS_LEN: usize = 40;

/// Parses the options of one header. Unknown kinds are skipped; of a kind given twice the last counts, and
/// SACK blocks add up to at most four.
///
/// # Errors
/// [`WireError::TcpOption`] for a length of 0 or 1, past the end of the header, or wrong for a kind we know.
pub fn parse_options(bytes: &[u8]) -> Result<Options, WireError> {
    let mut options = Options::default();
    read_options(bytes, &mut options).map(|()| options)
}

/// The same into `options`; after an error they hold the options before it.
pub(crate) fn read_options(mut bytes: &[u8], options: &mut Options) -> Result<(), WireError> {
    while let [kind, rest @ ..] = bytes {
        match *kind {
            END => break,
            NOP => bytes = rest,
            kind => {
                let len = rest.first().copied().unwrap_or(0);
                let wrong = WireError::TcpOption { kind, len };
                let body = bytes.get(2..usize::from(len)).ok_or(wrong)?;
                bytes = &bytes[usize::from(len)..];
                take(options, kind, body).ok_or(wrong)?;
            }
        }
    }
    Ok(())
}

/// Parses the body of one option; `None` when its length is wrong for its kind.
fn take(options: &mut Options, kind: u8, body: &[u8]) -> Option<()> {
    match kind {
        MSS => options.mss = Some(u16::from_be_bytes(body.try_into().ok()?)),
        WINDOW_SCALE => {
            let [shift] = *body else { return None };
            options.window_scale = Some(shift);
        }
        SACK_PERMITTED => {
            if !body.is_empty() {
                return None;
            }
            options.sack_permitted = true;
        }
        TIMESTAMPS => {
            let (tsval, tsecr) = words(body.try_into().ok()?);
            options.timestamps = Some(Timestamps { tsval, tsecr });
        }
        SACK => {
            // An option without a block has no meaning and is not sent.
            if body.is_empty() || !body.len().is_multiple_of(8) {
                return None;
            }
            for block in body.chunks_exact(8) {
                let (start, end) = words(block.try_into().ok()?);
                options.sack.push(SeqRange::new(SeqNumber(start), SeqNumber(end)));
            }
        }
        ACCECN_0 => options.accecn = Some(accecn(AccEcn::ORDER_0, body)),
        ACCECN_1 => options.accecn = Some(accecn(AccEcn::ORDER_1, body)),
        _ => {}
    }
    Some(())
}

/// RFC 9768 §3.2.3: with any length, the counters that are complete are used and the rest is padding.
#[cold]
fn accecn(kind: NonZeroU8, body: &[u8]) -> AccEcn {
    let mut counters = [0; 3];
    let mut n = 0;
    for (counter, bytes) in counters.iter_mut().zip(body.chunks_exact(3)) {
        *counter = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]);
        n += 1;
    }
    AccEcn::new(kind, &counters[..n])
}

/// Two 32-bit words in network order.
fn words(b: [u8; 8]) -> (u32, u32) {
    (u32::from_be_bytes([b[0], b[1], b[2], b[3]]), u32::from_be_bytes([b[4], b[5], b[6], b[7]]))
}

/// Writes options in the layout that [`Options::wire_len`] counts, padding included; returns the bytes used
/// of `out`.
///
/// # Errors
/// [`WireError::OptionsTooLong`] when they do not fit, as four SACK blocks with timestamps do not (RFC 2018
/// §3).
pub fn emit_options(options: &Options, out: &mut [u8; MAX_OPTIONS_LEN]) -> Result<usize, WireError> {
    let needed = options.wire_len();
    if needed as usize > MAX_OPTIONS_LEN {
        return Err(WireError::OptionsTooLong(needed));
    }
    // Without padding between options, it comes after them.
    let tight = options.accecn.is_some();
    let mut used = 0;
    let mut put = |bytes: &[u8]| {
        out[used..used + bytes.len()].copy_from_slice(bytes);
        used += bytes.len();
    };
    if let Some(mss) = options.mss {
        put(&[MSS, 4]);
        put(&mss.to_be_bytes());
    }
    match (options.sack_permitted, options.timestamps.is_some()) {
        (true, _) if tight => put(&[SACK_PERMITTED, 2]),
        (false, _) if tight => {}
        (true, true) => put(&[SACK_PERMITTED, 2]),
        (true, false) => put(&[NOP, NOP, SACK_PERMITTED, 2]),
        (false, true) => put(&[NOP, NOP]),
        (false, false) => {}
    }
    if let Some(Timestamps { tsval, tsecr }) = options.timestamps {
        put(&[TIMESTAMPS, 10]);
        put(&tsval.to_be_bytes());
        put(&tsecr.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        put(if tight { &[] } else { &[NOP] });
        put(&[WINDOW_SCALE, 3, shift]);
    }
    if !options.sack.is_empty() {
        put(if tight { &[] } else { &[NOP, NOP] });
        // At most four blocks: the length fits a byte.
        put(&[SACK, 2 + 8 * options.sack.len() as u8]);
        for block in options.sack.as_slice() {
            put(&block.start.0.to_be_bytes());
            put(&block.end.0.to_be_bytes());
        }
    }
    if let Some(accecn) = &options.accecn {
        put(&[accecn.kind(), accecn.wire_len() as u8]);
        for counter in accecn.counters() {
            put(&counter.to_be_bytes()[1..]);
        }
        for _ in options.unpadded_len() + accecn.wire_len()..needed {
            put(&[NOP]);
        }
    }
    debug_assert_eq!(used, needed as usize, "layout and wire_len agree");
    Ok(used)
}
