//! The send buffer of Linux's presets: memory of packets, which grows with the congestion window (tcp(7), `tcp_wmem`).

use std::sync::Arc;

use crate::support::{Pipe, ms};
use ackclock_engine::{Connection, ConnectionEvent, Stack};
use ackclock_policy::Registry;
use ackclock_units::{Duration, Rng, SeqNumber};

fn connection(stack: &str, sets: &[(&str, &str)], iss: u32) -> Connection {
    let mut stack = Stack::named(&Registry::builtin(), stack).unwrap_or_else(|e| panic!("{e}"));
    sets.iter().for_each(|(key, value)| stack.set(key, value).unwrap_or_else(|e| panic!("{e}")));
    let rng = Rng::stream(1, "connection", u64::from(iss));
    Connection::counted(Arc::new(stack.config()), stack.build(), SeqNumber(iss), rng)
}

/// An established connection whose first end has the stack.
fn pipe(stack: &str, sets: &[(&str, &str)]) -> Pipe {
    let mut pipe = Pipe::new(connection(stack, sets, 1), connection("linux", &[], 2));
    pipe.open();
    pipe.run(ms(500));
    pipe
}

/// What one large write takes, of a connection that has sent nothing.
fn first_write(stack: &str, sets: &[(&str, &str)]) -> u64 {
    let mut pipe = pipe(stack, sets);
    pipe.ends[0].write_counted(pipe.now, 1 << 30)
}

#[test]
fn the_first_write_takes_what_two_initial_windows_take_with_bbr_three() {
    // 46,080 and 69,120 bytes, and packets of half the first window of 64 KiB.
    assert_eq!(first_write("linux", &[]), 2 * 22 * 1448);
    assert_eq!(first_write("linux-reno", &[]), 2 * 22 * 1448);
    assert_eq!(first_write("linux-bbr", &[]), 3 * 22 * 1448);
    assert_eq!(first_write("linux", &[("snd_autotune", "false")]), 4 << 20);
    // No more than its limit, but for the packet that was begun.
    assert_eq!(first_write("linux", &[("snd_buf", "20000B")]), 22 * 1448);
}

#[test]
fn it_grows_with_the_window_up_to_its_limit() {
    for (limit, most) in [("4MiB", 4 << 20), ("300000B", 300_000)] {
        let mut pipe = pipe("linux", &[("snd_buf", limit)]);
        pipe.ends[0].write_counted(pipe.now, 1);
        let before = pipe.ends[0].writable();
        let mut notified = 0;
        pipe.ends[0].write_counted(pipe.now, 1 << 30);
        for round in 0..400 {
            pipe.drain();
            pipe.run(pipe.now + Duration::from_millis(5));
            pipe.ends[1].read_counted(pipe.now, u64::MAX);
            if round < 200 && pipe.events[0].drain(..).any(|event| event == ConnectionEvent::Writable) {
                notified += 1;
                pipe.ends[0].write_counted(pipe.now, 1 << 30);
            }
        }
        let cwnd = pipe.ends[0].view(pipe.now).window.cwnd;
        let sent = pipe.ends[0].stats().bytes_sent;
        assert_eq!(pipe.ends[0].unacked(), 0);
        let after = pipe.ends[0].writable();
        assert!(notified > 5 && sent > 4 << 20, "{notified} {sent}");
        assert!(after > 3 * before && after < most + 65_536, "{before} {after}");
        assert!(after > 2 * cwnd.min(most / 4), "{after} for a window of {cwnd}");
    }
}

#[test]
fn packets_of_small_writes_that_wait_are_one() {
    let mut pipe = pipe("linux", &[]);
    pipe.ends[0].write_counted(pipe.now, 10);
    let before = pipe.ends[0].writable();
    for _ in 0..20 {
        assert_eq!(pipe.ends[0].write_counted(pipe.now, 10), 10);
    }
    assert!(before - pipe.ends[0].writable() < 2000);
}
