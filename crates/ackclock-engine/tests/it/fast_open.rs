//! Fast Open (RFC 7413) between two endpoints: text on the SYN, what its acknowledgment confirms, and data
//! before the handshake is complete.

use crate::support::{DELAY, Pipe, connection, endpoint, ms, pattern};
use ackclock_engine::{Config, Connection, State};
use ackclock_units::Rng;
use ackclock_wire::{FastOpen, Flags, Segment};

fn cookie() -> FastOpen {
    FastOpen::new(&[7; 8], false).expect("eight bytes")
}

/// Opens with `text` on the SYN; the server takes it or not.
fn open(pipe: &mut Pipe, text: &[u8], accepts: bool) {
    pipe.ends[1].listen();
    if accepts {
        pipe.ends[1].accept_fast_open(None);
    }
    pipe.ends[0].connect_fast_open(pipe.now, Some(cookie()), 1420);
    assert_eq!(pipe.ends[0].syn_room(), 1420);
    pipe.ends[0].write(pipe.now, text);
    let t = pipe.ends[0].poll_transmit(pipe.now).expect("a SYN");
    assert_eq!(t.segment.len as usize, text.len().min(1420));
    assert_eq!((pipe.ends[0].take_syn_option(), pipe.ends[0].take_syn_option()), (Some(cookie()), None));
    let segment = if accepts { t.segment } else { Segment { len: 0, ..t.segment } };
    pipe.ends[1].handle_segment(pipe.now, &segment, &text[..segment.len as usize], t.ecn);
    pipe.drain();
}

#[test]
fn text_of_a_syn_is_read_before_the_handshake_ends() {
    let mut pipe = Pipe::new(connection(Config::default(), 1), connection(Config::default(), 2));
    let text = pattern(1000);
    open(&mut pipe, &text, true);
    let mut got = [0; 2000];
    assert_eq!((pipe.ends[1].state(), pipe.ends[1].readable()), (State::SynReceived, 1000));
    assert_eq!(pipe.ends[1].read(pipe.now, &mut got), 1000);
    assert_eq!(got[..1000], text);
    // The reply leaves at once.
    assert_eq!(pipe.ends[1].write(pipe.now, &text), 1000);
    pipe.drain();
    let reply = pipe.log.last().expect("a reply").2;
    assert_eq!((reply.len, reply.flags, pipe.now), (1000, Flags::ACK | Flags::PSH, ms(0)));
    pipe.run(ms(1000));
    assert!(pipe.ends.iter().all(|end| end.state() == State::Established && end.unacked() == 0));
    let report = pipe.ends[0].fast_open().expect("an attempt");
    assert!(report.text_taken && !report.has_failed() && !report.repeated);
    assert_eq!(pipe.ends[0].stats().retransmitted_segments, 0);
}

#[test]
fn text_that_is_not_taken_is_sent_again_without_a_reduction() {
    let mut pipe = Pipe::new(endpoint("newreno", 1), endpoint("newreno", 2));
    let text = pattern(1420);
    open(&mut pipe, &text, false);
    pipe.run(ms(1000));
    let stats = pipe.ends[0].stats();
    assert_eq!((stats.retransmitted_segments, stats.window_cuts, stats.timeouts), (1, 0, 0));
    assert!(pipe.ends[0].fast_open().expect("an attempt").has_failed());
    let mut got = vec![0; 2000];
    assert_eq!(pipe.ends[1].read(pipe.now, &mut got), 1420);
    assert_eq!(got[..1420], text);
}

#[test]
fn a_connection_without_fast_open_has_nothing_to_report() {
    let mut pipe = Pipe::new(connection(Config::default(), 1), connection(Config::default(), 2));
    pipe.open();
    pipe.run(ms(1000));
    for end in &mut pipe.ends {
        assert_eq!((end.fast_open(), end.take_syn_option(), end.syn_room()), (None, None, 0));
    }
}

#[test]
fn a_request_carries_no_text() {
    let mut client = connection(Config::default(), 1);
    client.connect_fast_open(ms(0), Some(FastOpen::REQUEST), 1420);
    assert_eq!(client.syn_room(), 0);
    client.write(ms(0), &pattern(100));
    let syn = client.poll_transmit(ms(0)).expect("a SYN").segment;
    assert_eq!((syn.len, client.take_syn_option()), (0, Some(FastOpen::REQUEST)));
}

/// Both ends write at once over a pipe that loses and delays packets at random, with Fast Open in one of its
/// ways.
fn disturbed(stack: &str, seed: u64) {
    let mut rng = Rng::stream(seed, "disturbed", 0);
    let (loss, way) = (rng.below(30), rng.below(4));
    let mut chance = Rng::stream(seed, "fates", 0);
    let mut pipe = Pipe::with(endpoint(stack, 1), endpoint(stack, 2), move |_, _, _| {
        let late = DELAY * (1 + chance.below(3));
        match chance.below(100) {
            n if n < loss => vec![],
            n if n < loss + 3 => vec![DELAY, late],
            n if n < loss + 6 => vec![late],
            _ => vec![DELAY],
        }
    });
    let (up, down) = (pattern(1 + rng.below(40_000) as usize), pattern(1 + rng.below(40_000) as usize));
    pipe.ends[1].listen();
    if way < 2 {
        pipe.ends[1].accept_fast_open(None);
    }
    let option = [Some(cookie()), None, Some(cookie()), Some(FastOpen::REQUEST)][way as usize];
    pipe.ends[0].connect_fast_open(pipe.now, option, 1 + rng.below(1420) as u32);
    let data = [&up, &down];
    let (mut written, mut got) = ([0; 2], [vec![], vec![]]);
    let mut chunk = vec![0; 10_000];
    for _ in 0..200_000 {
        for end in 0..2 {
            written[end] += pipe.ends[end].write(pipe.now, &data[end][written[end]..]);
            if written[end] == data[end].len() {
                pipe.ends[end].close(pipe.now);
            }
            let n = pipe.ends[end].read(pipe.now, &mut chunk);
            got[1 - end].extend_from_slice(&chunk[..n]);
        }
        pipe.drain();
        if !pipe.step(ms(10_000_000)) {
            break;
        }
    }
    let whole = |end: &Connection| end.state() == State::Closed;
    if pipe.ends.iter().all(whole) && got[0].len() == up.len() && got[1].len() == down.len() {
        assert!(got[0] == up && got[1] == down, "{stack}, seed {seed}: other bytes");
    } else {
        // Only a path that loses much may end otherwise, and then with the right bytes so far.
        assert!(loss > 15, "{stack}, seed {seed}: {:?}", pipe.ends.each_ref().map(Connection::state));
        assert!(up.starts_with(&got[0]) && down.starts_with(&got[1]), "{stack}, seed {seed}");
    }
}

#[test]
fn streams_arrive_over_disturbed_paths() {
    for stack in ["reno", "newreno", "cubic+rack+timestamps", "cubic+sack"] {
        (0..60).for_each(|seed| disturbed(stack, seed));
    }
}
