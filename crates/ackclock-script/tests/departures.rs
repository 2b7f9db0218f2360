//! What the search for differences has the dialect's host do beside the standards, in conversations that it has found.

use ackclock_policy::Registry;
use ackclock_script::{Dialect, EngineHost, parse, run};

/// Runs the script on Linux's dialect, with its departures or without, and returns what failed.
fn failure(text: &str, departs: bool) -> Option<String> {
    let script = parse("test.pkt", text, &[]).unwrap_or_else(|e| panic!("{e}"));
    let mut host = EngineHost::new(&Registry::builtin(), Dialect::Linux, None, 1).unwrap();
    if departs {
        host.depart_from_standards().unwrap();
    }
    let outcome = run(&script, &mut host, None, &|_| None).unwrap_or_else(|e| panic!("{e}"));
    outcome.failure.map(|f| format!("line {}: {}", f.line, f.why))
}

#[test]
fn what_the_timer_finds_lost_lets_no_new_data_go() {
    // The retransmission of another segment is in the network, and counts for this one as well.
    let text = "
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < S 0:0(0) win 64000 <mss 1000,nop,nop,sackOK>
0.008 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.013 < . 1:1(0) ack 1 win 64000
0.025 accept(3, ..., ...) = 4
0.039 write(4, ..., 8040) = 8040
0.039 > P. 1:8041(8040) ack 1
0.051 > P. 8001:8041(40) ack 1
0.257 > . 1:1001(1000) ack 1
0.301 write(4, ..., 3216) = 3216
0.319 < . 1:1(0) ack 1 win 64000 <nop,nop,sack 2001:3001>
0.319 > . 8041:9041(1000) ack 1
0.319 %{ assert tcpi_lost == 0 and tcpi_retrans == 1, (tcpi_lost, tcpi_retrans) }%
0.340 %{ assert tcpi_lost == 1 and tcpi_ca_state == TCP_CA_Recovery, (tcpi_lost, tcpi_ca_state) }%
0.340 %{ assert tcpi_unacked == 10 and tcpi_notsent_bytes == 2216, (tcpi_unacked, tcpi_notsent_bytes) }%
";
    assert_eq!(failure(text, true), None);
    assert!(failure(text, false).is_some(), "otherwise it is sent again");
}

#[test]
fn the_first_retransmission_may_be_of_an_earlier_repair() {
    let text = "
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < S 0:0(0) win 64000 <mss 1000,sackOK,TS val 10008 ecr 0>
0.008 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 100 ecr 10008>
0.018 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10018 ecr 100>
0.030 accept(3, ..., ...) = 4
0.044 write(4, ..., 4380) = 4380
0.044 > P. 1:4381(4380) ack 1 <nop,nop,TS val 136 ecr 10018>
0.066 > P. 3953:4381(428) ack 1 <...>
0.276 > . 1:989(988) ack 1 <...>
0.305 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10305 ecr 100,nop,nop,sack 1977:2965>
0.320 %{ assert tcpi_lost == 1 and tcpi_ca_state == TCP_CA_Recovery, (tcpi_lost, tcpi_ca_state) }%
0.325 < . 1:1(0) ack 989 win 64000 <nop,nop,TS val 10325 ecr 136,nop,nop,sack 1977:2965>
0.325 %{ assert tcpi_lost == 0 and tcpi_ca_state == TCP_CA_Disorder, (tcpi_lost, tcpi_ca_state) }%
";
    assert_eq!(failure(text, true), None);
}

#[test]
fn an_echo_on_the_ack_that_ends_a_repair_reduces_again() {
    // RFC 3168 §6.1.2 reduces once for a window of data, which the loss has done: then three segments leave.
    let text = "
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < SEW 0:0(0) win 64000 <mss 1000,nop,nop,sackOK>
0.008 > SE. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.018 < . 1:1(0) ack 1 win 64000
0.030 accept(3, ..., ...) = 4
0.044 write(4, ..., 3650) = 3650
0.044 > P. 1:3651(3650) ack 1
0.066 > P. 3001:3651(650) ack 1
0.082 < . 1:1(0) ack 1 win 64000 <nop,nop,sack 1001:3651>
0.082 > . 1:1001(1000) ack 1
0.100 < . 1:1(0) ack 2001 win 64000
0.110 > . 2001:3001(1000) ack 1
0.126 write(4, ..., 1460) = 1460
0.148 < EW. 1:1(0) ack 3651 win 64000
0.148 > W. 3651:4651(1000) ack 1
0.148 > P. 4651:5111(460) ack 1
";
    assert_eq!(failure(text, true), None);
    assert!(failure(text, false).is_some(), "otherwise it has reduced already");
}

#[test]
fn a_request_answers_what_is_out_of_its_window_without_an_acknowledgment() {
    // RFC 9293 §3.10.7.4 looks at sequence numbers before the ACK bit; Linux only here.
    let text = "
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < S 5:5(0) win 64000 <mss 1000>
0.008 > S. 0:0(0) ack 6 <mss 1460>
0.018 < F 4294967291:4294967291(0) win 64000
0.018 > . 1:1(0) ack 1
0.028 < F 6:6(0) win 64000
0.038 < . 6:6(0) ack 1 win 64000
0.050 accept(3, ..., ...) = 4
";
    assert_eq!(failure(text, true), None);
    assert_eq!(failure(text, false), None);
}

#[test]
fn expected_text_that_repeats_an_acknowledgment_is_no_ack() {
    // By RACK another segment is lost by now, which an ack would find, and does in the engine without departures.
    let text = "
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < S 0:0(0) win 64000 <mss 1000,nop,nop,sackOK>
0.008 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.018 < . 1:1(0) ack 1 win 64000
0.030 accept(3, ..., ...) = 4
0.044 write(4, ..., 8000) = 8000
0.044 > P. 1:8001(8000) ack 1
0.066 > P. 7001:8001(1000) ack 1
0.276 > . 1:1001(1000) ack 1
0.518 < . 1:1(0) ack 1 win 64000 <nop,nop,sack 1001:6001>
0.538 < . 1:1(0) ack 1001 win 64000
0.552 < . 1:2(1) ack 1001 win 64000
0.552 %{ assert tcpi_ca_state == TCP_CA_Disorder and tcpi_lost == 0, (tcpi_ca_state, tcpi_lost) }%
";
    assert_eq!(failure(text, true), None);
    assert!(
        failure(text, false).is_some(),
        "RFC 9293 §3.10.7.4 processes the acknowledgment of each segment"
    );
}

#[test]
fn an_ack_that_ends_inside_a_segment_restarts_no_timer() {
    let text = "
`sysctl -q net.ipv4.tcp_early_retrans=0`
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < S 0:0(0) win 64000 <mss 1000,nop,nop,sackOK>
0.008 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.018 < . 1:1(0) ack 1 win 64000
0.030 accept(3, ..., ...) = 4
0.050 write(4, ..., 2000) = 2000
0.050 > P. 1:2001(2000) ack 1
0.150 < . 1:1(0) ack 501 win 64000
0.250~0.280 > . 501:1001(500) ack 1
";
    assert_eq!(failure(text, true), None);
    assert!(failure(text, false).is_some(), "RFC 6298 §5.3 restarts it at each ack of new data");
}
