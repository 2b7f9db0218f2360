//! One direction at both captures: which transmission arrived as which segment.

use std::collections::{BTreeMap, HashMap};

use ackclock_trace::PacketRow;
use ackclock_units::Instant;

/// What became of a segment at its sender's end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outcome {
    pub at: Instant,
    pub frame: u64,
    pub offset: u64,
    pub len: u32,
    pub again: bool,
    pub data: bool,
    /// Packets of it, and those that did not arrive.
    pub packets: u64,
    pub lost: u64,
    /// It was sent before the other capture began, or would have arrived after it ended.
    pub outside: bool,
}

/// One direction, matched.
#[derive(Clone, Debug, Default)]
pub(super) struct Matched {
    pub outcomes: Vec<Outcome>,
    /// When each segment arrived, as a share of the connection's time, and by how much later than it was
    /// sent by the other clock, ns.
    pub delays: Vec<(f64, i64)>,
    /// Segments at the receiver's end without a match.
    pub unsent: u64,
}

impl Matched {
    /// The least difference in a part of the time.
    pub(super) fn least_between(&self, from: f64, to: f64) -> Option<i64> {
        self.delays.iter().filter(|(at, _)| (from..=to).contains(at)).map(|d| d.1).min()
    }
}

/// No segment is longer (with its header, an IP packet).
const LONGEST: u64 = 1 << 16;
/// A transmission may seem to arrive this much sooner than the soonest one that is known, ns. Chosen, because
/// clocks drift.
const SLACK: i64 = 2_000_000;

/// A segment with its place in the stream.
struct Ranged<'a> {
    row: &'a PacketRow,
    start: u64,
    end: u64,
    /// Bytes of it that have arrived.
    covered: u64,
}

/// Sequence numbers as places in the stream: each is the nearest to the one before it.
struct Places(u64);

impl Places {
    fn of(&mut self, seq: u32) -> u64 {
        self.0 = self.0.wrapping_add_signed(i64::from(seq.wrapping_sub(self.0 as u32) as i32));
        self.0
    }
}

fn nanos(at: Instant) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}

/// Matches the segments at the sender's end, `sent`, with those at the other, `came`, whose capture has
/// packets of this connection in `span`.
pub(super) fn match_up(
    sent: Vec<&PacketRow>,
    came: Vec<&PacketRow>,
    span: Option<(Instant, Instant)>,
) -> Matched {
    let mut matched = Matched::default();
    let Some((first, last)) = span else { return matched };
    // Both begin to count at the same place.
    let base = sent.first().map_or(0, |r| r.seq.0);
    let start = (1 << 33) + u64::from(base);
    let (mut there, mut here) = (Places(start), Places(start));
    let mut transmissions: Vec<Ranged<'_>> = sent
        .iter()
        .map(|row| {
            let at = there.of(row.seq.0);
            Ranged { row, start: at, end: at + u64::from(row.len), covered: 0 }
        })
        .collect();
    let mut by_start: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut without_data: HashMap<Control, Vec<usize>> = HashMap::new();
    for (i, t) in transmissions.iter().enumerate() {
        match t.row.len {
            0 => without_data.entry(control(t.row)).or_default().push(i),
            _ => by_start.entry(t.start).or_default().push(i),
        }
    }
    let least = least_of_unique(&transmissions, &by_start, &without_data, &came, start);
    let lasted = last.since(first).as_secs_f64().max(1e-9);
    let mut delay = |came: &PacketRow, sent: &PacketRow| {
        let raw = nanos(came.time).saturating_sub(nanos(sent.time));
        matched.delays.push((came.time.since(first).as_secs_f64() / lasted, raw));
    };
    for row in came {
        let at = here.of(row.seq.0);
        if row.len == 0 {
            let next = without_data.get_mut(&control(row)).and_then(|same| {
                // Those with one timestamp were sent within a tick. Without, the latest that can have
                // arrived.
                let mut places = (0..same.len()).filter(|p| may_be(transmissions[same[*p]].row, row, least));
                let place = if row.tsval.is_some() { places.next() } else { places.next_back() };
                place.map(|p| same.remove(p))
            });
            match next {
                Some(i) => {
                    transmissions[i].covered = 1;
                    delay(row, transmissions[i].row);
                }
                None => matched.unsent += 1,
            }
            continue;
        }
        let (mut from, end, mut any) = (at, at + u64::from(row.len), false);
        while from < end {
            let candidates = by_start.range(from.saturating_sub(LONGEST)..=from).flat_map(|(_, all)| all);
            // Without timestamps, the latest that can have arrived by then.
            let found = candidates
                .copied()
                .filter(|i| {
                    let t = &transmissions[*i];
                    t.end > from
                        && t.covered < t.end - t.start
                        && (t.row.tsval.is_none() || row.tsval.is_none() || t.row.tsval == row.tsval)
                        && may_be(t.row, row, least)
                })
                .max();
            let Some(i) = found else {
                from = by_start.range(from + 1..end).next().map_or(end, |(next, _)| *next);
                continue;
            };
            let t = &mut transmissions[i];
            if t.covered == 0 && !any {
                delay(row, t.row);
            }
            let to = end.min(t.end);
            t.covered = (t.covered + to - from).min(t.end - t.start);
            (from, any) = (to, true);
        }
        matched.unsent += u64::from(!any);
    }
    let least = least.unwrap_or(0);
    matched.outcomes = transmissions.iter().map(|t| outcome(t, nanos(first), nanos(last), least)).collect();
    matched
}

fn outcome(t: &Ranged<'_>, first: i64, last: i64, least: i64) -> Outcome {
    let (row, packets) = (t.row, u64::from(t.row.packets.max(1)));
    let whole = (t.end - t.start).max(1);
    let missing = whole - t.covered.min(whole);
    let due = nanos(row.time).saturating_add(least);
    Outcome {
        at: row.time,
        frame: row.frame,
        offset: row.offset,
        len: row.len,
        again: row.again,
        data: row.len > 0,
        packets,
        lost: (missing * packets).div_ceil(whole),
        outside: missing > 0 && (due < first || due > last),
    }
}

/// What segments without data are recognised by.
type Control = (u32, u32, u32, Option<u32>, Option<u32>, u64);

fn control(row: &PacketRow) -> Control {
    // Offsets depend on where a capture began, their distances do not.
    let acked = row.acked.unwrap_or(0);
    let blocks = row
        .sack
        .iter()
        .fold(0_u64, |all, edge| all.wrapping_mul(1_000_003).wrapping_add(edge.wrapping_sub(acked)));
    (row.seq.0, row.ack.0, row.flags, row.tsval, row.tsecr, blocks)
}

/// Whether one may have arrived as the other: not sooner than the soonest.
fn may_be(sent: &PacketRow, came: &PacketRow, least: Option<i64>) -> bool {
    least.is_none_or(|least| nanos(came.time).saturating_sub(nanos(sent.time)) >= least.saturating_sub(SLACK))
}

/// The least difference between arrival and departure of what was sent once.
fn least_of_unique(
    sent: &[Ranged<'_>],
    by_start: &BTreeMap<u64, Vec<usize>>,
    without_data: &HashMap<Control, Vec<usize>>,
    came: &[&PacketRow],
    start: u64,
) -> Option<i64> {
    let mut here = Places(start);
    let mut least: Option<i64> = None;
    for row in came {
        let at = here.of(row.seq.0);
        let known = if row.len > 0 { by_start.get(&at) } else { without_data.get(&control(row)) };
        let once = known.filter(|all| all.len() == 1 && !row.again).map(|all| &sent[all[0]]);
        if let Some(t) = once.filter(|t| !t.row.again && t.row.tsval == row.tsval) {
            let raw = nanos(row.time).saturating_sub(nanos(t.row.time));
            least = Some(least.map_or(raw, |l| l.min(raw)));
        }
    }
    least
}
