//! Scripts in packetdrill's language: the same on the engine and on the kernel.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;

use ackclock_drive::{DriveError, run_script};
use ackclock_policy::Registry;
use ackclock_script::{Dialect, EngineHost, Link, Outcome, parse};
use ackclock_units::Duration;

/// Wide enough for a machine that does other work.
const TOLERANCE: Duration = Duration::from_millis(25);

fn on_kernel(text: &str, go_on: ControlFlow<()>) -> Result<Outcome, DriveError> {
    let script = parse("test.pkt", text, &[]).unwrap();
    run_script(&script, Link::default(), Some(TOLERANCE), &|_| None, &mut || go_on).map(Result::unwrap)
}

/// Runs a script on both; what fails is shown with its line.
fn on_both(text: &str) {
    let script = parse("test.pkt", text, &[]).unwrap();
    let mut engine = EngineHost::new(&Registry::builtin(), Dialect::Linux, None, 1).unwrap();
    let outcome = ackclock_script::run(&script, &mut engine, Some(TOLERANCE), &|_| None).unwrap();
    assert_eq!(outcome.failure, None, "on the engine; {:#?}", outcome.lines.last());
    if common::allowed() {
        let outcome = on_kernel(text, ControlFlow::Continue(())).unwrap();
        assert_eq!(outcome.failure, None, "on the kernel; {:#?}", outcome.lines.last());
    }
}

#[test]
fn a_server_reads_writes_and_closes() {
    on_both(
        r"`sysctl -q net.ipv4.tcp_timestamps=0`
 0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0   setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
+0   bind(3, ..., ...) = 0
+0   listen(3, 1) = 0
+0...0.03 accept(3, ..., ...) = 4
+.01 < S 0:0(0) win 60000 <mss 1000,sackOK,nop,wscale 7,nop>
+0   > S. 0:0(0) ack 1 <...>
+.02 < . 1:1(0) ack 1 win 500
+.01 < P. 1:501(500) ack 1 win 500
+0   > . 1:1(0) ack 501
+0   read(4, ..., 1000) = 500
+0   write(4, ..., 3000) = 3000
+0   > P. 1:3001(3000) ack 501
+.01 < . 501:501(0) ack 3001 win 500
+0   fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0   read(4, ..., 1000) = -1 EAGAIN (Resource temporarily unavailable)
+0   close(4) = 0
+0   > F. 3001:3001(0) ack 501
+.01 < F. 501:501(0) ack 3002 win 500
+0   > . 3002:3002(0) ack 502
",
    );
}

#[test]
fn a_client_retransmits_what_is_lost() {
    on_both(
        r#"`sysctl -q net.ipv4.tcp_timestamps=1 net.ipv4.tcp_rmem="4096 131072 6291456"`
 0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.02 connect(3, ..., ...) = 0
+0   > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7>
+.02 < S. 0:0(0) ack 1 win 60000 <mss 1012,sackOK,TS val 700 ecr 100,nop,wscale 7>
+0   > . 1:1(0) ack 1 <nop,nop,TS val 120 ecr 700>
+0   write(3, ..., 4000) = 4000
+0   > P. 1:4001(4000) ack 1 <nop,nop,TS val 120 ecr 700>
+.02 < . 1:1(0) ack 1 win 500 <nop,nop,TS val 720 ecr 120,nop,nop,sack 1001:2001>
+0   < . 1:1(0) ack 1 win 500 <nop,nop,TS val 720 ecr 120,nop,nop,sack 1001:3001>
+0   < . 1:1(0) ack 1 win 500 <nop,nop,TS val 720 ecr 120,nop,nop,sack 1001:4001>
+0   > . 1:1001(1000) ack 1 <nop,nop,TS val 140 ecr 720>
+0   %{ assert tcpi_ca_state == TCP_CA_Recovery, tcpi_ca_state; assert tcpi_retrans == 1, tcpi_retrans }%
+.02 < . 1:1(0) ack 4001 win 500 <nop,nop,TS val 740 ecr 140>
"#,
    );
}

#[test]
fn an_icmp_error_and_a_reset_end_attempts_to_connect() {
    on_both(
        r"
 0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0...0.02 connect(3, ..., ...) = -1 EHOSTUNREACH (No route to host)
+0   > S 0:0(0) <...>
+.02 < icmp unreachable host_unreachable [0:0(0)]
+.01 socket(..., SOCK_STREAM, IPPROTO_TCP) = 4
+0   fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
+0   connect(4, ..., ...) = -1 EINPROGRESS (Operation now in progress)
+0   > S 0:0(0) <...>
+.01 < R. 0:0(0) ack 1 win 0
+0   getsockopt(4, SOL_SOCKET, SO_ERROR, [ECONNREFUSED], [4]) = 0
+0   close(4) = 0
",
    );
}

#[test]
fn what_the_kernel_does_otherwise_is_a_failure_with_its_line() {
    if !common::allowed() {
        return;
    }
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
                +0 close(7) = -1 EBADF (Bad file descriptor)\n\
                +0 listen(3, 1) = -1 EINVAL (Invalid argument)\n";
    let failure = on_kernel(text, ControlFlow::Continue(())).unwrap().failure.unwrap();
    assert_eq!(
        (failure.line, failure.why.as_str()),
        (3, "the call returns 0 instead of failing with EINVAL")
    );
}

#[test]
fn a_run_stops_when_it_is_asked_to() {
    if !common::allowed() {
        return;
    }
    let text = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+3600 close(3) = 0\n";
    assert!(matches!(on_kernel(text, ControlFlow::Break(())), Err(DriveError::Interrupted)));
}
