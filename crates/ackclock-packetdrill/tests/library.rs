//! The library as packetdrill meets it: loaded by name, called through its table.

#![cfg(target_os = "linux")]
#![allow(unsafe_code, reason = "the library is a C program's")]

#[path = "../src/interface.rs"]
mod interface;

use std::ffi::{CString, c_int, c_void};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::{env, mem, ptr};

use ackclock_units::{Ecn, SeqNumber};
use ackclock_wire::{Flags, Options, Segment, Transport, emit_tcp, parse_ip};
use interface::{Init, Interface};

/// The library, built beside this test.
fn library() -> PathBuf {
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "--offline", "--package", "ackclock-packetdrill"]);
    let test = env::current_exe().expect("a test has a path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("tests are in deps").to_owned();
    build.arg("--target-dir").arg(folder.parent().expect("a profile's folder is in the target's"));
    if folder.ends_with("release") {
        build.arg("--release");
    }
    assert!(build.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs").success());
    folder.join("libackclock_packetdrill.so")
}

/// A function of the library.
fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).expect("no zero in it");
    // SAFETY: the library is loaded, and the name ends in a zero byte.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "no symbol {name:?}");
    found
}

fn load() -> (*mut c_void, Interface) {
    let path = CString::new(library().into_os_string().into_encoded_bytes()).expect("no zero in it");
    // SAFETY: loading the library runs none of its code.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "{path:?} cannot be loaded");
    // SAFETY: the entry has this type.
    let init: Init = unsafe { mem::transmute(symbol(library, "packetdrill_interface_init")) };
    let mut table = MaybeUninit::uninit();
    // SAFETY: there is room for the table, and the entry fills it in.
    let table = unsafe {
        init(ptr::null(), table.as_mut_ptr());
        table.assume_init()
    };
    (library, table)
}

/// `127.0.0.1:8080` as the system writes it.
fn address() -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: libc::AF_INET as u16,
        sin_port: 8080_u16.to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
        sin_zero: [0; 8],
    }
}

const LOCAL: &str = "127.0.0.1:8080";
const REMOTE: &str = "192.0.2.9:40000";

fn send(table: &Interface, segment: Segment) {
    let (from, to): (SocketAddr, SocketAddr) = (REMOTE.parse().unwrap(), LOCAL.parse().unwrap());
    let mut packet = Vec::new();
    emit_tcp(from, to, &segment, &[], Ecn::NotEct, &mut packet).expect("it fits");
    // SAFETY: the packet has this length.
    let sent = unsafe { (table.netdev_send)(table.userdata, packet.as_ptr().cast(), packet.len()) };
    assert_eq!(sent, 0);
}

/// The next packet with its moment, µs.
fn receive(table: &Interface) -> (Vec<u8>, i64) {
    let mut packet = vec![0; 65_536];
    let (mut len, mut at) = (packet.len(), 0);
    // SAFETY: the buffer has this length.
    let received =
        unsafe { (table.netdev_receive)(table.userdata, packet.as_mut_ptr().cast(), &mut len, &mut at) };
    assert_eq!(received, 0);
    packet.truncate(len);
    (packet, at)
}

fn clock(table: &Interface) -> i64 {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    // SAFETY: there is room for the time.
    assert_eq!(unsafe { (table.gettimeofday)(table.userdata, &mut time, ptr::null_mut()) }, 0);
    time.tv_sec * 1_000_000 + time.tv_usec
}

/// One process has one lab: all of it is one test.
#[test]
fn a_server_answers_a_syn_in_virtual_time() {
    let (library, table) = load();
    let t = &table;
    // SAFETY: the arguments are those of the system calls.
    let fd = unsafe {
        let fd = (t.socket)(t.userdata, libc::AF_INET, libc::SOCK_STREAM, libc::IPPROTO_TCP);
        let local = address();
        let len = mem::size_of_val(&local) as libc::socklen_t;
        assert_eq!((t.bind)(t.userdata, fd, (&raw const local).cast(), len), 0);
        assert_eq!((t.listen)(t.userdata, fd, 1), 0);
        fd
    };

    // The clock stands, sleeps last 20 µs longer than asked for, and reading it over and over lets it creep.
    let begin = clock(t);
    assert_eq!(clock(t), begin);
    // SAFETY: no pointer but the table's own.
    unsafe { (t.usleep)(t.userdata, 980) };
    assert_eq!(clock(t), begin + 1000);
    for _ in 0..100 {
        clock(t);
    }
    assert!((begin + 1000..begin + 1200).contains(&clock(t)));

    let syn = Segment {
        seq: SeqNumber(0),
        flags: Flags::SYN,
        window: 32_792,
        options: Options { mss: Some(1000), sack_permitted: true, window_scale: Some(7), ..Options::NONE },
        ..Segment::default()
    };
    send(t, syn);
    let (packet, at) = receive(t);
    assert_eq!(at, clock(t));
    let packet = parse_ip(&packet).expect("checksums are right");
    assert_eq!(packet.src.to_string(), "127.0.0.1");
    let Transport::Tcp(tcp) = packet.transport else { panic!("{packet:?}") };
    assert_eq!((tcp.src_port, tcp.dst_port), (8080, 40_000));
    assert_eq!((tcp.segment.flags, tcp.segment.ack), (Flags::SYN | Flags::ACK, SeqNumber(1)));
    assert!(tcp.segment.options.sack_permitted);

    // Without an answer it is sent again after a second.
    let (_, again) = receive(t);
    assert_eq!(again, at + 1_000_000);

    let ack = Segment {
        seq: SeqNumber(1),
        ack: SeqNumber(1),
        flags: Flags::ACK,
        window: 257,
        ..Segment::default()
    };
    send(t, ack);
    let mut peer = address();
    let mut len = mem::size_of_val(&peer) as libc::socklen_t;
    // SAFETY: there is room for the address.
    let accepted = unsafe { (t.accept)(t.userdata, fd, (&raw mut peer).cast(), &mut len) };
    assert!(accepted > fd);
    assert_eq!((u16::from_be(peer.sin_port), peer.sin_addr.s_addr.to_ne_bytes()), (40_000, [192, 0, 2, 9]));

    tcp_info(library, accepted);

    // Descriptors are real, and are closed.
    // SAFETY: no pointers.
    unsafe {
        assert!(libc::fcntl(accepted, libc::F_GETFD) >= 0);
        assert_eq!((t.close)(t.userdata, accepted), 0);
        assert_eq!(libc::fcntl(accepted, libc::F_GETFD), -1);
        assert_eq!((t.close)(t.userdata, accepted), -1);
        assert_eq!(*libc::__errno_location(), libc::EBADF);
        (t.free)(t.userdata);
    }
}

type GetSockOpt = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void, *mut libc::socklen_t) -> c_int;

/// The C library's function of this name has its answers for the lab's descriptors, and its own for others.
fn tcp_info(library: *mut c_void, accepted: c_int) {
    // SAFETY: it has this type.
    let getsockopt: GetSockOpt = unsafe { mem::transmute(symbol(library, "getsockopt")) };
    let ask = |fd: c_int, level: c_int, name: c_int| {
        let mut value = [0_u8; 512];
        let mut len = value.len() as libc::socklen_t;
        // SAFETY: the value has this length.
        let status = unsafe { getsockopt(fd, level, name, value.as_mut_ptr().cast(), &mut len) };
        (status, value[..len as usize].to_vec())
    };
    let (status, info) = ask(accepted, libc::IPPROTO_TCP, libc::TCP_INFO);
    assert_eq!((status, info.len(), info[0]), (0, 280, 1));
    let mss = mem::offset_of!(libc::tcp_info, tcpi_snd_mss);
    assert_eq!(info[mss..mss + 4], 1000_u32.to_ne_bytes());

    let other = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (status, kind) = ask(std::os::fd::AsRawFd::as_raw_fd(&other), libc::SOL_SOCKET, libc::SO_TYPE);
    assert_eq!((status, kind), (0, libc::SOCK_STREAM.to_ne_bytes().to_vec()));
}
