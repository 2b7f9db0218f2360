//! FACK and rate-halving as timelines (M-A7 to M-A11, M-E15), beside the older recoveries at their smallest
//! window (M-F8).

use ackclock_policy::{Chosen, LossRecovery, Phase};
use ackclock_testkit::timeline::{Timeline, ms, seg};
use ackclock_testkit::{Setup, choose};

/// A sender with a full window in flight, and a receiver that acknowledges every segment 100 ms later.
struct Path {
    t: Timeline,
    got: Vec<bool>,
    /// How many times each ack is sent.
    copies: u32,
}

fn recovery(name: &str, params: &[(&str, &str)]) -> Chosen<dyn LossRecovery> {
    let mut choice: Chosen<dyn LossRecovery> = choose(name);
    for (param, value) in params {
        choice.set(param, value).expect("declared");
    }
    choice
}

fn setup(window: u32, recovery: Chosen<dyn LossRecovery>) -> Setup {
    Setup::default().with_policies(|s| {
        s.recovery = recovery;
        s.window.set("initial_window", "segments").expect("declared");
        s.window.set("initial_segs", &window.to_string()).expect("declared");
    })
}

const HALVING: &[(&str, &str)] = &[("adjustment", "rate-halving")];
const UNBOUNDED: &[(&str, &str)] = &[("adjustment", "rate-halving"), ("bounds", "false")];

impl Path {
    fn new(window: u32, recovery: Chosen<dyn LossRecovery>) -> Self {
        Self::of(&setup(window, recovery), window)
    }

    /// The whole window of `setup` has been sent, and nothing of it arrived.
    fn of(setup: &Setup, window: u32) -> Self {
        let mut t = Timeline::connected(setup, seg("S.").ack(1).mss(1000).sack_permitted(setup.config.sack));
        t.write(200_000);
        for i in 0..window {
            t.expect(0, seg(".").seq(1 + 1000 * i).len(1000));
        }
        t.expect_silence(0);
        Self { t, got: vec![false; 300], copies: 1 }
    }

    /// Segment `i` arrives, and its ack at `at` milliseconds. Returns the segments that the ack releases.
    fn arrives(&mut self, at: u64, i: u32) -> Vec<u32> {
        self.got[i as usize] = true;
        let una = self.got.iter().position(|got| !got).expect("never all") as u32;
        let mut ack = seg(".").ack(1 + 1000 * una);
        if self.t.endpoint.connection.view(self.t.now()).sack && i > una {
            let same = |j: u32| self.got.get(j as usize) == Some(&true);
            let (mut from, mut to) = (i, i + 1);
            while same(from - 1) {
                from -= 1;
            }
            while same(to) {
                to += 1;
            }
            ack = ack.sack(1 + 1000 * from, 1 + 1000 * to);
        }
        (0..self.copies).flat_map(|_| self.inject(at, ack)).collect()
    }

    fn inject(&mut self, at: u64, ack: ackclock_testkit::timeline::Seg) -> Vec<u32> {
        self.t.inject(at, ack);
        self.sent()
    }

    fn sent(&mut self) -> Vec<u32> {
        self.t
            .take_sent()
            .into_iter()
            .map(|(_, s)| (s.seq.0 - ackclock_testkit::timeline::OURS - 1) / 1000)
            .collect()
    }

    /// Segments `from` to `to` except `lost` arrive, a millisecond apart from `at` on. Returns what each ack
    /// released.
    fn window(&mut self, at: u64, from: u32, to: u32, lost: &[u32]) -> Vec<Vec<u32>> {
        (from..to)
            .filter(|i| !lost.contains(i))
            .enumerate()
            .map(|(n, i)| self.arrives(at + n as u64, i))
            .collect()
    }

    fn cwnd(&self) -> u64 {
        self.view().window.cwnd
    }

    fn view(&self) -> ackclock_policy::SenderView {
        self.t.endpoint.connection.view(self.t.now())
    }

    fn timeouts(&self) -> u32 {
        self.t.endpoint.connection.stats().timeouts
    }
}

#[test]
fn the_window_after_the_round_trip_is_half_of_what_was_not_lost() {
    // M-E15: (cwnd, loss) -> floor((cwnd - loss) / 2).
    for (cwnd, loss, new) in [(20, 1, 9), (20, 4, 8), (21, 1, 10), (10, 5, 2), (4, 1, 1)] {
        let lost: Vec<u32> = (0..loss).collect();
        // With RFC 6675's estimate of what is in the network as well as FACK's.
        for name in ["fack", "sack"] {
            let mut p = Path::new(cwnd, recovery(name, UNBOUNDED));
            let sent = p.window(100, 0, cwnd, &lost);
            assert_eq!(p.cwnd(), 1000 * new, "({cwnd}, {loss})\n{}", p.t);
            assert_eq!(
                sent.concat().len() as u64,
                new,
                "as many segments were sent, one for every two acks: {sent:?}"
            );
        }
        // With the bounds, no less than two segments (M-A11).
        let mut p = Path::new(cwnd, recovery("fack", HALVING));
        p.window(100, 0, cwnd, &lost);
        assert_eq!(p.cwnd(), 1000 * new.max(2), "({cwnd}, {loss})");
    }
}

#[test]
fn one_loss_is_repaired_without_losing_the_ack_clock() {
    let mut p = Path::new(20, recovery("fack", HALVING));
    let sent = p.window(100, 0, 20, &[0]);
    // Odd acks release nothing. The first even one releases new data: the third duplicate has not arrived
    // yet.
    let due = [20, 0, 21, 22, 23, 24, 25, 26, 27];
    let want: Vec<Vec<u32>> =
        (1..20).map(|n| if n % 2 == 0 { vec![due[n / 2 - 1]] } else { vec![] }).collect();
    assert_eq!(sent, want, "{}", p.t);
    assert_eq!((p.view().phase, p.cwnd()), (Phase::Recovery, 9000));
    // A round trip later the retransmission arrives, and from then on a segment is sent for every ack.
    assert_eq!(p.arrives(202, 20), [28]);
    assert_eq!(p.arrives(204, 0), [29]);
    assert_eq!((p.view().phase, p.view().window.ssthresh), (Phase::Open, 9000));
    assert_eq!(p.window(206, 21, 28, &[]).concat().len(), 7, "one for one");
    let stats = p.t.endpoint.connection.stats();
    assert_eq!(
        (stats.ca_events, stats.non_ca_events, stats.retransmitted_segments, stats.timeouts),
        (1, 0, 1, 0)
    );
}

#[test]
fn several_holes_are_repaired_in_one_episode() {
    for params in [HALVING, UNBOUNDED, &[], &[("each_hole", "false"), ("lost_retransmissions", "ignore")]] {
        let mut p = Path::new(20, recovery("fack", params));
        let mut flying = p.window(100, 0, 20, &[2, 5, 6, 11]).concat();
        let mut at = 200;
        while !flying.is_empty() && at < 1000 {
            flying = flying
                .clone()
                .into_iter()
                .enumerate()
                .flat_map(|(n, i)| p.arrives(at + n as u64, i))
                .collect();
            at += 100;
        }
        let stats = p.t.endpoint.connection.stats();
        assert_eq!(
            (stats.ca_events, stats.retransmitted_segments, stats.timeouts),
            (1, 4, 0),
            "{params:?}\n{}",
            p.t
        );
    }
}

#[test]
fn a_hole_waits_for_three_segments_above_it() {
    // M-A9: 0 and 15 are missing. 0 is retransmitted once 1 to 3 are SACKed, 15 not before 16 to 18 are.
    let mut p = Path::new(20, recovery("fack", HALVING));
    assert!(p.window(100, 1, 18, &[15]).concat().iter().all(|i| *i != 15), "{}", p.t);
    let sent = [p.arrives(130, 18), p.arrives(131, 19)].concat();
    assert_eq!(sent, [15], "{}", p.t);
    // Without that threshold the forward-most SACK is enough.
    let mut p = Path::new(20, recovery("fack", &[("adjustment", "rate-halving"), ("each_hole", "false")]));
    assert!(p.window(100, 1, 18, &[15]).concat().contains(&15), "{}", p.t);
}

#[test]
fn reordering_below_the_threshold_costs_nothing() {
    let mut p = Path::new(20, recovery("fack", HALVING));
    let sent = [p.arrives(100, 1), p.arrives(101, 2)];
    assert_eq!(sent, [vec![], vec![20]]);
    let sent = p.arrives(102, 0);
    // Three segments have arrived, and in slow start the ack of them makes room for a fourth; one was sent
    // already.
    assert_eq!((p.view().phase, sent.len()), (Phase::Open, 3), "{}", p.t);
    assert!(p.cwnd() >= 20_000);
    assert_eq!(p.t.endpoint.connection.stats().retransmitted_segments, 0);
}

#[test]
fn a_lost_retransmission_is_found_without_the_timer() {
    // M-A10: the retransmission of 0 follows 20 and is lost; when 21, 22 and 23 are SACKed, 0 is
    // retransmitted again.
    for (rule, timeouts, class) in [("reduce", 0, (0, 1)), ("resend", 0, (1, 0)), ("ignore", 1, (0, 1))] {
        let mut p = Path::new(
            20,
            recovery("fack", &[("adjustment", "rate-halving"), ("lost_retransmissions", rule)]),
        );
        p.window(100, 1, 20, &[]);
        let cwnd = p.cwnd();
        let sent = p.window(200, 20, 24, &[]).concat();
        assert!(!sent[..sent.len().min(3)].contains(&0), "{rule}\n{}", p.t);
        let sent = [sent, p.window(210, 24, 28, &[]).concat()].concat();
        assert_eq!(sent.contains(&0), timeouts == 0, "{rule}\n{}", p.t);
        assert_eq!(p.cwnd() < cwnd, rule == "reduce", "RFC 5681 §4.3: {rule}");
        if timeouts == 0 {
            p.arrives(300, 0);
        } else {
            p.t.run_to(1500);
        }
        let stats = p.t.endpoint.connection.stats();
        assert_eq!(
            (stats.timeouts, (stats.ca_events, stats.non_ca_events)),
            (timeouts, class),
            "{rule}\n{}",
            p.t
        );
    }
}

#[test]
fn a_receiver_that_repeats_every_ack_leaves_no_more_than_half() {
    // M-A11
    for (params, cwnd) in [(HALVING, 10_000), (UNBOUNDED, 18_000)] {
        let mut p = Path::new(20, recovery("fack", params));
        p.copies = 2;
        p.window(100, 0, 20, &[0]);
        assert_eq!(p.cwnd(), cwnd, "{}", p.t);
    }
}

/// The smallest window from which `recovery` repairs a loss of its first segment without the timer.
fn smallest(recovery: &Chosen<dyn LossRecovery>, sack: bool) -> u32 {
    let recovers = |window: &u32| {
        let mut p = Path::of(&setup(*window, recovery.clone()).with(|c| c.sack = sack), *window);
        let (mut flying, mut at): (Vec<u32>, u64) = ((1..*window).collect(), 100);
        while !flying.is_empty() && at < 900 {
            flying = flying
                .clone()
                .into_iter()
                .enumerate()
                .flat_map(|(n, i)| p.arrives(at + n as u64, i))
                .collect();
            at += 100;
        }
        // The timer waits for a second at least.
        p.timeouts() == 0 && p.got[0]
    };
    (1..10).find(recovers).expect("ten segments are enough")
}

#[test]
fn three_packets_are_enough_for_rate_halving_and_four_for_the_others() {
    // M-F8. The others without Limited Transmit, which came later (RFC 3042).
    for (name, sack) in [("reno", false), ("newreno", false), ("tahoe", false), ("sack", true)] {
        assert_eq!(smallest(&recovery(name, &[("limited_transmit", "false")]), sack), 4, "{name}");
        assert_eq!(smallest(&recovery(name, &[]), sack), 2, "{name} with Limited Transmit");
    }
    assert_eq!(smallest(&recovery("fack", HALVING), true), 3);
    assert_eq!(smallest(&recovery("fack", UNBOUNDED), true), 3);
}

#[test]
fn an_echo_and_a_loss_of_one_window_reduce_it_once() {
    // RFC 3168 §6.1.2. The echo first: no further halving; the loss first: the echo is ignored.
    let setup = setup(20, recovery("fack", HALVING)).with(|c| c.ecn = true);
    for echo_at in [0, 1, 6] {
        let mut t = Timeline::connected(&setup, seg("SE.").ack(1).mss(1000).sack_permitted(true));
        t.write(100_000);
        for i in 0..21_u32 {
            let ack = seg(if i == echo_at { "E." } else { "." });
            // The first segment arrives, the second is lost.
            t.inject(
                100 + u64::from(i),
                if i == 0 { ack.ack(1001) } else { ack.ack(1001).sack(2001, 2001 + 1000 * i) },
            );
        }
        let v = t.endpoint.connection.view(ms(120));
        assert_eq!(v.phase, Phase::Recovery);
        assert!((9000..=10_500).contains(&v.window.cwnd), "echo at {echo_at}: {:?}\n{t}", v.window);
        assert!(v.pipe <= v.window.cwnd, "echo at {echo_at}: {v:?}");
    }
}

#[test]
fn a_timeout_in_the_round_trip_begins_from_one_segment() {
    let mut p = Path::new(20, recovery("fack", HALVING));
    p.window(100, 1, 6, &[]);
    p.t.run_to(1500);
    assert_eq!((p.timeouts(), p.view().phase, p.cwnd()), (1, Phase::Loss, 1000));
    let stats = p.t.endpoint.connection.stats();
    assert_eq!((stats.ca_events, stats.non_ca_events), (0, 1), "a recovery that failed");
    // Slow start from there; the state of rate-halving is discarded.
    p.sent();
    let sent = p.arrives(1600, 0);
    assert_eq!(sent.len(), 2, "{}", p.t);
    assert_eq!((p.view().phase, p.cwnd()), (Phase::Loss, 2000));
}
