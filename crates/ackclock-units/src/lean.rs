//! Lists of which every connection has some: they grow by a quarter, not twofold, since together their spare room is what a run's memory is made of.

use std::collections::VecDeque;

/// A list that keeps little spare room.
pub trait Lean {
    /// Where there is no room for one more, makes room for a quarter of the list and for `few` more, up to a multiple of `few`: allocators keep what is
    /// given back by its size, so there should not be too many of these.
    fn make_room(&mut self, few: usize);
}

impl<T> Lean for Vec<T> {
    #[inline]
    fn make_room(&mut self, few: usize) {
        let len = self.len();
        if len == self.capacity() {
            self.reserve_exact(more(len, few));
        }
    }
}

impl<T> Lean for VecDeque<T> {
    #[inline]
    fn make_room(&mut self, few: usize) {
        let len = self.len();
        if len == self.capacity() {
            self.reserve_exact(more(len, few));
        }
    }
}

/// How many more places a full list of `len` gets.
#[cold]
fn more(len: usize, few: usize) -> usize {
    (len + len / 4 + 1).next_multiple_of(few) - len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_grows_by_a_quarter_in_whole_steps() {
        let mut list: VecDeque<u8> = VecDeque::new();
        let mut sizes = vec![];
        for i in 0..100 {
            list.make_room(8);
            list.push_back(i);
            sizes.push(list.capacity());
        }
        sizes.dedup();
        assert_eq!(sizes, [8, 16, 24, 32, 48, 64, 88, 112]);
    }

    #[test]
    fn there_is_room_for_one_more_whatever_the_step() {
        for few in 1..20 {
            for len in 0..200 {
                let mut list = vec![0_u8; len];
                list.make_room(few);
                assert!(list.capacity() > len && list.capacity() <= len + len / 4 + 1 + few, "{len} {few} {}", list.capacity());
            }
        }
    }
}
