//! What an application can send at once (I-A2): `Connection::room`.

use std::sync::Arc;

use crate::support::{DELAY, Pipe, ms};
use ackclock_engine::{Connection, Stack};
use ackclock_policy::Registry;
use ackclock_units::{Duration, Rng, SeqNumber};

fn connection(stack: &str, sets: &[(&str, &str)], iss: u32) -> Connection {
    let mut stack = Stack::named(&Registry::builtin(), stack).unwrap_or_else(|e| panic!("{e}"));
    sets.iter().for_each(|(key, value)| stack.set(key, value).unwrap_or_else(|e| panic!("{e}")));
    Connection::new(
        Arc::new(stack.config()),
        stack.build(),
        SeqNumber(iss),
        Rng::stream(1, "connection", u64::from(iss)),
    )
}

#[test]
fn room_is_what_both_windows_allow_beyond_queued_data() {
    let small = connection("sack+mss(500B)", &[("rcv_buf", "1200B")], 2);
    let mut pipe = Pipe::new(connection("sack+mss(500B)+iw(4)+no-nagle", &[], 1), small);
    assert_eq!(pipe.ends[0].room(pipe.now), 0, "it is not open");
    pipe.open();
    assert_eq!(pipe.ends[0].room(pipe.now), 0, "it is not established");
    pipe.run(ms(100));
    assert_eq!(pipe.ends[0].room(pipe.now), 1200, "the receiver's window");
    pipe.ends[0].write(pipe.now, &[1; 700]);
    assert_eq!(pipe.ends[0].room(pipe.now), 500, "beyond queued data");
    pipe.drain();
    assert_eq!(pipe.ends[0].room(pipe.now), 500, "beyond outstanding data");
    pipe.ends[0].write(pipe.now, &[1; 2000]);
    assert_eq!(pipe.ends[0].room(pipe.now), 0);
    pipe.ends[0].close(pipe.now);
    assert_eq!(pipe.ends[0].room(pipe.now), 0, "nothing can be written any more");
}

#[test]
fn after_an_idle_period_it_is_the_restart_window() {
    let mut pipe = Pipe::new(connection("sack+mss(500B)+iw(4)", &[], 1), connection("sack", &[], 2));
    pipe.open();
    pipe.ends[0].write(pipe.now, &[1; 20_000]);
    pipe.run(ms(500));
    assert!(pipe.ends[0].unacked() == 0 && pipe.ends[0].room(pipe.now) > 5000);
    pipe.run(ms(20_000));
    assert_eq!(pipe.ends[0].room(pipe.now), 2000);
    pipe.ends[0].write(pipe.now, &[1; 2000]);
    pipe.drain();
    assert_eq!((pipe.ends[0].view(pipe.now).unsent, pipe.ends[0].room(pipe.now)), (0, 0));
}

#[test]
fn a_write_of_that_size_is_sent_at_once() {
    for recovery in [
        "tahoe",
        "reno",
        "newreno",
        "sack",
        "fack",
        "fack-rh",
        "cubic",
        "sack+f-rto",
        "sack+no-limited-transmit",
        "newreno+timestamps",
    ] {
        for seed in 0..10 {
            let name = format!("{recovery}+mss(500B)+no-nagle+min-rto(200ms)");
            let mut rng = Rng::stream(seed, "weather", 0);
            let mut pipe = Pipe::with(
                connection(&name, &[], 1),
                connection(&name, &[("rcv_buf", "20000B")], 2),
                move |_, _, _| {
                    if rng.chance(0.05) { vec![] } else { vec![DELAY] }
                },
            );
            pipe.open();
            let (mut used, mut end) = (0, [0; 60_000]);
            for _ in 0..3000 {
                let until = pipe.now + Duration::from_secs(100);
                pipe.step(until);
                pipe.ends[1].read(pipe.now, &mut end);
                let room = pipe.ends[0].room(pipe.now);
                if room == 0 && pipe.ends[0].unacked() == 0 {
                    // A closed window must be probed, or a lost window update would stall the connection.
                    pipe.ends[0].write(pipe.now, &[1]);
                    pipe.drain();
                }
                if room > 0 {
                    assert_eq!(
                        pipe.ends[0].write(pipe.now, &vec![1; room as usize]) as u64,
                        room,
                        "{name}, seed {seed}"
                    );
                    used += 1;
                    pipe.drain();
                    let v = pipe.ends[0].view(pipe.now);
                    assert_eq!(v.unsent, 0, "{name}, seed {seed}: of {room} bytes at {:?}: {v:?}", pipe.now);
                }
            }
            assert!(
                used > 300 && pipe.ends[0].stats().retransmitted_segments > 10,
                "{name}, seed {seed}: {used}"
            );
        }
    }
}

#[test]
fn arrivals_are_known_from_acks_and_sacks() {
    // The second of four segments is lost.
    let mut n = 0;
    let fate = move |_: u64, from: usize, s: &ackclock_wire::Segment| {
        n += usize::from(from == 0 && s.len > 0);
        if from == 0 && s.len > 0 && n == 2 { vec![] } else { vec![DELAY] }
    };
    for (stack, sacked) in [("sack", true), ("newreno", false)] {
        let name = format!("{stack}+mss(500B)+iw(4)+min-rto(1s)+no-limited-transmit");
        let mut pipe = Pipe::with(connection(&name, &[], 1), connection(&name, &[], 2), fate);
        pipe.open();
        pipe.run(ms(100));
        pipe.ends[0].write(pipe.now, &[1; 2000]);
        pipe.drain();
        assert!(!pipe.ends[0].has_arrived(0, 1), "{stack}");
        pipe.run(ms(600));
        let arrived = |pipe: &Pipe| {
            [(0, 500), (500, 1000), (1000, 2000), (1200, 1300), (900, 1100), (2000, 2500)]
                .map(|(a, b)| pipe.ends[0].has_arrived(a, b))
        };
        assert_eq!(arrived(&pipe), [true, false, sacked, sacked, false, false], "{stack}");
        pipe.run(ms(9000));
        assert_eq!(arrived(&pipe), [true, true, true, true, true, false], "{stack}");
    }
}
