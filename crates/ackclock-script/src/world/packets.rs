//! Packets that are expected beside packets that leave.

use std::collections::BTreeMap;

use ackclock_units::{Duration, Ecn};
use ackclock_wire::Flags;

use super::ip::{self, tos_of};
use super::time::Window;
use super::{World, time};
use crate::ast::{self, Body, Tcp, TcpOption, TcpOptions};
use crate::host::Departure;
use crate::render;
use crate::report::Line;

/// Which readings of the host's clock stand for those that the script writes: its timestamps begin anywhere, and
/// count in steps of their own.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    /// What each reading of the script stands for, as expected segments showed.
    live: BTreeMap<u32, u32>,
    last: Option<(u32, u32)>,
    /// The step of the script's clock, where it is checked.
    pub tick: Option<Duration>,
}

impl Clocks {
    /// The host's reading for one of the script's. Zero means none (RFC 7323 §3.2).
    pub(super) fn live(&self, script: u32) -> u32 {
        let (known, shown) = self.last.unwrap_or_default();
        let beside = || shown.wrapping_add(script.wrapping_sub(known));
        if script == 0 { 0 } else { self.live.get(&script).copied().unwrap_or_else(beside) }
    }

    /// A segment of the script with the host's clock in its echo.
    pub(super) fn in_host_terms(&self, tcp: &Tcp) -> Tcp {
        let mut tcp = tcp.clone();
        if let TcpOptions::List(list) = &mut tcp.options {
            for option in list {
                if let TcpOption::Timestamps { ecr, .. } = option {
                    *ecr = self.live(*ecr);
                }
            }
        }
        tcp
    }

    /// The script's reading for one of the host's, which it expects to be `wanted`. Returns what it is.
    fn learn(&mut self, live: u32, wanted: u32) -> u32 {
        let tick = self.tick.map_or(0, |tick| tick.as_nanos() / 1_000_000);
        let met = match self.last {
            // So many milliseconds after the last one.
            Some((script, shown)) if tick > 0 => {
                let passed = i64::from(live.wrapping_sub(shown) as i32) / tick.max(1) as i64;
                let met = script.wrapping_add(passed as u32);
                if (met.wrapping_sub(wanted) as i32).unsigned_abs() <= CLOCK_TOLERANCE { wanted } else { met }
            }
            _ => wanted,
        };
        self.live.insert(wanted, live);
        self.last = Some((wanted, live));
        met
    }
}

/// A segment as a script would write it.
pub(super) fn describe(tcp: &Tcp, ecn: Ecn) -> String {
    let mark = match ecn {
        Ecn::NotEct => String::new(),
        ecn => format!("{} ", render::tos(tos_of(ecn))),
    };
    format!("{mark}{}", render::tcp(tcp))
}

impl World<'_> {
    /// Waits for a packet, and compares it with the one that is expected.
    pub(super) fn expect(
        &mut self,
        packet: &ast::Packet,
        window: Window,
        line: &mut Line,
    ) -> Result<(), String> {
        let Body::Tcp(expected) = &packet.body else {
            return Err("only segments of TCP can be expected".to_owned());
        };
        let sent = loop {
            let last = window.patience(self.host.patience());
            while self.host.sent().is_empty() && self.run_next(last) {
                if let Some(failure) = self.retry() {
                    return Err(format!("the call of line {}: {}", failure.line, failure.why));
                }
            }
            let Some(first) = self.host.sent().pop_front() else {
                return Err(format!("nothing was sent until {}", time::seconds(last)));
            };
            let sent = self.joined(first, expected);
            // Connections before the latest one may go on by themselves.
            let of_another = packet.ports.is_none() && sent.ports != self.host.ports(false);
            if !of_another || compare(&bare(expected), &bare(&sent.tcp)).is_ok() {
                break sent;
            }
        };
        line.at = Some(sent.at);
        let got = self.numbers.in_script_terms(sent.tcp.clone(), expected, sent.ports);
        let got = self.in_script_terms(got, expected);
        let mark = packet.ip.tos.map_or(String::new(), |_| format!("{} ", render::tos(tos_of(sent.ecn))));
        line.got = Some(format!("> {mark}{}", render::tcp(&got)));
        compare(expected, &got)?;
        if let Some((from, to)) = packet.ports
            && (sent.ports.local, sent.ports.remote) != (from, to)
        {
            return Err(format!("ports {} > {}", sent.ports.local, sent.ports.remote));
        }
        ip::compare(&packet.ip, &sent, &mut self.labels)?;
        window.check(sent.at, "it was sent")
    }

    /// The packet with those that follow it, as far as they make up what is expected: a kernel hands a burst
    /// to the device in one piece, where the engine sends segments. An ack right before data that repeats it
    /// may be the first of them.
    fn joined(&mut self, first: Departure, expected: &Tcp) -> Departure {
        let mut all = first;
        let kind = |tcp: &Tcp| tcp.flags.bits & !(Flags::PSH | Flags::FIN | Flags::CWR).0;
        while all.tcp.len < expected.len {
            let Some(next) = self.host.sent().front() else { break };
            let t = &next.tcp;
            let follows = t.seq == all.tcp.seq.wrapping_add(all.tcp.len)
                && t.len > 0
                && kind(t) == kind(&all.tcp)
                && next.at == all.at
                && next.ports == all.ports
                && next.ecn == all.ecn
                && t.ack == all.tcp.ack
                && all.tcp.len + t.len <= expected.len
                && t.options == all.tcp.options;
            if !follows {
                break;
            }
            all.tcp.len += t.len;
            // The last one says whether it pushes.
            all.tcp.flags.bits = all.tcp.flags.bits & !Flags::PSH.0 | t.flags.bits;
            all.tcp.window = t.window;
            self.host.sent().pop_front();
        }
        all
    }

    /// What was sent with the script's clock, and without what the script leaves open.
    fn in_script_terms(&mut self, mut got: Tcp, expected: &Tcp) -> Tcp {
        if let (TcpOptions::List(list), TcpOptions::List(wanted)) = (&mut got.options, &expected.options) {
            let wanted = wanted.iter().find_map(|o| match o {
                TcpOption::Timestamps { val, .. } => Some(*val),
                _ => None,
            });
            for option in list {
                if let (TcpOption::Timestamps { val, .. }, Some(wanted)) = (option, wanted) {
                    *val = self.clocks.learn(*val, wanted);
                }
            }
        }
        if expected.window.is_none() {
            got.window = None;
        }
        if expected.flags.ace.is_some() {
            // ECE, CWR and AE as the counter that they make (RFC 9768 §3.2).
            got.flags.ace = Some((got.flags.bits >> 6 & 7) as u8);
            got.flags.bits &= !0x1c0;
        }
        got
    }
}

/// Readings of a clock so far apart may be the same but for rounding and tolerance.
const CLOCK_TOLERANCE: u32 = 5;

/// A segment without what scripts may leave open.
fn bare(tcp: &Tcp) -> Tcp {
    let flags = ast::TcpFlags { bits: tcp.flags.bits & 0x3f, ace: None };
    Tcp { flags, window: None, urgent: None, options: TcpOptions::Any, ..tcp.clone() }
}

/// Compares what was sent with what is expected.
fn compare(expected: &Tcp, got: &Tcp) -> Result<(), String> {
    let flags = got.flags;
    if flags != expected.flags {
        return Err(format!("flags {} instead of {}", render::flags(flags), render::flags(expected.flags)));
    }
    let pairs = [
        ("sequence number", Some(expected.seq), Some(if expected.any_seq { expected.seq } else { got.seq })),
        ("length", Some(expected.len), Some(got.len)),
        ("acknowledgment number", expected.ack, got.ack),
        ("window", expected.window.map(u32::from), got.window.map(u32::from)),
        ("urgent pointer", expected.urgent.map(u32::from), got.urgent.map(u32::from)),
    ];
    for (what, wanted, met) in pairs {
        if wanted != met {
            let n = |n: Option<u32>| n.map_or("none".to_owned(), |n| n.to_string());
            return Err(format!("{what} {} instead of {}", n(met), n(wanted)));
        }
    }
    let (TcpOptions::List(wanted), TcpOptions::List(met)) = (&expected.options, &got.options) else {
        return Ok(());
    };
    if wanted == met { Ok(()) } else { Err("other options".to_owned()) }
}
