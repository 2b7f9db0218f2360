//! Namespaces and devices are set up as configured and are removed with their owner.
#![cfg(target_os = "linux")]

mod common;

use std::io::{BufRead, BufReader, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};

use ackclock_drive::{Namespace, Tun, TunOptions};
use ackclock_sim::LinkSpec;
use common::allowed;

#[test]
fn a_namespace_has_a_loopback_of_its_own() {
    if !allowed() {
        return;
    }
    let (a, b) = (Namespace::new(false).unwrap(), Namespace::new(false).unwrap());
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 4242));
    let first = a.run(bind).unwrap().unwrap();
    // The same port is free in the other namespace, and taken in this one.
    let second = b.run(bind).unwrap().unwrap();
    assert_eq!(a.run(bind).unwrap().unwrap_err().kind(), ErrorKind::AddrInUse);
    drop((first, second));
}

#[test]
fn kernel_parameters_belong_to_the_namespace() {
    if !allowed() {
        return;
    }
    let (a, b) = (Namespace::new(false).unwrap(), Namespace::new(false).unwrap());
    a.set_sysctl("net.ipv4.tcp_sack", "0").unwrap();
    assert_eq!(a.sysctl("net.ipv4.tcp_sack").unwrap(), "0");
    assert_eq!(b.sysctl("net.ipv4.tcp_sack").unwrap(), "1");
    let e = a.set_sysctl("net.ipv4.tcp_nonsense", "1").unwrap_err().to_string();
    assert!(e.contains("net.ipv4.tcp_nonsense"), "{e}");
    assert_eq!(a.tcp_counter("RetransSegs").unwrap(), 0);
}

#[test]
fn packets_to_the_devices_subnet_come_out_of_it() {
    if !allowed() {
        return;
    }
    let ns = Namespace::new(false).unwrap();
    let options = TunOptions { ipv4: (Ipv4Addr::new(10, 9, 8, 1), 24), mtu: 9000, ..TunOptions::default() };
    let tun = Tun::new(&ns, &options).unwrap();
    let mut buffer = [0; 65536];
    assert_eq!(tun.recv(&mut buffer).unwrap_err().kind(), ErrorKind::WouldBlock);
    ns.run(|| {
        let socket = UdpSocket::bind("10.9.8.1:1000").unwrap();
        socket.send_to(b"ackclock", "10.9.8.2:2000").unwrap();
    })
    .unwrap();
    let n = tun.recv(&mut buffer).unwrap();
    assert_eq!(n, 20 + 8 + 8);
    assert_eq!(
        (buffer[0] >> 4, &buffer[12..20], &buffer[28..n]),
        (4, &[10, 9, 8, 1, 10, 9, 8, 2][..], &b"ackclock"[..])
    );
}

/// Run by the test below in a child process: sets up a network and waits.
#[test]
#[allow(clippy::zombie_processes)]
fn child_that_is_killed() {
    if std::env::var_os("ACKCLOCK_CHILD").is_none() {
        return;
    }
    let ns = Namespace::new(false).unwrap();
    let _tun = Tun::new(&ns, &TunOptions::default()).unwrap();
    let inner = ns.spawn(Command::new("sleep").arg("1000")).unwrap();
    let inode = std::fs::read_link(format!("/proc/{}/ns/net", inner.id())).unwrap();
    println!("\nready {} {}", inner.id(), inode.display());
    std::thread::sleep(std::time::Duration::from_secs(1000));
}

#[test]
fn a_program_that_is_killed_or_interrupted_leaves_nothing_behind() {
    if !allowed() {
        return;
    }
    for signal in ["KILL", "INT", "TERM"] {
        // A shell that runs the tests in the background makes them and their children ignore SIGINT.
        if signal == "INT" && ignores_interrupts() {
            println!("skipped: SIGINT is ignored here");
            continue;
        }
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_that_is_killed", "--nocapture"])
            .env("ACKCLOCK_CHILD", "1")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|l| l.unwrap().strip_prefix("ready ").map(str::to_owned)).unwrap();
        let (grandchild, inode) = ready.split_once(' ').unwrap();
        assert!(holders(inode) > 0, "the child's program is in its namespace");
        assert!(
            Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap().success()
        );
        child.wait().unwrap();
        // The kernel kills the program in the namespace; wait for that.
        let gone = || !running(grandchild) && holders(inode) == 0;
        let waited = (0..200).find(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            gone()
        });
        assert!(waited.is_some(), "{signal}: process {grandchild} or namespace {inode} is still there");
    }
}

fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|l| l.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(ignored.trim(), 16).unwrap() & 1 << (2 - 1) != 0
}

fn running(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|s| !s.contains(") Z "))
}

/// Processes in a network namespace.
fn holders(inode: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter(|p| std::fs::read_link(p.path().join("ns/net")).is_ok_and(|l| l.to_string_lossy() == inode))
        .count()
}

/// The congestion control of a connection.
fn control(socket: &impl std::os::fd::AsFd) -> String {
    let name = rustix::net::sockopt::tcp_congestion(socket);
    name.unwrap().to_string()
}

#[test]
fn a_namespace_may_have_any_congestion_control_that_the_kernel_has() {
    if !allowed() {
        return;
    }
    let (a, b, _emulator) = common::two_kernels(LinkSpec::default(), LinkSpec::default());
    let listener = b.run(|| TcpListener::bind("10.0.0.2:80").unwrap()).unwrap();
    let available = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    assert!(available.split_whitespace().any(|name| name == "reno"), "{available}");
    // The last one shows that an earlier one does not stay.
    for name in available.split_whitespace().chain(["reno"]) {
        for namespace in [&a, &b] {
            namespace.set_sysctl("net.ipv4.tcp_congestion_control", name).unwrap();
        }
        let opened = a.run(|| TcpStream::connect("10.0.0.2:80").unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        assert_eq!((control(&opened), control(&accepted)), (name.to_owned(), name.to_owned()));
    }
    let e = a.set_sysctl("net.ipv4.tcp_congestion_control", "no-such-rule").unwrap_err().to_string();
    assert!(e.contains("no-such-rule"), "{e}");
}
