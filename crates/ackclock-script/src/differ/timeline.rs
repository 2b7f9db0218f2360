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
    /// Where the window ended, before the segment left, that the peer had announced last.
    pub(super) fn window_end(&self, sent: &Sent) -> Option<u32> {
        let scale = |tcp: &Tcp| match &tcp.options {
            TcpOptions::List(list) => list.iter().find_map(|o| match o {
                TcpOption::WindowScale(shift) => Some(*shift),
                _ => None,
            }),
            TcpOptions::Any => None,
        };
        let is = |tcp: &Tcp, flag: Flags| tcp.flags.bits & flag.0 != 0;
        let mut arrived =
            self.stimuli[..sent.after.min(self.stimuli.len())].iter().filter_map(|s| match &s.doing {
                Doing::Inject(tcp, _) => Some(tcp),
                Doing::Call(_) => None,
            });
        let theirs = arrived.clone().find(|tcp| is(tcp, Flags::SYN)).and_then(scale);
        let ours = self.sent.iter().find(|s| is(&s.tcp, Flags::SYN)).and_then(|s| scale(&s.tcp));
        let shift = theirs.filter(|_| ours.is_some()).unwrap_or(0).min(MAX_SHIFT);
        let last = arrived.rfind(|tcp| is(tcp, Flags::ACK) && !is(tcp, Flags::RST))?;
        let shift = if is(last, Flags::SYN) { 0 } else { shift };
        Some(last.ack?.wrapping_add(u32::from(last.window?) << shift))
    }

    /// The number that scripts give to the descriptor of a call.
    pub(super) fn named(&self, op: Op) -> i32 {
        if self.role == Role::Client || op == Op::Accept { FIRST } else { ACCEPTED }
    }
}
