//! Packets.

use winnow::combinator::{alt, cut_err, delimited, opt, preceded, repeat, separated, terminated};
use winnow::prelude::*;
use winnow::token::take_while;

use super::error::expected;
use super::token::{Input, blank, hex_bytes, keyword, number, symbol, whole, word};
use crate::ast::{AccEcnField, Body, Icmp, IpInfo, Packet, Tcp, TcpFlags, TcpOption, TcpOptions, Tos};

/// What follows `<` or `>`.
pub(crate) fn packet(input: &mut Input<'_>) -> ModalResult<Packet> {
    let ip = opt(ip_info).parse_next(input)?.unwrap_or_default();
    for (family, why) in OTHERS {
        if opt(keyword(family)).parse_next(input)?.is_some() {
            return cut_err(winnow::combinator::fail.context(expected(why))).parse_next(input);
        }
    }
    if opt(keyword("icmp")).parse_next(input)?.is_some() {
        let body = Body::Icmp(cut_err(icmp).parse_next(input)?);
        return Ok(Packet { ip, ports: None, body });
    }
    let ports = opt((port, preceded(symbol(">"), cut_err(port)))).parse_next(input)?;
    let body = Body::Tcp(tcp(input)?);
    Ok(Packet { ip, ports, body })
}

/// What the language knows and this world does not.
const OTHERS: [(&str, &str); 6] = [
    ("ipv4", "a segment of TCP (packets within packets are not supported)"),
    ("ipv6", "a segment of TCP (packets within packets are not supported)"),
    ("gre", "a segment of TCP (GRE is not supported)"),
    ("mpls", "a segment of TCP (MPLS is not supported)"),
    ("udp", "a segment of TCP (UDP is not supported)"),
    ("encap", "a segment of TCP (PSP is not supported)"),
];

fn port(input: &mut Input<'_>) -> ModalResult<u16> {
    whole("a port").parse_next(input)
}

const IP_WORDS: [&str; 8] = ["noecn", "ect0", "ect1", "ect01", "ce", "tos", "ttl", "flowlabel"];

/// `[ect0]`, `(tos 0x10, flowlabel 0x1)`, `[ttl 3]`.
fn ip_info(input: &mut Input<'_>) -> ModalResult<IpInfo> {
    let wanted = expected("noecn, ect0, ect1, ect01, ce, tos 0x.., flowlabel 0x.. or ttl N");
    let parts = |input: &mut Input<'_>| -> ModalResult<IpInfo> {
        let mut info = IpInfo::default();
        loop {
            match word.verify(|w: &str| IP_WORDS.contains(&w)).context(wanted.clone()).parse_next(input)? {
                "noecn" => info.tos = Some(Tos::NotEct),
                "ect0" => info.tos = Some(Tos::Ect0),
                "ect1" => info.tos = Some(Tos::Ect1),
                "ect01" => info.tos = Some(Tos::Ect),
                "ce" => info.tos = Some(Tos::Ce),
                "tos" => info.tos = Some(Tos::Byte(whole("a byte").parse_next(input)?)),
                "ttl" => info.ttl = Some(whole("a number of hops").parse_next(input)?),
                "flowlabel" => {
                    let mut label = whole::<u32>("a flow label of 20 bits").verify(|l| *l < 1 << 20);
                    info.flow_label = Some(label.parse_next(input)?);
                }
                _ => return winnow::combinator::fail.context(wanted.clone()).parse_next(input),
            }
            if opt(symbol(",")).parse_next(input)?.is_none() {
                return Ok(info);
            }
        }
    };
    alt((
        delimited(symbol("["), cut_err(parts), cut_err(symbol("]").context(expected("]")))),
        delimited(symbol("("), cut_err(parts), cut_err(symbol(")").context(expected(")")))),
    ))
    .parse_next(input)
}

fn tcp(input: &mut Input<'_>) -> ModalResult<Tcp> {
    let flags = flags.context(expected("flags, such as S, P. or -")).parse_next(input)?;
    let (seq, len, any_seq) =
        any_sequence.context(expected("sequence numbers, such as 1:1001(1000)")).parse_next(input)?;
    let ack = opt(preceded(keyword("ack"), cut_err(whole("an acknowledgment number")))).parse_next(input)?;
    let window = opt(preceded(keyword("win"), cut_err(whole("a window of 16 bits")))).parse_next(input)?;
    let urgent = opt(preceded(keyword("urg"), cut_err(whole("an urgent pointer")))).parse_next(input)?;
    let mut options =
        opt(delimited(symbol("<"), cut_err(options), cut_err(symbol(">").context(expected(">")))));
    let options = options.parse_next(input)?.unwrap_or(TcpOptions::List(Vec::new()));
    Ok(Tcp { flags, seq, any_seq, len, ack, window, urgent, options })
}

/// Letters of flags (RFC 9293 §3.1), `.` for ACK, `A` for AE (RFC 9768 §3), or a number for its counter.
fn flags(input: &mut Input<'_>) -> ModalResult<TcpFlags> {
    if opt(symbol("-")).parse_next(input)?.is_some() {
        return Ok(TcpFlags::default());
    }
    let letters = take_while(1.., |c: char| "FSRPEWAU.01234567".contains(c));
    terminated(letters, blank)
        .verify_map(|letters: &str| {
            let mut flags = TcpFlags::default();
            for letter in letters.chars() {
                let bit = match letter {
                    'F' => 0x001,
                    'S' => 0x002,
                    'R' => 0x004,
                    'P' => 0x008,
                    '.' => 0x010,
                    'U' => 0x020,
                    'E' => 0x040,
                    'W' => 0x080,
                    'A' => 0x100,
                    digit => {
                        if flags.ace.is_some() {
                            return None;
                        }
                        flags.ace = digit.to_digit(8).map(|d| d as u8);
                        continue;
                    }
                };
                if flags.bits & bit != 0 {
                    return None;
                }
                flags.bits |= bit;
            }
            // The number and the letters of its bits exclude each other.
            (flags.ace.is_none() || flags.bits & 0x1c0 == 0).then_some(flags)
        })
        .parse_next(input)
}

/// `1:1001(1000)` or `...(1000)`: sequence number, length, and whether any number would do.
fn any_sequence(input: &mut Input<'_>) -> ModalResult<(u32, u32, bool)> {
    if opt(symbol("...")).parse_next(input)?.is_some() {
        let len = delimited(symbol("("), whole::<u16>("a length of 16 bits"), symbol(")"));
        let wanted = expected("the length behind ..., such as ...(0)");
        return cut_err(len).map(|len| (0, len.into(), true)).context(wanted).parse_next(input);
    }
    sequence.map(|(seq, len)| (seq, len, false)).parse_next(input)
}

/// `1:1001(1000)`: sequence number and length.
fn sequence(input: &mut Input<'_>) -> ModalResult<(u32, u32)> {
    let numbers = (number, preceded(symbol(":"), number), delimited(symbol("("), number, symbol(")")));
    numbers
        .verify_map(|(seq, end, len)| {
            let (seq, end, len) =
                (u32::try_from(seq).ok()?, u32::try_from(end).ok()?, u32::try_from(len).ok()?);
            // 64 KiB is the largest packet, and what segmentation in hardware takes.
            (len < 1 << 16 && seq.wrapping_add(len) == end).then_some((seq, len))
        })
        .context(expected("sequence numbers whose difference is the length, such as 1:1001(1000)"))
        .parse_next(input)
}

fn options(input: &mut Input<'_>) -> ModalResult<TcpOptions> {
    if opt(symbol("...")).parse_next(input)?.is_some() {
        return Ok(TcpOptions::Any);
    }
    separated(1..=40, option, symbol(",")).map(TcpOptions::List).parse_next(input)
}

const OPTION_WORDS: [&str; 11] =
    ["nop", "eol", "sackOK", "mss", "wscale", "sack", "TS", "FO", "FOEXP", "md5", "ECN"];

fn option(input: &mut Input<'_>) -> ModalResult<TcpOption> {
    let wanted = expected("mss, wscale, sackOK, sack, TS, FO, FOEXP, md5, ECN, nop or eol");
    let block = (whole("a sequence number"), preceded(symbol(":"), cut_err(whole("a sequence number"))));
    match cut_err(word.verify(|w: &str| OPTION_WORDS.contains(&w)).context(wanted.clone()))
        .parse_next(input)?
    {
        "nop" => Ok(TcpOption::Nop),
        "eol" => Ok(TcpOption::Eol),
        "sackOK" => Ok(TcpOption::SackPermitted),
        "mss" => cut_err(whole("a segment size")).map(TcpOption::Mss).parse_next(input),
        "wscale" => cut_err(whole("a shift")).map(TcpOption::WindowScale).parse_next(input),
        "sack" => cut_err(repeat(1..=4, block)).map(TcpOption::Sack).parse_next(input),
        "TS" => {
            let val = cut_err(preceded(
                keyword("val").context(expected("val and a clock")),
                whole("a clock of 32 bits"),
            ));
            let ecr = cut_err(preceded(
                keyword("ecr").context(expected("ecr and a clock")),
                whole("a clock of 32 bits"),
            ));
            (val, ecr).map(|(val, ecr)| TcpOption::Timestamps { val, ecr }).parse_next(input)
        }
        "FO" => opt(hex_bytes).map(|c| TcpOption::FastOpen(c.unwrap_or_default())).parse_next(input),
        "FOEXP" => {
            opt(hex_bytes).map(|c| TcpOption::FastOpenExperimental(c.unwrap_or_default())).parse_next(input)
        }
        "md5" => cut_err(hex_bytes).map(TcpOption::Md5).parse_next(input),
        "ECN" => cut_err(repeat(0..=3, counter)).map(TcpOption::AccEcn).parse_next(input),
        _ => cut_err(winnow::combinator::fail.context(wanted)).parse_next(input),
    }
}

fn counter(input: &mut Input<'_>) -> ModalResult<(AccEcnField, u32)> {
    let field = word.verify_map(|w: &str| match w {
        "e0b" => Some(AccEcnField::Ect0),
        "ceb" => Some(AccEcnField::Ce),
        "e1b" => Some(AccEcnField::Ect1),
        _ => None,
    });
    let count = whole::<u32>("a counter of 24 bits").verify(|n| *n < 1 << 24);
    (field.context(expected("e0b, ceb or e1b")), cut_err(count)).parse_next(input)
}

/// `unreachable frag_needed mtu 800 [1:1001(1000)]`.
fn icmp(input: &mut Input<'_>) -> ModalResult<Icmp> {
    let kind = word.context(expected("a type, such as unreachable")).parse_next(input)?.to_owned();
    let code = opt(word.verify(|w: &str| w != "mtu" && w != "id")).parse_next(input)?;
    let mtu = opt(preceded(keyword("mtu"), cut_err(whole("a packet size")))).parse_next(input)?;
    let mut quoted =
        opt(delimited(symbol("["), cut_err(sequence), cut_err(symbol("]").context(expected("]")))));
    Ok(Icmp { kind, code: code.map(str::to_owned), mtu, quoted: quoted.parse_next(input)? })
}
