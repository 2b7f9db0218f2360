use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Application, Chosen, Registry, Wake};

/// A connection with a send buffer of `room` bytes and a window of `window`, and what an application did with
/// it.
#[derive(Default)]
pub(super) struct Io {
    pub(super) now: Instant,
    pub(super) room: Bytes,
    pub(super) window: Bytes,
    pub(super) readable: Bytes,
    pub(super) ended: bool,
    pub(super) written: Bytes,
    /// When each write was, and of how much.
    pub(super) writes: Vec<(Instant, Bytes)>,
    pub(super) acked: Bytes,
    pub(super) sacked: Option<(Bytes, Bytes)>,
    pub(super) closed: bool,
    pub(super) started: Option<Instant>,
    pub(super) responses: Vec<Duration>,
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
        self.writes.push((self.now, n));
        n
    }
    fn has_arrived(&self, from: Bytes, to: Bytes) -> bool {
        to <= self.acked || self.sacked.is_some_and(|(start, end)| start <= from && to <= end)
    }
    fn room(&mut self) -> Bytes {
        self.window.saturating_sub(self.unacked()).min(self.writable())
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

pub(super) fn app(name: &str, settings: &[(&str, &str)]) -> Box<dyn Application> {
    let mut chosen: Chosen<dyn Application> = Registry::builtin().choose(name).unwrap();
    for (param, text) in settings {
        chosen.set(param, text).unwrap();
    }
    chosen.build()
}

pub(super) fn wake(app: &mut dyn Application, io: &mut Io, ms: u64, rng: &mut Rng) -> Wake {
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
fn a_response_is_sent_once_the_request_is_complete() {
    let mut rng = Rng::stream(1, "app", 0);
    let (mut client, mut server) =
        (app("request", &[("request", "300B")]), app("respond", &[("request", "300B"), ("size", "1500B")]));
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
fn a_client_that_closes_early_gets_no_response() {
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
    let Wake::At(first) = wake(&mut *a, &mut io, 0, &mut rng) else {
        panic!("nothing is sent before the first think time")
    };
    assert_eq!(io.written, 0);
    io.now = first;
    let Wake::AckedOrAt(second) = a.on_wake(first, &mut io, &mut rng) else {
        panic!("the ack is waited for")
    };
    assert_eq!(io.written, 100);
    // An early wake-up changes nothing.
    assert_eq!(a.on_wake(first, &mut io, &mut rng), Wake::AckedOrAt(second));
    io.now = second;
    assert_eq!(
        a.on_wake(second, &mut io, &mut rng),
        Wake::AckedOrAt(Instant::FAR_FUTURE),
        "the second is typed before the first is acknowledged"
    );
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
        let (Wake::At(next) | Wake::AckedOrAt(next)) = a.on_wake(now, &mut io, &mut rng) else {
            panic!("endless")
        };
        gaps.push((next - now).as_secs_f64());
        now = next;
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let above = gaps.iter().filter(|g| **g > 2.0).count() as f64 / gaps.len() as f64;
    assert!(
        (mean - 1.0).abs() < 0.02 && (above - (-2.0_f64).exp()).abs() < 0.006,
        "mean {mean}, above 2 s {above}"
    );
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

#[test]
fn each_packet_is_padded_by_dummies_written_apart() {
    // I-A6: m = 4.
    let (mut a, mut rng) = (app("padded", &[("packets", "2"), ("spacing", "2ms")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: 10_000, ..Io::default() };
    let Wake::At(first) = wake(&mut *a, &mut io, 0, &mut rng) else {
        panic!("nothing is sent before the first think time")
    };
    io.now = first;
    let mut wakes = vec![a.on_wake(first, &mut io, &mut rng)];
    for _ in 0..3 {
        let Wake::AckedOrAt(next) = wakes[wakes.len() - 1] else { panic!("dummies are due: {wakes:?}") };
        // An early wake-up changes nothing.
        assert_eq!(a.on_wake(io.now, &mut io, &mut rng), Wake::AckedOrAt(next));
        io.now = next;
        wakes.push(a.on_wake(next, &mut io, &mut rng));
    }
    let after = |ms: u64| first + Duration::from_millis(ms);
    assert_eq!(io.writes, [(first, 500), (after(2), 20), (after(4), 20), (after(6), 20)]);
    // Acks of the packet, then of its dummies: one response.
    io.acked = 500;
    let Wake::At(second) = a.on_wake(io.now, &mut io, &mut rng) else {
        panic!("nothing but the next packet is due")
    };
    io.acked = 560;
    assert_eq!(
        (a.on_wake(io.now, &mut io, &mut rng), &io.responses[..]),
        (Wake::At(second), &[Duration::from_millis(6)][..])
    );
    // The last one closes once it is acknowledged and has all its dummies.
    io.now = second;
    while let Wake::AckedOrAt(next) = a.on_wake(io.now, &mut io, &mut rng)
        && next < Instant::FAR_FUTURE
    {
        io.now = next;
    }
    assert_eq!((io.written, io.closed), (1120, false));
    io.acked = 1060;
    assert_eq!((a.on_wake(io.now, &mut io, &mut rng), io.closed, io.responses.len()), (Wake::Done, true, 2));
}

#[test]
fn a_minimum_window_of_one_is_telnet() {
    let (mut padded, mut telnet) =
        (app("padded", &[("min_window", "1"), ("packets", "20")]), app("telnet", &[("packets", "20")]));
    let (mut rngs, mut ios) =
        ([Rng::stream(1, "app", 0), Rng::stream(1, "app", 0)], [Io::default(), Io::default()]);
    ios.iter_mut().for_each(|io| io.room = 100_000);
    loop {
        let wakes = [
            padded.on_wake(ios[0].now, &mut ios[0], &mut rngs[0]),
            telnet.on_wake(ios[1].now, &mut ios[1], &mut rngs[1]),
        ];
        assert_eq!(wakes[0], wakes[1]);
        let (Wake::At(next) | Wake::AckedOrAt(next)) = wakes[0] else { break };
        for io in &mut ios {
            io.now = next.min(io.now + Duration::from_secs(100));
            io.acked = io.written;
        }
    }
    assert_eq!(ios[0].writes, ios[1].writes);
    assert_eq!((ios[0].responses.len(), &ios[0].responses), (20, &ios[1].responses));
}

/// Runs a backlogged source over a window of `window` bytes for `seconds`, an ack for the oldest 500 bytes
/// every 10 ms except in the first half of each second, when none comes. `check` is called after each wake-up
/// with the state after it, and the room and number of writes before it.
fn backlogged(
    settings: &[(&str, &str)],
    window: Bytes,
    seconds: u64,
    mut check: impl FnMut(&mut Io, Bytes, usize),
) -> Io {
    let (mut a, mut rng) = (app("backlogged", settings), Rng::stream(1, "app", 0));
    let mut io = Io { room: Bytes::MAX, window, ..Io::default() };
    let mut next = Instant::ZERO;
    for ms in 0..seconds * 1000 {
        let tick = Instant::ZERO + Duration::from_millis(ms);
        // Packets are typed in between.
        while next < tick {
            io.now = next.max(io.now);
            next = call(&mut *a, &mut io, &mut rng, &mut check);
        }
        io.now = tick;
        if ms % 10 == 0 && ms % 1000 >= 500 {
            io.acked += 500.min(io.unacked());
            next = call(&mut *a, &mut io, &mut rng, &mut check);
        }
    }
    io
}

fn call(
    a: &mut dyn Application,
    io: &mut Io,
    rng: &mut Rng,
    check: &mut impl FnMut(&mut Io, Bytes, usize),
) -> Instant {
    let (room, writes) = (io.room(), io.writes.len());
    let woken = a.on_wake(io.now, io, rng);
    check(io, room, writes);
    let Wake::RoomOrAt(next) = woken else { panic!("{woken:?}") };
    assert!(next > io.now);
    next
}

#[test]
fn dummies_never_exceed_the_window_and_packets_come_first() {
    // I-F1: packets and dummies are distinguished by their size.
    let (mut waiting, mut sent) = (0, 0);
    let io = backlogged(
        &[("bytes", "700B"), ("dummy_bytes", "250B"), ("think", "100ms")],
        4000,
        60,
        |io, room, before| {
            let left = io.room();
            let written: Bytes = io.writes[before..].iter().map(|w| w.1).sum();
            assert!(
                written <= room && io.unacked() <= 4000,
                "{written} bytes were written into a room of {room}"
            );
            let packets = io.writes[before..].iter().take_while(|w| w.1 == 700).count();
            let dummies = &io.writes[before + packets..];
            assert!(
                dummies.len() <= 1 && dummies.iter().all(|w| w.1 % 250 == 0),
                "dummies before a packet: {dummies:?}"
            );
            // Room that no packet needs is filled with dummies, unless a packet waits.
            assert!(left < 700);
            waiting += usize::from(left >= 250);
            assert!(left < 250 || dummies.is_empty(), "{left} bytes of room are left");
            sent += packets;
        },
    );
    assert!(waiting > 100, "packets waited for room {waiting} times");
    // All but the last few were sent; none was timed more than once.
    assert!(
        sent > 300 && io.responses.len() <= sent && io.responses.len() + 50 > sent,
        "{sent} packets, {} responses",
        io.responses.len()
    );
}

#[test]
fn a_response_time_begins_when_the_packet_is_sent_or_typed() {
    let total = |since: &str| {
        let io = backlogged(&[("since", since)], 2000, 200, |_, _, _| {});
        (io.writes.len(), io.responses.iter().fold(Duration::ZERO, |sum, r| sum + *r), io.responses.len())
    };
    let ((writes, sent, n), (writes_too, typed, n_too)) = (total("sent"), total("typed"));
    assert_eq!((writes, n), (writes_too, n_too), "the choice changes nothing else");
    // Half of the packets are typed in the silent half of a second, and wait a quarter of one on average.
    let wait = (typed - sent).as_secs_f64() / n as f64;
    assert!((wait - 0.125).abs() < 0.04, "a packet waits {wait} s on average");
}

#[test]
fn packets_in_a_bulk_flow_are_poisson() {
    // I-X7: marks at exponential intervals of one second on average, whatever the flow does; statistics of
    // marked packets only.
    let (mut a, mut rng) = (app("backlogged", &[("bytes", "499B")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: Bytes::MAX, window: 2000, ..Io::default() };
    let mut next = Instant::ZERO;
    while io.now < Instant::ZERO + Duration::from_secs(5000) {
        // Woken far more often than packets are typed, and always with room.
        io.now = next.min(io.now + Duration::from_millis(97));
        io.acked = io.written;
        next = call(&mut *a, &mut io, &mut rng, &mut |_, _, _| {});
    }
    let typed: Vec<f64> = io.writes.iter().filter(|w| w.1 == 499).map(|w| w.0.as_secs_f64()).collect();
    let gaps: Vec<f64> = typed.windows(2).map(|w| w[1] - w[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let above = gaps.iter().filter(|g| **g > 1.0).count() as f64 / gaps.len() as f64;
    // Three standard errors of 5000 exponential gaps.
    assert!((mean - 1.0).abs() < 3.0 / 5000_f64.sqrt(), "mean {mean}");
    assert!(
        (above - (-1.0_f64).exp()).abs() < 3.0 * (0.37 * 0.63 / 5000_f64).sqrt(),
        "above one second {above}"
    );
    assert!(
        typed.len() - io.responses.len() <= 1 && io.writes.len() > 10 * typed.len(),
        "{} responses",
        io.responses.len()
    );
}

#[test]
fn a_backlogged_source_closes_after_its_last_packet() {
    let (mut a, mut rng) = (app("backlogged", &[("packets", "1")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: 10_000, window: 2000, ..Io::default() };
    let Wake::RoomOrAt(first) = wake(&mut *a, &mut io, 0, &mut rng) else { panic!("dummies at once") };
    assert_eq!(io.written, 2000);
    io.acked = 1000;
    io.now = first;
    assert_eq!(a.on_wake(first, &mut io, &mut rng), Wake::RoomOrAt(Instant::FAR_FUTURE));
    assert_eq!(io.writes[1..], [(first, 500), (first, 500)], "the packet, and a dummy behind it");
    io.acked = 2500;
    assert_eq!((a.on_wake(first, &mut io, &mut rng), io.closed, io.responses.len()), (Wake::Done, true, 1));
}

#[test]
fn a_packet_larger_than_any_window_goes_alone() {
    let (mut a, mut rng) =
        (app("backlogged", &[("bytes", "5000B"), ("packets", "1")]), Rng::stream(1, "app", 0));
    let mut io = Io { room: 10_000, window: 2000, ..Io::default() };
    let Wake::RoomOrAt(first) = wake(&mut *a, &mut io, 0, &mut rng) else { panic!("dummies at once") };
    (io.now, io.acked) = (first, 1500);
    a.on_wake(first, &mut io, &mut rng);
    assert_eq!(io.written, 2000, "it waits for the window to drain, and no dummy takes its place");
    io.acked = 2000;
    a.on_wake(first, &mut io, &mut rng);
    assert_eq!(io.written, 7000);
}

#[test]
fn a_response_time_may_end_when_the_packet_arrives_out_of_order() {
    for (until, n) in [("acked", 0), ("arrived", 1)] {
        let (mut a, mut rng) =
            (app("backlogged", &[("until", until), ("packets", "1")]), Rng::stream(1, "app", 0));
        let mut io = Io { room: 10_000, window: 2000, ..Io::default() };
        let Wake::RoomOrAt(first) = wake(&mut *a, &mut io, 0, &mut rng) else { panic!("dummies at once") };
        (io.now, io.acked) = (first, 1000);
        a.on_wake(first, &mut io, &mut rng);
        // The packet is at 2000..2500 of the stream.
        io.sacked = Some((1500, 2400));
        a.on_wake(first, &mut io, &mut rng);
        assert_eq!(io.responses.len(), 0);
        io.sacked = Some((1500, 3000));
        a.on_wake(first, &mut io, &mut rng);
        assert_eq!(io.responses.len(), n, "{until}");
        (io.acked, io.sacked) = (io.written, None);
        a.on_wake(first, &mut io, &mut rng);
        assert_eq!(io.responses.len(), 1, "{until}");
    }
}
