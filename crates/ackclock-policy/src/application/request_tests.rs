//! Applications that make many requests on a connection, and their server.

use ackclock_units::{Duration, Instant, Rng};

use super::tests::{Io, app, wake};
use crate::{Application, Playback, Request, Requests, Wake, introduce};

fn at(ms: u64) -> Wake {
    Wake::At(Instant::ZERO + Duration::from_millis(ms))
}

/// A client with its server, introduced.
fn pair(name: &str, settings: &[(&str, &str)]) -> (Box<dyn Application>, Box<dyn Application>) {
    let (client, mut server) = (app(name, settings), app("serve", &[]));
    introduce(&*client, &mut *server);
    (client, server)
}

fn roomy() -> Io {
    Io { room: 1 << 40, ..Io::default() }
}

#[test]
fn http_thinks_between_its_requests_and_closes_after_the_last() {
    let settings = [
        ("requests", "2"),
        ("request", "200B"),
        ("response", "5000B"),
        ("response_distribution", "fixed"),
        ("think", "50ms"),
        ("think_distribution", "fixed"),
    ];
    let (mut client, mut server) = pair("http", &settings);
    let (mut c, mut s, mut rng) = (roomy(), roomy(), Rng::stream(1, "app", 0));
    assert_eq!((wake(&mut *client, &mut c, 0, &mut rng), c.written), (Wake::Readable, 200));
    // A part of the request elicits nothing.
    s.readable = 150;
    assert_eq!((wake(&mut *server, &mut s, 5, &mut rng), s.written), (Wake::Readable, 0));
    s.readable = 50;
    assert_eq!((wake(&mut *server, &mut s, 10, &mut rng), s.written), (Wake::Readable, 5000));
    c.readable = 4999;
    assert_eq!((wake(&mut *client, &mut c, 20, &mut rng), c.responses.len()), (Wake::Readable, 0));
    c.readable = 1;
    assert_eq!(wake(&mut *client, &mut c, 30, &mut rng), at(80));
    assert_eq!(c.responses, [Duration::from_millis(30)]);
    // An early call changes nothing.
    assert_eq!((wake(&mut *client, &mut c, 70, &mut rng), c.written), (at(80), 200));
    assert_eq!((wake(&mut *client, &mut c, 80, &mut rng), c.written), (Wake::Readable, 400));
    s.readable = 200;
    assert_eq!((wake(&mut *server, &mut s, 90, &mut rng), s.written), (Wake::Readable, 10_000));
    c.readable = 5000;
    assert_eq!((wake(&mut *client, &mut c, 95, &mut rng), c.closed), (Wake::Done, true));
    s.ended = true;
    assert_eq!((wake(&mut *server, &mut s, 99, &mut rng), s.closed), (Wake::Done, true));
    assert_eq!(c.responses, [30, 15].map(Duration::from_millis));
}

#[test]
fn a_client_that_says_how_much_it_wants_closes_first() {
    let (mut client, mut server) = pair("request", &[("request", "300B"), ("response", "1500B")]);
    let (mut c, mut s, mut rng) = (roomy(), roomy(), Rng::stream(1, "app", 0));
    assert_eq!((wake(&mut *client, &mut c, 0, &mut rng), c.written), (Wake::Readable, 300));
    s.readable = 300;
    assert_eq!((wake(&mut *server, &mut s, 5, &mut rng), s.written), (Wake::Readable, 1500));
    assert!(!s.closed, "it waits for the client to close");
    c.readable = 1499;
    assert_eq!((wake(&mut *client, &mut c, 10, &mut rng), c.closed), (Wake::Readable, false));
    c.readable = 1;
    assert_eq!((wake(&mut *client, &mut c, 15, &mut rng), c.closed), (Wake::Done, true));
    assert_eq!(c.responses, [Duration::from_millis(15)]);
    s.ended = true;
    assert_eq!((wake(&mut *server, &mut s, 20, &mut rng), s.closed), (Wake::Done, true));
}

#[test]
fn http_gives_up_when_the_server_closes_in_a_response() {
    let (mut client, mut rng) = (app("http", &[]), Rng::stream(1, "app", 0));
    let mut c = roomy();
    assert_eq!(wake(&mut *client, &mut c, 0, &mut rng), Wake::Readable);
    c.ended = true;
    assert_eq!((wake(&mut *client, &mut c, 9, &mut rng), c.closed, c.responses.len()), (Wake::Done, true, 0));
}

#[test]
fn a_geometric_number_of_requests_has_its_mean() {
    let mut all = 0;
    let settings = [
        ("requests", "8"),
        ("requests_distribution", "geometric"),
        ("think", "0s"),
        ("response", "1B"),
        ("response_distribution", "fixed"),
    ];
    let mut rng = Rng::stream(3, "app", 0);
    for _ in 0..4000 {
        let (mut client, mut c) = (app("http", &settings), roomy());
        loop {
            c.readable = 1;
            if wake(&mut *client, &mut c, 0, &mut rng) == Wake::Done {
                break;
            }
        }
        all += c.responses.len();
    }
    // The standard deviation of one is sqrt(8 * 7) = 7.5, that of the mean 0.12.
    let mean = all as f64 / 4000.0;
    assert!((mean - 8.0).abs() < 0.5, "{mean}");
}

#[test]
fn a_server_serves_requests_one_after_the_other() {
    let mut server = app("serve", &[("service", "10ms")]);
    let requests = Requests::default();
    server.serve(requests.clone());
    for response in [3000, 100] {
        requests.add(Request { bytes: 20, response });
    }
    let (mut s, mut rng) = (Io { room: 1000, ..Io::default() }, Rng::stream(1, "app", 0));
    // Both requests and a byte that belongs to none arrive at once.
    s.readable = 41;
    assert_eq!((wake(&mut *server, &mut s, 0, &mut rng), s.written), (at(10), 0));
    assert_eq!((wake(&mut *server, &mut s, 10, &mut rng), s.written), (Wake::Writable, 1000));
    s.acked = 1000;
    assert_eq!((wake(&mut *server, &mut s, 12, &mut rng), s.written), (Wake::Writable, 2000));
    s.acked = 2000;
    assert_eq!((wake(&mut *server, &mut s, 14, &mut rng), s.written), (at(20), 3000));
    s.acked = 3000;
    assert_eq!((wake(&mut *server, &mut s, 20, &mut rng), s.written), (Wake::Readable, 3100));
}

#[test]
fn a_server_without_requests_reads_to_the_end() {
    let (mut server, mut s, mut rng) = (app("serve", &[]), roomy(), Rng::stream(1, "app", 0));
    s.readable = 5000;
    assert_eq!((wake(&mut *server, &mut s, 0, &mut rng), s.written), (Wake::Readable, 0));
    s.ended = true;
    assert_eq!((wake(&mut *server, &mut s, 1, &mut rng), s.closed), (Wake::Done, true));
}

#[test]
fn a_fan_in_waits_at_the_barrier_before_each_round() {
    let (mut client, _) = pair("fan-in", &[("rounds", "2"), ("response", "100B"), ("pause", "5ms")]);
    let (mut c, mut rng) = (roomy(), Rng::stream(1, "app", 0));
    assert!(client.waits_for_others());
    assert_eq!((wake(&mut *client, &mut c, 0, &mut rng), c.written), (Wake::Barrier, 0));
    assert_eq!((wake(&mut *client, &mut c, 7, &mut rng), c.written), (at(12), 0));
    assert_eq!((wake(&mut *client, &mut c, 12, &mut rng), c.written), (Wake::Readable, 100));
    c.readable = 100;
    assert_eq!(wake(&mut *client, &mut c, 20, &mut rng), Wake::Barrier);
    assert_eq!(wake(&mut *client, &mut c, 30, &mut rng), at(35));
    assert_eq!(wake(&mut *client, &mut c, 35, &mut rng), Wake::Readable);
    c.readable = 100;
    assert_eq!((wake(&mut *client, &mut c, 40, &mut rng), c.closed), (Wake::Done, true));
    assert_eq!(c.responses, [8, 5].map(Duration::from_millis));
}

/// The chunks of a video arrive at these times (ms), the first requested at 0; what was played at the end.
fn played(settings: &[(&str, &str)], arrivals: &[u64], end: u64) -> (Vec<Wake>, Playback) {
    let (mut client, _) = pair("video", settings);
    let (mut c, mut rng) = (roomy(), Rng::stream(1, "app", 0));
    let mut wakes = vec![wake(&mut *client, &mut c, 0, &mut rng)];
    for ms in arrivals {
        // Two seconds at 1 Mbit/s.
        c.readable = 250_000;
        wakes.push(wake(&mut *client, &mut c, *ms, &mut rng));
    }
    (wakes, client.playback(Instant::ZERO + Duration::from_millis(end)).expect("a player"))
}

const CONSTANT: [(&str, &str); 4] =
    [("levels", "1"), ("bitrate", "1Mbit/s"), ("chunk", "2s"), ("length", "8s")];

#[test]
fn a_player_counts_its_stalls() {
    // Playing begins with the second chunk, at 3 s with 4 s in the buffer, which is empty at 7 s; the third
    // chunk comes at 7.5 s, and one of two seconds lets it go on.
    let settings = [CONSTANT.as_slice(), &[("startup", "4s"), ("resume", "2s")]].concat();
    let (wakes, p) = played(&settings, &[1000, 3000, 7500], 8500);
    assert_eq!(wakes, [Wake::Readable; 4]);
    let secs = Duration::from_secs;
    assert_eq!((p.startup_delay, p.stalls, p.stalled), (Some(secs(3)), 1, Duration::from_millis(500)));
    assert_eq!((p.played, p.buffer, p.downloaded), (secs(5), secs(1), secs(6)));
    assert_eq!((p.chunks, p.bytes, p.switches), (3, 750_000, 0));
    // Before anything is played, there are no stalls; a stall that lasts counts.
    let (_, p) = played(&settings, &[1000], 5000);
    assert_eq!((p.startup_delay, p.stalls, p.played), (None, 0, secs(0)));
    let (_, p) = played(&settings, &[1000, 3000, 7500], 20_000);
    assert_eq!((p.stalls, p.stalled), (2, Duration::from_millis(11_000)));
}

#[test]
fn a_complete_video_counts_as_played_to_its_end() {
    let (wakes, p) = played(&CONSTANT, &[1000, 2000, 3000, 4000], 4000);
    assert_eq!(wakes.last(), Some(&Wake::Done));
    assert_eq!((p.played, p.buffer, p.stalls, p.chunks), (Duration::from_secs(8), Duration::ZERO, 0, 4));
    let (_, later) = played(&CONSTANT, &[1000, 2000, 3000, 4000], 60_000);
    assert_eq!(later, p);
}

#[test]
fn a_full_buffer_delays_the_next_request() {
    // A buffer of 4 s: with chunks of 2 s at 1 s and 2 s, it holds 3 s at 2 s, and has room again at 3 s.
    let settings = [CONSTANT.as_slice(), &[("buffer", "4s"), ("startup", "2s")]].concat();
    let (wakes, _) = played(&settings, &[1000, 2000], 2000);
    assert_eq!(wakes, [Wake::Readable, Wake::Readable, at(3000)]);
    // A buffer smaller than a chunk, and a start that it never reaches: it plays all the same.
    let settings = [CONSTANT.as_slice(), &[("buffer", "1ms"), ("startup", "1h"), ("resume", "1h")]].concat();
    let (wakes, p) = played(&settings, &[1000, 3000], 4000);
    assert_eq!((wakes[1], p.startup_delay), (at(3000), Some(Duration::from_secs(1))));
}

#[test]
fn a_bulk_transfer_closes_at_its_stop_and_not_before() {
    let (mut bulk, mut rng) = (app("bulk", &[("stop", "2s")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: 1000, ..Io::default() };
    let stop = Wake::WritableOrAt(Instant::ZERO + Duration::from_secs(2));
    assert_eq!((wake(&mut *bulk, &mut io, 10, &mut rng), io.written), (stop, 1000));
    io.acked = 1000;
    assert_eq!((wake(&mut *bulk, &mut io, 1999, &mut rng), io.written), (stop, 2000));
    io.acked = 2000;
    assert_eq!((wake(&mut *bulk, &mut io, 2000, &mut rng), io.written, io.closed), (Wake::Done, 2000, true));
    // In a world whose clock does not begin with the run.
    let mut bulk = app("bulk", &[("stop", "2s")]);
    bulk.run_began(Instant::ZERO + Duration::from_secs(7));
    let stop = Wake::WritableOrAt(Instant::ZERO + Duration::from_secs(9));
    assert_eq!(wake(&mut *bulk, &mut Io { room: 10, ..Io::default() }, 8000, &mut rng), stop);
}
