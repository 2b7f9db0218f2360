//! Packets as scripts write them.

use std::fmt::Write as _;

use crate::ast::{AccEcnField, Tcp, TcpFlags, TcpOption, TcpOptions, Tos};

/// A segment in the language of scripts.
pub(crate) fn tcp(tcp: &Tcp) -> String {
    let mut text = flags(tcp.flags);
    let _ = if tcp.any_seq {
        write!(text, " ...({})", tcp.len)
    } else {
        write!(text, " {}:{}({})", tcp.seq, tcp.seq.wrapping_add(tcp.len), tcp.len)
    };
    for (word, n) in [
        ("ack", tcp.ack.map(u64::from)),
        ("win", tcp.window.map(u64::from)),
        ("urg", tcp.urgent.map(u64::from)),
    ] {
        if let Some(n) = n {
            let _ = write!(text, " {word} {n}");
        }
    }
    match &tcp.options {
        TcpOptions::Any => text.push_str(" <...>"),
        TcpOptions::List(list) if list.is_empty() => {}
        TcpOptions::List(list) => {
            let _ = write!(text, " <{}>", list.iter().map(option).collect::<Vec<_>>().join(","));
        }
    }
    text
}

/// Flags by their letters.
pub(crate) fn flags(flags: TcpFlags) -> String {
    const LETTERS: &[(u16, char)] = &[
        (0x002, 'S'),
        (0x001, 'F'),
        (0x004, 'R'),
        (0x008, 'P'),
        (0x040, 'E'),
        (0x080, 'W'),
        (0x100, 'A'),
        (0x020, 'U'),
        (0x010, '.'),
    ];
    let mut text: String = LETTERS.iter().filter(|(bit, _)| flags.bits & bit != 0).map(|(_, c)| *c).collect();
    if let Some(ace) = flags.ace {
        let _ = write!(text, "{ace}");
    }
    if text.is_empty() { "-".to_owned() } else { text }
}

/// An ECN field.
pub(crate) fn tos(tos: Tos) -> String {
    match tos {
        Tos::NotEct => "[noecn]".to_owned(),
        Tos::Ect0 => "[ect0]".to_owned(),
        Tos::Ect1 => "[ect1]".to_owned(),
        Tos::Ect => "[ect01]".to_owned(),
        Tos::Ce => "[ce]".to_owned(),
        Tos::Byte(byte) => format!("[tos {byte:#x}]"),
    }
}

fn option(option: &TcpOption) -> String {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    match option {
        TcpOption::Nop => "nop".to_owned(),
        TcpOption::Eol => "eol".to_owned(),
        TcpOption::Mss(mss) => format!("mss {mss}"),
        TcpOption::WindowScale(shift) => format!("wscale {shift}"),
        TcpOption::SackPermitted => "sackOK".to_owned(),
        TcpOption::Sack(blocks) => {
            let blocks: Vec<String> = blocks.iter().map(|(from, to)| format!("{from}:{to}")).collect();
            format!("sack {}", blocks.join(" "))
        }
        TcpOption::Timestamps { val, ecr } => format!("TS val {val} ecr {ecr}"),
        TcpOption::FastOpen(cookie) => format!("FO {}", hex(cookie)).trim_end().to_owned(),
        TcpOption::FastOpenExperimental(cookie) => format!("FOEXP {}", hex(cookie)).trim_end().to_owned(),
        TcpOption::Md5(bytes) => format!("md5 {}", hex(bytes)),
        TcpOption::AccEcn(fields) => {
            let mut text = "ECN".to_owned();
            for (field, count) in fields {
                let name = match field {
                    AccEcnField::Ect0 => "e0b",
                    AccEcnField::Ce => "ceb",
                    AccEcnField::Ect1 => "e1b",
                };
                let _ = write!(text, " {name} {count}");
            }
            text
        }
    }
}
