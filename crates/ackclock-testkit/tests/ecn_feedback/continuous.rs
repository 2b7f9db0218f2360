//! Paths that mark everything (RFC 9768 §3.2.2.3).

use super::*;

/// Runs a transfer of 400 kB over a path that marks each packet that may be with probability `mark`, with
/// `rounds` of the option. Returns packets marked, reductions, and seconds.
fn transfer(mark: f64, rounds: u8) -> (u64, u32, f64) {
    let setup = setup(EcnFeedback::Accurate).with(|c| {
        (c.mss, c.ecn_check_rounds, c.time_wait) = (1000, rounds, Duration::ZERO);
    });
    let path = Path::clean(Duration::from_millis(20));
    let plans = [Plan::send(400_000), Plan::receive()];
    let mut pipe = Pipe::new([&setup; 2], plans, [Path { mark, ..path }, path], 7);
    pipe.transfer(Instant::ZERO + Duration::from_secs(36_000));
    assert!(pipe.connection(0).uses_accurate_ecn(), "it remains in the mode (§3.1.5)");
    (pipe.fates.marked, pipe.connection(0).stats().ecn_reductions, pipe.now.as_nanos() as f64 / 1e9)
}

#[test]
fn after_four_round_trips_of_marks_nothing_is_ecn_capable_any_more() {
    let (marked, reductions, took) = transfer(1.0, 4);
    // The initial window of ten, then one or two segments: a round trip each is reduced in.
    assert!((10..=30).contains(&marked), "{marked}");
    assert!((1..=5).contains(&reductions), "{reductions}");
    let (all, each_round, without) = transfer(1.0, 0);
    assert!(all >= 400 && each_round > 100, "{all} {each_round}");
    assert!(took < without / 4.0, "{took} s and {without} s");
}

#[test]
fn a_path_that_leaves_out_some_is_trusted() {
    for mark in [0.5, 0.9] {
        let (marked, reductions, _) = transfer(mark, 4);
        assert!(marked as f64 > 300.0 * mark && reductions > 50, "{marked} {reductions}");
    }
}
