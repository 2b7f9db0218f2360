//! Lists of which every connection has some: they grow by a quarter, not twofold, since together their spare room is what a run's memory is made of.

use std::collections::VecDeque;

/// A list that keeps little spare room.
pub trait Lean {
    /// Where there is no room for one more, makes room for `few` more and for a quarter of the list besides.
    fn make_room(&mut self, few: usize);
}

impl<T> Lean for Vec<T> {
    #[inline]
    fn make_room(&mut self, few: usize) {
        if self.len() == self.capacity() {
            self.reserve_exact(self.len() / 4 + few);
        }
    }
}

impl<T> Lean for VecDeque<T> {
    #[inline]
    fn make_room(&mut self, few: usize) {
        if self.len() == self.capacity() {
            self.reserve_exact(self.len() / 4 + few);
        }
    }
}
