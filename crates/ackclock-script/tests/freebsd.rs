//! FreeBSD's habits, one each. The public scripts of its test suite ask for all of them.

use ackclock_policy::Registry;
use ackclock_script::{Dialect, EngineHost, Outcome, parse, run};

fn outcome(text: &str) -> Outcome {
    let script = parse("test.pkt", text, &Dialect::FreeBsd.defines()).unwrap_or_else(|e| panic!("{e}"));
    let mut host = EngineHost::new(&Registry::builtin(), Dialect::FreeBsd, None, 1).unwrap();
    run(&script, &mut host, None, &|_| None).unwrap_or_else(|e| panic!("{e}"))
}

fn passes(text: &str) {
    let outcome = outcome(text);
    assert!(outcome.passed(), "{:?} {:?}", outcome.failure, outcome.lines.last());
    assert!(!outcome.notes.iter().any(|n| n.contains("not expected")), "{:?}", outcome.notes);
}

/// A client with a connection as descriptor 3.
const CLIENT: &str = "
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 fcntl(3, F_SETFL, O_NONBLOCK) = 0
+0 connect(3, ..., ...) = -1 EINPROGRESS
+0 > S 0:0(0) win 65535 <mss 1460,nop,wscale 6,sackOK,TS val 1 ecr 0>
+.1 < S. 0:0(0) ack 1 win 30000 <mss 1000,sackOK>
+0 > . 1:1(0) ack 1 win 65535
";

/// A listening socket as descriptor 3.
const LISTENER: &str = "
+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
";

/// Makes the client's connection wait in TIME-WAIT.
const WAITS: &str = "
+.1 shutdown(3, SHUT_WR) = 0
+0 > F. 1:1(0) ack 1
+.1 < F. 1:1(0) ack 2 win 30000
+0 > . 2:2(0) ack 2
";

fn client(text: &str) {
    passes(&format!("{CLIENT}{text}"));
}

#[test]
fn buffers_are_whole_segments_once_the_handshake_is_over() {
    passes(
        "+0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
         +0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [65536], [4]) = 0
         +0 getsockopt(3, SOL_SOCKET, SO_SNDBUF, [32768], [4]) = 0
         +0 fcntl(3, F_SETFL, O_NONBLOCK) = 0
         +0 connect(3, ..., ...) = -1 EINPROGRESS
         +0 > S 0:0(0) win 65535 <...>
         +.1 < S. 0:0(0) ack 1 win 30000 <mss 1000,nop,wscale 4>
         +0 getsockopt(3, SOL_SOCKET, SO_RCVBUF, [66000], [4]) = 0
         +0 getsockopt(3, SOL_SOCKET, SO_SNDBUF, [33000], [4]) = 0
         +0 > . 1:1(0) ack 1 win 1031",
    );
}

#[test]
fn settings_say_how_large_buffers_and_the_window_scale_are() {
    passes(
        "0 `sysctl -w net.inet.tcp.recvspace=20000 net.inet.tcp.rfc1323=2`
         +0 `sysctl -w kern.ipc.maxsockbuf=500000`
         +0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
         +0 fcntl(3, F_SETFL, O_NONBLOCK) = 0
         +0 connect(3, ..., ...) = -1 EINPROGRESS
         +0 > S 0:0(0) win 20000 <mss 1460,nop,wscale 3,sackOK,eol,eol>",
    );
    let notes = outcome("0 `sysctl -w net.inet.tcp.path_mtu_discovery=0`\n+0 close(9) = -1 EBADF").notes;
    assert_eq!(notes, ["line 1: net.inet.tcp.path_mtu_discovery has no effect here"]);
    let script = parse("t", "0 `sysctl net.inet.tcp.recvspace=many`\n+0 close(9) = -1", &[]).unwrap();
    let mut host = EngineHost::new(&Registry::builtin(), Dialect::FreeBsd, None, 1).unwrap();
    let error = run(&script, &mut host, None, &|_| None).unwrap_err();
    assert_eq!(error.to_string(), "line 1: net.inet.tcp.recvspace cannot be \"many\"");
}

#[test]
fn every_ack_announces_the_free_space() {
    client(
        "+.1 < P. 1:901(900) ack 1 win 30000
         +0 < P. 901:1801(900) ack 1 win 30000
         +0 > . 1:1(0) ack 1801 win 64200
         +0 read(3, ..., 1000) = 1000
         +.1 < P. 1801:2701(900) ack 1 win 30000
         +0 < P. 2701:2801(100) ack 1 win 30000
         * > . 1:1(0) ack 2801 win 64200",
    );
}

#[test]
fn a_reset_in_the_window_ends_the_connection_where_the_setting_says_so() {
    // RFC 5961 §3.2; and RFC 793 §3.9 with the setting. FreeBSD accepts what the buffer holds, beyond the
    // announced 65535.
    client("+.1 < R 66000:66000(0) win 0\n+0 > . 1:1(0) ack 1\n+0 close(3) = 0\n+0 > F. 1:1(0) ack 1");
    client("+.1 < R 66001:66001(0) win 0\n+0 close(3) = 0\n+0 > F. 1:1(0) ack 1");
    passes(&format!(
        "0 `sysctl -w net.inet.tcp.insecure_rst=1`{CLIENT}
         +.1 < R 66000:66000(0) win 0
         +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0"
    ));
}

#[test]
fn a_syn_in_the_window_resets_where_the_setting_says_so() {
    client("+.1 < S 5:5(0) win 1000 <mss 1000>\n+0 > . 1:1(0) ack 1");
    passes(&format!(
        "0 `sysctl -w net.inet.tcp.insecure_syn=1`{CLIENT}
         +.1 < S 5:5(0) win 1000 <mss 1000>
         +0 > R. 1:1(0) ack 1 win 0
         +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0"
    ));
}

#[test]
fn time_wait_answers_what_has_an_ack_and_is_no_repeated_ack() {
    client(&format!(
        "{WAITS}
         +.1 < R 2:2(0) win 0
         +.1 < S 2:2(0) win 1000 <mss 1000>
         +.1 < . 2:2(0) ack 2 win 30000
         +.1 < . 3:3(0) ack 2 win 30000
         +0 > . 2:2(0) ack 2
         +.1 < S. 2:2(0) ack 2 win 30000
         +0 > . 2:2(0) ack 2
         +.1 < F. 1:1(0) ack 2 win 30000
         +0 > . 2:2(0) ack 2
         +0 `sockstat -4 -P tcp -s | grep packetdril | grep -c TIME_WAIT | grep 1`
         +0 `tcpdrop -s TIME_WAIT`
         +0 `sockstat -s | grep -c TIME_WAIT | grep 0`"
    ));
}

#[test]
fn a_listener_answers_neither_a_syn_ack_nor_what_it_is_told_to_drop() {
    passes(&format!(
        "0 `sysctl -w net.inet.tcp.drop_synfin=1 net.inet.tcp.blackhole=2`{LISTENER}
         +.1 < S. 7:10(3) ack 34 win 1000
         +.1 < SF 7:7(0) win 1000 <mss 1000>
         +.1 close(3) = 0
         +.1 < S 7:7(0) win 1000 <mss 1000>"
    ));
}

#[test]
fn acks_repeat_a_fin_until_it_is_acknowledged() {
    client(
        "+.1 shutdown(3, SHUT_WR) = 0
         +0 > F. 1:1(0) ack 1
         +.1 < F. 1:1(0) ack 1 win 30000
         +0 > F. 1:1(0) ack 2
         +.05 < S 2:2(0) win 1000
         +0 > . 2:2(0) ack 2
         +.05 < R 2:2(0) win 0
         +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0
         +0 `sockstat -s | grep packetdril | grep CLOSED`",
    );
}

#[test]
fn a_reset_after_the_peers_fin_is_one_too() {
    client(
        "+.1 < F. 1:1(0) ack 1 win 30000
         +0 > . 1:1(0) ack 2
         +.1 < R 2:2(0) win 0
         +0 getsockopt(3, SOL_SOCKET, SO_ERROR, [ECONNRESET], [4]) = 0",
    );
}

#[test]
fn text_of_a_syn_in_a_simultaneous_open_waits() {
    // RFC 9293 §3.10.7.3.
    passes(
        "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
         +0 fcntl(3, F_SETFL, O_NONBLOCK) = 0
         +0 connect(3, ..., ...) = -1 EINPROGRESS
         +0 > S 0:0(0) win 65535 <...>
         +.1 < S 0:5(5) win 1000 <mss 1000>
         +0 > S. ...(0) ack 1 win 65535 <mss 1460>
         +0 %{ assert tcpi_state == TCPI_SYN_RECEIVED }%
         +0 read(3, ..., 10) = -1 EWOULDBLOCK
         +.1 < . 6:6(0) ack 1 win 1000
         +0 read(3, ..., 10) = 5",
    );
}

#[test]
fn lines_for_another_system_do_not_count() {
    passes(
        "0 close(9) = -1 EBADF\n#ifdef Linux\n+0 close(9) = 0\n#endif\n#ifdef FreeBSD\n+0 close(9) = -1\n#endif",
    );
    let outcome = outcome("0 close(9) = -1 EBADF\n#ifdef FreeBSD\n+0 close(9) = 0\n#endif");
    assert_eq!(outcome.failure.unwrap().line, 3);
    let error = |text: &str| parse("t", text, &[]).unwrap_err().to_string();
    assert_eq!(
        error("0 close(9) = 0\n  #ifdef X\n"),
        "t:2:3: expected #endif after this #ifdef, found \"#ifdef X\""
    );
    assert_eq!(error("0 > . ...(x)"), "t:1:11: expected a length of 16 bits, found \"x)\"");
}

#[test]
fn lists_of_connections_are_those_of_the_host() {
    let failure = |text: &str| outcome(&format!("{CLIENT}{text}")).failure.map(|f| f.why);
    assert_eq!(failure("+0 `sockstat -s | grep -c ESTABLISHED | grep 1`"), None);
    assert_eq!(
        failure("+0 `sockstat -s | grep TIME_WAIT`").as_deref(),
        Some("`grep TIME_WAIT` finds nothing in \"root packetdril tcp 49152 8080 ESTABLISHED\"")
    );
    assert_eq!(
        failure("+0 `sockstat -s -p 22 | grep -c ESTABLISHED | grep 1`").as_deref(),
        Some("`grep 1` finds nothing in \"0\"")
    );
    assert_eq!(
        failure("+0 < . ...(0) ack 1 win 3").as_deref(),
        Some("a segment that arrives needs its sequence number")
    );
}
