//! What two hosts did beside each other: the first difference, and what kind it is.

use std::fmt::{self, Write as _};

use ackclock_units::{Duration, Ecn, Instant};
use ackclock_wire::Flags;

use super::conversation::Op;
use super::timeline::{Doing, Sent, Timeline};
use crate::ast::{Tcp, TcpOption, TcpOptions};
use crate::host::Returned;
use crate::render;

/// The first difference between two timelines.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// What differs, and where: differences with the same cause have the same.
    pub cause: Cause,
    /// What is different in the first timeline, and in the second.
    pub place: Place,
}

/// Kind and circumstances of a difference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cause {
    /// What differs.
    pub what: String,
    /// The state of the first host's connection before.
    pub state: &'static str,
    /// What was done to the hosts before, or that a timer has fired since.
    pub stimulus: String,
}

/// Where two timelines differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// What the call returned that is the stimulus of that number.
    Returned(usize),
    /// Segments of these numbers; none where the host sent none.
    Sent(Option<usize>, Option<usize>),
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {} after {}", self.what, self.state, self.stimulus)
    }
}

/// How exactly timelines are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measure {
    /// By how much times may differ.
    pub tolerance: Duration,
    /// By what part of the time since the stimulus before, where that is more: one of so many.
    pub tolerance_part: u64,
    /// Window fields must be the same. Otherwise only whether they are zero.
    pub windows: bool,
}

impl Measure {
    /// By how much the times of a segment may differ that leaves so long after a stimulus.
    pub(super) fn tolerated(self, passed: Duration) -> Duration {
        self.tolerance.max(Duration::from_nanos(passed.as_nanos() / self.tolerance_part))
    }
}

/// Compares what the same stimuli did to two hosts. A difference in a field after which both go on alike is
/// passed over where it `is_explained`.
pub fn compare(
    first: &Timeline,
    second: &Timeline,
    measure: Measure,
    is_explained: &dyn Fn(&Cause) -> bool,
) -> Option<Difference> {
    let returned =
        (0..first.stimuli.len().min(second.returned.len())).find(|i| !same_return(first, second, *i));
    let sent = segments(first, second, measure, is_explained);
    if let Some(i) = returned
        && sent.as_ref().is_none_or(|(after, _)| *after > i)
    {
        return Some(of_return(first, second, i));
    }
    sent.map(|(_, difference)| difference)
}

/// Compares what a call returned; a descriptor is as good as another.
fn same_return(first: &Timeline, second: &Timeline, i: usize) -> bool {
    match (&first.stimuli[i].doing, &first.returned[i], &second.returned[i]) {
        (Doing::Call(Op::Accept), Some(Returned::Value(_)), Some(Returned::Value(_))) => true,
        (_, a, b) => a == b,
    }
}

fn of_return(first: &Timeline, second: &Timeline, i: usize) -> Difference {
    let stimulus = &first.stimuli[i];
    let shown = |r: &Option<Returned>| match r {
        Some(Returned::Error(errno)) => errno.0.to_owned(),
        Some(Returned::Option(value)) => match value {
            crate::host::OptionValue::Text(text) => text.clone(),
            _ => "no error".to_owned(),
        },
        Some(Returned::Value(0)) => "0".to_owned(),
        Some(_) => "a number".to_owned(),
        None => "nothing".to_owned(),
    };
    let (a, b) = (shown(&first.returned[i]), shown(&second.returned[i]));
    let numbers = if a == b { String::new() } else { format!(" {a}, not {b},") };
    let before = first.stimuli[..i].iter().rev().find(|s| matches!(s.doing, Doing::Inject(..)));
    Difference {
        cause: Cause {
            what: format!("{} returns{numbers}", stimulus.kind).trim_end_matches(',').to_owned(),
            state: stimulus.state,
            stimulus: before.map_or("nothing".to_owned(), |s| s.kind.clone()),
        },
        place: Place::Returned(i),
    }
}

/// The first segments that differ, with how many stimuli came before.
fn segments(
    first: &Timeline,
    second: &Timeline,
    measure: Measure,
    is_explained: &dyn Fn(&Cause) -> bool,
) -> Option<(usize, Difference)> {
    // True where one host sends what the other sends after something else.
    let skips =
        |other: Option<&Sent>, sent: &Sent| other.is_some_and(|o| alike(o, sent) && o.after == sent.after);
    for i in 0..first.sent.len().max(second.sent.len()) {
        let missing = |a: &Sent| {
            let cause = of_segment(first, format!("{} missing", name(first, i)), a);
            Some((a.after, Difference { cause, place: Place::Sent(Some(i), None) }))
        };
        let extra = |b: &Sent| {
            let cause = of_segment(first, format!("{} extra", name(second, i)), b);
            Some((b.after, Difference { cause, place: Place::Sent(None, Some(i)) }))
        };
        let (a, b) = match (first.sent.get(i), second.sent.get(i)) {
            (Some(a), Some(b)) => (a, b),
            (Some(a), None) => return missing(a),
            (None, Some(b)) => return extra(b),
            (None, None) => return None,
        };
        if a.after < b.after || (!alike(a, b) && skips(first.sent.get(i + 1), b)) {
            return missing(a);
        }
        if a.after > b.after || (!alike(a, b) && skips(second.sent.get(i + 1), a)) {
            return extra(b);
        }
        let clock = clock(first, second, i);
        if let Some(field) = fields(first, (a, b), &before(first, second, i), clock, measure)
            .into_iter()
            .map(|field| of_segment(first, format!("{field} of {}", name(first, i)), a))
            .find(|cause| !alike(a, b) || !is_explained(cause))
        {
            return Some((a.after, Difference { cause: field, place: Place::Sent(Some(i), Some(i)) }));
        }
    }
    None
}

fn of_segment(first: &Timeline, what: String, sent: &Sent) -> Cause {
    let Some(stimulus) = sent.after.checked_sub(1).and_then(|i| first.stimuli.get(i)) else {
        return Cause { what, state: "CLOSED", stimulus: "opening".to_owned() };
    };
    let passed = sent.at.since(stimulus.at);
    let timer = if passed >= TIMER { " and a timer" } else { "" };
    Cause { what, state: stimulus.state, stimulus: format!("{}{timer}", stimulus.kind) }
}

/// What both hosts have sent last before the segment of that number, and what of it is not only an ack: a timer
/// that was armed then is as late as that was.
fn before<'a>(first: &'a Timeline, second: &'a Timeline, i: usize) -> Vec<(&'a Sent, &'a Sent)> {
    let occupies = |s: &Sent| s.tcp.len > 0 || s.tcp.flags.bits & (Flags::SYN | Flags::FIN).0 != 0;
    let pairs = || first.sent[..i].iter().zip(&second.sent[..i]).rev();
    pairs().next().into_iter().chain(pairs().find(|(a, _)| occupies(a))).collect()
}

/// What leaves so long after a stimulus leaves on account of a timer.
pub(super) const TIMER: Duration = Duration::from_millis(4);

/// Most bytes of options, which a segment may have to leave for another one (RFC 9293 §3.1).
const OPTIONS: u32 = 40;

/// What a cause calls a segment.
fn name(timeline: &Timeline, i: usize) -> String {
    let tcp = &timeline.sent[i].tcp;
    let has = |flag: Flags| tcp.flags.bits & flag.0 != 0;
    let end = tcp.seq.wrapping_add(tcp.len);
    let again = timeline.sent[..i]
        .iter()
        .any(|s| s.tcp.len > 0 && s.tcp.seq < end && tcp.seq < s.tcp.seq + s.tcp.len);
    let before = i.checked_sub(1).map(|before| &timeline.sent[before]);
    let follows = before.is_some_and(|b| b.tcp.len > 0 && b.tcp.seq.wrapping_add(b.tcp.len) == tcp.seq);
    let sack =
        matches!(&tcp.options, TcpOptions::List(l) if l.iter().any(|o| matches!(o, TcpOption::Sack(_))));
    match () {
        () if has(Flags::RST) && has(Flags::ACK) => "RST-ACK",
        () if has(Flags::RST) => "RST",
        () if has(Flags::SYN) && has(Flags::ACK) => "SYN-ACK",
        () if has(Flags::SYN) => "SYN",
        () if has(Flags::FIN) && beyond(timeline, &timeline.sent[i]) => "FIN beyond the window",
        () if has(Flags::FIN) => "FIN",
        () if tcp.len > 0 && again && tcp.len <= OPTIONS && follows => "rest of a retransmission",
        () if tcp.len > 0 && again => "retransmission",
        () if tcp.len > 0 => "data",
        () if sack => "ack with SACK",
        () => "ack",
    }
    .to_owned()
}

/// True where a segment begins after the window that the peer announced last, or ends after it and is a FIN.
fn beyond(timeline: &Timeline, sent: &Sent) -> bool {
    let (Tcp { seq, len, flags, .. }, end) = (&sent.tcp, timeline.window_end(sent));
    let fin = u32::from(flags.bits & Flags::FIN.0 != 0);
    let last = if fin > 0 { seq.wrapping_add(len + fin) } else { *seq };
    end.is_some_and(|end| last.wrapping_sub(end) as i32 > 0)
}

/// True for segments that are the same but for their options, windows and times.
fn alike(a: &Sent, b: &Sent) -> bool {
    let kind = |tcp: &Tcp| tcp.flags.bits & !Flags::PSH.0;
    (kind(&a.tcp), a.tcp.seq, a.tcp.len, a.tcp.ack) == (kind(&b.tcp), b.tcp.seq, b.tcp.len, b.tcp.ack)
}

/// How far the second host's clock is ahead of the first one's in the connection of that segment: RFC 7323 §5.4
/// lets a clock have another offset in each connection.
pub(super) fn clock(first: &Timeline, second: &Timeline, i: usize) -> u32 {
    let opens = |s: &Sent| {
        let before = s.after.checked_sub(1).and_then(|stimulus| first.stimuli.get(stimulus));
        s.tcp.flags.bits & Flags::SYN.0 != 0 && before.is_none_or(|b| matches!(b.state, "CLOSED" | "LISTEN"))
    };
    let until = first.sent.len().min(i + 1);
    let from = first.sent[..until].iter().rposition(opens).unwrap_or(0);
    let pairs = first.sent.iter().zip(&second.sent).skip(from);
    let of = |(a, b): (&Sent, &Sent)| Some(stamp(b)?.0.wrapping_sub(stamp(a)?.0));
    pairs.map(of).find_map(|o| o).unwrap_or(0)
}

fn stamp(sent: &Sent) -> Option<(u32, u32)> {
    let TcpOptions::List(list) = &sent.tcp.options else { return None };
    list.iter().find_map(|o| match o {
        TcpOption::Timestamps { val, ecr } => Some((*val, *ecr)),
        _ => None,
    })
}

/// How far two moments lie apart.
fn apart(a: Instant, b: Instant) -> Duration {
    if a > b { a.since(b) } else { b.since(a) }
}

/// The fields that differ, the most important one first. `before`: what both have sent before, at which a timer may
/// have been armed.
fn fields(
    timeline: &Timeline,
    (a, b): (&Sent, &Sent),
    before: &[(&Sent, &Sent)],
    clock: u32,
    measure: Measure,
) -> Vec<String> {
    let (x, y) = (&a.tcp, &b.tcp);
    let mut found = Vec::new();
    if (x.flags.bits ^ y.flags.bits) & !Flags::PSH.0 != 0 {
        let name = |bits| render::flags(crate::ast::TcpFlags { bits: bits & !Flags::PSH.0, ace: None });
        found.push(format!("flags {}, not {},", name(x.flags.bits), name(y.flags.bits)));
    }
    let zero = (x.window == Some(0)) != (y.window == Some(0));
    let reset = x.flags.bits & Flags::RST.0 != 0;
    let since = a.after.checked_sub(1).map_or(Instant::ZERO, |i| timeline.stimuli[i].at);
    let late = apart(a.at, b.at) > measure.tolerated(a.at.since(since))
        // A timer that follows another one is as late as that was.
        && before.iter().all(|(c, d)| {
            let (x, y) = (a.at.since(c.at), b.at.since(d.at));
            let apart = if x > y { x - y } else { y - x };
            apart > measure.tolerated(x)
        });
    // The other host's segment ends where another one of the first host does.
    let end = y.seq.wrapping_add(y.len);
    let merged = x.len > 0
        && x.seq == y.seq
        && y.len > x.len
        && timeline.sent.iter().any(|s| s.tcp.len > 0 && s.tcp.seq.wrapping_add(s.tcp.len) == end);
    let simple = [
        ("sequence number", x.seq != y.seq && !beyond(timeline, a)),
        ("sequence number beyond the window", x.seq != y.seq && beyond(timeline, a)),
        ("merged length", merged),
        ("payload", (x.len > 0) != (y.len > 0)),
        ("length", x.len != y.len && !merged && x.len > 0 && y.len > 0),
        ("acknowledgment number", x.ack != y.ack),
        ("urgent pointer", x.urgent != y.urgent),
        ("ECN field", a.ecn != b.ecn && (a.ecn == Ecn::NotEct || b.ecn == Ecn::NotEct)),
        ("PSH", (x.flags.bits ^ y.flags.bits) & Flags::PSH.0 != 0),
        ("window", !reset && (zero || (measure.windows && x.window != y.window))),
        ("time", late),
    ];
    found.extend(simple.iter().filter(|(_, differs)| *differs).map(|(name, _)| (*name).to_owned()));
    found.extend(option(a, b, clock.wrapping_add(ticks(b.at, a.at))));
    found
}

/// By how many ticks of a millisecond a reading may differ.
const TICKS: u32 = 10;

/// How far a clock goes from one moment to another, ticks of a millisecond; one that goes back wraps.
fn ticks(to: Instant, from: Instant) -> u32 {
    (to.as_nanos() as i64 / 1_000_000 - from.as_nanos() as i64 / 1_000_000) as u32
}

/// The first option that differs.
fn option(a: &Sent, b: &Sent, clock: u32) -> Option<String> {
    let (TcpOptions::List(x), TcpOptions::List(y)) = (&a.tcp.options, &b.tcp.options) else { return None };
    let kinds = |list: &[TcpOption]| list.iter().map(kind).collect::<Vec<_>>();
    if kinds(x) != kinds(y) {
        let shown = |list: &[TcpOption]| {
            let mut text = String::new();
            for kind in kinds(list).into_iter().filter(|k| *k != "nop") {
                let _ = write!(text, "{}{kind}", if text.is_empty() { "" } else { "," });
            }
            if text.is_empty() { "none".to_owned() } else { text }
        };
        let (m, n) = (shown(x), shown(y));
        return Some(if m == n { "order of options".to_owned() } else { format!("options {m}, not {n},") });
    }
    x.iter().zip(y).find_map(|pair| match pair {
        (TcpOption::Timestamps { val: v, ecr: e }, TcpOption::Timestamps { val: w, ecr: f }) => {
            let ticks = (w.wrapping_sub(clock).wrapping_sub(*v) as i32).unsigned_abs();
            match () {
                () if e != f => Some("echo of timestamps".to_owned()),
                () if *v != 0 && ticks > TICKS => Some("value of timestamps".to_owned()),
                () => None,
            }
        }
        (TcpOption::Sack(m), TcpOption::Sack(n)) if m.len() != n.len() => {
            Some(format!("{} SACK blocks, not {},", m.len(), n.len()))
        }
        (m, n) if m != n => Some(kind(m).to_owned()),
        _ => None,
    })
}

fn kind(option: &TcpOption) -> &'static str {
    match option {
        TcpOption::Nop => "nop",
        TcpOption::Eol => "eol",
        TcpOption::Mss(_) => "mss",
        TcpOption::WindowScale(_) => "wscale",
        TcpOption::SackPermitted => "sackOK",
        TcpOption::Sack(_) => "SACK",
        TcpOption::Timestamps { .. } => "TS",
        TcpOption::FastOpen(_) | TcpOption::FastOpenExperimental(_) => "FO",
        TcpOption::Md5(_) => "md5",
        TcpOption::AccEcn(_) => "AccECN",
    }
}
