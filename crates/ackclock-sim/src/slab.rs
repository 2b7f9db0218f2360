//! Places for what few packets have: their options.

use ackclock_units::SeqNumber;

/// What packets keep of one kind of options, each with its packet's acknowledgment number: the packet itself
/// has its place here instead.
pub(crate) struct Slab<T> {
    places: Vec<Place<T>>,
    free: u32,
}

struct Place<T> {
    what: T,
    /// Of a free place, the next one.
    ack: u32,
}

const NIL: u32 = u32::MAX;

impl<T: Copy> Slab<T> {
    pub(crate) const EMPTY: Self = Self { places: Vec::new(), free: NIL };

    pub(crate) fn keep(&mut self, ack: SeqNumber, what: T) -> u32 {
        let new = Place { what, ack: ack.0 };
        let i = self.free;
        if i == NIL {
            self.places.push(new);
            return self.places.len() as u32 - 1;
        }
        let place = &mut self.places[i as usize];
        self.free = place.ack;
        *place = new;
        i
    }

    pub(crate) fn get(&self, i: u32) -> (SeqNumber, T) {
        let place = &self.places[i as usize];
        (SeqNumber(place.ack), place.what)
    }

    /// A second one like that.
    pub(crate) fn copy(&mut self, i: u32) -> u32 {
        let (ack, what) = self.get(i);
        self.keep(ack, what)
    }

    /// Memory that the places take, bytes.
    pub(crate) fn held_bytes(&self) -> u64 {
        (self.places.capacity() * size_of::<Place<T>>()) as u64
    }

    pub(crate) fn free(&mut self, i: u32) {
        self.places[i as usize].ack = self.free;
        self.free = i;
    }
}
