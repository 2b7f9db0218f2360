//! Send and receive buffers. A *counted* buffer holds only the number of bytes, not the bytes; everything
//! else is the same.

use std::collections::VecDeque;

use ackclock_units::{Bytes, SeqNumber, SeqRange, SeqRanges, seldom};

use crate::reassembly::Pages;

/// An empty buffer with a capacity above this frees its memory.
const IDLE_ROOM: usize = 65_536;

/// Frees the memory of an empty buffer with a large capacity.
fn shrink_if_empty(bytes: &mut VecDeque<u8>) {
    if seldom(bytes.is_empty() && bytes.capacity() > IDLE_ROOM) {
        *bytes = VecDeque::new();
    }
}

/// Memory for which a buffer counts: its capacity if that is large, else its contents, since a small capacity
/// may be kept.
fn held_memory(bytes: &VecDeque<u8>) -> Bytes {
    (if bytes.capacity() > IDLE_ROOM { bytes.capacity() } else { bytes.len() }) as Bytes
}

/// Copies from position `at` of the ring. Bytes of `out` past the end of the ring are not changed.
fn copy_out(ring: &VecDeque<u8>, at: usize, out: &mut [u8]) {
    let n = out.len().min(ring.len().saturating_sub(at));
    let (a, b) = ring.as_slices();
    let split = a.len().saturating_sub(at).min(n);
    out[..split].copy_from_slice(&a[at.min(a.len())..][..split]);
    if split < n {
        out[split..n].copy_from_slice(&b[at.saturating_sub(a.len())..][..n - split]);
    }
}

/// What the application wrote and the peer has not acknowledged, by position in the stream.
#[derive(Debug)]
pub(crate) struct SendBuffer {
    /// Stream position of the oldest unacknowledged byte.
    start: u64,
    /// Stream position past the last byte written.
    end: u64,
    /// Out of line: simulated connections hold none.
    #[expect(
        clippy::box_collection,
        reason = "8 bytes instead of 32 in the many connections that hold none"
    )]
    bytes: Option<Box<VecDeque<u8>>>,
}

impl SendBuffer {
    pub fn new(counted: bool) -> Self {
        Self { start: 0, end: 0, bytes: (!counted).then(Box::default) }
    }

    pub fn start(&self) -> u64 {
        self.start
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn len(&self) -> Bytes {
        self.end - self.start
    }

    /// Appends data up to a buffer size of `limit`. Returns how many bytes fitted.
    pub fn write(&mut self, data: &[u8], limit: Bytes) -> usize {
        let room = limit.saturating_sub(self.len());
        let n = (data.len() as u64).min(room) as usize;
        if let Some(bytes) = &mut self.bytes {
            bytes.extend(&data[..n]);
        }
        self.end += n as u64;
        n
    }

    /// Appends `n` counted bytes in the same way.
    pub fn write_counted(&mut self, n: Bytes, limit: Bytes) -> Bytes {
        let n = n.min(limit.saturating_sub(self.len()));
        if let Some(bytes) = &mut self.bytes {
            bytes.resize(bytes.len() + n as usize, 0);
        }
        self.end += n;
        n
    }

    /// Drops `n` acknowledged bytes.
    pub fn advance(&mut self, n: Bytes) {
        let n = n.min(self.len());
        self.start += n;
        if seldom(self.bytes.is_some())
            && let Some(bytes) = &mut self.bytes
        {
            bytes.drain(..n as usize);
            shrink_if_empty(bytes);
        }
    }

    /// Memory of the bytes held.
    pub fn held(&self) -> Bytes {
        self.bytes.as_ref().map_or(0, |bytes| held_memory(bytes))
    }

    /// Copies bytes from stream position `position`.
    pub fn copy(&self, position: u64, out: &mut [u8]) {
        if let (Some(bytes), Some(at)) = (&self.bytes, position.checked_sub(self.start)) {
            copy_out(bytes, at as usize, out);
        }
    }
}

/// Out-of-order ranges above `rcv_nxt`; allocated when the first one arrives.
#[derive(Debug, Default)]
struct OutOfOrder {
    ranges: SeqRanges,
    /// The most recently changed ones first: the order in which SACK blocks report them (RFC 2018 §4).
    recent: [SeqRange; 4],
}

/// The largest number of ranges kept. A segment that would add another is dropped, and has to be
/// retransmitted.
const MAX_RANGES: usize = 1024;

/// Data that was received and not read, in order or not. Its memory is bounded by the window, since only data
/// inside the window is stored.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer {
    /// Bytes in order and not read.
    readable: Bytes,
    out_of_order: Option<Box<OutOfOrder>>,
    /// Out of line: simulated connections hold none.
    bytes: Option<Box<Arrived>>,
}

/// Received bytes.
#[derive(Debug, Default)]
struct Arrived {
    /// In order, from the read position on.
    in_order: VecDeque<u8>,
    /// Behind a gap.
    pages: Pages,
}

impl ReceiveBuffer {
    pub fn new(counted: bool) -> Self {
        Self { readable: 0, out_of_order: None, bytes: (!counted).then(Box::default) }
    }

    pub fn readable(&self) -> Bytes {
        self.readable
    }

    pub fn has_gap(&self) -> bool {
        seldom(self.out_of_order.is_some())
            && self.out_of_order.as_ref().is_some_and(|o| !o.ranges.is_empty())
    }

    /// The first part of `range` that is already held out of order.
    pub fn overlap(&self, range: SeqRange) -> Option<SeqRange> {
        let o = self.out_of_order.as_ref()?;
        let held = o.ranges.get(o.ranges.partition_point(|r| r.end <= range.start))?;
        (held.start < range.end).then(|| SeqRange::new(held.start.max(range.start), held.end.min(range.end)))
    }

    /// Appends the next `len` bytes in order, when nothing waits behind a gap.
    #[inline]
    pub fn append(&mut self, len: u32, payload: &[u8]) {
        if seldom(self.bytes.is_some())
            && let Some(bytes) = &mut self.bytes
        {
            bytes.in_order.extend(payload);
        }
        self.readable += u64::from(len);
    }

    /// Stores payload at `range`, where `range.start >= rcv_nxt`. Returns the new `rcv_nxt`, or `None` if the
    /// payload was dropped because there are too many ranges.
    pub fn insert(&mut self, rcv_nxt: SeqNumber, range: SeqRange, payload: &[u8]) -> Option<SeqNumber> {
        let in_order = range.start == rcv_nxt;
        if !in_order && self.out_of_order.as_ref().is_some_and(|o| o.ranges.len() >= MAX_RANGES) {
            return None;
        }
        let below_any_gap =
            self.out_of_order.as_ref().and_then(|o| o.ranges.first()).is_none_or(|r| range.end < r.start);
        if in_order && below_any_gap {
            if let Some(bytes) = &mut self.bytes {
                bytes.in_order.extend(payload);
                bytes.pages.skip(range.len());
            }
            self.readable += u64::from(range.len());
            return Some(range.end);
        }
        let ooo = self.out_of_order.get_or_insert_default();
        ooo.insert(range);
        let mut next = rcv_nxt;
        if in_order {
            next = ooo.ranges[0].end;
            ooo.forget_below(next);
        }
        let all = ooo.ranges.is_empty();
        if let Some(bytes) = &mut self.bytes {
            bytes.pages.put(range.start.bytes_since(rcv_nxt), payload);
            bytes.pages.take(next.bytes_since(rcv_nxt), &mut bytes.in_order);
            if all {
                bytes.pages.clear();
            }
        }
        self.readable += u64::from(next.bytes_since(rcv_nxt));
        Some(next)
    }

    /// Nothing follows the bytes in order: what waits behind a gap lies beyond the end of the stream.
    pub fn end(&mut self) {
        if self.out_of_order.take().is_some()
            && let Some(bytes) = &mut self.bytes
        {
            bytes.pages.clear();
        }
    }

    /// Memory of the bytes held.
    pub fn held(&self) -> Bytes {
        self.bytes.as_ref().map_or(0, |bytes| held_memory(&bytes.in_order) + bytes.pages.held())
    }

    /// Memory of the list of ranges behind a gap.
    pub fn list_bytes(&self) -> Bytes {
        self.out_of_order.as_ref().map_or(0, |o| size_of::<OutOfOrder>() as u64 + o.ranges.held_bytes())
    }

    /// SACK blocks, the most recent first, then all other ranges, since an ack should report as many as fit
    /// (RFC 2018 §4).
    pub fn sack_blocks(&self) -> impl Iterator<Item = SeqRange> + '_ {
        self.out_of_order.iter().flat_map(|o| {
            let others = o.ranges.iter().filter(|r| !o.recent.contains(r));
            o.recent.iter().filter(|r| !r.is_empty()).chain(others).copied()
        })
    }

    /// How far what waits above a gap reaches from `rcv_nxt`, the gaps included, bytes.
    pub fn reach(&self, rcv_nxt: SeqNumber) -> u32 {
        let highest = self.out_of_order.as_ref().and_then(|o| o.ranges.last());
        highest.map_or(0, |r| r.end.bytes_since(rcv_nxt))
    }

    /// How many SACK blocks are reported before the one that `range` belongs to, or how many there are, up to
    /// four, if it makes a new one.
    pub fn blocks_before(&self, range: SeqRange) -> u8 {
        let Some(o) = &self.out_of_order else { return 0 };
        let recent = o.recent.iter().filter(|r| !r.is_empty());
        recent.take_while(|r| range.start > r.end || r.start > range.end).count() as u8
    }

    pub fn read(&mut self, out: &mut [u8]) -> usize {
        let n = (out.len() as u64).min(self.readable) as usize;
        if let Some(bytes) = &mut self.bytes {
            copy_out(&bytes.in_order, 0, &mut out[..n]);
        }
        self.discard(n as u64) as usize
    }

    /// Reads up to `n` bytes without copying them.
    pub fn discard(&mut self, n: Bytes) -> Bytes {
        let n = n.min(self.readable);
        if seldom(self.bytes.is_some())
            && let Some(bytes) = &mut self.bytes
        {
            bytes.in_order.drain(..n as usize);
            shrink_if_empty(&mut bytes.in_order);
        }
        self.readable -= n;
        n
    }
}

impl OutOfOrder {
    fn insert(&mut self, range: SeqRange) {
        let union = self.ranges.insert(range);
        // The changed range goes first; the ranges that it now includes are removed.
        let mut recent = [SeqRange::default(); 4];
        recent[0] = union;
        let others = self.recent.iter().filter(|r| !r.is_empty() && !union.covers(**r));
        for (slot, r) in recent[1..].iter_mut().zip(others) {
            *slot = *r;
        }
        self.recent = recent;
    }

    /// Removes everything below `next`.
    fn forget_below(&mut self, next: SeqNumber) {
        self.ranges.forget_below(next);
        let mut recent = [SeqRange::default(); 4];
        let above = self.recent.iter().filter(|r| !r.is_empty() && r.start > next);
        for (slot, r) in recent.iter_mut().zip(above) {
            *slot = *r;
        }
        self.recent = recent;
    }
}

#[cfg(test)]
#[path = "tests/buffer.rs"]
mod tests;
