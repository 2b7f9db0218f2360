//! What limited a sender, as inferred from a capture, in transfers where that is known.

use std::ops::ControlFlow;

use ackclock_capture::read::Packets;
use ackclock_capture::{Analysis, Direction, Options, Remedy, Report, Shares};
use ackclock_testkit::pipe::{Path, Pipe, Plan, Reading, Script, Tap};
use ackclock_testkit::{Setup, choose};
use ackclock_trace::{Event, EventKind, Mask, Pcapng};
use ackclock_units::{Duration, Instant, Rate};

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

struct Captured {
    report: Report,
    events: Vec<Event>,
}

fn captured(setups: [&Setup; 2], plans: [Plan; 2], path: Path, script: &[Script]) -> Captured {
    let mut pipe = Pipe::new(setups, plans, [path, Path { rate: None, ..path }], 3);
    pipe.script = script.to_vec();
    pipe.tap = Some(Tap { side: 0, seen: Vec::new() });
    pipe.sides[0].endpoint.connection.set_trace(Mask::ALL);
    pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
    let mut events = Vec::new();
    pipe.sides[0].endpoint.connection.drain_trace(&mut events);
    let mut file = Pcapng::new(Vec::new(), Duration::from_secs(2_000_000_000)).unwrap();
    let link = file.interface("tap", None).unwrap();
    for (at, bytes) in &pipe.tap.take().unwrap().seen {
        file.packet(link, *at, &bytes[..bytes.len().min(96)], bytes.len() as u32, None).unwrap();
    }
    let file = file.finish().unwrap();
    let mut analysis = Analysis::new(Options { samples: true, ..Options::default() });
    assert!(analysis.read(&mut Packets::new(&file[..]).unwrap(), |_| ControlFlow::Continue(())).unwrap());
    Captured { report: analysis.finish(), events }
}

impl Captured {
    fn client(&self) -> &Direction {
        &self.report.connections[0].directions[0]
    }

    /// Shares of the connection's time, checked to add up to it.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        let c = &self.report.connections[0];
        for d in &c.directions {
            let sum = d.limits.parts().iter().fold(Duration::ZERO, |sum, p| sum + p.1);
            assert_eq!(sum, c.end.since(c.start), "{:?}", d.limits);
        }
        let all = c.end.since(c.start).as_secs_f64();
        self.client().limits.parts().iter().map(|(name, time)| (*name, time.as_secs_f64() / all)).collect()
    }

    fn share(&self, name: &str) -> f64 {
        self.shares().iter().find(|s| s.0 == name).unwrap().1
    }
}

fn setup(recovery: &str) -> Setup {
    Setup::default()
        .with_policies(|s| s.recovery = choose(recovery))
        .with(|c| (c.mss, c.sack) = (1000, recovery == "sack"))
}

fn link(mbit: u64, delay: Duration) -> Path {
    Path { rate: Some(Rate::from_bits_per_sec(mbit * 1_000_000)), ..Path::clean(delay) }
}

#[test]
fn a_bulk_transfer_waits_for_its_congestion_window() {
    let s = setup("sack");
    let c = captured(
        [&s, &s],
        [Plan::send(3_000_000), Plan::receive()],
        Path { loss: 0.01, ..link(100, ms(40)) },
        &[],
    );
    println!("{:?}", c.shares());
    assert!(
        c.share("congestion_window") + c.share("slow_start") + c.share("timeouts") > 0.93,
        "{:?}",
        c.shares()
    );
    assert!(
        c.share("slow_start") < 0.1 && c.share("receiver_window") == 0.0 && c.share("application") < 0.05,
        "{:?}",
        c.shares()
    );
}

#[test]
fn slow_start_is_recognised() {
    let s = setup("sack");
    // No loss: the window opens until everything is sent.
    let c = captured([&s, &s], [Plan::send(400_000), Plan::receive()], link(1000, ms(50)), &[]);
    println!("{:?}", c.shares());
    assert!(c.share("slow_start") > 0.6 && c.share("congestion_window") < 0.1, "{:?}", c.shares());
}

#[test]
fn a_small_receive_window_is_seen() {
    let s = setup("sack");
    let small = setup("sack").with(|c| c.rcv_buf = 8_000);
    let c = captured([&s, &small], [Plan::send(500_000), Plan::receive()], link(100, ms(40)), &[]);
    println!("{:?}", c.shares());
    assert!(c.share("receiver_window") > 0.9, "{:?}", c.shares());
}

#[test]
fn a_slow_reader_is_seen() {
    let s = setup("sack");
    let small = setup("sack").with(|c| c.rcv_buf = 20_000);
    let reader = Plan { reading: Reading::Slow { every: ms(400), bytes: 10_000 }, ..Plan::receive() };
    let c = captured([&s, &small], [Plan::send(200_000), reader], link(100, ms(10)), &[]);
    println!("{:?}", c.shares());
    assert!(c.share("receiver_window") > 0.85, "{:?}", c.shares());
}

#[test]
fn time_in_timeouts_is_what_the_sender_waited() {
    for end in [700, 2500, 6000] {
        let s = setup("sack");
        let outage = Script::Outage { start: at(300), end: at(end) };
        let c = captured([&s, &s], [Plan::send(400_000), Plan::receive()], link(8, ms(30)), &[outage]);
        let of = |e: &Event| if let EventKind::Timeout { rto, .. } = e.kind { Some(rto) } else { None };
        let real = c.events.iter().filter_map(of).fold(Duration::ZERO, |sum, rto| sum + rto);
        let Shares { timeouts, .. } = c.client().limits;
        println!("{:?}: {timeouts} and {real}", c.shares());
        assert!((timeouts.as_secs_f64() / real.as_secs_f64() - 1.0).abs() < 0.03, "{timeouts} and {real}");
    }
}

#[test]
fn a_probe_repairs_tail_losses_and_not_outages() {
    let s = setup("sack");
    let tail = Script::Lost { offset: 98_000, len: 2_000, times: 1 };
    let remedies = |script: Script, recovery: &str| {
        let s = if recovery == "sack" { s.clone() } else { setup(recovery) };
        let c = captured([&s, &s], [Plan::send(100_000), Plan::receive()], link(8, ms(30)), &[script]);
        c.client().timeouts.iter().map(|t| t.remedy).collect::<Vec<_>>()
    };
    assert_eq!(remedies(tail, "sack"), [Some(Remedy::Probe)]);
    assert_eq!(remedies(tail, "newreno"), [None], "RFC 8985 needs SACK");
    let twice = Script::Lost { offset: 98_000, len: 2_000, times: 2 };
    assert_eq!(remedies(twice, "sack")[0], None, "the retransmission was lost too");
    // The last segment and the FIN arrive after it: two duplicate acks, and nothing else to send.
    let early = Script::Lost { offset: 98_000, len: 1_000, times: 1 };
    assert_eq!(remedies(early, "sack"), [Some(Remedy::EarlyRetransmit)]);
}

#[test]
fn new_segments_on_the_first_duplicate_acks_would_have_elicited_the_third() {
    // A first window of four segments, of which two are lost: two duplicate acks, and more to send (RFC
    // 3042).
    let lost = Script::Lost { offset: 0, len: 2_000, times: 1 };
    let run = |limited_transmit: &str| {
        let s = setup("newreno").with_policies(|s| {
            s.window.set("initial_window", "rfc5681").unwrap();
            s.recovery.set("limited_transmit", limited_transmit).unwrap();
        });
        let c = captured(
            [&s, &s],
            [Plan::send(100_000), Plan::receive()],
            link(8, ms(30)),
            std::slice::from_ref(&lost),
        );
        let sent_again = c.client().retransmitted_packets;
        (c.client().timeouts.iter().map(|t| t.remedy).collect::<Vec<_>>(), sent_again)
    };
    let (without, with) = (run("false"), run("true"));
    assert_eq!(without.0, [Some(Remedy::LimitedTransmit)]);
    assert_eq!((with.0, with.1), (vec![], 2), "a sender with limited transmit does not wait for the timer");
}

#[test]
fn the_window_is_inferred_from_what_is_in_flight() {
    let s = setup("sack");
    let c = captured(
        [&s, &s],
        [Plan::send(3_000_000), Plan::receive()],
        Path { loss: 0.003, ..link(100, ms(40)) },
        &[],
    );
    // The sender's own window at each change.
    let of = |e: &Event| if let EventKind::Window { cwnd, .. } = e.kind { Some((e.at, cwnd)) } else { None };
    let real: Vec<_> = c.events.iter().filter_map(of).collect();
    let (mut near, mut all) = (0, 0);
    for sample in &c.client().samples {
        let now = Instant::from_nanos(sample.at.as_nanos() - 2_000_000_000_000_000_000);
        let i = real.partition_point(|(at, _)| *at <= now);
        if i == 0 || sample.cwnd == 0 {
            continue;
        }
        let ratio = sample.cwnd as f64 / real[i - 1].1 as f64;
        all += 1;
        near += usize::from((0.75..=1.25).contains(&ratio));
    }
    println!("{near} of {all} within a quarter");
    assert!(all > 500 && near * 10 > all * 8, "{near} of {all}");
}
