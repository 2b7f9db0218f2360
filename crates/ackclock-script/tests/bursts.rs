//! Which segments of a burst push, and by how much times may differ.

use ackclock_policy::Registry;
use ackclock_script::{Dialect, EngineHost, Outcome, parse, run};

fn outcome(dialect: Dialect, script: &str) -> Outcome {
    let script = parse("test.pkt", script, &[]).expect("it is a script");
    let mut host = EngineHost::new(&Registry::builtin(), dialect, None, 1).expect("the stack is known");
    run(&script, &mut host, None, &|_| None).expect("no settings")
}

fn why(dialect: Dialect, script: &str) -> Option<(u32, String)> {
    outcome(dialect, script).failure.map(|f| (f.line, f.why))
}

const SERVER: &str = "\
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 32792 <mss 1000>
+0 > S. 0:0(0) ack 1 <...>
+.1 < . 1:1(0) ack 1 win 32792
+0 accept(3, ..., ...) = 4
";

#[test]
fn packets_of_linux_have_two_segments_at_a_low_rate_and_push() {
    let burst = "\
+0 write(4, ..., 20000) = 20000
+0 > . 1:1001(1000) ack 1
+0 > P. 1001:2001(1000) ack 1
+0 > P. 2001:10001(8000) ack 1
+.1 < . 1:1(0) ack 1001 win 32792
+0 > P. 10001:12001(2000) ack 1
";
    assert_eq!(why(Dialect::Linux, &format!("{SERVER}{burst}")), None);
    // Others push where the buffer ends.
    let pushes = why(Dialect::FreeBsd, &format!("{SERVER}{burst}"));
    assert_eq!(pushes, Some((10, "flags . instead of P.".to_owned())));
}

#[test]
fn a_segment_by_itself_pushes_where_the_buffer_ends() {
    let written = "\
+0 write(4, ..., 1000) = 1000
+0 > P. 1:1001(1000) ack 1
+.1 < . 1:1(0) ack 1001 win 32792
+0 write(4, ..., 3000) = 3000
+0 > . 1001:2001(1000) ack 1
+0 > P. 2001:3001(1000) ack 1
+0 > P. 3001:4001(1000) ack 1
";
    assert_eq!(why(Dialect::Linux, &format!("{SERVER}{written}")), None);
}

#[test]
fn times_may_differ_by_an_eighth_of_the_time_since_the_event_before() {
    let late =
        |flag: &str| format!("{flag}{SERVER}+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n");
    // The retransmission comes after 300 ms or so.
    let expected = |at: &str| format!("{at} > P. 1:1001(1000) ack 1\n");
    let mut passed = Vec::new();
    for at in ["+.280", "+.300", "+.320", "+.420"] {
        passed.push(why(Dialect::Linux, &format!("{}{}", late(""), expected(at))).is_none());
    }
    assert_eq!(passed.iter().filter(|p| **p).count(), 3, "{passed:?}");
    let strict = ["+.280", "+.300", "+.320"].map(|at| {
        why(Dialect::Linux, &format!("{}{}", late("--tolerance_percent=0\n"), expected(at))).is_none()
    });
    assert_eq!(strict.iter().filter(|p| **p).count(), 1, "{strict:?}");
}
