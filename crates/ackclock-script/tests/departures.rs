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

#[test]
fn new_data_in_disorder_has_a_probe_timer_be_that_of_the_timeout_again() {
    // The timeout of the oldest segment, sent at 0.042 s, is 0.252 s.
    let text = r#"
`sysctl -q net.ipv4.tcp_rmem="4096 131072 6291456"`

0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0
0 connect(3, ..., ...) = -1 EINPROGRESS (EINPROGRESS)
0 > S 0:0(0) <mss 1460,sackOK,TS val 1700788422 ecr 0,nop,wscale 7>
0.02 < S. 0:0(0) ack 1 win 64000 <mss 1000,sackOK,TS val 10020 ecr 1700788422>
0.02 > . 1:1(0) ack 1 <nop,nop,TS val 1700788442 ecr 10020>
0.03 write(3, ..., 1000) = 1000
0.03 > P. 1:1001(1000) ack 1 <nop,nop,TS val 1700788452 ecr 10020>
0.042 write(3, ..., 6000) = 6000
0.042 > P. 1001:7001(6000) ack 1 <nop,nop,TS val 1700788464 ecr 10020>
0.056 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10056 ecr 1700788422,nop,nop,sack 1001:1989>
0.056 > . 1:989(988) ack 1 <nop,nop,TS val 1700788478 ecr 10056>
0.072 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10072 ecr 1700788422,nop,nop,sack 2977:3965 1001:1989>
0.072 > P. 989:1001(12) ack 1 <nop,nop,TS val 1700788494 ecr 10072>
0.09 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10090 ecr 1700788422,nop,nop,sack 989:1989 2977:3965>
0.09 > . 1:989(988) ack 1 <nop,nop,TS val 1700788512 ecr 10090>
0.11 < . 1:1(0) ack 1989 win 64000 <nop,nop,TS val 10110 ecr 1700788452,nop,nop,sack 2977:3965>
0.132 < . 1:1(0) ack 3965 win 64000 <nop,nop,TS val 10132 ecr 1700788464>
0.156 write(3, ..., 10000) = 10000
0.156 > P. 7001:14905(7904) ack 1 <nop,nop,TS val 1700788578 ecr 10132>
0.182 < . 1:1(0) ack 3965 win 64000 <nop,nop,TS val 10182 ecr 1700788464,nop,nop,sack 6929:7001>
0.182 > P. 14905:16881(1976) ack 1 <nop,nop,TS val 1700788604 ecr 10182>
0.285~0.320 > . 3965:4953(988) ack 1 <nop,nop,TS val 1700788718 ecr 10182>
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn the_ack_that_ends_a_recovery_forgets_duplicates() {
    // Without SACK: the duplicate ack after it begins no other recovery.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_ecn=2 net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000 connect(3, ..., ...) = -1 EINPROGRESS (EINPROGRESS)
0.000 > S 0:0(0) <mss 1460,sackOK,TS val 1700788422 ecr 0,nop,wscale 7>
0.008 < S. 0:0(0) ack 1 win 64000 <mss 1460,nop,nop,TS val 10008 ecr 1700788422>
0.008 > . 1:1(0) ack 1 <nop,nop,TS val 1700788430 ecr 10008>
0.018 write(3, ..., 14600) = 14600
0.018 > P. 1:2897(2896) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018 > P. 2897:5793(2896) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018 > P. 5793:8689(2896) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018 > P. 8689:11585(2896) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018 > P. 11585:14481(2896) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.030 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10030 ecr 1700788422>
0.044 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10044 ecr 1700788422>
0.044 > P. 14481:14601(120) ack 1 <nop,nop,TS val 1700788466 ecr 10044>
0.060 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10060 ecr 1700788422>
0.078 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10078 ecr 1700788422>
0.078 > . 1:1449(1448) ack 1 <nop,nop,TS val 1700788500 ecr 10078>
0.098 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10098 ecr 1700788422>
0.120 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10120 ecr 1700788422>
0.144 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10144 ecr 1700788422>
0.170 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10170 ecr 1700788422>
0.198 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10198 ecr 1700788422>
0.226 write(3, ..., 8760) = 8760
0.226 > P. 14601:17497(2896) ack 1 <nop,nop,TS val 1700788648 ecr 10198>
0.226 > P. 17497:20393(2896) ack 1 <nop,nop,TS val 1700788648 ecr 10198>
0.254 < . 1:1(0) ack 14481 win 64000 <nop,nop,TS val 10254 ecr 1700788500>
0.254 > P. 14481:14601(120) ack 1 <nop,nop,TS val 1700788676 ecr 10254>
0.254 > P. 20393:23289(2896) ack 1 <nop,nop,TS val 1700788676 ecr 10254>
0.282 < . 1:1(0) ack 14481 win 64000 <nop,nop,TS val 10282 ecr 1700788500>
0.310 < . 1:1(0) ack 14481 win 64000 <nop,nop,TS val 10310 ecr 1700788500>
0.338 < . 1:1(0) ack 14481 win 64000 <nop,nop,TS val 10338 ecr 1700788500>
0.366 < . 1:1(0) ack 16049 win 64000 <nop,nop,TS val 10366 ecr 1700788676>
0.366 > P. 23289:23361(72) ack 1 <nop,nop,TS val 1700788788 ecr 10366>
0.394 < . 1:1(0) ack 16049 win 64000 <nop,nop,TS val 10394 ecr 1700788676>
0.394 %{ assert tcpi_ca_state == TCP_CA_Disorder and tcpi_lost == 0, (tcpi_ca_state, tcpi_lost) }%
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn the_smallest_round_trip_is_that_of_the_highest_segment() {
    // The first ack is of a segment of 0.030 s and one of 0.042 s: 10.9 ms. The retransmission is delivered 16 ms after it
    // was sent, and so believed, and shows what else is lost.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000 connect(3, ..., ...) = -1 EINPROGRESS (EINPROGRESS)
0.000 > S 0:0(0) <mss 1460,sackOK,TS val 1700788422 ecr 0,nop,wscale 7>
0.020 < S. 0:0(0) ack 1 win 64000 <mss 300,nop,nop,sackOK>
0.020 > . 1:1(0) ack 1
0.030 write(3, ..., 6) = 6
0.030 > P. 1:7(6) ack 1
0.042 write(3, ..., 450) = 450
0.042 > . 7:307(300) ack 1
0.052900 < . 1:1(0) ack 307 win 64000
0.052900 > P. 307:457(150) ack 1
0.070950 < . 1:1(0) ack 457 win 64000
0.088950 write(3, ..., 600) = 600
0.088950 > P. 457:1057(600) ack 1
0.108950 < . 1:1(0) ack 457 win 64000 <nop,nop,sack 757:1057>
0.115462 > . 457:757(300) ack 1
0.131462 write(3, ..., 3000) = 3000
0.155462 < . 1:1(0) ack 1057 win 64000
0.155462 > P. 1057:1657(600) ack 1
0.155462 > P. 1657:2257(600) ack 1
0.155462 > P. 2257:2857(600) ack 1
0.155462 > . 2857:3157(300) ack 1
0.181462 < . 1:1(0) ack 1057 win 64000 <nop,nop,sack 1957:2257>
0.181462 > . 3157:3457(300) ack 1
0.187975 > . 1057:1357(300) ack 1
0.203975 < . 1:1(0) ack 1357 win 64000 <nop,nop,sack 1957:2257>
0.204 > . 1357:1657(300) ack 1
0.210 %{ assert tcpi_lost == 6 and tcpi_retrans == 1, (tcpi_lost, tcpi_retrans) }%
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn the_test_of_a_timeout_ends_where_no_new_segment_fits() {
    // F-RTO would send new data, for a whole segment of which the window has no room: what is lost is sent again.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < S 0:0(0) win 64000 <mss 536>
0.008 > S. 0:0(0) ack 1 <mss 1460>
0.018 < F. 1:1(0) ack 1 win 64000
0.018 > . 1:1(0) ack 2
0.030 accept(3, ..., ...) = 4
0.030 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044 < . 2:3(1) ack 1 win 64000
0.060 write(4, ..., 8040) = 8040
0.060 > P. 1:1073(1072) ack 2
0.060 > P. 1073:2145(1072) ack 2
0.060 > P. 2145:3217(1072) ack 2
0.060 > P. 3217:4289(1072) ack 2
0.060 > P. 4289:5361(1072) ack 2
0.270 > . 1:537(536) ack 2
0.319 write(4, ..., 31) = 31
0.339 < . 3:3(0) ack 537 win 5000
0.339 > . 537:1073(536) ack 2
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn a_second_ack_of_originals_ends_the_repair_of_an_undone_timeout() {
    // Without SACK the first, by its timestamp, restores the window only. Then three duplicate acks begin a recovery.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000 bind(3, ..., ...) = 0
0.000 listen(3, 4) = 0
0.008 < S 0:0(0) win 64000 <mss 300,nop,nop,TS val 10008 ecr 0>
0.008 > S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val 1700788430 ecr 10008>
0.018 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10018 ecr 1700788430>
0.030 accept(3, ..., ...) = 4
0.030 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044 write(4, ..., 4500) = 4500
0.044 > P. 1:577(576) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044 > P. 577:1153(576) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044 > P. 1153:1729(576) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044 > P. 1729:2305(576) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044 > P. 2305:2881(576) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.254 > . 1:289(288) ack 1 <nop,nop,TS val 1700788676 ecr 10018>
0.304 < . 1:1(0) ack 865 win 64000 <nop,nop,TS val 10304 ecr 1700788430>
0.304 > P. 2881:3457(576) ack 1 <nop,nop,TS val 1700788726 ecr 10304>
0.304 > P. 3457:4033(576) ack 1 <nop,nop,TS val 1700788726 ecr 10304>
0.304 > P. 4033:4501(468) ack 1 <nop,nop,TS val 1700788726 ecr 10304>
0.322 < . 1:1(0) ack 1441 win 64000 <nop,nop,TS val 10322 ecr 1700788466>
0.342 < . 1:1(0) ack 1441 win 64000 <nop,nop,TS val 10342 ecr 1700788676>
0.364 < . 1:1(0) ack 1441 win 64000 <nop,nop,TS val 10364 ecr 1700788676>
0.388 < . 1:1(0) ack 1441 win 64000 <nop,nop,TS val 10388 ecr 1700788676>
0.388 > . 1441:1729(288) ack 1 <nop,nop,TS val 1700788810 ecr 10388>
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn duplicate_acks_after_the_timeout_of_a_syn_count_for_nothing() {
    // Without SACK, until data is acknowledged.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000 connect(3, ..., ...) = -1 EINPROGRESS (EINPROGRESS)
0.000 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
1.000~1.040 > S 0:0(0) <mss 1460,sackOK,TS val 1100 ecr 0,nop,wscale 7>
1.060 < S. 0:0(0) ack 1 win 64000 <mss 1000>
1.060 > . 1:1(0) ack 1
1.080 write(3, ..., 5000) = 5000
1.080 > . 1:2001(2000) ack 1
1.080 > . 2001:4001(2000) ack 1
1.080 > P. 4001:5001(1000) ack 1
1.100 < . 1:1(0) ack 1 win 64000
1.110 < . 1:1(0) ack 1 win 64000
1.120 < . 1:1(0) ack 1 win 64000
1.130 < . 1:1(0) ack 1 win 64000
1.130 %{ assert tcpi_ca_state == TCP_CA_Loss and tcpi_retrans == 0, (tcpi_ca_state, tcpi_retrans) }%
1.140 < . 1:1(0) ack 1001 win 64000
1.150 < . 1:1(0) ack 1001 win 64000
1.160 < . 1:1(0) ack 1001 win 64000
1.170 < . 1:1(0) ack 1001 win 64000
1.170 > . 1001:2001(1000) ack 1
"#;
    assert_eq!(failure(text, true), None);
    assert!(failure(text, false).is_some(), "RFC 5681 §3.2 counts them");
}

#[test]
fn a_timeout_where_a_repair_is_held_is_undone() {
    // Without SACK, all of the recovery is acknowledged and nothing above it: the timeout of later data is one outside of repairs.
    // What it restores is the window that the reduction has left.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < S 0:0(0) win 64000 <mss 1460,nop,nop,TS val 10008 ecr 0>
0.008000 > S. 0:0(0) ack 1 <mss 1460,nop,nop,TS val 1700788430 ecr 10008>
0.018000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10018 ecr 1700788430>
0.030000 accept(3, ..., ...) = 4
0.030000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044000 write(4, ..., 8760) = 8760
0.044000 > P. 1:2897(2896) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044000 > P. 2897:5793(2896) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044000 > P. 5793:8689(2896) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044000 > P. 8689:8761(72) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.060000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10060 ecr 1700788430>
0.078000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10078 ecr 1700788430>
0.098000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10098 ecr 1700788430>
0.098000 > . 1:1449(1448) ack 1 <nop,nop,TS val 1700788520 ecr 10098>
0.120000 write(4, ..., 12) = 12
0.144000 < . 1:1(0) ack 5793 win 64000 <nop,nop,TS val 10144 ecr 1700788520>
0.144000 > . 5793:7241(1448) ack 1 <nop,nop,TS val 1700788566 ecr 10144>
0.170000 < . 1:1(0) ack 5793 win 64000 <nop,nop,TS val 10170 ecr 1700788520>
0.198000 < . 1:1(0) ack 8689 win 64000 <nop,nop,TS val 10198 ecr 1700788520>
0.198000 > P. 8689:8761(72) ack 1 <nop,nop,TS val 1700788620 ecr 10198>
0.226000 < . 1:1(0) ack 8761 win 64000 <nop,nop,TS val 10226 ecr 1700788520>
0.226000 > P. 8761:8773(12) ack 1 <nop,nop,TS val 1700788648 ecr 10226>
0.464039 > P. 8761:8773(12) ack 1 <nop,nop,TS val 1700788886 ecr 10226>
0.687800 write(4, ..., 2920) = 2920
0.715800 < . 1:1(0) ack 8761 win 64000 <nop,nop,TS val 10715 ecr 1700788620>
0.743800 < . 1:1(0) ack 8761 win 64000 <nop,nop,TS val 10743 ecr 1700788620>
0.771800 < . 1:1(0) ack 8773 win 64000 <nop,nop,TS val 10771 ecr 1700788648>
0.771800 > P. 8773:11669(2896) ack 1 <...>
0.771800 > P. 11669:11693(24) ack 1 <...>
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn an_echo_after_a_timeout_lets_the_window_grow() {
    // RFC 3168 §6.1.2 does not: then one segment leaves.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_ecn=2 net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < SEW 0:0(0) win 64000 <mss 1000>
0.008000 > SE. 0:0(0) ack 1 <mss 1460>
0.018000 < . 1:1(0) ack 1 win 64000
0.030000 accept(3, ..., ...) = 4
0.030000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044000 write(4, ..., 1) = 1
0.044000 > [ect0] P. 1:2(1) ack 1
0.254000 > P. 1:2(1) ack 1
0.299000 < EW. 1:1(0) ack 2 win 64000
0.317000 write(4, ..., 2000) = 2000
0.317000 > [ect0] W. 2:1002(1000) ack 1
0.317000 > [ect0] P. 1002:2002(1000) ack 1
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn expected_text_does_not_restart_the_time_of_a_cork() {
    // Nobody looks at its acknowledgment.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_ecn=2 net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < S 0:0(0) win 64000 <mss 1000>
0.008000 > S. 0:0(0) ack 1 <mss 1460>
0.018000 < . 1:1(0) ack 1 win 64000
0.030000 accept(3, ..., ...) = 4
0.030000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044000 send(4, ..., 1, MSG_MORE) = 1
0.106550 < . 1:2(1) ack 1 win 64000
0.106550 > . 1:1(0) ack 2
0.250~0.262 > P. 1:2(1) ack 2
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn an_undo_leaves_what_the_reduction_has_grown_to() {
    // A DSACK during the recovery has let its window grow beyond that from before.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_ecn=2 net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < S 0:0(0) win 64000 <mss 300,sackOK,TS val 10008 ecr 0>
0.008000 > S. 0:0(0) ack 1 <mss 1460,sackOK,TS val 1700788430 ecr 10008>
0.018000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10018 ecr 1700788430>
0.030000 accept(3, ..., ...) = 4
0.030000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044000 write(4, ..., 600) = 600
0.044000 > P. 1:577(576) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.044000 > P. 577:601(24) ack 1 <nop,nop,TS val 1700788466 ecr 10018>
0.066000 > P. 577:601(24) ack 1 <nop,nop,TS val 1700788488 ecr 10018>
0.082000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10082 ecr 1700788430,nop,nop,sack 289:577>
0.086500 > . 1:289(288) ack 1 <nop,nop,TS val 1700788508 ecr 10082>
0.102500 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10102 ecr 1700788430,nop,nop,sack 289:601>
0.122500 < . 1:1(0) ack 601 win 64000 <nop,nop,TS val 10122 ecr 1700788466>
0.144500 < . 1:1(0) ack 601 win 64000 <nop,nop,TS val 10144 ecr 1700788488,nop,nop,sack 577:601>
0.168500 write(4, ..., 4500) = 4500
0.168500 > P. 601:1177(576) ack 1 <nop,nop,TS val 1700788590 ecr 10144>
0.168500 > P. 1177:1753(576) ack 1 <nop,nop,TS val 1700788590 ecr 10144>
0.168500 > P. 1753:2329(576) ack 1 <nop,nop,TS val 1700788590 ecr 10144>
0.168500 > P. 2329:2905(576) ack 1 <nop,nop,TS val 1700788590 ecr 10144>
0.168500 > P. 2905:3481(576) ack 1 <nop,nop,TS val 1700788590 ecr 10144>
0.194500 < . 1:1(0) ack 601 win 64000 <nop,nop,TS val 10194 ecr 1700788488,nop,nop,sack 889:1177>
0.194500 > . 3481:3769(288) ack 1 <nop,nop,TS val 1700788616 ecr 10194>
0.199000 > . 601:889(288) ack 1 <nop,nop,TS val 1700788621 ecr 10194>
0.222500 < . 1:1(0) ack 601 win 64000 <nop,nop,TS val 10222 ecr 1700788508,nop,nop,sack 1:289 889:1177>
0.222500 > . 3769:4057(288) ack 1 <nop,nop,TS val 1700788644 ecr 10222>
0.250500 < . 1:1(0) ack 1177 win 64000 <nop,nop,TS val 10250 ecr 1700788590>
0.250500 > . 4057:4345(288) ack 1 <nop,nop,TS val 1700788672 ecr 10250>
0.250500 > P. 4345:4633(288) ack 1 <nop,nop,TS val 1700788672 ecr 10250>
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn a_full_window_of_a_reduction_is_in_use() {
    // All that it lets go was sent, and nothing waits: the window counts as full until that is acknowledged, and grows.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_ecn=2 net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4) = 0
0.000000 connect(3, ..., ...) = -1 EINPROGRESS (EINPROGRESS)
0.000000 > S 0:0(0) <mss 1460,sackOK,TS val 1700788422 ecr 0,nop,wscale 7>
0.008000 < S. 0:0(0) ack 1 win 64000 <mss 300,nop,nop,TS val 10008 ecr 1700788422>
0.008000 > . 1:1(0) ack 1 <nop,nop,TS val 1700788430 ecr 10008>
0.018000 write(3, ..., 1800) = 1800
0.018000 > P. 1:577(576) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018000 > P. 577:1153(576) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018000 > P. 1153:1729(576) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018000 > P. 1729:1801(72) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.030000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10030 ecr 1700788422>
0.044000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10044 ecr 1700788422>
0.060000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10060 ecr 1700788422>
0.078000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10078 ecr 1700788422>
0.078000 > . 1:289(288) ack 1 <nop,nop,TS val 1700788500 ecr 10078>
0.098000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10098 ecr 1700788422>
0.120000 < . 1:1(0) ack 1 win 64000 <nop,nop,TS val 10120 ecr 1700788422>
0.144000 < . 1:1(0) ack 1801 win 64000 <nop,nop,TS val 10144 ecr 1700788500>
0.170000 write(3, ..., 301) = 301
0.170000 > P. 1801:2102(301) ack 1 <nop,nop,TS val 1700788592 ecr 10144>
0.198000 write(3, ..., 301) = 301
0.198000 > P. 2102:2403(301) ack 1 <nop,nop,TS val 1700788620 ecr 10144>
0.226000 write(3, ..., 12) = 12
0.226000 > P. 2403:2415(12) ack 1 <nop,nop,TS val 1700788648 ecr 10144>
0.254000 < . 1:1(0) ack 2390 win 64000 <nop,nop,TS val 10254 ecr 1700788592>
0.282000 write(3, ..., 450) = 450
0.282000 > P. 2415:2865(450) ack 1 <nop,nop,TS val 1700788704 ecr 10254>
0.310000 < . 1:1(0) ack 2415 win 64000 <nop,nop,TS val 10310 ecr 1700788620>
0.338000 < . 1:1(0) ack 2865 win 64000 <nop,nop,TS val 10338 ecr 1700788704>
0.366000 write(3, ..., 1500) = 1500
0.366000 > P. 2865:3441(576) ack 1 <nop,nop,TS val 1700788788 ecr 10338>
0.366000 > P. 3441:4017(576) ack 1 <nop,nop,TS val 1700788788 ecr 10338>
0.366000 > P. 4017:4365(348) ack 1 <nop,nop,TS val 1700788788 ecr 10338>
0.394000 write(3, ..., 300) = 300
0.394000 > . 4365:4653(288) ack 1 <nop,nop,TS val 1700788816 ecr 10338>
0.394000 > P. 4653:4665(12) ack 1 <nop,nop,TS val 1700788817 ecr 10338>
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn neighbours_of_a_retransmitted_segment_count_for_an_undo() {
    // The second DSACK is of a segment that was sent once, and SACKed beside one that a probe has repeated: both are in one
    // buffer, all that was retransmitted is reported, and what is lost begins another recovery.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < S 0:0(0) win 64000 <mss 1000,nop,nop,sackOK>
0.008000 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.018000 < . 1:1(0) ack 1 win 64000
0.030000 accept(3, ..., ...) = 4
0.030000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044000 write(4, ..., 2000) = 2000
0.044000 > P. 1:2001(2000) ack 1
0.066000 > P. 1001:2001(1000) ack 1
0.082000 write(4, ..., 6000) = 6000
0.082000 > P. 2001:4001(2000) ack 1
0.082000 > P. 4001:6001(2000) ack 1
0.082000 > P. 6001:8001(2000) ack 1
0.120000 < . 1:1(0) ack 1 win 64000 <nop,nop,sack 1001:2001>
0.120000 > . 1:1001(1000) ack 1
0.140000 < . 1:1(0) ack 1 win 64000 <nop,nop,sack 1001:2001 1001:2001>
0.162000 < . 1:1(0) ack 1 win 64000 <nop,nop,sack 1001:3001>
0.186000 write(4, ..., 1001) = 1001
0.186000 > . 8001:9001(1000) ack 1
0.212000 < . 1:1(0) ack 1 win 64000 <nop,nop,sack 2001:3001 1001:3001>
0.212000 > P. 9001:9002(1) ack 1
"#;
    assert_eq!(failure(text, true), None);
    assert!(failure(text, false).is_some(), "RFC 3708 §3 counts each by itself");
}

#[test]
fn the_smallest_round_trip_is_that_of_what_is_sacked() {
    // The ack of the first segment, which waited for 25 ms, SACKs one that took 9 ms: the retransmission, acknowledged after
    // 16 ms, is believed, and shows what else is lost.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < S 0:0(0) win 64000 <mss 536,nop,nop,sackOK>
0.008000 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.259000 < . 1:1(0) ack 1 win 64000
0.271000 accept(3, ..., ...) = 4
0.271000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.285000 write(4, ..., 16) = 16
0.285000 > P. 1:17(16) ack 1
0.301000 write(4, ..., 3216) = 3216
0.301000 > P. 17:1089(1072) ack 1
0.301000 > P. 1089:2161(1072) ack 1
0.301000 > P. 2161:3233(1072) ack 1
0.310000 < . 1:1(0) ack 17 win 64000 <nop,nop,sack 1089:1625>
0.334250 > . 17:553(536) ack 1
0.350250 < . 1:1(0) ack 553 win 64000 <nop,nop,sack 1625:2697>
0.350250 > . 553:1089(536) ack 1
0.350250 > P. 2697:3233(536) ack 1
"#;
    assert_eq!(failure(text, true), None);
    assert_eq!(failure(text, false), None);
}

#[test]
fn the_window_of_a_simultaneous_open_is_that_of_the_syn_ack() {
    // What follows the SYN-ACK is news, and its smaller window counts.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 connect(3, ..., ...) = -1 EINPROGRESS (EINPROGRESS)
0.000000 > S 0:0(0) <mss 1460,sackOK,TS val 1700788422 ecr 0,nop,wscale 7>
0.008000 < S 0:0(0) win 64000 <mss 1000>
0.008000 > S. 0:0(0) ack 1 <mss 1460>
0.018000 < S. 0:0(0) ack 1 win 64000 <mss 1000>
0.018000 > . 1:1(0) ack 1
0.030000 < . 1:1(0) ack 1 win 1500
0.044000 write(3, ..., 3000) = 3000
0.044000 > . 1:1001(1000) ack 1
0.044000 > P. 1001:1501(500) ack 1
"#;
    assert_eq!(failure(text, true), None);
    assert_eq!(failure(text, false), None);
}

#[test]
fn an_original_that_acknowledges_just_what_the_timeout_found_leaves_the_repair_held() {
    // Without SACK it ends with the ack of what was sent after the timeout, so that duplicate acks before that are none
    // of the new data.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 connect(3, ..., ...) = -1 EINPROGRESS (EINPROGRESS)
0.000000 > S 0:0(0) <mss 1460,sackOK,TS val 1700788422 ecr 0,nop,wscale 7>
0.008000 < S. 0:0(0) ack 1 win 64000 <mss 1000,nop,nop,TS val 10008 ecr 1700788422>
0.008000 > . 1:1(0) ack 1 <nop,nop,TS val 1700788430 ecr 10008>
0.018000 send(3, ..., 3000, MSG_MORE) = 3000
0.018000 > P. 1:1977(1976) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.018000 > . 1977:2965(988) ack 1 <nop,nop,TS val 1700788440 ecr 10008>
0.226000 > . 1:989(988) ack 1 <nop,nop,TS val 1700788648 ecr 10008>
0.642000 > . 1:989(988) ack 1 <nop,nop,TS val 1700789064 ecr 10008>
0.741900 < . 1:1(0) ack 1977 win 64000 <nop,nop,TS val 10741 ecr 1700788422>
0.741900 > . 2965:3001(36) ack 1 <nop,nop,TS val 1700789163 ecr 10741>
0.757900 < . 1:1(0) ack 2965 win 64000 <nop,nop,TS val 10757 ecr 1700788648>
0.775900 < . 1:1(0) ack 2965 win 64000 <nop,nop,TS val 10775 ecr 1700789064>
0.795900 < . 1:1(0) ack 3001 win 64000 <nop,nop,TS val 10795 ecr 1700789163>
0.817900 write(3, ..., 15000) = 15000
0.817900 > P. 3001:4977(1976) ack 1 <nop,nop,TS val 1700789239 ecr 10795>
0.817900 > P. 4977:6953(1976) ack 1 <nop,nop,TS val 1700789239 ecr 10795>
0.817900 > P. 6953:8929(1976) ack 1 <nop,nop,TS val 1700789239 ecr 10795>
0.817900 > P. 8929:10905(1976) ack 1 <nop,nop,TS val 1700789239 ecr 10795>
0.817900 > P. 10905:12881(1976) ack 1 <nop,nop,TS val 1700789239 ecr 10795>
0.841900 < . 1:1(0) ack 3001 win 64000 <nop,nop,TS val 10841 ecr 1700789163>
0.842000 > . 12881:13869(988) ack 1 <nop,nop,TS val 1700789264 ecr 10841>
0.842400 %{ assert tcpi_ca_state == TCP_CA_Disorder and tcpi_snd_cwnd == 10, (tcpi_ca_state, tcpi_snd_cwnd) }%
"#;
    assert_eq!(failure(text, true), None);
    assert_eq!(failure(text, false), None);
}

#[test]
fn what_was_sacked_before_the_peer_discarded_it_shows_no_reordering() {
    // The end of the repair acknowledges an original below what had been SACKed.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < S 0:0(0) win 64000 <mss 1000,nop,nop,sackOK>
0.008000 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.018000 < . 1:1(0) ack 1 win 64000
0.030000 accept(3, ..., ...) = 4
0.030000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044000 write(4, ..., 8000) = 8000
0.044000 > P. 1:2001(2000) ack 1
0.044000 > P. 2001:4001(2000) ack 1
0.044000 > P. 4001:6001(2000) ack 1
0.044000 > P. 6001:8001(2000) ack 1
0.066000 > P. 7001:8001(1000) ack 1
0.082000 < . 1:1(0) ack 1001 win 64000 <nop,nop,sack 3001:4001>
0.086500 > . 1001:2001(1000) ack 1
0.102500 < . 1:1(0) ack 2001 win 64000
0.102500 > . 2001:3001(1000) ack 1
0.122500 < . 1:1(0) ack 3001 win 64000 <nop,nop,sack 5001:8001>
0.133312 > . 3001:4001(1000) ack 1
0.149312 < . 1:1(0) ack 8001 win 64000
0.173312 write(4, ..., 10000) = 10000
0.173312 > P. 8001:10001(2000) ack 1
0.173312 > P. 10001:12001(2000) ack 1
0.173312 > P. 12001:14001(2000) ack 1
0.199312 < . 1:1(0) ack 8001 win 64000 <nop,nop,sack 11001:12001>
0.199312 > . 14001:15001(1000) ack 1
0.199400 %{ assert tcpi_reordering == 3 and tcpi_snd_cwnd == 6, (tcpi_reordering, tcpi_snd_cwnd) }%
"#;
    assert_eq!(failure(text, true), None);
}

#[test]
fn an_echo_reduces_after_a_loss_that_a_probe_has_repaired() {
    // 10 segments, 7 for the loss, then 4 for the echo on the same ack.
    let text = r#"
`sysctl -q net.ipv4.tcp_congestion_control=cubic net.ipv4.tcp_rmem="4096 131072 6291456" net.ipv4.tcp_ecn=2 net.ipv4.tcp_invalid_ratelimit=0 net.ipv4.tcp_pingpong_thresh=255`
0.000000 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
0.000000 fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.000000 bind(3, ..., ...) = 0
0.000000 listen(3, 4) = 0
0.008000 < SEW 0:0(0) win 64000 <mss 1000,nop,nop,sackOK>
0.008000 > SE. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK>
0.018000 < . 1:1(0) ack 1 win 64000
0.030000 accept(3, ..., ...) = 4
0.030000 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
0.044000 write(4, ..., 3000) = 3000
0.044000 > [ect0] P. 1:2001(2000) ack 1
0.044000 > [ect0] P. 2001:3001(1000) ack 1
0.066000 > P. 2001:3001(1000) ack 1
0.082000 write(4, ..., 7) = 7
0.082000 > [ect0] P. 3001:3008(7) ack 1
0.120000 < E. 1:1(0) ack 3008 win 64000
0.121000 %{ assert tcpi_ca_state == TCP_CA_CWR and tcpi_snd_cwnd == 4, (tcpi_ca_state, tcpi_snd_cwnd) }%
0.140000 write(4, ..., 7500) = 7500
0.140000 > [ect0] W. 3008:4008(1000) ack 1
0.140000 > [ect0] P. 4008:5008(1000) ack 1
0.140000 > [ect0] P. 5008:7008(2000) ack 1
0.162000 > [ect0] . 7008:8008(1000) ack 1
"#;
    assert_eq!(failure(text, true), None);
}
