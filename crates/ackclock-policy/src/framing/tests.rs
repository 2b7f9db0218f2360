use crate::harness::view;
use crate::{Chosen, Frame, Framing, Registry, SenderView, Window};

fn framing(name: &str, param: &str, value: &str) -> Box<dyn Framing> {
    let mut chosen: Chosen<dyn Framing> = Registry::builtin().choose(name).unwrap();
    chosen.set(param, value).unwrap();
    chosen.build()
}

/// Segments that `unsent` bytes are cut into when `flight` bytes are outstanding.
fn cut(f: &mut dyn Framing, flight: u64, unsent: u64, cwnd: u64) -> Vec<u32> {
    let mut v =
        SenderView { flight_size: flight, unsent, window: Window { cwnd, ssthresh: u64::MAX }, ..view() };
    let mut cut = vec![];
    while v.unsent > 0 {
        let len = v.unsent.min(f.frame(&v).most.into());
        if v.flight_size + len > cwnd {
            break;
        }
        cut.push(len as u32);
        (v.flight_size, v.unsent) = (v.flight_size + len, v.unsent - len);
    }
    cut
}

#[test]
fn a_single_packet_becomes_four() {
    // I-A8.
    let mut smart = framing("smart", "segments", "4");
    assert_eq!(cut(&mut *smart, 0, 500, 4000), [125; 4]);
    assert_eq!(cut(&mut *smart, 0, 501, 4000), [126, 126, 126, 123]);
    assert_eq!(cut(&mut *smart, 0, 3, 4000), [1; 3]);
    // A packet typed while those are outstanding is cut into fewer.
    assert_eq!(cut(&mut *smart, 500, 500, 4000), [250; 2]);
    assert_eq!(cut(&mut *framing("smart", "segments", "1"), 0, 500, 4000), [500]);
}

#[test]
fn segments_grow_with_the_window() {
    let mut smart = framing("smart", "segments", "4");
    assert_eq!(cut(&mut *smart, 0, 1 << 20, 1000), [250; 4]);
    assert_eq!(cut(&mut *smart, 0, 1 << 20, 2500), [625; 4]);
    assert_eq!(cut(&mut *smart, 0, 1 << 20, 5000), [1000; 5]);
    assert_eq!(cut(&mut *smart, 3000, 1 << 20, 4000), [1000]);
}

#[test]
fn a_segment_is_copied_when_it_is_alone() {
    // I-A7.
    let mut diversity = framing("diversity", "copies", "3");
    let mut of = |unsent| diversity.frame(&SenderView { unsent, ..view() });
    assert_eq!(
        (of(500), of(1000), of(1001)),
        (Frame { most: 1000, copies: 3 }, Frame { most: 1000, copies: 3 }, Frame { most: 1000, copies: 1 })
    );
}
