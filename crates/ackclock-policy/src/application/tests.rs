use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Application, Chosen, Registry, Wake};

/// A connection with a send buffer of `room` bytes, and what an application did with it.
#[derive(Default)]
struct Io {
    now: Instant,
    room: Bytes,
    readable: Bytes,
    ended: bool,
    written: Bytes,
    acked: Bytes,
    closed: bool,
    started: Option<Instant>,
    responses: Vec<Duration>,
}

impl AppIo for Io {
    fn readable(&self) -> Bytes {
        self.readable
    }
    fn read(&mut self, n: Bytes) -> Bytes {
        let n = n.min(self.readable);
        self.readable -= n;
        n
    }
    fn writable(&self) -> Bytes {
        self.room - self.unacked()
    }
    fn write(&mut self, n: Bytes) -> Bytes {
        assert!(!self.closed, "nothing is written after closing");
        let n = n.min(self.writable());
        self.written += n;
        n
    }
    fn unacked(&self) -> Bytes {
        self.written - self.acked
    }
    fn at_end(&self) -> bool {
        self.ended && self.readable == 0
    }
    fn close(&mut self) {
        self.closed = true;
    }
    fn mark_start(&mut self) {
        self.started = Some(self.now);
    }
    fn mark_end(&mut self) {
        self.responses.push(self.now.since(self.started.expect("started")));
    }
    fn record_response(&mut self, since: Instant) {
        self.responses.push(self.now.since(since));
    }
}

fn app(name: &str, settings: &[(&str, &str)]) -> Box<dyn Application> {
    let mut chosen: Chosen<dyn Application> = Registry::builtin().choose(name).unwrap();
    for (param, text) in settings {
        chosen.set(param, text).unwrap();
    }
    chosen.build()
}

fn wake(app: &mut dyn Application, io: &mut Io, ms: u64, rng: &mut Rng) -> Wake {
    io.now = Instant::ZERO + Duration::from_millis(ms);
    app.on_wake(io.now, io, rng)
}

#[test]
fn fixed_sends_exactly_its_size_and_closes_when_it_is_acknowledged() {
    let (mut a, mut rng) = (app("fixed", &[("size", "2500B")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: 1000, ..Io::default() };
    assert_eq!(wake(&mut *a, &mut io, 10, &mut rng), Wake::Writable);
    io.acked = 1000;
    assert_eq!(wake(&mut *a, &mut io, 20, &mut rng), Wake::Writable);
    io.acked = 2000;
    assert_eq!(wake(&mut *a, &mut io, 30, &mut rng), Wake::Flushed);
    assert_eq!((io.written, io.closed), (2500, false));
    io.acked = 2500;
    assert_eq!(wake(&mut *a, &mut io, 40, &mut rng), Wake::Done);
    assert_eq!((io.written, io.closed, io.responses), (2500, true, vec![Duration::from_millis(30)]));
}

#[test]
fn a_dialogue_waits_for_each_ack_and_then_pauses() {
    let settings = [("exchanges", "2"), ("bytes", "100B"), ("pause", "1s"), ("size", "2000B")];
    let (mut a, mut rng) = (app("dialogue", &settings), Rng::stream(1, "app", 0));
    let mut io = Io { room: 1500, ..Io::default() };
    assert_eq!((wake(&mut *a, &mut io, 0, &mut rng), io.written), (Wake::Flushed, 100));
    // An early wake-up changes nothing.
    assert_eq!((wake(&mut *a, &mut io, 5, &mut rng), io.written), (Wake::Flushed, 100));
    io.acked = 100;
    assert_eq!((wake(&mut *a, &mut io, 10, &mut rng), io.written), (Wake::Flushed, 200));
    io.acked = 200;
    let begins = Instant::ZERO + Duration::from_millis(1020);
    assert_eq!((wake(&mut *a, &mut io, 20, &mut rng), io.written), (Wake::At(begins), 200));
    assert_eq!((wake(&mut *a, &mut io, 1020, &mut rng), io.written), (Wake::Writable, 1700));
    io.acked = 1700;
    assert_eq!((wake(&mut *a, &mut io, 1030, &mut rng), io.written), (Wake::Flushed, 2200));
    io.acked = 2200;
    assert_eq!(wake(&mut *a, &mut io, 1040, &mut rng), Wake::Done);
    assert_eq!((io.closed, io.responses), (true, vec![Duration::from_millis(20)]));
}

#[test]
fn a_request_is_answered_once_it_is_complete() {
    let mut rng = Rng::stream(1, "app", 0);
    let (mut client, mut server) = (app("request", &[("request", "300B")]), app("respond", &[("request", "300B"), ("size", "1500B")]));
    let (mut c, mut s) = (Io { room: 200, ..Io::default() }, Io { room: 1000, ..Io::default() });
    assert_eq!(wake(&mut *client, &mut c, 0, &mut rng), Wake::Writable);
    s.readable = 200;
    assert_eq!(wake(&mut *server, &mut s, 5, &mut rng), Wake::Readable);
    assert_eq!(s.written, 0, "the request is not complete");
    c.acked = 200;
    assert_eq!(wake(&mut *client, &mut c, 10, &mut rng), Wake::Readable);
    s.readable = 100;
    assert_eq!(wake(&mut *server, &mut s, 15, &mut rng), Wake::Writable);
    s.acked = 1000;
    assert_eq!(wake(&mut *server, &mut s, 20, &mut rng), Wake::Done);
    assert_eq!((s.written, s.closed, c.closed), (1500, true, false));
    (c.readable, c.ended) = (1500, true);
    assert_eq!(wake(&mut *client, &mut c, 25, &mut rng), Wake::Done);
    assert_eq!((c.written, c.closed, c.responses), (300, true, vec![Duration::from_millis(25)]));
}

#[test]
fn a_client_that_closes_early_gets_no_answer() {
    let (mut server, mut rng) = (app("respond", &[]), Rng::stream(1, "app", 0));
    let mut s = Io { room: 1000, readable: 10, ended: true, ..Io::default() };
    assert_eq!(wake(&mut *server, &mut s, 0, &mut rng), Wake::Done);
    assert_eq!((s.written, s.closed), (0, true));
}

#[test]
fn bulk_fills_its_buffer_and_a_sink_reads_to_the_end() {
    let (mut bulk, mut sink, mut rng) = (app("bulk", &[]), app("sink", &[]), Rng::stream(1, "app", 0));
    let mut io = Io { room: 1000, ..Io::default() };
    assert_eq!(wake(&mut *bulk, &mut io, 0, &mut rng), Wake::Writable);
    assert_eq!(io.written, 1000);
    let mut io = Io { readable: 70, ..Io::default() };
    assert_eq!(wake(&mut *sink, &mut io, 0, &mut rng), Wake::Ended);
    io.ended = true;
    assert_eq!(wake(&mut *sink, &mut io, 0, &mut rng), Wake::Done);
    assert!(io.closed);
}

#[test]
fn telnet_times_each_packet_from_its_writing_to_its_ack() {
    let (mut a, mut rng) = (app("telnet", &[("bytes", "100B"), ("packets", "2")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: 10_000, ..Io::default() };
    let Wake::At(first) = wake(&mut *a, &mut io, 0, &mut rng) else { panic!("nothing is sent before the first think time") };
    assert_eq!(io.written, 0);
    io.now = first;
    let Wake::AckedOrAt(second) = a.on_wake(first, &mut io, &mut rng) else { panic!("the ack is waited for") };
    assert_eq!(io.written, 100);
    // An early wake-up changes nothing.
    assert_eq!(a.on_wake(first, &mut io, &mut rng), Wake::AckedOrAt(second));
    io.now = second;
    assert_eq!(a.on_wake(second, &mut io, &mut rng), Wake::AckedOrAt(Instant::FAR_FUTURE), "the second is typed before the first is acknowledged");
    io.now = second + Duration::from_millis(5);
    io.acked = 200;
    assert_eq!(a.on_wake(io.now, &mut io, &mut rng), Wake::Done);
    assert!(io.closed);
    assert_eq!(io.responses, [second - first + Duration::from_millis(5), Duration::from_millis(5)]);
}

#[test]
fn telnet_thinks_for_exponential_times() {
    let (mut a, mut rng) = (app("telnet", &[("think", "1s")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: Bytes::MAX, ..Io::default() };
    let (mut now, mut gaps) = (Instant::ZERO, Vec::new());
    for _ in 0..50_000 {
        io.acked = io.written;
        let (Wake::At(next) | Wake::AckedOrAt(next)) = a.on_wake(now, &mut io, &mut rng) else { panic!("endless") };
        gaps.push((next - now).as_secs_f64());
        now = next;
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let above = gaps.iter().filter(|g| **g > 2.0).count() as f64 / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.02 && (above - (-2.0_f64).exp()).abs() < 0.006, "mean {mean}, above 2 s {above}");
}

#[test]
fn on_off_writes_at_its_rate_for_its_share_of_the_time() {
    // Exponential periods of 2 s and 1 s at 1 Mbit/s: two thirds of it on average.
    let settings = [("periods", "exponential"), ("on", "2s"), ("off", "1s"), ("rate", "1Mbit/s")];
    let (mut a, mut rng) = (app("on-off", &settings), Rng::stream(1, "app", 0));
    let mut io = Io { room: Bytes::MAX, ..Io::default() };
    let (mut now, end) = (Instant::ZERO, Instant::ZERO + Duration::from_secs(20_000));
    while now < end {
        let Wake::At(next) = a.on_wake(now, &mut io, &mut rng) else { panic!("endless") };
        assert!(next > now);
        now = next;
    }
    let share = io.written as f64 * 8.0 / 1e6 / end.as_secs_f64();
    assert!((share - 2.0 / 3.0).abs() < 0.02, "share {share}");
}
