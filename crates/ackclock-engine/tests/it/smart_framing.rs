//! TCP Smart Framing (I-A8): small segments, so that a loss can cause three duplicate acks.

use std::sync::Arc;

use crate::support::{Pipe, endpoint, ms};
use ackclock_engine::{Connection, Stack};
use ackclock_policy::Registry;
use ackclock_units::{Rng, SeqNumber};

/// A connection that loses these data segments.
fn open(stack: &str, lost: &'static [u32]) -> Pipe {
    crate::support::losing(&format!("{stack}+smart-framing+ack-every+mss(1000B)"), lost)
}

/// Payload sizes of the data segments sent at `at` ms.
fn sizes(pipe: &Pipe, at: u64) -> Vec<u32> {
    pipe.log
        .iter()
        .filter(|(t, from, s)| *from == 0 && s.len > 0 && *t == ms(at))
        .map(|(.., s)| s.len)
        .collect()
}

#[test]
fn one_packet_becomes_four_with_and_without_nagle() {
    for stack in ["newreno", "sack", "sack+no-nagle"] {
        let mut pipe = open(stack, &[]);
        pipe.ends[0].write(pipe.now, &[1; 501]);
        pipe.drain();
        assert_eq!(sizes(&pipe, 1000), [126, 126, 126, 123], "{stack}");
        pipe.run(ms(2000));
        assert_eq!((pipe.ends[0].unacked(), pipe.ends[0].stats().retransmitted_segments), (0, 0));
    }
}

#[test]
fn only_the_loss_of_the_first_of_four_is_detected_by_duplicate_acks() {
    // I-E15: p(S,FR) is the first lost and the other three delivered. The first ack of a connection opens the
    // receiver's window, so it is no duplicate. A packet before (segments 0 to 3) causes it.
    for (lost, timeouts) in [(&[4][..], 0), (&[5], 1), (&[7], 1), (&[4, 6], 1)] {
        for stack in ["newreno", "sack"] {
            let mut pipe = open(&format!("{stack}+no-limited-transmit"), lost);
            for until in [2000, 20_000] {
                pipe.ends[0].write(pipe.now, &[1; 500]);
                pipe.drain();
                pipe.run(ms(until));
            }
            let stats = pipe.ends[0].stats();
            assert_eq!(
                (stats.timeouts > 0, stats.fast_recoveries > 0),
                (timeouts > 0, timeouts == 0),
                "{stack}, {lost:?} lost: {stats:?}"
            );
            assert_eq!(pipe.ends[0].unacked(), 0);
        }
    }
}

#[test]
fn segments_grow_with_the_window_of_a_bulk_flow() {
    let mut pipe = open("sack+iw(1)", &[]);
    pipe.ends[0].write(pipe.now, &[1; 100_000]);
    pipe.drain();
    assert_eq!(sizes(&pipe, 1000), [250; 4], "a window of one segment");
    pipe.run(ms(1020));
    // Four acks of 250 bytes have doubled the window: the segments sent on them grow.
    let later = sizes(&pipe, 1020);
    assert!(later.len() >= 4 && later.iter().all(|n| (250..=500).contains(n)), "{later:?}");
    pipe.run(ms(1300));
    pipe.run(ms(5000));
    let sizes: Vec<u32> =
        pipe.log.iter().filter(|(_, from, s)| *from == 0 && s.len > 0).map(|(.., s)| s.len).collect();
    assert_eq!(sizes.iter().max(), Some(&1000), "the window has passed four full segments");
    assert!(sizes[..sizes.len() - 1].is_sorted(), "without losses they only grow: {sizes:?}");
    assert_eq!((pipe.ends[0].unacked(), pipe.ends[0].stats().timeouts), (0, 0));
}

#[test]
fn the_receivers_window_is_respected() {
    let stack = "sack+smart-framing+ack-every+mss(1000B)";
    let mut server = Stack::named(&Registry::builtin(), stack).expect("a stack");
    server.set("rcv_buf", "2000B").expect("an option");
    let end = Connection::new(
        Arc::new(server.config()),
        server.build(),
        SeqNumber(9),
        Rng::stream(1, "connection", 9),
    );
    let mut pipe = Pipe::new(endpoint(stack, 1), end);
    pipe.open();
    let data = crate::support::pattern(20_000);
    assert_eq!(pipe.transfer(0, &data, ms(100_000)), data);
    assert_eq!(pipe.ends[0].stats().retransmitted_segments, 0);
}
