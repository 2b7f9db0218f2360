//! Whole connections over the pipe: open, transfer with losses, reordering and duplication, close.

use crate::support::{DELAY, Pipe, connection, ms, pattern};
use ackclock_engine::{AbortReason, Config, ConnectionEvent, State};
use ackclock_units::{Duration, Instant, Rng};
use ackclock_wire::{Flags, Segment};

const LONG: Instant = Instant::from_nanos(3_600_000_000_000);

fn variants() -> Vec<Config> {
    let base = Config { mss: 1000, time_wait: Duration::from_secs(1), ..Config::default() };
    let mut all = vec![];
    for sack in [false, true] {
        for timestamps in [false, true] {
            for rcv_buf in [3_000, 1 << 20] {
                all.push(Config { sack, timestamps, rcv_buf, ecn: sack, ..base.clone() });
            }
        }
    }
    all
}

#[test]
fn a_clean_transfer_arrives_and_both_ends_close() {
    for config in variants() {
        let mut p = Pipe::new(connection(config.clone(), u32::MAX - 5000), connection(config.clone(), 77));
        p.open();
        let data = pattern(200_000);
        let got = p.transfer(0, &data, LONG);
        assert!(got == data, "{config:?}: {} of {} bytes", got.len(), data.len());
        assert_eq!(p.ends[0].state(), State::Closed, "{config:?}");
        assert_eq!(p.ends[1].state(), State::Closed);
        assert_eq!(p.ends[0].stats().retransmitted_segments, 0, "{config:?}");
        assert_eq!(p.ends[0].stats().timeouts, 0);
        assert!(
            p.events[0].contains(&ConnectionEvent::Finished)
                && p.events[1].contains(&ConnectionEvent::Finished)
        );
    }
}

/// The largest window that the receiver of a transfer of 4 MB has offered.
fn largest_window(config: Config) -> u32 {
    use std::{cell::Cell, rc::Rc};
    let largest = Rc::new(Cell::new(0));
    let seen = Rc::clone(&largest);
    let mut scale = 0;
    let fate = move |_: u64, from: usize, segment: &Segment| {
        if segment.flags.has(Flags::SYN) {
            scale = segment.options.window_scale.unwrap_or(0);
        } else if from == 1 {
            seen.set(seen.get().max(u32::from(segment.window) << scale));
        }
        vec![DELAY]
    };
    let mut p = Pipe::with(connection(config.clone(), 1), connection(config, 2), fate);
    p.open();
    let data = pattern(4_000_000);
    assert!(p.transfer(0, &data, LONG) == data);
    largest.get()
}

#[test]
fn a_receive_buffer_grows_with_what_is_read_up_to_its_limit() {
    for timestamps in [false, true] {
        let fixed = |rcv_buf| Config { mss: 1000, timestamps, rcv_buf, ..Config::default() };
        let tuned = |rcv_buf| Config { rcv_autotune: true, rcv_buf_initial: 20_000, ..fixed(rcv_buf) };
        assert!(largest_window(fixed(20_000)) <= 20_000);
        assert!(largest_window(fixed(2_000_000)) > 1_900_000);
        let limited = largest_window(tuned(100_000));
        assert!((90_000..=100_000).contains(&limited), "{limited}");
        let grown = largest_window(tuned(2_000_000));
        assert!(grown > 500_000, "{grown}");
    }
}

#[test]
fn every_byte_survives_loss_reordering_and_duplication() {
    for (i, config) in variants().into_iter().enumerate() {
        for loss in [0.01, 0.05, 0.2] {
            let mut rng = Rng::stream(i as u64, "fate", (loss * 100.0) as u64);
            let fate = move |_: u64, _: usize, _: &_| {
                let jitter =
                    if rng.chance(0.1) { Duration::from_millis(rng.below(30)) } else { Duration::ZERO };
                let copies = if rng.chance(loss) { 0 } else { 1 + usize::from(rng.chance(0.02)) };
                vec![DELAY + jitter; copies]
            };
            let mut p = Pipe::with(
                connection(config.clone(), 9),
                connection(config.clone(), u32::MAX - 20_000),
                fate,
            );
            p.open();
            let data = pattern(100_000);
            let got = p.transfer(1, &data, LONG);
            assert!(
                got == data,
                "loss {loss} {config:?}: {} of {} bytes\n{:#?}",
                got.len(),
                data.len(),
                p.ends
            );
            assert_eq!(p.ends[1].stats().bytes_acked, 100_000);
        }
    }
}

#[test]
fn a_single_loss_is_repaired_without_a_timeout() {
    for sack in [false, true] {
        let config = Config { mss: 1000, sack, ..Config::default() };
        let mut dropped = false;
        let fate = move |_: u64, from: usize, s: &Segment| {
            let drop = from == 0 && s.seq.0 == 20_002 && !dropped;
            dropped |= drop;
            if drop { vec![] } else { vec![DELAY] }
        };
        let mut p = Pipe::with(connection(config.clone(), 1), connection(config, 2), fate);
        p.open();
        let data = pattern(100_000);
        assert!(p.transfer(0, &data, LONG) == data);
        let s = p.ends[0].stats();
        assert_eq!(
            (s.timeouts, s.retransmitted_segments, s.ca_events, s.non_ca_events),
            (0, 1, 1, 0),
            "sack {sack}"
        );
        assert_eq!(p.ends[1].stats().duplicate_segments, 0);
    }
}

#[test]
fn an_unanswered_syn_is_given_up_after_its_retries() {
    let config = Config { syn_retries: 3, ..Config::default() };
    let mut p = Pipe::with(connection(config.clone(), 1), connection(config, 2), |_, _, _| vec![]);
    p.open();
    p.run(LONG);
    assert_eq!(p.events[0], [ConnectionEvent::Aborted(AbortReason::SynTimeout)]);
    // 1 s, doubled each time, given up when the last timeout expires: 1 + 2 + 4 + 8.
    let at: Vec<_> = p.log.iter().map(|(t, ..)| t.as_nanos() / 1_000_000).collect();
    assert_eq!(at, [0, 1000, 3000, 7000]);
    assert_eq!(p.ends[0].stats().closed_at.get(), Some(ms(15_000)));
}

#[test]
fn a_simultaneous_open_establishes_both_ends() {
    let config = Config { time_wait: Duration::from_secs(1), ..Config::default() };
    let mut p = Pipe::new(connection(config.clone(), 1), connection(config, 2));
    p.ends[0].connect(p.now);
    p.ends[1].connect(p.now);
    p.drain();
    p.run(ms(500));
    assert_eq!([p.ends[0].state(), p.ends[1].state()], [State::Established; 2]);
    let data = pattern(5000);
    assert!(p.transfer(0, &data, LONG) == data);
    assert_eq!([p.ends[0].state(), p.ends[1].state()], [State::Closed; 2]);
}

#[test]
fn a_closed_window_is_probed_until_it_opens() {
    let config = Config { mss: 1000, rcv_buf: 4000, ..Config::default() };
    let mut p = Pipe::new(connection(config.clone(), 1), connection(config, 2));
    p.open();
    p.run(ms(100));
    let data = pattern(10_000);
    assert_eq!(p.ends[0].write(p.now, &data), 10_000);
    p.drain();
    p.run(ms(60_000));
    assert_eq!(p.ends[1].readable(), 4000);
    let probes = p.log.iter().filter(|(_, from, s)| *from == 0 && s.len == 1).count();
    assert!((3..20).contains(&probes), "{probes} probes in a minute");
    let mut got = vec![];
    let mut chunk = [0; 4000];
    while got.len() < data.len() && p.now < ms(120_000) {
        let n = p.ends[1].read(p.now, &mut chunk);
        got.extend_from_slice(&chunk[..n]);
        p.drain();
        p.step(ms(120_000));
    }
    assert!(got == data, "{} bytes", got.len());
    assert!(p.now < ms(70_000), "{:?}", p.now);
}

#[test]
fn after_a_half_close_the_other_side_can_still_send() {
    let config = Config { time_wait: Duration::from_secs(1), ..Config::default() };
    let mut p = Pipe::new(connection(config.clone(), 1), connection(config, 2));
    p.open();
    p.run(ms(100));
    p.ends[0].close(p.now);
    p.drain();
    p.run(ms(200));
    assert_eq!([p.ends[0].state(), p.ends[1].state()], [State::FinWait2, State::CloseWait]);
    let data = pattern(50_000);
    assert!(p.transfer(1, &data, LONG) == data);
    assert_eq!([p.ends[0].state(), p.ends[1].state()], [State::Closed; 2]);
}

#[test]
fn both_ends_may_close_at_once() {
    let config = Config { time_wait: Duration::from_secs(1), ..Config::default() };
    let mut p = Pipe::new(connection(config.clone(), 1), connection(config, 2));
    p.open();
    p.run(ms(100));
    p.ends[0].close(p.now);
    p.ends[1].close(p.now);
    p.drain();
    p.run(ms(110));
    assert_eq!([p.ends[0].state(), p.ends[1].state()], [State::Closing; 2]);
    p.run(ms(500));
    assert_eq!([p.ends[0].state(), p.ends[1].state()], [State::TimeWait; 2]);
    p.run(ms(5000));
    assert_eq!([p.ends[0].state(), p.ends[1].state()], [State::Closed; 2]);
}

#[test]
fn a_fin_that_overtakes_lost_data_is_kept() {
    let config = Config { mss: 1000, time_wait: Duration::from_secs(1), ..Config::default() };
    let mut dropped = false;
    let fate = move |_: u64, from: usize, s: &Segment| {
        let drop = from == 0 && s.seq.0 == 1002 && !dropped;
        dropped |= drop;
        if drop { vec![] } else { vec![DELAY] }
    };
    let mut p = Pipe::with(connection(config.clone(), 1), connection(config, 2), fate);
    p.open();
    let data = pattern(6000);
    assert!(p.transfer(0, &data, LONG) == data);
    let s = p.ends[0].stats();
    assert_eq!((s.timeouts, s.retransmitted_segments), (0, 1));
    let fins = p.log.iter().filter(|(_, from, s)| *from == 0 && s.flags.has(Flags::FIN)).count();
    assert_eq!(fins, 1, "the FIN is sent once");
}
