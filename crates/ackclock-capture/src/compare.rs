//! Two captures of the same connections, one at each end: what was lost in between, how long packets took
//! each way, and how far the two clocks are apart.

mod pairing;
mod transmissions;

use ackclock_trace::PacketRow;
use ackclock_units::{Duration, Instant};

use self::pairing::{Pairing, pairings};
use self::transmissions::{Matched, Outcome, match_up};
use crate::{Report, Spread};

/// A connection that both captures have.
#[derive(Clone, Debug)]
pub struct Compared {
    /// Its number in either capture.
    pub numbers: [usize; 2],
    /// Which capture is nearer to the client.
    pub near_client: usize,
    /// From the client, and from the server.
    pub ways: [Way; 2],
    /// By how much the second capture's clock is ahead of the first's, ns, if the shortest way takes as long
    /// in either direction.
    pub ahead: i64,
    /// By how much that grew from the first third of the connection to the last, ns, where both have packets.
    pub drift: Option<i64>,
    /// The shortest round trip between the two captures, which depends on no clock.
    pub round_trip: Duration,
}

/// One direction between the two captures.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// Data packets at its sender's end whose fate the other capture shows.
    pub data: u64,
    /// Those of them that did not arrive.
    pub data_lost: u64,
    /// Segments without data, likewise.
    pub acks: u64,
    /// Those of them that did not arrive.
    pub acks_lost: u64,
    /// Segments that are in the capture of the receiver's end alone.
    pub unsent: u64,
    /// Packets at the sender's end before the other capture began, or after it ended.
    pub outside: u64,
    /// How long segments took.
    pub delay: Spread,
    /// The first that did not arrive.
    pub lost: Vec<Lost>,
}

/// A segment that did not arrive, or not all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// When it was sent, by the clock of that capture.
    pub at: Instant,
    /// The number of its packet in that file.
    pub frame: u64,
    /// Where its data begins in the stream.
    pub offset: u64,
    /// Its payload.
    pub len: u32,
    /// Packets of it that did not arrive.
    pub packets: u64,
    /// It had been sent before.
    pub again: bool,
}

/// Losses listed of each direction.
pub const MOST_LOST: usize = 1000;

/// The connections that both captures have, by their sequence numbers. The packets must be listed.
pub fn compare(a: &Report, b: &Report) -> Vec<Compared> {
    pairings(a, b).into_iter().filter_map(|pairing| compared(a, b, &pairing)).collect()
}

fn compared(a: &Report, b: &Report, pairing: &Pairing) -> Option<Compared> {
    let connections = [&a.connections[pairing.numbers[0]], &b.connections[pairing.numbers[1]]];
    let rows = connections.map(|c| &c.packets[..]);
    // The side of the client in either capture: they may disagree without a handshake.
    let side_of = |capture: usize, way: usize| way ^ usize::from(capture == 1 && pairing.swapped);
    // Nearer to the client: more of the way of its data lies behind the capture.
    let share = |capture: usize| connections[capture].directions[side_of(capture, 0)].share;
    let near_client = match (share(0), share(1)) {
        (Some(x), Some(y)) => usize::from(y > x),
        _ => usize::from(sent_more(rows, &side_of)),
    };
    let ends =
        |way: usize| if way == 0 { (near_client, 1 - near_client) } else { (1 - near_client, near_client) };
    let matched: [Matched; 2] = [0, 1].map(|way| {
        let (from, to) = ends(way);
        match_up(of_side(rows[from], side_of(from, way)), of_side(rows[to], side_of(to, way)), span(rows[to]))
    });
    // Of clocks and ways nothing is known but sums: the shortest there and back is a round trip.
    let least = |m: &Matched, from: f64, to: f64| m.least_between(from, to);
    let (there, back) = (least(&matched[0], 0.0, 1.0)?, least(&matched[1], 0.0, 1.0)?);
    let apart = |there: i64, back: i64| (there - back) / 2;
    // Of the clock at the server's end, relative to the client's.
    let server_ahead = apart(there, back);
    let third = |from, to| Some(apart(least(&matched[0], from, to)?, least(&matched[1], from, to)?));
    let sign = if near_client == 0 { 1 } else { -1 };
    let drift = third(0.0, 1.0 / 3.0).zip(third(2.0 / 3.0, 1.0)).map(|(first, last)| sign * (last - first));
    let corrections = [-server_ahead, server_ahead];
    let mut ways = [Way::default(), Way::default()];
    for ((way, m), correction) in ways.iter_mut().zip(&matched).zip(corrections) {
        m.outcomes.iter().for_each(|o| way.add(o));
        way.unsent = m.unsent;
        m.delays.iter().for_each(|(_, raw)| {
            way.delay.add(Duration::from_nanos(u64::try_from(raw.saturating_add(correction)).unwrap_or(0)));
        });
    }
    let round_trip = Duration::from_nanos(u64::try_from(there.saturating_add(back)).unwrap_or(0));
    Some(Compared {
        numbers: pairing.numbers,
        near_client,
        ways,
        ahead: sign * server_ahead,
        drift,
        round_trip,
    })
}

impl Way {
    fn add(&mut self, o: &Outcome) {
        let (all, gone) = match o.data {
            true => (&mut self.data, &mut self.data_lost),
            false => (&mut self.acks, &mut self.acks_lost),
        };
        if o.outside {
            self.outside += o.packets;
            return;
        }
        *all += o.packets;
        *gone += o.lost;
        if o.lost > 0 && self.lost.len() < MOST_LOST {
            let Outcome { at, frame, offset, len, again, .. } = *o;
            self.lost.push(Lost { at, frame, offset, len, packets: o.lost, again });
        }
    }
}

/// Whether the second capture has more packets of the client than the first: they passed it before losses.
fn sent_more(rows: [&[PacketRow]; 2], side_of: &impl Fn(usize, usize) -> usize) -> bool {
    let count = |capture: usize, way| {
        of_side(rows[capture], side_of(capture, way)).iter().map(|r| u64::from(r.packets)).sum::<u64>() as i64
    };
    count(1, 0) - count(0, 0) > count(1, 1) - count(0, 1)
}

fn of_side(rows: &[PacketRow], side: usize) -> Vec<&PacketRow> {
    rows.iter().filter(|r| r.connection as usize % 2 == side && r.kind != Some("stray")).collect()
}

fn span(rows: &[PacketRow]) -> Option<(Instant, Instant)> {
    rows.first().zip(rows.last()).map(|(first, last)| (first.time, last.time))
}
