//! Flows of a fair queue: a table of buckets that flows are hashed to, and two lists of those to be served.

use ackclock_units::Rng;

use super::packets::{PacketList, Packets, exceeds};
use crate::{Admit, Backlog, PacketId, QueueSize, Queued};

/// No bucket.
const NIL: u32 = u32::MAX;

/// The lists of buckets that have, or had a moment ago, packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turns {
    /// Buckets that became busy; they go before the others (RFC 8290 §3).
    New,
    /// All others.
    Old,
}

/// A bucket of the table: one flow, or several that have the same hash.
#[derive(Debug)]
pub(super) struct Bucket<S> {
    pub(super) list: PacketList,
    /// Bytes that it may still send before the next bucket's turn.
    pub(super) credit: i64,
    /// What a discipline keeps for each bucket.
    pub(super) state: S,
    next: u32,
    listed: bool,
}

/// A fixed number of buckets. They are allocated when the first packet arrives.
#[derive(Debug)]
pub(super) struct Flows<S> {
    buckets: Vec<Bucket<S>>,
    count: u64,
    /// First and last bucket of the lists, by [`Turns`].
    turns: [(u32, u32); 2],
    /// Added to a flow's number before it is hashed: the first number of the stream, changed by
    /// [`Flows::perturb`].
    perturbation: u64,
    salt: u64,
    changes: u64,
}

impl<S: Default> Flows<S> {
    /// A table of `count` buckets, at least one.
    pub(super) fn new(count: u64) -> Self {
        Self {
            buckets: Vec::new(),
            count: count.max(1),
            turns: [(NIL, NIL); 2],
            perturbation: 0,
            salt: 0,
            changes: 0,
        }
    }

    /// The bucket of a flow. The hash depends on the first number of `rng`, so that different seeds have
    /// different collisions.
    #[inline]
    pub(super) fn bucket(&mut self, flow: u32, rng: &mut Rng) -> u32 {
        if self.buckets.is_empty() {
            self.allocate(rng);
        }
        self.hash(flow)
    }

    /// The bucket of a flow, once there are buckets.
    #[inline]
    pub(super) fn hash(&self, flow: u32) -> u32 {
        // The finalizer of SplitMix64 spreads consecutive numbers of flows over all bits.
        let mut x = u64::from(flow) ^ self.perturbation;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        ((u128::from(x) * u128::from(self.count)) >> 64) as u32
    }

    #[cold]
    fn allocate(&mut self, rng: &mut Rng) {
        self.salt = rng.next_u64();
        self.perturb(self.changes);
        self.buckets.resize_with(self.count as usize, || Bucket {
            list: PacketList::default(),
            credit: 0,
            state: S::default(),
            next: NIL,
            listed: false,
        });
    }

    /// Changes the hash to the one after so many changes. What is queued must move to its new buckets.
    pub(super) fn perturb(&mut self, changes: u64) {
        self.changes = changes;
        self.perturbation = self.salt.wrapping_add(changes.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }

    /// How often the hash has changed.
    #[inline]
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    #[inline]
    pub(super) fn get_mut(&mut self, bucket: u32) -> &mut Bucket<S> {
        &mut self.buckets[bucket as usize]
    }

    /// True when the bucket is in one of the lists.
    #[inline]
    pub(super) fn is_listed(&self, bucket: u32) -> bool {
        self.buckets[bucket as usize].listed
    }

    /// The bucket whose turn it is: the first new one, or else the first old one.
    #[inline]
    pub(super) fn next(&self) -> Option<(Turns, u32)> {
        let [(new, _), (old, _)] = self.turns;
        if new != NIL {
            return Some((Turns::New, new));
        }
        (old != NIL).then_some((Turns::Old, old))
    }

    /// The bucket whose turn it is, after those with no bytes left have given their turn away, each with a new
    /// quantum.
    #[inline]
    pub(super) fn turn(&mut self, quantum: i64) -> Option<(Turns, u32)> {
        loop {
            let (turns, next) = self.next()?;
            let bucket = self.get_mut(next);
            if bucket.credit > 0 {
                return Some((turns, next));
            }
            bucket.credit += quantum;
            self.rotate(turns, next);
        }
    }

    /// Ends the turn of the first bucket of a list, which is empty. A new one passes once through the old ones,
    /// so that it cannot go before them again and again (RFC 8290 section 4.2). False when it did, true when it
    /// left the lists.
    #[inline]
    pub(super) fn retire(&mut self, turns: Turns, bucket: u32) -> bool {
        if turns == Turns::New && !self.is_empty(Turns::Old) {
            self.rotate(turns, bucket);
            return false;
        }
        self.remove_first(turns);
        true
    }

    /// True when no bucket is in this list.
    pub(super) fn is_empty(&self, turns: Turns) -> bool {
        self.turns[turns as usize].0 == NIL
    }

    /// Queues a packet in its bucket. A bucket in no list is appended to `turns`, with that credit.
    #[inline]
    pub(super) fn push(
        &mut self,
        packets: &mut Packets,
        (own, packet): (u32, Queued),
        (turns, credit): (Turns, i64),
    ) {
        let bucket = &mut self.buckets[own as usize];
        packets.push(&mut bucket.list, packet);
        if !bucket.listed {
            bucket.credit = credit;
            self.append(turns, own);
        }
    }

    /// Appends a bucket, which is in no list, to one.
    #[inline]
    pub(super) fn append(&mut self, turns: Turns, bucket: u32) {
        let (first, last) = &mut self.turns[turns as usize];
        if *first == NIL {
            *first = bucket;
        } else {
            self.buckets[*last as usize].next = bucket;
        }
        *last = bucket;
        let b = &mut self.buckets[bucket as usize];
        (b.next, b.listed) = (NIL, true);
    }

    /// Removes the first bucket of a list.
    #[inline]
    pub(super) fn remove_first(&mut self, turns: Turns) {
        let (first, _) = &mut self.turns[turns as usize];
        if *first != NIL {
            let b = &mut self.buckets[*first as usize];
            *first = b.next;
            b.listed = false;
        }
    }

    /// Moves the first bucket of a list to the end of the old ones.
    #[inline]
    pub(super) fn rotate(&mut self, turns: Turns, bucket: u32) {
        self.remove_first(turns);
        self.append(Turns::Old, bucket);
    }

    /// The listed bucket with the most bytes, apart from `except`; the earlier one where two have as many.
    pub(super) fn fattest(&self, except: Option<u32>) -> Option<u32> {
        self.largest(except, |backlog| backlog.bytes)
    }

    /// The listed bucket with the greatest measure above zero, apart from `except`; the earlier one where two
    /// have the same.
    pub(super) fn largest(&self, except: Option<u32>, measure: impl Fn(Backlog) -> u64) -> Option<u32> {
        let mut largest = None;
        for (mut at, _) in self.turns {
            while at != NIL {
                let b = &self.buckets[at as usize];
                let size = measure(b.list.backlog());
                if size > 0 && Some(at) != except && largest.is_none_or(|(most, _)| size > most) {
                    largest = Some((size, at));
                }
                at = b.next;
            }
        }
        largest.map(|(_, bucket)| bucket)
    }

    /// Drops packets from the head of the bucket with the most bytes until all of them keep `limit`: half of
    /// its bytes, as in Linux, at most `batch` packets at a time. The packet that arrived last, in bucket
    /// `own`, is dropped only where nothing else is larger. Pushed-out packets after the first go to `also`;
    /// `count` is called with a bucket's state and the number of packets dropped from it.
    #[inline(never)]
    pub(super) fn make_room(
        &mut self,
        (packets, limit): (&mut Packets, QueueSize),
        (own, batch): (u32, u64),
        also: &mut Vec<PacketId>,
        count: impl Fn(&mut S, u32),
    ) -> Admit {
        let mut first = None;
        while exceeds(packets.backlog(), limit) {
            let Some(mut victim) = self.fattest(None) else { break };
            if victim == own && self.get_mut(own).list.backlog().packets == 1 {
                if first.is_none() {
                    packets.pop(&mut self.get_mut(own).list);
                    return Admit::Drop { early: false };
                }
                let Some(other) = self.fattest(Some(own)) else { break };
                victim = other;
            }
            let bucket = self.get_mut(victim);
            // What arrived last stays.
            let keep = u32::from(victim == own);
            let half = bucket.list.backlog().bytes / 2;
            let (mut dropped, mut bytes) = (0, 0);
            while dropped < batch && (dropped == 0 || bytes < half) {
                if bucket.list.backlog().packets == keep {
                    break;
                }
                let Some(packet) = packets.pop(&mut bucket.list) else { break };
                (dropped, bytes) = (dropped + 1, bytes + u64::from(packet.bytes));
                match first {
                    None => first = Some(packet.id),
                    Some(_) => also.push(packet.id),
                }
            }
            count(&mut bucket.state, dropped as u32);
        }
        first.map_or(Admit::Take, Admit::PushOut)
    }

    /// Memory held, bytes.
    pub(super) fn held_bytes(&self) -> u64 {
        (self.buckets.capacity() * size_of::<Bucket<S>>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_depend_on_the_seed_and_spread_evenly() {
        let table = |seed| {
            let (mut flows, mut rng) = (Flows::<()>::new(64), Rng::stream(seed, "queue", 0));
            (0..6400).map(|flow| flows.bucket(flow, &mut rng)).collect::<Vec<_>>()
        };
        let (one, two) = (table(1), table(2));
        assert_eq!(one, table(1));
        assert!(one.iter().zip(&two).filter(|(a, b)| a == b).count() < 250, "expected 100 of 6400");
        let mut counts = [0_u32; 64];
        one.iter().for_each(|b| counts[*b as usize] += 1);
        // Poisson with mean 100: six standard deviations.
        assert!(counts.iter().all(|n| (40..=160).contains(n)), "{counts:?}");
    }

    #[test]
    fn new_buckets_go_before_old_ones() {
        let (mut flows, mut rng) = (Flows::<()>::new(8), Rng::stream(1, "queue", 0));
        flows.bucket(0, &mut rng);
        for (turns, b) in [(Turns::Old, 1), (Turns::New, 2), (Turns::New, 3)] {
            flows.append(turns, b);
        }
        assert_eq!(flows.next(), Some((Turns::New, 2)));
        flows.rotate(Turns::New, 2);
        assert_eq!(flows.next(), Some((Turns::New, 3)));
        flows.remove_first(Turns::New);
        assert!(!flows.is_listed(3) && flows.is_listed(2) && flows.is_empty(Turns::New));
        assert_eq!(flows.next(), Some((Turns::Old, 1)));
        flows.rotate(Turns::Old, 1);
        assert_eq!(flows.next(), Some((Turns::Old, 2)));
    }
}
