//! What happened in a conversation on one host, moment by moment.

use ackclock_units::{Duration, Ecn, Instant};
use ackclock_wire::Flags;

use super::conversation::{ACCEPTED, FIRST, Op, Role, SocketOption};
use crate::ast::{Tcp, TcpOption, TcpOptions};
use crate::host::Returned;

/// RFC 7323 §2.3.
const MAX_SHIFT: u8 = 14;

/// What happened on one host.
#[derive(Clone, PartialEq, Debug)]
pub struct Timeline {
    /// Settings under `net.ipv4`.
    pub settings: Vec<(&'static str, &'static str)>,
    /// Which end the host was.
    pub role: Role,
    /// Options of the socket before it listened or connected.
    pub options: Vec<SocketOption>,
    /// What was done to the host, in order.
    pub stimuli: Vec<Stimulus>,
    /// What each stimulus that is a call returned, in the order of the stimuli.
    pub returned: Vec<Option<Returned>>,
    /// Segments that left, in order.
    pub sent: Vec<Sent>,
    /// Until when the host was watched.
    pub end: Instant,
    /// By how much the latest stimulus of all was late.
    pub late: Duration,
}

/// What was done to a host.
#[derive(Clone, PartialEq, Debug)]
pub struct Stimulus {
    /// When.
    pub at: Instant,
    /// What.
    pub doing: Doing,
    /// What a cause calls it.
    pub kind: String,
    /// The state of the host's connection before.
    pub state: &'static str,
}

/// What was done.
#[derive(Clone, PartialEq, Debug)]
pub enum Doing {
    /// A call.
    Call(Op),
    /// A segment arrived.
    Inject(Tcp, Ecn),
}

/// A segment that left.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// When.
    pub at: Instant,
    /// What.
    pub tcp: Tcp,
    /// The mark of its IP header.
    pub ecn: Ecn,
    /// How many stimuli came before it.
    pub after: usize,
}

impl Timeline {
    /// Where the window ended, before the segment left, that the peer had announced last: RFC 9293 §3.10.7.4
    /// takes no window of a segment that is older than another one, by its number and its acknowledgment.
    pub(super) fn window_end(&self, sent: &Sent) -> Option<u32> {
        let scale = |tcp: &Tcp| match &tcp.options {
            TcpOptions::List(list) => list.iter().find_map(|o| match o {
                TcpOption::WindowScale(shift) => Some(*shift),
                _ => None,
            }),
            TcpOptions::Any => None,
        };
        let is = |tcp: &Tcp, flag: Flags| tcp.flags.bits & flag.0 != 0;
        let arrived = self.stimuli.iter().take(sent.after).enumerate().filter_map(|(i, s)| match &s.doing {
            Doing::Inject(tcp, _) => Some((i, tcp)),
            Doing::Call(_) => None,
        });
        let theirs = arrived.clone().map(|(_, tcp)| tcp).find(|tcp| is(tcp, Flags::SYN)).and_then(scale);
        let ours = self.sent.iter().find(|s| is(&s.tcp, Flags::SYN)).and_then(|s| scale(&s.tcp));
        let both = theirs.zip(ours).map(|(a, b)| (a.min(MAX_SHIFT), b.min(MAX_SHIFT)));
        let (theirs, ours) = both.unwrap_or((0, 0));
        // Where the host's own window ended before the stimulus of that number.
        let own_end = |i: usize| {
            let last = self.sent.iter().rfind(|s| s.after <= i && s.tcp.ack.is_some())?;
            let shift = if is(&last.tcp, Flags::SYN) { 0 } else { ours };
            Some(last.tcp.ack?.wrapping_add(u32::from(last.tcp.window?) << shift))
        };
        let precedes = |a: u32, b: u32| (a.wrapping_sub(b) as i32) < 0;
        // SND.WL1, SND.WL2 and the end of the window (RFC 9293 §3.3.1).
        let mut known: Option<(u32, u32, u32)> = None;
        for (i, tcp) in arrived.filter(|(_, tcp)| is(tcp, Flags::ACK) && !is(tcp, Flags::RST)) {
            let (Some(ack), Some(window), syn) = (tcp.ack, tcp.window, is(tcp, Flags::SYN)) else { continue };
            let outside = !syn && own_end(i).is_some_and(|end| precedes(end, tcp.seq));
            let older =
                known.is_some_and(|(seq, acked, _)| !syn && (precedes(tcp.seq, seq) || precedes(ack, acked)));
            if !outside && !older {
                let shift = if syn { 0 } else { theirs };
                known = Some((tcp.seq, ack, ack.wrapping_add(u32::from(window) << shift)));
            }
        }
        known.map(|(_, _, end)| end)
    }

    /// The number that scripts give to the descriptor of a call.
    pub(super) fn named(&self, op: Op) -> i32 {
        if self.role == Role::Client || op == Op::Accept { FIRST } else { ACCEPTED }
    }
}
