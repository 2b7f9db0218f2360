//! TCP options between their bytes and the list that scripts write.

use ackclock_units::{SeqNumber, SeqRange};
use ackclock_wire::{AccEcn, FastOpen, Options, Timestamps};

use crate::ast::{AccEcnField, TcpOption};

// Kinds (RFC 9293 §3.1, RFC 7323, RFC 2018, RFC 2385, RFC 7413, RFC 9768; RFC 6994 for 254).
const EOL: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
const MD5: u8 = 19;
const FAST_OPEN: u8 = 34;
const ACCECN_0: u8 = 172;
const ACCECN_1: u8 = 174;
const EXPERIMENT: u8 = 254;
/// The experiment that Fast Open was (RFC 7413 §4.1.1).
const FAST_OPEN_EXPERIMENT: [u8; 2] = [0xf9, 0x89];

/// The options of a TCP header from their bytes, in order. What is cut short or unknown is left out.
pub fn read(mut bytes: &[u8]) -> Vec<TcpOption> {
    let mut list = Vec::new();
    while let [kind, rest @ ..] = bytes {
        if let EOL | NOP = *kind {
            list.push(if *kind == EOL { TcpOption::Eol } else { TcpOption::Nop });
            bytes = rest;
            continue;
        }
        let Some(len) =
            rest.first().map(|len| usize::from(*len)).filter(|len| (2..=bytes.len()).contains(len))
        else {
            return list;
        };
        list.extend(option(*kind, &bytes[2..len]));
        bytes = &bytes[len..];
    }
    list
}

fn option(kind: u8, value: &[u8]) -> Option<TcpOption> {
    let word = |at: usize| Some(u32::from_be_bytes(value.get(at..at + 4)?.try_into().ok()?));
    Some(match kind {
        MSS => TcpOption::Mss(u16::from_be_bytes(value.try_into().ok()?)),
        WINDOW_SCALE => TcpOption::WindowScale(*value.first()?),
        SACK_PERMITTED => TcpOption::SackPermitted,
        SACK => {
            let blocks = (0..value.len() / 8).map(|i| Some((word(8 * i)?, word(8 * i + 4)?)));
            TcpOption::Sack(blocks.collect::<Option<_>>()?)
        }
        TIMESTAMPS => TcpOption::Timestamps { val: word(0)?, ecr: word(4)? },
        MD5 => TcpOption::Md5(value.to_vec()),
        FAST_OPEN => TcpOption::FastOpen(value.to_vec()),
        EXPERIMENT => TcpOption::FastOpenExperimental(value.strip_prefix(&FAST_OPEN_EXPERIMENT)?.to_vec()),
        ACCECN_0 | ACCECN_1 => {
            let mut order = [AccEcnField::Ect0, AccEcnField::Ce, AccEcnField::Ect1];
            if kind == ACCECN_1 {
                order.reverse();
            }
            let counters = value.chunks_exact(3).map(|c| u32::from_be_bytes([0, c[0], c[1], c[2]]));
            TcpOption::AccEcn(order.into_iter().zip(counters).collect())
        }
        _ => return None,
    })
}

/// The bytes of options, in the order of the list and without padding.
pub fn write(list: &[TcpOption]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for option in list {
        let kind = match option {
            TcpOption::Eol => EOL,
            TcpOption::Nop => NOP,
            TcpOption::Mss(_) => MSS,
            TcpOption::WindowScale(_) => WINDOW_SCALE,
            TcpOption::SackPermitted => SACK_PERMITTED,
            TcpOption::Sack(_) => SACK,
            TcpOption::Timestamps { .. } => TIMESTAMPS,
            TcpOption::FastOpen(_) => FAST_OPEN,
            TcpOption::FastOpenExperimental(_) => EXPERIMENT,
            TcpOption::Md5(_) => MD5,
            // The order of the counters is that of the kind (RFC 9768 §3.2.3).
            TcpOption::AccEcn(fields) => match fields.first() {
                Some((AccEcnField::Ect1, _)) => ACCECN_1,
                _ => ACCECN_0,
            },
        };
        bytes.push(kind);
        if let TcpOption::Eol | TcpOption::Nop = option {
            continue;
        }
        bytes.push(u8::try_from(len(option)).unwrap_or(u8::MAX));
        value(option, &mut bytes);
    }
    bytes
}

/// Appends what follows an option's kind and length.
fn value(option: &TcpOption, bytes: &mut Vec<u8>) {
    match option {
        TcpOption::Eol | TcpOption::Nop | TcpOption::SackPermitted => {}
        TcpOption::Mss(mss) => bytes.extend(mss.to_be_bytes()),
        TcpOption::WindowScale(shift) => bytes.push(*shift),
        TcpOption::Sack(blocks) => {
            for (from, to) in blocks {
                bytes.extend(from.to_be_bytes());
                bytes.extend(to.to_be_bytes());
            }
        }
        TcpOption::Timestamps { val, ecr } => {
            bytes.extend(val.to_be_bytes());
            bytes.extend(ecr.to_be_bytes());
        }
        TcpOption::FastOpen(cookie) => bytes.extend(cookie),
        TcpOption::FastOpenExperimental(cookie) => {
            bytes.extend(FAST_OPEN_EXPERIMENT);
            bytes.extend(cookie);
        }
        TcpOption::Md5(digest) => bytes.extend(digest),
        TcpOption::AccEcn(fields) => {
            for (_, counter) in fields {
                bytes.extend(&counter.to_be_bytes()[1..]);
            }
        }
    }
}

/// The length of an option, bytes.
pub(crate) fn len(option: &TcpOption) -> usize {
    match option {
        TcpOption::Nop | TcpOption::Eol => 1,
        TcpOption::Mss(_) => 4,
        TcpOption::WindowScale(_) => 3,
        TcpOption::SackPermitted => 2,
        TcpOption::Sack(blocks) => 2 + 8 * blocks.len(),
        TcpOption::Timestamps { .. } => 10,
        TcpOption::FastOpen(cookie) => 2 + cookie.len(),
        TcpOption::FastOpenExperimental(cookie) => 4 + cookie.len(),
        TcpOption::Md5(bytes) => 2 + bytes.len(),
        TcpOption::AccEcn(fields) => 2 + 3 * fields.len(),
    }
}

/// The Fast Open option in a list.
pub(crate) fn fast_open(list: &[TcpOption]) -> Option<FastOpen> {
    FastOpen::find(&write(list))
}

/// What the engine makes of a list of options. It does not know signatures; that of Fast Open is passed to it
/// apart.
pub(crate) fn engine(list: &[TcpOption]) -> Options {
    let mut options = Options::default();
    for option in list {
        match option {
            TcpOption::Mss(mss) => options.mss = Some(*mss),
            TcpOption::WindowScale(shift) => options.window_scale = Some(*shift),
            TcpOption::SackPermitted => options.sack_permitted = true,
            TcpOption::Timestamps { val, ecr } => {
                options.timestamps = Some(Timestamps { tsval: *val, tsecr: *ecr });
            }
            TcpOption::Sack(blocks) => {
                for (from, to) in blocks {
                    options.sack.push(SeqRange::new(SeqNumber(*from), SeqNumber(*to)));
                }
            }
            TcpOption::AccEcn(fields) => {
                let first = fields.first().is_none_or(|(f, _)| *f == AccEcnField::Ect0);
                let counters: Vec<u32> = fields.iter().map(|(_, n)| *n).collect();
                options.accecn =
                    Some(AccEcn::new(if first { AccEcn::ORDER_0 } else { AccEcn::ORDER_1 }, &counters));
            }
            TcpOption::Nop
            | TcpOption::Eol
            | TcpOption::Md5(_)
            | TcpOption::FastOpen(_)
            | TcpOption::FastOpenExperimental(_) => {}
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_they_were_written() {
        let list = vec![
            TcpOption::Mss(1460),
            TcpOption::Nop,
            TcpOption::WindowScale(7),
            TcpOption::SackPermitted,
            TcpOption::Sack(vec![(1, 2), (3, 4)]),
            TcpOption::Timestamps { val: 5, ecr: 6 },
            TcpOption::FastOpen(vec![1, 2, 3, 4]),
            TcpOption::FastOpenExperimental(vec![]),
            TcpOption::Md5(vec![9; 16]),
            TcpOption::AccEcn(vec![(AccEcnField::Ect0, 1), (AccEcnField::Ce, 2), (AccEcnField::Ect1, 3)]),
            TcpOption::AccEcn(vec![(AccEcnField::Ect1, 0xff_ffff)]),
            TcpOption::Eol,
        ];
        let bytes = write(&list);
        assert_eq!(bytes.len(), list.iter().map(len).sum::<usize>());
        assert_eq!(read(&bytes), list);
    }
}
