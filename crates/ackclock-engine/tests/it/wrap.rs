//! Sequence numbers that wrap (RFC 9293 §3.4): after 2^32 bytes the oldest outstanding byte has the number of
//! the SYN.

use std::sync::Arc;

use crate::support::policies;
use ackclock_engine::{Config, Connection, State};
use ackclock_units::{Duration, Instant, Rng, SeqNumber};

/// Delivers everything at once until neither end has anything to send or a timer armed.
fn run_until_idle(ends: &mut [Connection; 2], now: &mut Instant) {
    loop {
        let mut idle = true;
        for from in 0..2 {
            while let Some(t) = ends[from].poll_transmit(*now) {
                idle = false;
                *now += Duration::from_micros(1);
                ends[1 - from].handle_segment(*now, &t.segment, &[], t.ecn);
                while ends[1 - from].poll_event().is_some() {}
                ends[1 - from].read_counted(*now, u64::MAX);
            }
        }
        let timers = || ends.iter().filter_map(Connection::poll_timeout).min();
        match timers() {
            Some(at) if idle => {
                *now = at.max(*now);
                ends.iter_mut().for_each(|end| end.handle_timeout(*now));
            }
            None if idle => return,
            _ => {}
        }
    }
}

#[test]
fn a_stream_continues_past_the_sequence_number_of_the_syn() {
    let config = Arc::new(Config { mss: 65_495, snd_buf: 1 << 26, rcv_buf: 1 << 26, ..Config::default() });
    let iss = SeqNumber(4_000_000_000);
    let mut ends = [iss, SeqNumber(7)]
        .map(|iss| Connection::counted(config.clone(), policies(), iss, Rng::stream(1, "connection", 0)));
    let mut now = Instant::ZERO;
    ends[1].listen();
    ends[0].connect(now);
    run_until_idle(&mut ends, &mut now);
    assert_eq!(ends[0].state(), State::Established);

    // The SYN takes one sequence number.
    let round = (1 << 32) - 1;
    let mut written = 0;
    while written < round {
        written += ends[0].write_counted(now, round - written);
        run_until_idle(&mut ends, &mut now);
    }
    assert_eq!((ends[0].stats().bytes_acked, ends[0].view(now).snd_una), (round, iss));

    assert_eq!(ends[0].write_counted(now, 100_000), 100_000);
    assert!(!ends[0].has_arrived(round, round + 1));
    run_until_idle(&mut ends, &mut now);
    assert_eq!(
        (ends[0].stats().bytes_acked, ends[1].stats().bytes_received),
        (round + 100_000, round + 100_000)
    );
    assert_eq!(ends[0].unacked(), 0);
}
