//! A timeline as a script that anybody can run.

use std::fmt::Write as _;

use ackclock_units::{Ecn, Instant};
use ackclock_wire::Flags;

use super::compare::{Difference, Place};
use super::conversation::{ACCEPTED, FIRST, Op, Role};
use super::observe::BACKLOG;
use super::timeline::{Doing, Sent, Timeline};
use crate::ast::{Tcp, TcpOption, TcpOptions, Tos};
use crate::host::Returned;
use crate::render;

/// The script of what happened on the first host. With a difference it ends with that, as the second host has
/// it; where that sends nothing, as the first host has it.
pub fn script(first: &Timeline, second: &Timeline, difference: Option<&Difference>) -> String {
    let mut text = String::new();
    let settings: Vec<String> = first
        .settings
        .iter()
        .map(
            |(n, v)| {
                if v.contains(' ') { format!("net.ipv4.{n}=\"{v}\"") } else { format!("net.ipv4.{n}={v}") }
            },
        )
        .collect();
    if !settings.is_empty() {
        let _ = writeln!(text, "`sysctl -q {}`", settings.join(" "));
    }
    opening(first, &mut text);
    let (until_call, until_sent, last) = match difference.map(|d| d.place) {
        None => (first.stimuli.len(), first.sent.len(), None),
        Some(Place::Returned(i)) => (i, first.sent.iter().filter(|s| s.after <= i).count(), None),
        Some(Place::Sent(Some(i), None)) => (first.sent[i].after, i, Some(first.sent[i].clone())),
        Some(Place::Sent(a, Some(b))) => {
            let mut sent = second.sent[b].clone();
            terms_of_first(&mut sent, first, second, b);
            (sent.after, a.unwrap_or(b), Some(sent))
        }
        Some(Place::Sent(None, None)) => (0, 0, None),
    };
    let packets = packets(&first.sent[..until_sent]);
    let mut sent = packets.iter().peekable();
    let mut peer = PeerNumbers::default();
    let mut leaves = |upto: usize, peer: &PeerNumbers, text: &mut String| {
        while let Some(s) = sent.next_if(|s| s.after <= upto) {
            expect(s, peer, text);
        }
    };
    for (i, stimulus) in first.stimuli[..until_call].iter().enumerate() {
        leaves(i, &peer, &mut text);
        match &stimulus.doing {
            Doing::Inject(tcp, ecn) => inject(stimulus.at, peer.injected(tcp.clone()), *ecn, &mut text),
            Doing::Call(op) => call(first, stimulus.at, *op, first.returned[i].as_ref(), &mut text),
        }
    }
    leaves(usize::MAX, &peer, &mut text);
    if let Some(Place::Returned(i)) = difference.map(|d| d.place)
        && let Doing::Call(op) = first.stimuli[i].doing
    {
        call(first, first.stimuli[i].at, op, second.returned[i].as_ref(), &mut text);
    }
    if let Some(last) = last {
        expect(&last, &peer, &mut text);
    }
    text
}

/// Segments of a burst as a kernel hands them to its device, in one packet up to one that pushes.
fn packets(sent: &[Sent]) -> Vec<Sent> {
    let mut packets: Vec<Sent> = Vec::new();
    for s in sent {
        let kind = |tcp: &Tcp| tcp.flags.bits & !(Flags::PSH | Flags::FIN).0;
        let joins = packets.last().is_some_and(|p| {
            (p.at, p.after, p.ecn) == (s.at, s.after, s.ecn)
                && p.tcp.len > 0
                && s.tcp.len > 0
                && p.tcp.seq.wrapping_add(p.tcp.len) == s.tcp.seq
                && p.tcp.flags.bits & (Flags::PSH | Flags::FIN).0 == 0
                && kind(&p.tcp) == kind(&s.tcp)
                && (p.tcp.ack, &p.tcp.options) == (s.tcp.ack, &s.tcp.options)
        });
        match packets.last_mut().filter(|_| joins) {
            Some(packet) => {
                packet.tcp.len += s.tcp.len;
                packet.tcp.flags = s.tcp.flags;
            }
            None => packets.push(s.clone()),
        }
    }
    packets
}

/// The segment of that number of the second host with the readings of the first one's clock.
fn terms_of_first(sent: &mut Sent, first: &Timeline, second: &Timeline, number: usize) {
    let ticks = super::compare::clock(first, second, number);
    let TcpOptions::List(list) = &mut sent.tcp.options else { return };
    for option in list {
        if let TcpOption::Timestamps { val, .. } = option {
            *val = val.wrapping_sub(ticks);
        }
    }
    // Scripts name times in full milliseconds.
    sent.at = Instant::from_nanos(sent.at.as_nanos() / 1_000_000 * 1_000_000);
}

fn opening(timeline: &Timeline, text: &mut String) {
    let at = time(Instant::ZERO);
    let _ = writeln!(text, "{at} socket(..., SOCK_STREAM, IPPROTO_TCP) = {FIRST}");
    let _ = writeln!(text, "{at} fcntl({FIRST}, F_SETFL, O_RDWR|O_NONBLOCK) = 0");
    for option in &timeline.options {
        let _ = writeln!(text, "{at} {}", Op::Set(*option).text(FIRST, &Returned::Value(0)));
    }
    match timeline.role {
        Role::Server => {
            let _ = writeln!(text, "{at} bind({FIRST}, ..., ...) = 0");
            let _ = writeln!(text, "{at} listen({FIRST}, {BACKLOG}) = 0");
        }
        Role::Client => {
            let _ = writeln!(text, "{at} connect({FIRST}, ..., ...) = -1 EINPROGRESS (EINPROGRESS)");
        }
    }
}

fn time(at: Instant) -> String {
    let us = at.as_nanos() / 1000;
    format!("{}.{:06}", us / 1_000_000, us % 1_000_000)
}

fn mark(ecn: Ecn) -> String {
    match ecn {
        Ecn::NotEct => String::new(),
        Ecn::Ect0 => format!("{} ", render::tos(Tos::Ect0)),
        Ecn::Ect1 => format!("{} ", render::tos(Tos::Ect1)),
        Ecn::Ce => format!("{} ", render::tos(Tos::Ce)),
    }
}

/// The peer's sequence numbers in the script's terms: those of SYNs as they are, all others counted from its
/// first SYN.
#[derive(Default)]
struct PeerNumbers {
    initial: Option<u32>,
}

impl PeerNumbers {
    fn counts(&self, tcp: &Tcp) -> u32 {
        if tcp.flags.bits & Flags::SYN.0 == 0 { self.initial.unwrap_or(0) } else { 0 }
    }

    fn injected(&mut self, mut tcp: Tcp) -> Tcp {
        tcp.seq = tcp.seq.wrapping_sub(self.counts(&tcp));
        if tcp.flags.bits & Flags::SYN.0 != 0 {
            self.initial.get_or_insert(tcp.seq);
        }
        tcp
    }

    fn sent(&self, mut tcp: Tcp) -> Tcp {
        let from = self.counts(&tcp);
        tcp.ack = tcp.ack.map(|ack| ack.wrapping_sub(from));
        if let TcpOptions::List(list) = &mut tcp.options {
            for option in list {
                if let TcpOption::Sack(blocks) = option {
                    for (start, end) in blocks {
                        (*start, *end) = (start.wrapping_sub(from), end.wrapping_sub(from));
                    }
                }
            }
        }
        tcp
    }
}

fn inject(at: Instant, tcp: Tcp, ecn: Ecn, text: &mut String) {
    let _ = writeln!(text, "{} < {}{}", time(at), mark(ecn), render::tcp(&tcp));
}

/// A segment that is expected; its window only where it is closed.
fn expect(sent: &Sent, peer: &PeerNumbers, text: &mut String) {
    let mut tcp = peer.sent(sent.tcp.clone());
    tcp.window = tcp.window.filter(|w| *w == 0 && tcp.flags.bits & 4 == 0);
    let _ = writeln!(text, "{} > {}{}", time(sent.at), mark(sent.ecn), render::tcp(&tcp));
}

fn call(timeline: &Timeline, at: Instant, op: Op, returned: Option<&Returned>, text: &mut String) {
    let Some(returned) = returned else { return };
    let _ = writeln!(text, "{} {}", time(at), op.text(timeline.named(op), returned));
    if let (Op::Accept, Returned::Value(_)) = (op, returned) {
        let _ = writeln!(text, "{} fcntl({ACCEPTED}, F_SETFL, O_RDWR|O_NONBLOCK) = 0", time(at));
    }
}
