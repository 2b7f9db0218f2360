//! Storage for what few packets have: their TCP options.

use ackclock_units::SeqNumber;

/// Options of one kind. Each entry also holds its packet's acknowledgment number, since the packet stores the
/// index of the entry in that field.
pub(crate) struct Slab<T> {
    entries: Vec<Stored<T>>,
    free: u32,
}

struct Stored<T> {
    what: T,
    /// The packet's acknowledgment number; in a free entry, the index of the next free one.
    ack: u32,
}

const NIL: u32 = u32::MAX;

impl<T: Copy> Slab<T> {
    pub(crate) const EMPTY: Self = Self { entries: Vec::new(), free: NIL };

    pub(crate) fn keep(&mut self, ack: SeqNumber, what: T) -> u32 {
        let new = Stored { what, ack: ack.0 };
        let i = self.free;
        if i == NIL {
            self.entries.push(new);
            return self.entries.len() as u32 - 1;
        }
        let stored = &mut self.entries[i as usize];
        self.free = stored.ack;
        *stored = new;
        i
    }

    pub(crate) fn get(&self, i: u32) -> (SeqNumber, T) {
        let stored = &self.entries[i as usize];
        (SeqNumber(stored.ack), stored.what)
    }

    /// Duplicates an entry; returns the index of the new one.
    pub(crate) fn copy(&mut self, i: u32) -> u32 {
        let (ack, what) = self.get(i);
        self.keep(ack, what)
    }

    /// Memory held, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<Stored<T>>()) as u64
    }

    pub(crate) fn free(&mut self, i: u32) {
        self.entries[i as usize].ack = self.free;
        self.free = i;
    }
}
