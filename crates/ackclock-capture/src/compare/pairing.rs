//! Which connection of one capture is which of the other.

use std::collections::HashMap;

use ackclock_trace::PacketRow;

use crate::{Connection, Report};

/// A connection in both captures.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pairing {
    pub numbers: [usize; 2],
    /// The captures disagree about who is the client.
    pub swapped: bool,
}

/// Packets of each connection that are looked at.
const LOOKED_AT: usize = 400;
/// Of those of a connection, at least this many must be in the other capture too, and this part of them.
/// Chosen, because sequence, acknowledgment numbers and timestamps of two connections are never all the
/// same.
const ENOUGH: (usize, usize) = (2, 4);

/// What a packet looks like at both ends. A router may translate addresses, and devices cut and join
/// segments, but the first packet of a joined segment keeps these.
type Print = (u32, u32, Option<u32>, Option<u32>);

fn print(row: &PacketRow) -> Print {
    (row.seq.0, row.ack.0, row.tsval, row.tsecr)
}

pub(super) fn pairings(a: &Report, b: &Report) -> Vec<Pairing> {
    // Connection and direction of each print; `None` for one of several.
    let mut known: HashMap<Print, Option<(usize, usize)>> = HashMap::new();
    for (n, c) in a.connections.iter().enumerate() {
        for row in sampled(c) {
            let place = (n, row.connection as usize % 2);
            known.entry(print(row)).and_modify(|p| *p = p.filter(|p| *p == place)).or_insert(Some(place));
        }
    }
    let mut taken = vec![false; a.connections.len()];
    let mut found = Vec::new();
    for (n, c) in b.connections.iter().enumerate() {
        let mut hits: HashMap<(usize, bool), usize> = HashMap::new();
        let (mut looked, mut of_it) = (0, 0);
        for row in sampled(c) {
            looked += 1;
            if let Some(Some((m, side))) = known.get(&print(row)) {
                of_it += 1;
                *hits.entry((*m, *side != row.connection as usize % 2)).or_default() += 1;
            }
        }
        // Ties go to the lower number, whatever the order of the map.
        let best = hits.into_iter().max_by_key(|((m, swapped), n)| (*n, std::cmp::Reverse((*m, *swapped))));
        let Some(((m, swapped), n_hits)) = best else { continue };
        let few = a.connections[m].packets.len().min(looked).min(of_it.max(1));
        if n_hits >= ENOUGH.0 && n_hits * ENOUGH.1 >= few && !taken[m] {
            taken[m] = true;
            found.push(Pairing { numbers: [m, n], swapped });
        }
    }
    found.sort_by_key(|p| p.numbers);
    found
}

/// The first packets of a connection and others of it, from both directions.
fn sampled(c: &Connection) -> impl Iterator<Item = &PacketRow> {
    let step = c.packets.len().div_ceil(LOOKED_AT).max(1);
    let (first, rest) = c.packets.split_at(c.packets.len().min(LOOKED_AT));
    first.iter().chain(rest.iter().step_by(step)).filter(|r| r.kind != Some("stray"))
}
