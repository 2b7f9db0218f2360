use super::*;

fn range(a: u32, b: u32) -> SeqRange {
    SeqRange::new(SeqNumber(a), SeqNumber(b))
}

#[test]
fn bytes_written_are_copied_by_position() {
    let mut b = SendBuffer::new(false);
    assert_eq!(b.write(b"hello world", 8), 8);
    b.advance(6);
    assert_eq!(b.write(b"XYZ!", 8), 4);
    let mut out = [0; 6];
    b.copy(6, &mut out);
    assert_eq!(&out, b"woXYZ!");
    assert_eq!((b.start(), b.end(), b.len()), (6, 12, 6));
}

#[test]
fn a_counted_buffer_counts_the_same() {
    let mut b = SendBuffer::new(true);
    assert_eq!(b.write_counted(1 << 40, 1000), 1000);
    b.advance(400);
    assert_eq!(b.write_counted(500, 1000), 400);
    assert_eq!((b.start(), b.end()), (400, 1400));
}

#[test]
fn reassembly_delivers_in_order_for_any_order_of_arrival() {
    let data: Vec<u8> = (0..=255).collect();
    let piece = |a: usize, b: usize| (range(a as u32 + 7, b as u32 + 7), &data[a..b]);
    let mut b = ReceiveBuffer::new(false);
    let mut nxt = SeqNumber(7);
    for (r, p) in
        [piece(100, 200), piece(20, 40), piece(30, 120), piece(0, 10), piece(200, 256), piece(10, 20)]
    {
        nxt = b.insert(nxt, r, p).unwrap();
    }
    assert_eq!(nxt, SeqNumber(263));
    assert!(!b.has_gap());
    let mut out = [0; 300];
    assert_eq!(b.read(&mut out), 256);
    assert_eq!(out[..256], data[..]);
}

#[test]
fn sack_blocks_come_most_recent_first() {
    let mut b = ReceiveBuffer::new(true);
    let nxt = SeqNumber(0);
    for r in [range(10, 20), range(30, 40), range(50, 60), range(70, 80), range(90, 100)] {
        assert_eq!(b.insert(nxt, r, &[]), Some(nxt));
    }
    let blocks: Vec<_> = b.sack_blocks().take(4).collect();
    assert_eq!(blocks, [range(90, 100), range(70, 80), range(50, 60), range(30, 40)]);
    b.insert(nxt, range(40, 50), &[]);
    // All ranges are reported: those no longer among the recent ones come last.
    let blocks: Vec<_> = b.sack_blocks().collect();
    assert_eq!(blocks, [range(30, 60), range(90, 100), range(70, 80), range(10, 20)]);
    assert_eq!(b.insert(nxt, range(0, 10), &[]), Some(SeqNumber(20)));
    assert_eq!(b.readable(), 20);
    assert_eq!(b.sack_blocks().next(), Some(range(30, 60)));
}

#[test]
fn holes_are_bounded() {
    let mut b = ReceiveBuffer::new(true);
    let nxt = SeqNumber(0);
    for i in 1..=MAX_RANGES as u32 {
        assert!(b.insert(nxt, range(2 * i, 2 * i + 1), &[]).is_some());
    }
    assert_eq!(b.insert(nxt, range(9000, 9001), &[]), None);
    assert_eq!(b.insert(nxt, range(0, 1), &[]), Some(SeqNumber(1)));
    // The gap below is still open, so the ranges above stay.
    assert!(b.has_gap());
}
