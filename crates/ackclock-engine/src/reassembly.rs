//! Reassembly of bytes behind a gap, in small pages: a few bytes far above the gap take one page, not the
//! whole distance.

use std::collections::{BTreeMap, VecDeque};

/// Bytes of a page: about a segment, so that the memory a segment takes is in proportion to its size.
const PAGE: u64 = 2048;

/// Received bytes by their position relative to the next byte in order.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
    /// Position of the next byte in order, counted from when the pages were last empty.
    next: u64,
}

/// The part of `from..to` in the first page that it touches: number of the page, offset in it, length.
fn part(from: u64, to: u64) -> (u64, usize, usize) {
    let place = from % PAGE;
    (from / PAGE, place as usize, (to - from).min(PAGE - place) as usize)
}

impl Pages {
    /// Stores `payload`, which begins `above` bytes above the next byte in order. Existing bytes are
    /// overwritten.
    pub fn put(&mut self, above: u32, mut payload: &[u8]) {
        let mut at = self.next + u64::from(above);
        while !payload.is_empty() {
            let (page, place, n) = part(at, at + payload.len() as u64);
            self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE as usize]))[place..place + n]
                .copy_from_slice(&payload[..n]);
            (at, payload) = (at + n as u64, &payload[n..]);
        }
    }

    /// Moves the next `n` bytes in order, which must all be stored, to the end of `out`.
    pub fn take(&mut self, n: u32, out: &mut VecDeque<u8>) {
        let (mut at, end) = (self.next, self.next + u64::from(n));
        while at < end {
            let (page, place, n) = part(at, end);
            match self.pages.get(&page) {
                Some(bytes) => out.extend(&bytes[place..place + n]),
                // Never stored, which is a bug of the caller: zeros keep the length of the stream right.
                None => out.extend(std::iter::repeat_n(0, n)),
            }
            at += n as u64;
        }
        self.skip(n);
    }

    /// The next `n` bytes in order were delivered without being stored here.
    pub fn skip(&mut self, n: u32) {
        self.next += u64::from(n);
        while let Some(first) = self.pages.first_entry()
            && (first.key() + 1) * PAGE <= self.next
        {
            first.remove();
        }
    }

    /// Discards everything: nothing is behind a gap any more.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Memory of the pages, bytes.
    pub fn held(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_bytes_far_away_keep_a_page() {
        let mut pages = Pages::default();
        pages.put(1_000_000, b"abc");
        assert_eq!(pages.held(), PAGE);
        pages.put(PAGE as u32 - 1, b"de");
        assert_eq!(pages.held(), 3 * PAGE);
        let mut out = VecDeque::new();
        pages.skip(PAGE as u32 - 1);
        pages.take(2, &mut out);
        assert_eq!((out.make_contiguous(), pages.held()), (&mut b"de".to_vec()[..], 2 * PAGE));
        pages.skip(1_000_000 - PAGE as u32 - 1);
        pages.take(3, &mut out);
        assert_eq!(out.make_contiguous(), b"deabc");
        pages.clear();
        assert_eq!(pages.held(), 0);
    }
}
