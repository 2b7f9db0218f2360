//! How receivers report marks, and how senders respond: DCTCP (RFC 8257 §3.2) and accurate feedback (RFC
//! 9768), the handshake included.

mod continuous;
mod handshake;
mod order;

use std::sync::atomic::{AtomicU64, Ordering};

use ackclock_engine::{ConnectionEvent, EcnFeedback};
use ackclock_policy::{
    CongestionControl, Control, Entry, Family, Feedback, Needs, Policy, Registry, SenderView,
};
use ackclock_testkit::pipe::{Path, Pipe, Plan};
use ackclock_testkit::timeline::{Timeline, seg};
use ackclock_testkit::{Setup, choose};
use ackclock_units::{Duration, Ecn, Instant};
use ackclock_wire::{AccEcn, Flags};

fn setup(feedback: EcnFeedback) -> Setup {
    Setup::default().with(|c| (c.ecn, c.ecn_feedback, c.window_scaling) = (true, feedback, false))
}

fn flags(letters: &str, more: &str) -> String {
    format!("{letters}{more}")
}

/// An accurate client whose SYN-ACK has these flags beside `S.`, with segments of 1000 bytes.
fn client(reply: &str, ecn: Ecn) -> Timeline {
    let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
    t.connect();
    t.expect(0, seg("SEWA").seq(0).no_accecn());
    let syn_ack = seg(&flags("S.", reply)).ack(1).mss(1000).sack_permitted(true).accecn(&[1, 0, 1]);
    t.inject(0, syn_ack.ecn(ecn));
    t.expect_event(ConnectionEvent::Established);
    t
}

/// The same after the handshake: it sends ECN-capable packets.
fn established() -> Timeline {
    let mut t = client("W", Ecn::NotEct);
    t.expect(0, seg(".W").ack(1));
    t
}

/// An accurate server whose SYN-ACK was acknowledged.
fn server() -> Timeline {
    let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
    t.endpoint.connection.listen();
    t.inject(0, seg("SEWA").mss(1000).sack_permitted(true));
    t.expect(0, seg("S.W").ack(1).accecn(&[1, 0, 1]));
    t.inject(0, seg(".W").seq(1).ack(1));
    t.expect_event(ConnectionEvent::Established);
    t
}

fn reductions(t: &Timeline) -> u32 {
    t.endpoint.connection.stats().ecn_reductions
}

fn counts(t: &Timeline) -> bool {
    t.endpoint.connection.uses_accurate_ecn()
}

#[test]
fn dctcp_acknowledges_each_change_at_once_with_the_state_before_it() {
    let mut t =
        Timeline::connected(&setup(EcnFeedback::Dctcp), seg("SE.").ack(1).mss(1000).sack_permitted(true));
    let text = |n: u32| seg(".").seq(1 + 1000 * n).len(1000);
    t.inject(10, text(0).ecn(Ecn::Ect0));
    // A marked segment after unmarked ones: the delayed ack is sent with the state before, then the new text
    // is acknowledged.
    t.inject(11, text(1).ecn(Ecn::Ce));
    t.expect(11, seg(".").ack(1001));
    t.expect(11, seg("E.").ack(2001));
    // While nothing changes, acks are delayed as usual, and each has the current state.
    t.inject(20, text(2).ecn(Ecn::Ce));
    t.inject(21, text(3).ecn(Ecn::Ce));
    t.expect(21, seg("E.").ack(4001));
    // CWR ends nothing (RFC 8257 §3.2 has no such rule).
    t.inject(30, seg("W.").seq(4001).len(1000).ecn(Ecn::Ce));
    t.inject(31, text(5).ecn(Ecn::Ect0));
    t.expect(31, seg("E.").ack(5001));
    t.expect(31, seg(".").ack(6001));
    // An ack of the peer does not count.
    t.inject(40, seg(".").seq(6001).ecn(Ecn::Ce));
    t.inject(50, text(6).ecn(Ecn::Ce));
    t.expect(50, seg("E.").ack(7001));
    t.expect_silence(10_000);
}

#[test]
fn receivers_count_packets_and_bytes() {
    let mut t = server();
    let text = |n: u32| seg(".EA").seq(1 + 1000 * n).len(1000);
    t.inject(10, text(0).ecn(Ecn::Ect0));
    t.inject(11, text(1).ecn(Ecn::Ect0));
    t.expect(11, seg(".EA").ack(2001).accecn(&[2001]));
    // A change is acknowledged at once (§3.2.2.5.1).
    t.inject(20, text(2).ecn(Ecn::Ce));
    t.expect(20, seg(".AW").ack(3001).accecn(&[2001, 1000]));
    t.inject(21, text(3).ecn(Ecn::Ce));
    t.inject(22, text(4).ecn(Ecn::Ce));
    // 5 and three marks are 0 of three bits.
    t.expect(22, seg(".").ack(5001).accecn(&[2001, 3000]));
}

#[test]
fn marks_on_acks_are_acknowledged_three_at_a_time() {
    // §3.2.2.5.1: without unacknowledged text, n is 3.
    let mut t = server();
    for at in [10, 20] {
        t.inject(at, seg(".EA").seq(1).ack(1).ecn(Ecn::Ce));
        t.expect_silence(at);
    }
    t.inject(30, seg(".EA").seq(1).ack(1).ecn(Ecn::Ce));
    t.expect(30, seg(".").ack(1).len(0).no_accecn());
}

#[test]
fn acks_of_acks_have_no_blocks_and_resets_have_the_counter() {
    // §3.2.2.5.1, §3.2.2.2.
    let mut t = server();
    t.inject(10, seg(".EA").seq(1001).len(1000).ecn(Ecn::Ect0));
    t.expect(10, seg(".EA").sack(1001, 2001));
    for at in [20, 30, 40] {
        t.inject(at, seg(".EA").seq(1).ack(1).ecn(Ecn::Ce));
    }
    t.expect(40, seg(".").ack(1).no_sack());
    t.inject(50, seg(".EA").seq(3001).len(1000).ecn(Ecn::Ce));
    t.expect(50, seg(".E").sack(3001, 4001).sack(1001, 2001));
    t.abort();
    t.expect(50, seg("R.E"));
}

#[test]
fn unacceptable_segments_do_not_count() {
    let mut t = server();
    t.inject(10, seg(".EA").seq(100_000).len(1000).ecn(Ecn::Ce));
    t.inject(20, seg(".EA").seq(1).len(1000).ecn(Ecn::Ect0));
    t.inject(21, seg(".EA").seq(1001).len(1000).ecn(Ecn::Ect0));
    t.run_to(30);
    let (_, last) = t.take_sent().pop().unwrap();
    assert_eq!(last.flags, Flags::ACK | Flags::ECE | Flags::AE);
    assert_eq!(last.options.accecn, Some(AccEcn::new(AccEcn::ORDER_0, &[2001])));
}

#[test]
fn blocks_leave_room_for_the_option_and_two_of_them_come_first() {
    // §3.2.3.3. With timestamps three blocks fit, or two and the option.
    let mut t = Timeline::new(&setup(EcnFeedback::Accurate).with(|c| c.timestamps = true));
    t.endpoint.connection.listen();
    t.inject(0, seg("SEWA").mss(1012).sack_permitted(true).timestamps(1000, 0));
    let (_, syn_ack) = t.take_sent().remove(0);
    assert!(syn_ack.options.accecn.is_some());
    t.inject(0, seg(".W").seq(1).ack(1).timestamps(1000, 1));
    let text = |n: u32| seg(".EA").seq(1 + 1000 * n).len(1000).timestamps(1000, 1);
    for n in [1, 3, 5] {
        t.inject(10 + u64::from(n), text(n));
    }
    t.expect(11, seg(".EA").sack(1001, 2001).no_accecn());
    t.expect(13, seg(".EA").sack(3001, 4001).sack(1001, 2001).no_accecn());
    t.expect(15, seg(".EA").sack(5001, 6001).sack(3001, 4001).sack(1001, 2001).no_accecn());
    t.inject(17, text(7).ecn(Ecn::Ce));
    t.expect(17, seg(".AW").sack(7001, 8001).sack(5001, 6001).accecn(&[1, 1000]));
}

#[test]
fn new_marks_reduce_the_window_once_a_window() {
    let mut t = established();
    t.write(100_000);
    let sent = t.take_sent();
    assert_eq!(sent.len(), 10);
    assert!(sent.iter().skip(1).all(|(_, s)| s.options.accecn.is_none()));
    let end = |n: usize| sent[n].1.end().0 - ackclock_testkit::timeline::OURS;
    // No mark yet: the field has its initial value, which is no echo.
    t.inject(100, seg(".EA").ack(end(0)));
    assert_eq!(reductions(&t), 0);
    t.inject(101, seg(".AW").ack(end(1)));
    assert_eq!(reductions(&t), 1);
    // More marks, all of the same window: nothing that was sent since is acknowledged.
    for (i, ace) in [".AWE", ".", ".E", ".W"].into_iter().enumerate() {
        t.inject(102 + i as u64, seg(ace).ack(end(2 + i)));
        assert_eq!(reductions(&t), 1);
    }
    // CWR has no meaning (§3.1.5): all segments have the counter.
    let more = t.take_sent();
    assert!(!more.is_empty());
    assert!(more.iter().all(|(_, s)| s.flags.0 & 0x1c0 == (Flags::AE | Flags::ECE).0), "{t}");
    let new_end = more.last().unwrap().1.end().0 - ackclock_testkit::timeline::OURS;
    t.inject(200, seg(".W").ack(new_end));
    assert_eq!(reductions(&t), 1, "no new mark");
    t.take_sent();
    t.write(1);
    t.inject(300, seg(".WE").ack(new_end));
    assert_eq!(reductions(&t), 1, "an old ack, which acknowledges nothing new");
}

#[test]
fn zero_ends_the_use_of_ecn_on_the_ack_of_the_syn_ack_alone() {
    // §3.2.2.4: the field of the first packet after the handshake is a count, here of three marks.
    let mut t = established();
    t.write(3000);
    t.take_sent();
    t.inject(100, seg(".").ack(989));
    assert_eq!(reductions(&t), 1);
    t.inject(110, seg(".").ack(2989));
    t.write(5000);
    t.expect(110, seg(".EA").ecn(Ecn::Ect0));
    assert_eq!(reductions(&t), 1, "no new mark");
    // §3.2.2.1 note 1.
    let mut t = Timeline::new(&setup(EcnFeedback::Accurate));
    t.endpoint.connection.listen();
    t.inject(0, seg("SEWA").mss(1000));
    t.take_sent();
    t.inject(0, seg(".").seq(1).ack(1));
    t.write(10);
    t.expect(0, seg("P.EA").ecn(Ecn::NotEct));
    // It still counts for its peer.
    t.inject(10, seg(".").seq(1).ack(11).len(10).ecn(Ecn::Ce));
    t.expect(10, seg(".AW").ack(11));
}

#[test]
fn an_option_whose_packet_is_lost_is_sent_no_more() {
    // §3.2.3.2.2: the first text tests the path.
    let mut t = established();
    t.write(988);
    t.expect(0, seg("P.EA").len(988).accecn(&[1, 0, 1]));
    t.expect(1000, seg("P.EA").len(988).no_accecn());
    t.inject(1100, seg(".EA").seq(1).ack(989).len(500).ecn(Ecn::Ect0));
    let ack = t.expect_within(1100, 2000, seg(".EA").ack(501));
    assert_eq!(ack.options.accecn, None);
}

/// Marked bytes that senders with [`COUNTING`] were notified of.
static MARKED: AtomicU64 = AtomicU64::new(0);

/// Reno's window, counting.
#[derive(Debug)]
struct Counting(Box<dyn CongestionControl>);

impl Policy for Counting {
    fn name(&self) -> &str {
        COUNTING.name
    }
}

impl CongestionControl for Counting {
    fn family(&self) -> Family {
        self.0.family()
    }

    fn needs(&self) -> Needs {
        Needs { every_ack: true, ..self.0.needs() }
    }

    fn start(&mut self, v: &SenderView) -> Control {
        self.0.start(v)
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        if let Feedback::Ack(a, _) = &f {
            assert!(a.ce_bytes == 0 || a.ece, "marked bytes without a mark: {a:?}");
            MARKED.fetch_add(a.ce_bytes, Ordering::Relaxed);
            if !a.may_grow {
                return v.window.into();
            }
        }
        self.0.on(f, v)
    }
}

static COUNTING: Entry<dyn CongestionControl> = Entry {
    name: "counting",
    about: "Reno's window, counting marked bytes.",
    source: "a test",
    params: &[],
    build: |_| Box::new(Counting(choose::<dyn CongestionControl>("reno").build())),
};

#[test]
fn lost_acks_do_not_count_as_marks() {
    // The field of three bits alone could have wrapped (§3.2.2.5.2); the option shows that it has not.
    for timestamps in [false, true] {
        let setup = setup(EcnFeedback::Accurate).with(|c| c.timestamps = timestamps);
        let path = Path::clean(Duration::from_millis(20));
        let paths = [path, Path { loss: 0.5, ..path }];
        let mut pipe = Pipe::new([&setup; 2], [Plan::send(1_000_000), Plan::receive()], paths, 7);
        pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
        assert_eq!(pipe.connection(0).stats().ecn_reductions, 0);
    }
}

#[test]
fn senders_are_notified_of_every_marked_byte_once() {
    let mut registry = Registry::builtin();
    registry.register(&COUNTING).unwrap();
    let window = registry.choose::<dyn CongestionControl>("counting").unwrap();
    let path = Path::clean(Duration::from_millis(20));
    for feedback in [EcnFeedback::Dctcp, EcnFeedback::Accurate] {
        for timestamps in [false, true] {
            for (mark, lost_acks) in [(0.02, 0.0), (0.3, 0.0), (1.0, 0.0), (0.05, 0.3), (0.5, 0.1)] {
                if feedback == EcnFeedback::Dctcp && lost_acks > 0.0 {
                    continue;
                }
                let setup = setup(feedback)
                    .with(|c| {
                        (c.mss, c.timestamps, c.rcv_buf) = (1000, timestamps, 65_535);
                        c.ecn_check_rounds = 0;
                    })
                    .with_policies(|s| s.sender.window = window.clone());
                let paths = [Path { mark, ..path }, Path { loss: lost_acks, ..path }];
                let plans = [Plan::send(400_000), Plan::receive()];
                let mut pipe = Pipe::new([&setup; 2], plans, paths, 7);
                let notified_before = MARKED.load(Ordering::Relaxed);
                pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
                let notified = MARKED.load(Ordering::Relaxed) - notified_before;
                let what = format!("{feedback:?}, timestamps {timestamps}, {mark}, acks lost {lost_acks}");
                // All but the first and the last segment have the same size.
                let size = if timestamps { 988 } else { 1000 };
                let marked = pipe.fates.marked * size;
                assert!(marked > 0 && notified.abs_diff(marked) <= size, "{notified} and {marked}: {what}");
                assert!(pipe.connection(0).stats().ecn_reductions > 0, "{what}");
            }
        }
    }
}

#[test]
fn a_window_of_l4s_gets_ect_1_where_the_peer_counts_marks() {
    // RFC 9331 §4.1 and §4.2. Other windows, and peers with other feedback, stay with ECT(0).
    for (window, feedback, agreed, syn_ack, ecn) in [
        ("prague", EcnFeedback::Accurate, "SEWA", "S.W", Ecn::Ect1),
        ("prague", EcnFeedback::Accurate, "SEWA", "S.E", Ecn::Ect0),
        ("prague", EcnFeedback::Rfc3168, "SEW", "S.E", Ecn::Ect0),
        ("prague", EcnFeedback::Dctcp, "SEW", "S.E", Ecn::Ect0),
        ("dctcp", EcnFeedback::Accurate, "SEWA", "S.W", Ecn::Ect0),
        ("dctcp", EcnFeedback::Dctcp, "SEW", "S.E", Ecn::Ect0),
    ] {
        let setup = setup(feedback).with_policies(|s| s.window = choose(window));
        let mut t = Timeline::new(&setup);
        t.connect();
        t.expect(0, seg(agreed).seq(0));
        t.inject(0, seg(syn_ack).ack(1).mss(1000).sack_permitted(true));
        t.expect_event(ConnectionEvent::Established);
        t.take_sent();
        t.write(10);
        t.expect(0, seg(&flags("P.", if counts(&t) { "EA" } else { "" })).len(10).ecn(ecn));
    }
}
