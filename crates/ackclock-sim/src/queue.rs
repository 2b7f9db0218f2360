//! The event queue: integer times, insertion numbers for ties, no comparison tree.
//!
//! A monotone radix queue of base 64. An event whose time differs from the present window's start first in
//! the bits `6 l .. 6 l + 6` waits in one of the 64 slots of level `l`; the next slot in time is found by
//! counting zeros in a word per level. A slot with few events is sorted into the *front*, from which events
//! are taken; a full one is dealt out to the level below. So an event moves two or three times in its life,
//! whatever the number pending, and nothing has to be tuned to the load.

use std::iter::successors;

use ackclock_units::{Instant, seldom};

/// A pending event: its time, its rank among events of the same time, and what happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PendingEvent {
    /// When.
    pub(crate) at: Instant,
    /// Events of one moment happen in the order of these numbers, which are all different.
    pub(crate) order: u64,
    /// What happens, encoded as in [`crate::event`].
    pub(crate) what: u32,
}

/// An entry in a slot. The fields are flattened to avoid padding: a run holds several nodes for each flow.
#[derive(Clone, Copy)]
struct EventNode {
    at: Instant,
    order: u64,
    what: u32,
    next: u32,
}

impl EventNode {
    fn new(PendingEvent { at, order, what }: PendingEvent, next: u32) -> Self {
        Self { at, order, what, next }
    }

    fn entry(self) -> PendingEvent {
        PendingEvent { at: self.at, order: self.order, what: self.what }
    }
}

#[derive(Clone, Copy)]
struct Slot {
    head: u32,
    len: u32,
}

/// Pending events.
pub(crate) struct EventQueue {
    /// The events of the present window, the next one last.
    front: Vec<PendingEvent>,
    /// First moment past the present window; later events wait in slots.
    front_end: u64,
    /// Start of the present window; slots are relative to it.
    base: u64,
    slots: Box<[[Slot; SLOTS]; LEVELS]>,
    occupied: [u64; LEVELS],
    nodes: Vec<EventNode>,
    free: u32,
}

impl EventQueue {
    pub(crate) fn new() -> Self {
        Self {
            front: Vec::with_capacity(2 * FRONT),
            front_end: 0,
            base: 0,
            slots: Box::new([[Slot { head: NIL, len: 0 }; SLOTS]; LEVELS]),
            occupied: [0; LEVELS],
            nodes: Vec::new(),
            free: NIL,
        }
    }

    /// All pending events, in any order.
    pub(crate) fn pending(&self) -> impl Iterator<Item = PendingEvent> {
        let node = |i: u32| self.nodes.get(i as usize);
        let slots = self
            .slots
            .iter()
            .flatten()
            .flat_map(move |slot| successors(node(slot.head), move |n| node(n.next)));
        self.front.iter().copied().chain(slots.map(|n| n.entry()))
    }

    /// Memory held by the events, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.nodes.capacity() * size_of::<EventNode>() + self.front.capacity() * size_of::<PendingEvent>())
            as u64
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: PendingEvent) {
        if entry.at.as_nanos() < self.front_end {
            self.push_front(entry);
        } else {
            let node = self.node(entry);
            self.file(node, entry.at.as_nanos());
        }
    }

    /// The next event, without removing it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<PendingEvent> {
        if self.front.is_empty() {
            self.refill();
        }
        self.front.last().copied()
    }

    /// What happens `n` events after the next one, if that event is sorted already. Only for prefetching.
    #[inline]
    pub(crate) fn upcoming(&self, n: usize) -> Option<u32> {
        let i = self.front.len().checked_sub(n + 1)?;
        Some(self.front[i].what)
    }

    /// Takes the next event if it happens by `end`.
    #[inline]
    pub(crate) fn pop_until(&mut self, end: Instant) -> Option<PendingEvent> {
        if self.front.is_empty() {
            self.refill();
        }
        self.front.pop_if(|entry| entry.at <= end)
    }

    fn push_front(&mut self, entry: PendingEvent) {
        // Most new events are among the next few: a search from that end takes fewer steps than halving.
        let mut at = self.front.len();
        self.front.push(entry);
        while at > 0 && key(&self.front[at - 1]) < key(&entry) {
            self.front[at] = self.front[at - 1];
            at -= 1;
        }
        self.front[at] = entry;
        if seldom(self.front.len() > 4 * FRONT) {
            self.shorten_front();
        }
    }

    /// Moves the later part of an overgrown front back to the slots, so that inserting stays cheap.
    #[inline(never)]
    fn shorten_front(&mut self) {
        // Cut between two different times, as near to the middle as possible; events of one time stay
        // together.
        let middle = self.front[2 * FRONT].at.as_nanos();
        let (first, last) = (self.front[self.front.len() - 1].at.as_nanos(), self.front[0].at.as_nanos());
        let cut = if first < middle { middle } else { middle + 1 };
        if cut > last || cut <= self.base {
            return;
        }
        let keep_from = self.front.partition_point(|e| e.at.as_nanos() >= cut);
        self.front_end = cut;
        for i in 0..keep_from {
            let entry = self.front[i];
            let node = self.node(entry);
            self.file(node, entry.at.as_nanos());
        }
        self.front.drain(..keep_from);
    }

    #[inline]
    fn node(&mut self, entry: PendingEvent) -> u32 {
        if self.free == NIL {
            self.nodes.push(EventNode::new(entry, NIL));
            return self.nodes.len() as u32 - 1;
        }
        let node = self.free;
        let place = &mut self.nodes[node as usize];
        self.free = place.next;
        *place = EventNode::new(entry, NIL);
        node
    }

    /// Puts a node into the slot for the time `at`.
    #[inline]
    fn file(&mut self, node: u32, at: u64) {
        let level = ((at ^ self.base) | 1).ilog2() / BITS;
        let slot = (at >> (level * BITS)) as usize % SLOTS;
        let place = &mut self.slots[level as usize][slot];
        self.nodes[node as usize].next = place.head;
        *place = Slot { head: node, len: place.len + 1 };
        self.occupied[level as usize] |= 1 << slot;
    }

    /// Moves the events of the next window to the front.
    #[cold]
    #[inline(never)]
    fn refill(&mut self) {
        while let Some(level) = self.occupied.iter().position(|word| *word != 0) {
            let slot = self.occupied[level].trailing_zeros() as usize;
            let shift = level as u32 * BITS;
            let place = std::mem::replace(&mut self.slots[level][slot], Slot { head: NIL, len: 0 });
            self.occupied[level] &= !(1 << slot);
            // The bits above this level stay, those of the level become the slot's, those below become zero.
            let above =
                self.base.checked_shr(shift + BITS).and_then(|b| b.checked_shl(shift + BITS)).unwrap_or(0);
            self.base = above | (slot as u64) << shift;
            let deal = level > 0 && place.len as usize > FRONT;
            let mut node = place.head;
            while node != NIL {
                let place = self.nodes[node as usize];
                let (entry, next) = (place.entry(), place.next);
                if deal {
                    self.file(node, entry.at.as_nanos());
                } else {
                    self.front.push(entry);
                    self.nodes[node as usize].next = self.free;
                    self.free = node;
                }
                node = next;
            }
            if !deal {
                self.front_end = self.base.saturating_add(1 << shift);
                self.front.sort_unstable_by_key(|e| std::cmp::Reverse(key(e)));
                return;
            }
            // The front is empty, and every event just dealt out is in a slot.
            self.front_end = self.base;
        }
    }
}

/// Time, then insertion number, packed into one number so that comparing needs no branch.
#[inline]
fn key(e: &PendingEvent) -> u128 {
    u128::from(e.at.as_nanos()) << 64 | u128::from(e.order)
}

const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// 64 bits of time in groups of [`BITS`].
const LEVELS: usize = 11;
/// A slot with more events than this is dealt out instead of sorted.
const FRONT: usize = 12;
const NIL: u32 = u32::MAX;
