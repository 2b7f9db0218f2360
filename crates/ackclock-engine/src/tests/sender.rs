use std::sync::Arc;

use ackclock_policy::{Ecn, Registry};
use ackclock_units::{Duration, Instant, Rng, SeqNumber};

use crate::{Connection, Stack, State};

fn connection(iss: u32) -> Connection {
    let stack = Stack::named(&Registry::builtin(), "sack").expect("a known stack");
    Connection::counted(
        Arc::new(stack.config()),
        stack.build(),
        SeqNumber(iss),
        Rng::stream(1, "test", u64::from(iss)),
    )
}

/// Exchanges all segments of both ends until `end`, with a round trip of 10 ms.
fn exchange(ends: &mut [Connection; 2], now: &mut Instant, end: Instant) {
    while *now < end {
        *now += Duration::from_millis(5);
        for i in 0..2 {
            if ends[i].poll_timeout().is_some_and(|at| at <= *now) {
                ends[i].handle_timeout(*now);
            }
            while let Some(t) = ends[i].poll_transmit(*now) {
                ends[1 - i].handle_segment(*now, &t.segment, &[], Ecn::NotEct);
            }
        }
        let n = ends[1].readable();
        ends[1].read_counted(*now, n);
    }
}

fn open() -> ([Connection; 2], Instant) {
    let (mut ends, mut now) = ([connection(1), connection(2)], Instant::ZERO);
    ends[0].connect(now);
    ends[1].listen();
    exchange(&mut ends, &mut now, Instant::ZERO + Duration::from_millis(20));
    assert!(ends.iter().all(|end| end.state() == State::Established));
    (ends, now)
}

fn is_built(end: &Connection) -> bool {
    end.sender.is_built()
}

#[test]
fn an_end_that_only_receives_has_no_sending_side_until_its_fin() {
    let (mut ends, mut now) = open();
    assert!(!is_built(&ends[0]) && !is_built(&ends[1]), "nothing was written");
    assert_eq!(ends[0].write_counted(now, 200_000), 200_000);
    let later = now + Duration::from_secs(1);
    exchange(&mut ends, &mut now, later);
    assert_eq!(ends[1].stats().bytes_received, 200_000);
    assert!(is_built(&ends[0]) && !is_built(&ends[1]));
    ends[0].close(now);
    ends[1].close(now);
    let later = now + Duration::from_secs(1);
    exchange(&mut ends, &mut now, later);
    assert!(is_built(&ends[1]), "a FIN has a place on the scoreboard");
    assert_eq!((ends[0].state(), ends[1].state()), (State::TimeWait, State::TimeWait));
}

#[test]
fn room_before_the_first_write_is_the_initial_window() {
    let (mut ends, now) = open();
    let initial = ends[0].room(now);
    // RFC 5681 §3.1: segments of 1460 bytes, so three of them.
    assert_eq!(initial, 3 * 1460);
    assert_eq!(ends[0].write_counted(now, 100_000), 100_000);
    let sent: u32 = std::iter::from_fn(|| ends[0].poll_transmit(now)).map(|t| t.segment.len).sum();
    assert_eq!(u64::from(sent), initial);
}
