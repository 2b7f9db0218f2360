//! Runs a conversation: on the first host, whose segments give the peer's their numbers, and then the same
//! stimuli on another.

use std::collections::BTreeMap;

use ackclock_units::{Duration, Ecn, Instant};

use ackclock_wire::Flags;

use super::compare::{Measure, TIMER};
use super::conversation::{Act, Conversation, Op, Role};
use super::peer::Peer;
use super::timeline::{Doing, Sent, Stimulus, Timeline};
use crate::ast::{Tcp, TcpOption, TcpOptions};
use crate::host::{Call, Host, Returned};

/// No stimulus comes closer to a timer of the first host: the other one's may be as much off, and which of
/// the two comes first would be chance.
const CLOSEST: Duration = Duration::from_millis(16);

/// And no closer than this part of the time that the timer runs, and those before it in a row: those of a kernel
/// are as inexact.
const CLOSEST_PART: u64 = 8;

/// How often a stimulus is put off on account of timers.
const MOST_DELAYS: u32 = 16;

/// Timers of one wait: far more than any host needs.
const MOST_TIMERS: u32 = 10_000;

/// Runs a conversation on a host in virtual time, and records what was done to it and what it did.
pub fn lead(conversation: &Conversation, host: &mut dyn Host) -> Timeline {
    let mut run = Run::new(conversation, host);
    let offer = conversation.peer;
    let mut peer = if conversation.sound { Peer::sound(offer) } else { Peer::new(offer) };
    let mut at = Instant::ZERO;
    for step in &conversation.steps {
        let waits_for_accept =
            matches!(step.act, Act::Call(op) if op != Op::Accept) && run.descriptor.is_none();
        if waits_for_accept {
            continue;
        }
        at = run.quiet(at + step.after);
        run.wait(at);
        run.timeline.sent[run.heard..].iter().for_each(|s| peer.hears(&s.tcp));
        run.heard = run.timeline.sent.len();
        let state = run.host.state();
        let (doing, kind) = match &step.act {
            Act::Call(op) => (Doing::Call(*op), format!("{}{}", op.kind(), peer.contradictions())),
            Act::Inject(segment) => {
                let Some((tcp, kind)) = peer.responds(segment, at) else { continue };
                (Doing::Inject(tcp, segment.ecn), kind)
            }
        };
        run.act(Stimulus { at, doing, kind, state });
        if matches!(step.act, Act::Call(Op::Close)) {
            run.descriptor = None;
        }
    }
    let end = run.quiet(at + conversation.rest);
    run.finish(end)
}

/// Repeats on a host what was done to another one.
pub fn follow(first: &Timeline, host: &mut dyn Host) -> Timeline {
    repeat(first, host, &|_| Duration::ZERO)
}

/// Repeats on a host like the first one, in virtual time, what was done to it, with timers that fire as late as
/// the second host's did: a kernel's fire at its ticks, and a round-trip time that is measured from what a timer
/// has sent is as much shorter. Where the second was later than the measure tolerates, or earlier, they fire
/// when they are due.
pub(super) fn follow_late(
    first: &Timeline,
    second: &Timeline,
    measure: Measure,
    host: &mut dyn Host,
) -> Timeline {
    let mut late = vec![Duration::ZERO; first.stimuli.len() + 1];
    for (a, b) in first.sent.iter().zip(&second.sent).filter(|(a, b)| a.after == b.after) {
        let since = a.after.checked_sub(1).map_or(Instant::ZERO, |i| first.stimuli[i].at);
        let by = b.at.since(a.at);
        if a.at.since(since) >= TIMER && by <= measure.tolerated(a.at.since(since)) {
            late[a.after] = late[a.after].max(by);
        }
    }
    repeat(first, host, &|after| late[after])
}

/// Repeats it; `late` says by how much timers are late after so many stimuli.
fn repeat(first: &Timeline, host: &mut dyn Host, late: &dyn Fn(usize) -> Duration) -> Timeline {
    let empty = Conversation {
        settings: first.settings.clone(),
        role: first.role,
        options: first.options.clone(),
        peer: super::conversation::Offer {
            mss: None,
            sack: false,
            timestamps: false,
            window_scale: None,
            ecn: false,
        },
        steps: Vec::new(),
        sound: false,
        rest: Duration::ZERO,
    };
    let mut run = Run::new(&empty, host);
    for (i, stimulus) in first.stimuli.iter().enumerate() {
        run.late = late(i);
        run.wait(stimulus.at);
        let mut stimulus = stimulus.clone();
        if let Doing::Inject(tcp, _) = &mut stimulus.doing {
            clocks(tcp, first, &run.timeline);
        }
        run.act(stimulus);
    }
    run.late = late(first.stimuli.len());
    run.finish(first.end)
}

/// Replaces the echo of the first host's clock by that of the other's: what it read when it sent the segment
/// that corresponds, or as much later.
fn clocks(tcp: &mut Tcp, first: &Timeline, second: &Timeline) {
    let value = |s: &Sent| match &s.tcp.options {
        TcpOptions::List(list) => list.iter().find_map(|o| match o {
            TcpOption::Timestamps { val, .. } => Some(*val),
            _ => None,
        }),
        TcpOptions::Any => None,
    };
    let pairs: BTreeMap<u32, u32> =
        first.sent.iter().zip(&second.sent).filter_map(|(a, b)| Some((value(a)?, value(b)?))).collect();
    let TcpOptions::List(list) = &mut tcp.options else { return };
    for option in list {
        if let TcpOption::Timestamps { ecr, .. } = option
            && *ecr != 0
            && let Some((a, b)) = pairs.range(..=*ecr).next_back()
        {
            *ecr = b.wrapping_add(ecr.wrapping_sub(*a));
        }
    }
}

/// A conversation on one host.
struct Run<'a> {
    host: &'a mut dyn Host,
    /// The host's descriptor of the socket that listens or connects.
    first: i32,
    /// That of the connection.
    descriptor: Option<i32>,
    /// Segments that the peer knows of.
    heard: usize,
    /// The host's next timer.
    armed: Armed,
    /// By how much timers are late, in virtual time.
    late: Duration,
    timeline: Timeline,
}

/// The next timer of a host.
#[derive(Clone, Copy, Default)]
struct Armed {
    deadline: Option<Instant>,
    /// When it was armed, or the first one of those that have fired one after the other, with nothing done to the
    /// host that armed another one.
    since: Instant,
}

impl Armed {
    /// The host has another next timer now, on account of a timer or of what was done to it.
    fn follow(&mut self, deadline: Option<Instant>, now: Instant, by_timer: bool) {
        if self.deadline != deadline {
            self.deadline = deadline;
            if !by_timer {
                self.since = now;
            }
        }
    }
}

impl<'a> Run<'a> {
    /// Sets the host up, and opens a socket.
    fn new(conversation: &Conversation, host: &'a mut dyn Host) -> Self {
        for (name, value) in &conversation.settings {
            host.set(name, value);
        }
        let timeline = Timeline {
            settings: conversation.settings.clone(),
            role: conversation.role,
            options: conversation.options.clone(),
            stimuli: Vec::new(),
            returned: Vec::new(),
            sent: Vec::new(),
            end: Instant::ZERO,
            late: Duration::ZERO,
        };
        let (armed, late) = (Armed::default(), Duration::ZERO);
        let mut run = Self { host, first: -1, descriptor: None, heard: 0, armed, late, timeline };
        if let Some(Returned::Value(fd)) = run.host.call(&mut Call::Socket { nonblocking: true }) {
            run.first = i32::try_from(fd).unwrap_or(-1);
        }
        run.host.advance(Instant::ZERO);
        let fd = run.first;
        for option in &conversation.options {
            run.host.call(&mut Op::Set(*option).call(fd));
        }
        match conversation.role {
            Role::Server => {
                run.host.call(&mut Call::Bind { fd, port: None });
                run.host.call(&mut Call::Listen { fd, backlog: BACKLOG });
            }
            Role::Client => {
                run.host.call(&mut Call::Connect { fd, port: None });
                run.descriptor = Some(fd);
            }
        }
        run.collect();
        run
    }

    /// The moment from which on no timer is near, where there is one soon.
    fn quiet(&mut self, wanted: Instant) -> Instant {
        let mut at = wanted;
        for _ in 0..MOST_DELAYS {
            let since = self.armed.since;
            let due =
                |d: Instant| CLOSEST.max(Duration::from_nanos(d.since(since).as_nanos() / CLOSEST_PART));
            match self.host.deadline() {
                Some(d) if d + due(d) <= at => self.advance(d),
                Some(d) if d.saturating_sub(due(d)) < at => at = d + due(d),
                _ => return at,
            }
        }
        at
    }

    /// Lets time pass, and takes what has left.
    fn advance(&mut self, then: Instant) {
        self.host.advance(then);
        self.collect();
        self.armed.follow(self.host.deadline(), then, true);
    }

    /// Lets time pass until `then`.
    fn wait(&mut self, then: Instant) {
        for _ in 0..MOST_TIMERS {
            // A host in real time runs its timers by itself.
            let due = self.host.deadline().filter(|_| !self.host.is_real());
            self.advance(due.map_or(then, |d| (d + self.late).min(then)));
            if self.host.now() >= then && due.is_none_or(|d| d > then) {
                break;
            }
        }
    }

    /// Takes what has left.
    fn collect(&mut self) {
        let after = self.timeline.stimuli.len();
        let sent = self.host.sent().drain(..).map(|d| Sent { at: d.at, tcp: d.tcp, ecn: d.ecn, after });
        self.timeline.sent.extend(sent);
    }

    /// Does something to the host.
    fn act(&mut self, stimulus: Stimulus) {
        let returned = match &stimulus.doing {
            Doing::Call(op) => {
                let fd = if *op == Op::Accept { self.first } else { self.descriptor.unwrap_or(-1) };
                let returned = self.host.call(&mut op.call(fd));
                if let (Op::Accept, Some(Returned::Value(fd))) = (op, &returned) {
                    self.descriptor = i32::try_from(*fd).ok();
                }
                returned
            }
            Doing::Inject(tcp, ecn) => {
                self.inject(tcp, *ecn);
                None
            }
        };
        self.timeline.late = self.timeline.late.max(self.host.late());
        self.armed.follow(self.host.deadline(), stimulus.at, false);
        self.timeline.stimuli.push(stimulus);
        self.timeline.returned.push(returned);
        self.collect();
    }

    fn inject(&mut self, tcp: &Tcp, ecn: Ecn) {
        let opens = tcp.flags.bits & (Flags::SYN | Flags::ACK).0 == Flags::SYN.0;
        let ports = self.host.ports(opens);
        // Segments of a conversation are such as a packet can carry.
        let _ = self.host.inject(ports, tcp, ecn);
    }

    fn finish(mut self, end: Instant) -> Timeline {
        self.wait(end);
        self.timeline.end = end;
        self.timeline
    }
}

/// Connections that the socket keeps for `accept`.
pub(super) const BACKLOG: i64 = 4;

#[cfg(test)]
mod tests {
    use ackclock_policy::Registry;

    use super::super::{compare, generate};
    use super::*;
    use crate::{Dialect, EngineHost};

    const MEASURE: Measure =
        Measure { tolerance: Duration::from_millis(15), tolerance_part: 8, windows: true };

    fn host() -> Box<dyn Host> {
        Box::new(EngineHost::new(&Registry::builtin(), Dialect::Linux, None, 1).expect("built in"))
    }

    #[test]
    fn a_host_with_late_timers_does_what_one_like_it_did() {
        let mut later = 0;
        for index in 0..300 {
            let first = lead(&generate(7, index), &mut *host());
            let second = repeat(&first, &mut *host(), &|_| Duration::from_millis(6));
            let late = follow_late(&first, &second, MEASURE, &mut *host());
            let exact = Measure { tolerance: Duration::ZERO, tolerance_part: u64::MAX, ..MEASURE };
            let differs = |other| compare(other, &second, exact, &|_| false).is_some();
            later += u32::from(differs(&first) && !differs(&late));
        }
        assert!(later > 20, "{later}");
    }

    #[test]
    fn a_timer_that_is_too_late_is_no_excuse() {
        let mut kept = 0;
        for index in 0..300 {
            let first = lead(&generate(7, index), &mut *host());
            let second = repeat(&first, &mut *host(), &|_| Duration::from_millis(200));
            let late = follow_late(&first, &second, MEASURE, &mut *host());
            kept += u32::from(compare(&late, &second, MEASURE, &|_| false).is_some());
        }
        assert!(kept > 20, "{kept}");
    }
}
