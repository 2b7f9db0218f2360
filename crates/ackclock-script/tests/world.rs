//! Scripts against the engine's host: what passes, and what failures say.

use ackclock_policy::Registry;
use ackclock_script::{Dialect, EngineHost, Outcome, parse, run};

fn outcome_with(text: &str, stack: Option<&str>, file: &dyn Fn(&str) -> Option<String>) -> Outcome {
    let script = parse("test.pkt", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut host = EngineHost::new(&Registry::builtin(), Dialect::Linux, stack, 1).unwrap();
    run(&script, &mut host, None, file).unwrap_or_else(|e| panic!("{e}"))
}

fn outcome(text: &str) -> Outcome {
    outcome_with(text, None, &|_| None)
}

/// A server with a connection as descriptor 4, at 0.2 s.
const SERVER: &str = "
0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0  bind(3, ..., ...) = 0
+0  listen(3, 1) = 0
+.1 < S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>
+0  > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 5>
+.1 < . 1:1(0) ack 1 win 320
+0  accept(3, ..., ...) = 4
";

fn passes(text: &str) {
    let outcome = outcome(&format!("{SERVER}{text}"));
    assert!(outcome.passed(), "{:?}\n{}", outcome.failure, outcome.timeline(20));
}

fn why(text: &str) -> String {
    let failure = outcome(&format!("{SERVER}{text}")).failure.unwrap_or_else(|| panic!("it passes: {text}"));
    format!("line {}: {}", failure.line, failure.why)
}

#[test]
fn data_goes_both_ways_and_the_connection_closes() {
    passes(
        "+0 write(4, ..., 1500) = 1500
         +0 > . 1:1001(1000) ack 1
         // Linux's Nagle holds a small segment behind another small one only.
         +0 > P. 1001:1501(500) ack 1
         +.1 < P. 1:101(100) ack 1501 win 320
         +0 > . 1501:1501(0) ack 101
         +0 read(4, ..., 1000) = 100
         +0 close(4) = 0
         +0 > F. 1501:1501(0) ack 101
         +.1 < F. 101:101(0) ack 1502 win 320
         +0 > . 1502:1502(0) ack 102",
    );
}

#[test]
fn a_burst_may_be_expected_in_one_piece() {
    passes("+0 write(4, ..., 3000) = 3000\n+0 > P. 1:3001(3000) ack 1");
    passes("+0 write(4, ..., 3000) = 3000\n+0 > P. 1:2001(2000) ack 1\n+0 > P. 2001:3001(1000) ack 1");
}

#[test]
fn calls_that_block_return_when_the_script_says() {
    passes("+0...0.1 read(4, ..., 1000) = 100\n+.1 < P. 1:101(100) ack 1 win 320\n+0 > . 1:1(0) ack 101");
    assert_eq!(
        why("+0...+.3 read(4, ..., 1000) = 100\n+.1 < P. 1:101(100) ack 1 win 320"),
        "line 9: the call returns at 0.300000 s, expected at 0.500000 s (within 37500us)"
    );
    assert_eq!(why("+0...+.1 read(4, ..., 1000) = 100\n"), "line 9: the call has not returned at 0.312500 s");
    assert_eq!(why("+0 read(4, ..., 1000) = 100\n"), "line 9: the call blocks, and nothing ends that");
}

#[test]
fn failures_say_what_differs() {
    let write = "+0 write(4, ..., 1000) = 1000\n";
    let cases = [
        ("+0 > . 1:1001(1000) ack 1", "line 10: flags P. instead of ."),
        ("+0 > P. 2:1002(1000) ack 1", "line 10: sequence number 1 instead of 2"),
        ("+0 > P. 1:501(500) ack 1", "line 10: length 1000 instead of 500"),
        ("+0 > P. 1:1001(1000) ack 2", "line 10: acknowledgment number 1 instead of 2"),
        ("+0 > P. 1:1001(1000) ack 1 win 5", "line 10: window 32768 instead of 5"),
        ("+0 > P. 1:1001(1000) ack 1 <nop,nop>", "line 10: other options"),
        ("+0 > [ect0] P. 1:1001(1000) ack 1", "line 10: ECN field [noecn]"),
        (
            "+.1 > P. 1:1001(1000) ack 1",
            "line 10: it was sent at 0.200000 s, expected at 0.300000 s (within 12500us)",
        ),
        (
            "+.1~+.2 > P. 1:1001(1000) ack 1",
            "line 10: it was sent at 0.200000 s, expected between 0.300000 s and 0.400000 s (within 12500us)",
        ),
        ("+0 > P. 1:1001(1000) ack 1\n+0 > . 1:1(0) ack 1", "line 11: nothing was sent until 0.204000 s"),
        ("+0 write(4, ..., 10) = 11", "line 10: the call returns 10 instead of 11"),
        ("+0 write(9, ..., 10) = 10", "line 10: the call fails with EBADF"),
        ("+0 write(9, ..., 10) = -1 EPIPE", "line 10: the call fails with EBADF instead of EPIPE"),
        ("+0 write(4, ..., 10) = -1 EPIPE", "line 10: the call returns 10 instead of failing with EPIPE"),
        ("+0 fly(4) = 0", "line 10: the system call fly is not known here"),
        ("+0 shutdown(4, SHUT_ALL) = 0", "line 10: SHUT_ALL is not known here"),
        ("+0 write(4) = 0", "line 10: write needs argument 3"),
        (
            "+0 %{ assert tcpi_snd_cwnd == 7, tcpi_snd_cwnd }%",
            "line 10: line 1: tcpi_snd_cwnd == 7 does not hold: tcpi_snd_cwnd is 10",
        ),
        ("+0 < icmp rain", "line 10: the ICMP type rain is not known here"),
    ];
    for (text, expected) in cases {
        assert_eq!(why(&format!("{write}{text}")), expected, "{text}");
    }
}

#[test]
fn timestamps_are_in_the_clock_of_the_script() {
    let outcome = outcome(
        "0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
         +0  bind(3, ..., ...) = 0
         +0  listen(3, 1) = 0
         +.1 < S 0:0(0) win 32792 <mss 1000,sackOK,TS val 700 ecr 0,nop,wscale 7>
         +0  > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 700,nop,wscale 5>
         +.1 < . 1:1(0) ack 1 win 320 <nop,nop,TS val 701 ecr 100>
         +0  accept(3, ..., ...) = 4
         +0  write(4, ..., 10) = 10
         +0  > P. 1:11(10) ack 1 <nop,nop,TS val 200 ecr 701>
         +.05 < . 1:1(0) ack 11 win 320 <nop,nop,TS val 702 ecr 200>
         +0  %{ assert 45000 <= tcpi_rtt <= 105000, tcpi_rtt }%",
    );
    assert!(outcome.passed(), "{:?}", outcome.failure);
}

#[test]
fn settings_come_from_commands_and_from_files_that_they_name() {
    let text = "`sysctl -q net.ipv4.tcp_sack=0\n./more.sh`\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                +0...0 connect(3, ..., ...) = 0\n+0 > S 0:0(0) <mss 1460,nop,wscale 8>";
    let file = |name: &str| {
        let more = "#!/bin/sh\nsysctl -q net.ipv4.tcp_timestamps=0 net.ipv4.tcp_shape=round\n\
                    sysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"\nrm -rf /\n";
        (name == "./more.sh").then(|| more.to_owned())
    };
    let outcome = outcome_with(text, None, &file);
    // The call cannot return: nobody replies.
    assert_eq!(outcome.failure.map(|f| f.line), Some(4));
    assert_eq!(outcome.lines.len(), 3, "{:?}", outcome.notes);
    assert!(
        outcome.notes.iter().any(|n| n == "line 1: net.ipv4.tcp_shape has no effect here"),
        "{:?}",
        outcome.notes
    );
}

#[test]
fn a_setting_that_cannot_be_is_an_error() {
    let script = parse("test.pkt", "`sysctl -q net.ipv4.tcp_rmem=many`\n0 close(3) = 0", &[]).unwrap();
    let mut host = EngineHost::new(&Registry::builtin(), Dialect::Linux, None, 1).unwrap();
    let error = run(&script, &mut host, None, &|_| None).unwrap_err();
    assert_eq!(error.to_string(), "line 1: net.ipv4.tcp_rmem cannot be \"many\"");
}

#[test]
fn packets_that_nobody_expects_are_named_at_the_end() {
    let outcome = outcome(&format!("{SERVER}+0 write(4, ..., 10) = 10"));
    assert!(outcome.passed());
    assert_eq!(
        outcome.notes.last().map(String::as_str),
        Some("sent at 0.200000 s and not expected: P. 1:11(10) ack 1 win 32768")
    );
}

#[test]
fn dialects_lay_out_options_in_their_order() {
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 fcntl(3, F_SETFL, O_NONBLOCK) = 0\n\
                +0 connect(3, ..., ...) = -1 EINPROGRESS\n+0 > S 0:0(0) <OPTIONS>";
    let layouts = [
        (Dialect::Linux, "mss 1460,sackOK,TS val 1 ecr 0,nop,wscale 5"),
        (Dialect::FreeBsd, "mss 1460,nop,wscale 6,sackOK,TS val 1 ecr 0"),
        (Dialect::Plain, "mss 1460,nop,nop,sackOK,nop,wscale 5"),
    ];
    for (dialect, options) in layouts {
        let script = parse("test.pkt", &text.replace("OPTIONS", options), &[]).unwrap();
        let mut host = EngineHost::new(&Registry::builtin(), dialect, None, 1).unwrap();
        let outcome = run(&script, &mut host, None, &|_| None).unwrap();
        assert!(outcome.passed(), "{dialect:?} {:?} {:?}", outcome.failure, outcome.lines.last());
    }
}

#[test]
fn time_costs_nothing() {
    // Two hours of keepalives: the ninth probe without a response gives up (RFC 9293 §3.8.4).
    passes(
        "+0 setsockopt(4, SOL_SOCKET, SO_KEEPALIVE, [1], 4) = 0
         +7200 > . 0:0(0) ack 1
         +75 > . 0:0(0) ack 1
         +75 < . 1:1(0) ack 1 win 320",
    );
}

#[test]
fn syns_have_any_number_and_what_follows_counts_from_them() {
    let text = |syn_ack: &str| {
        format!(
            "`sysctl -q net.ipv4.tcp_timestamps=0`
             0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
             +0  bind(3, ..., ...) = 0
             +0  listen(3, 1) = 0
             +.1 < S 999000:999000(0) win 32792 <mss 1000>
             +0  > S. 1234:1234(0) ack {syn_ack} <mss 1460>
             +.1 < . 1:1001(1000) ack 1 win 320
             +0  > . 1:1(0) ack 1001"
        )
    };
    assert!(outcome(&text("999001")).passed());
    let failure = outcome(&text("1")).failure.expect("another number");
    assert_eq!((failure.line, failure.why.as_str()), (6, "acknowledgment number 999001 instead of 1"));
}

#[test]
fn older_connections_are_passed_over_and_the_latest_is_not() {
    let closing = "+0 close(4) = 0
         +0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 5
         +0 fcntl(5, F_SETFL, O_RDWR|O_NONBLOCK) = 0
         +0 connect(5, ..., ...) = -1 EINPROGRESS (Operation now in progress)";
    // The FIN of the first may be expected or not.
    passes(&format!("{closing}\n+0 > S 0:0(0) <...>"));
    passes(&format!("{closing}\n+0 > F. 1:1(0) ack 1\n+0 > S 0:0(0) <...>"));
    let failure = why("+0 write(4, ..., 100) = 100\n+0 > P. 1:1001(1000) ack 1");
    assert_eq!(failure, "line 10: length 100 instead of 1000");
}
