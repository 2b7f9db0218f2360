//! The functions of the table: pointers become values, calls of the host are made, results are written back.
//!
//! What every pointer must point to is what the manual of its system call says; packetdrill passes its own buffers,
//! which live until the call returns. Payload is zeros: buffers to write are not looked at.

#![allow(unsafe_code, reason = "the interface of C programs passes pointers")]

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulong, c_void};
use std::{ptr, slice};

use ackclock_policy::Registry;
use ackclock_script::{Call, DIALECTS, Dialect, EngineHost, Returned};
use ackclock_units::{Duration, Instant};
use libc::{
    epoll_event, iovec, loff_t, msghdr, nfds_t, pollfd, size_t, sockaddr, socklen_t, ssize_t, timeval,
    timezone,
};

use crate::addresses;
use crate::interface::{Init, Interface, Variadic};
use crate::lab::{self, Descriptor};
use crate::{options, preload};

/// The seed of the host's random numbers.
const SEED: u64 = 1;

/// The moment, seconds, at which the clock begins: packetdrill takes small readings for none.
const EPOCH: i64 = 1_000_000_000;

/// Most bytes of one call: as many as `read(2)` moves at most.
const MOST: u64 = 0x7fff_f000;

/// Sets `errno`, and returns what a call that fails returns.
pub(crate) fn set_errno(errno: c_int) -> c_int {
    // SAFETY: the C library gives a place that is this thread's own.
    unsafe { *libc::__errno_location() = errno };
    -1
}

fn status(result: Result<c_int, c_int>) -> c_int {
    result.unwrap_or_else(set_errno)
}

fn count(result: Result<u64, c_int>) -> ssize_t {
    result.map_or_else(|errno| set_errno(errno) as ssize_t, |n| n as ssize_t)
}

/// Writes as much of `bytes` as there is room for, and how much that is.
///
/// # Safety
///
/// `len` points to the length of what `value` points to.
pub(crate) unsafe fn write_out(bytes: &[u8], value: *mut u8, len: *mut socklen_t) -> c_int {
    if value.is_null() || len.is_null() {
        return set_errno(libc::EFAULT);
    }
    // SAFETY: the caller's promise; no more than the length is written.
    unsafe {
        let n = bytes.len().min(*len as usize);
        ptr::copy_nonoverlapping(bytes.as_ptr(), value, n);
        *len = n as socklen_t;
    }
    0
}

/// The bytes that a pointer points to; none behind a null pointer.
///
/// # Safety
///
/// `len` bytes can be read there.
unsafe fn bytes<'a>(at: *const u8, len: usize) -> &'a [u8] {
    // SAFETY: the caller's promise.
    if at.is_null() { &[] } else { unsafe { slice::from_raw_parts(at, len) } }
}

/// The buffers of a vector; none behind a null pointer.
///
/// # Safety
///
/// `len` vectors can be read there.
unsafe fn vectors<'a>(at: *const iovec, len: usize) -> &'a [iovec] {
    // SAFETY: the caller's promise.
    if at.is_null() { &[] } else { unsafe { slice::from_raw_parts(at, len) } }
}

/// The bytes of all buffers.
fn total(vectors: &[iovec]) -> u64 {
    vectors.iter().fold(0, |sum: u64, v| sum.saturating_add(v.iov_len as u64))
}

/// Zeros in a buffer: what is read.
///
/// # Safety
///
/// `n` bytes can be written there, unless it is null.
unsafe fn clear(buffer: *mut c_void, n: u64) {
    if !buffer.is_null() {
        // SAFETY: the caller's promise.
        unsafe { ptr::write_bytes(buffer.cast::<u8>(), 0, n as usize) };
    }
}

/// Zeros in the first `n` bytes of all buffers.
///
/// # Safety
///
/// Each buffer has its length.
unsafe fn clear_all(vectors: &[iovec], mut n: u64) {
    for v in vectors {
        let part = n.min(v.iov_len as u64);
        // SAFETY: the caller's promise.
        unsafe { clear(v.iov_base, part) };
        n -= part;
    }
}

fn write_len(fd: c_int, len: u64, flags: c_int) -> ssize_t {
    let (len, flags) = (len.min(MOST), i64::from(flags));
    count(lab::call(fd, |fd| Call::Write { fd, len, flags, done: 0 }, |_, returned| Ok(number(&returned))))
}

fn read_len(fd: c_int, len: u64, flags: c_int) -> Result<u64, c_int> {
    let (len, flags) = (len.min(MOST), i64::from(flags));
    lab::call(fd, |fd| Call::Read { fd, len, flags }, |_, returned| Ok(number(&returned)))
}

fn number(returned: &Returned) -> u64 {
    match returned {
        Returned::Value(n) | Returned::Number(n) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    }
}

/// A call that returns zero.
fn simple(fd: c_int, make: impl FnOnce(i32) -> Call) -> c_int {
    status(lab::call(fd, make, |_, _| Ok(0)))
}

/// A real descriptor for one of the host.
fn real() -> Result<c_int, c_int> {
    // SAFETY: it takes no pointer.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if fd < 0 { Err(libc::EMFILE) } else { Ok(fd) }
}

unsafe extern "C" fn free(_: *mut c_void) {
    lab::end();
}

unsafe extern "C" fn socket(_: *mut c_void, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    let tcp = matches!(protocol, 0 | libc::IPPROTO_TCP) && kind & 15 == libc::SOCK_STREAM;
    if !matches!(domain, libc::AF_INET | libc::AF_INET6) {
        return set_errno(libc::EAFNOSUPPORT);
    }
    if !tcp {
        return set_errno(libc::EPROTONOSUPPORT);
    }
    let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
    let opened = lab::open(&mut Call::Socket { nonblocking }).and_then(|host| {
        let fd = real()?;
        lab::keep(fd, Descriptor { host, family: domain, bound: None, peer: None })?;
        Ok(fd)
    });
    status(opened)
}

unsafe extern "C" fn bind(_: *mut c_void, fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: bind(2) gives the length of the address.
    let Some(address) = addresses::read(unsafe { bytes(address.cast(), len as usize) }) else {
        return set_errno(libc::EINVAL);
    };
    let port = Some(address.port()).filter(|port| *port != 0);
    let bound = lab::call(
        fd,
        |fd| Call::Bind { fd, port },
        |lab, _| {
            if let Some(descriptor) = lab.descriptors.get_mut(&fd) {
                descriptor.bound = Some(address);
            }
            Ok(0)
        },
    );
    status(bound)
}

unsafe extern "C" fn listen(_: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    simple(fd, |fd| Call::Listen { fd, backlog: backlog.into() })
}

unsafe extern "C" fn accept(_: *mut c_void, fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let accepted = lab::call(
        fd,
        |fd| Call::Accept { fd, nonblocking: false },
        |lab, returned| {
            let host = number(&returned) as i32;
            let new = real()?;
            let family = lab.descriptors.get(&fd).map_or(libc::AF_INET, |d| d.family);
            lab.descriptors.insert(new, Descriptor { host, family, bound: None, peer: None });
            let ports = lab.host.ports_of(host);
            let peer = ports.and_then(|p| Some((lab.addresses.of(p)?.1, p.remote)));
            Ok((new, peer.map(|peer| addresses::write(peer.into(), family))))
        },
    );
    match accepted {
        Ok((new, Some(peer))) if !address.is_null() => {
            // SAFETY: accept(2) gives the length of the room for an address.
            unsafe { write_out(&peer, address.cast(), len) };
            new
        }
        Ok((new, _)) => new,
        Err(errno) => set_errno(errno),
    }
}

unsafe extern "C" fn connect(_: *mut c_void, fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    // SAFETY: connect(2) gives the length of the address.
    let address = unsafe { bytes(address.cast(), len as usize) };
    // To connect to no address is to disconnect; the host does not know that.
    let Some(remote) = addresses::read(address) else { return set_errno(libc::EAFNOSUPPORT) };
    lab::connects(fd, remote);
    simple(fd, |fd| Call::Connect { fd, port: Some(remote.port()) })
}

unsafe extern "C" fn read(_: *mut c_void, fd: c_int, buffer: *mut c_void, len: size_t) -> ssize_t {
    let n = read_len(fd, len as u64, 0);
    // SAFETY: the buffer has `len` bytes, and no more were read.
    unsafe { clear(buffer, n.unwrap_or(0)) };
    count(n)
}

unsafe extern "C" fn readv(_: *mut c_void, fd: c_int, at: *const iovec, len: c_int) -> ssize_t {
    // SAFETY: readv(2) gives the number of buffers.
    let all = unsafe { vectors(at, usize::try_from(len).unwrap_or(0)) };
    let n = read_len(fd, total(all), 0);
    // SAFETY: each buffer has its length.
    unsafe { clear_all(all, n.unwrap_or(0)) };
    count(n)
}

unsafe extern "C" fn recv(
    _: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    let n = read_len(fd, len as u64, flags);
    // SAFETY: the buffer has `len` bytes, and no more were read.
    unsafe { clear(buffer, n.unwrap_or(0)) };
    count(n)
}

unsafe extern "C" fn recvfrom(
    _: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
    _address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    let n = read_len(fd, len as u64, flags);
    // SAFETY: the buffer has `len` bytes, and no more were read.
    unsafe { clear(buffer, n.unwrap_or(0)) };
    if !address_len.is_null() {
        // A connected socket gives no address (recvfrom(2)).
        // SAFETY: it is not null, and recvfrom(2) writes a length there.
        unsafe { *address_len = 0 };
    }
    count(n)
}

unsafe extern "C" fn recvmsg(_: *mut c_void, fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    // SAFETY: recvmsg(2) is given a message; a null pointer is none.
    let Some(message) = (unsafe { message.as_mut() }) else { return set_errno(libc::EFAULT) as ssize_t };
    // SAFETY: the message says how many buffers it has.
    let all = unsafe { vectors(message.msg_iov, message.msg_iovlen as usize) };
    let n = read_len(fd, total(all), flags);
    // SAFETY: each buffer has its length.
    unsafe { clear_all(all, n.unwrap_or(0)) };
    if n.is_ok() {
        (message.msg_namelen, message.msg_controllen, message.msg_flags) = (0, 0, 0);
    }
    count(n)
}

unsafe extern "C" fn write(_: *mut c_void, fd: c_int, _: *const c_void, len: size_t) -> ssize_t {
    write_len(fd, len as u64, 0)
}

unsafe extern "C" fn writev(_: *mut c_void, fd: c_int, at: *const iovec, len: c_int) -> ssize_t {
    // SAFETY: writev(2) gives the number of buffers.
    write_len(fd, total(unsafe { vectors(at, usize::try_from(len).unwrap_or(0)) }), 0)
}

unsafe extern "C" fn send(_: *mut c_void, fd: c_int, _: *const c_void, len: size_t, flags: c_int) -> ssize_t {
    write_len(fd, len as u64, flags)
}

unsafe extern "C" fn sendto(
    _: *mut c_void,
    fd: c_int,
    _: *const c_void,
    len: size_t,
    flags: c_int,
    _: *const sockaddr,
    _: socklen_t,
) -> ssize_t {
    write_len(fd, len as u64, flags)
}

unsafe extern "C" fn sendmsg(_: *mut c_void, fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    // SAFETY: sendmsg(2) is given a message; a null pointer is none.
    let Some(message) = (unsafe { message.as_ref() }) else { return set_errno(libc::EFAULT) as ssize_t };
    // SAFETY: the message says how many buffers it has.
    write_len(fd, total(unsafe { vectors(message.msg_iov, message.msg_iovlen as usize) }), flags)
}

unsafe extern "C" fn fcntl(_: *mut c_void, fd: c_int, command: c_int, flags: Variadic) -> c_int {
    match command {
        libc::F_GETFL => {
            status(lab::call(fd, |fd| Call::GetFlags { fd }, |_, returned| Ok(number(&returned) as c_int)))
        }
        // An `int`, of whose register the upper half may hold anything.
        libc::F_SETFL => simple(fd, |fd| Call::SetFlags { fd, flags: (flags as c_int).into() }),
        _ => set_errno(libc::EINVAL),
    }
}

unsafe extern "C" fn ioctl(_: *mut c_void, fd: c_int, request: c_ulong, out: *mut c_int) -> c_int {
    // What a negative `int` of packetdrill's becomes has the same lower half.
    let request = i64::from(request as u32);
    match lab::call(fd, |fd| Call::Ioctl { fd, request }, |_, returned| Ok(number(&returned))) {
        Err(errno) => set_errno(errno),
        Ok(_) if out.is_null() => set_errno(libc::EFAULT),
        Ok(n) => {
            // SAFETY: the requests that the host knows write an `int`.
            unsafe { *out = n as c_int };
            0
        }
    }
}

unsafe extern "C" fn close(_: *mut c_void, fd: c_int) -> c_int {
    let closed = lab::call(
        fd,
        |fd| Call::Close { fd },
        |lab, _| {
            lab.descriptors.remove(&fd);
            Ok(0)
        },
    );
    if closed.is_ok() {
        // SAFETY: it was the lab's own, which has forgotten it.
        unsafe { libc::close(fd) };
    }
    status(closed)
}

unsafe extern "C" fn shutdown(_: *mut c_void, fd: c_int, how: c_int) -> c_int {
    simple(fd, |fd| Call::Shutdown { fd, how: how.into() })
}

unsafe extern "C" fn getsockopt(
    _: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    let found = match preload::answer(fd, level, name) {
        Some(Ok(bytes)) => Ok(bytes),
        _ => lab::call(
            fd,
            |fd| Call::GetOption { fd, level: level.into(), name: name.into() },
            |_, returned| match returned {
                Returned::Option(value) => Ok(options::write(name, &value)),
                _ => Err(libc::ENOPROTOOPT),
            },
        ),
    };
    match found {
        // SAFETY: getsockopt(2) gives the length of the value.
        Ok(bytes) => unsafe { write_out(&bytes, value.cast(), len) },
        Err(errno) => set_errno(errno),
    }
}

unsafe extern "C" fn setsockopt(
    _: *mut c_void,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: setsockopt(2) gives the length of the value.
    match options::read(level, name, unsafe { bytes(value.cast(), len as usize) }) {
        Ok(value) => simple(fd, |fd| Call::SetOption { fd, level: level.into(), name: name.into(), value }),
        Err(errno) => set_errno(errno),
    }
}

unsafe extern "C" fn poll(_: *mut c_void, fds: *mut pollfd, len: nfds_t, timeout: c_int) -> c_int {
    let Ok(len) = usize::try_from(len) else { return set_errno(libc::EINVAL) };
    if fds.is_null() {
        return set_errno(libc::EFAULT);
    }
    // SAFETY: poll(2) gives the number of descriptors.
    let fds = unsafe { slice::from_raw_parts_mut(fds, len) };
    let asked: Vec<(c_int, i64)> = fds.iter().map(|p| (p.fd, p.events.into())).collect();
    match lab::poll(&asked, timeout) {
        Ok(events) => {
            for (fd, met) in fds.iter_mut().zip(&events) {
                fd.revents = *met as i16;
            }
            events.iter().filter(|met| **met != 0).count() as c_int
        }
        Err(errno) => set_errno(errno),
    }
}

unsafe extern "C" fn netdev_send(_: *mut c_void, packet: *const c_void, len: size_t) -> c_int {
    // SAFETY: packetdrill gives the length of the packet.
    let packet = unsafe { bytes(packet.cast(), len) };
    let mut guard = lab::lock();
    // What is no packet is dropped, as by a device.
    let _ = guard.as_mut().map(|lab| lab.receive(packet));
    0
}

unsafe extern "C" fn netdev_receive(
    _: *mut c_void,
    buffer: *mut c_void,
    len: *mut size_t,
    time: *mut c_longlong,
) -> c_int {
    let next = lab::lock().as_mut().and_then(|lab| lab.send());
    let (packet, at) = next.unwrap_or_default();
    // SAFETY: packetdrill gives the length of the buffer where it wants that of the packet, and a place for the time.
    unsafe {
        let n = packet.len().min(*len);
        ptr::copy_nonoverlapping(packet.as_ptr(), buffer.cast(), n);
        *len = n;
        *time = micros(at);
    }
    0
}

unsafe extern "C" fn usleep(_: *mut c_void, span: c_uint) -> c_int {
    lab::sleep(Duration::from_micros(span.into()));
    0
}

unsafe extern "C" fn gettimeofday(_: *mut c_void, time: *mut timeval, _: *mut timezone) -> c_int {
    let Some(now) = lab::read_clock() else { return set_errno(libc::ENODEV) };
    let now = micros(now);
    if !time.is_null() {
        // SAFETY: it is not null, and gettimeofday(2) writes a time there.
        unsafe { *time = timeval { tv_sec: now / 1_000_000, tv_usec: now % 1_000_000 } };
    }
    0
}

/// A moment as the clock reads it, µs.
fn micros(at: Instant) -> i64 {
    EPOCH * 1_000_000 + (at.as_nanos() / 1000) as i64
}

unsafe extern "C" fn epoll_create(_: *mut c_void, _: c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

unsafe extern "C" fn epoll_ctl(_: *mut c_void, _: c_int, _: c_int, _: c_int, _: *mut epoll_event) -> c_int {
    set_errno(libc::ENOSYS)
}

unsafe extern "C" fn epoll_wait(_: *mut c_void, _: c_int, _: *mut epoll_event, _: c_int, _: c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

unsafe extern "C" fn pipe(_: *mut c_void, _: *mut c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

unsafe extern "C" fn splice(
    _: *mut c_void,
    _: c_int,
    _: *mut loff_t,
    _: c_int,
    _: *mut loff_t,
    _: size_t,
    _: c_uint,
) -> ssize_t {
    set_errno(libc::ENOSYS) as ssize_t
}

/// Fills the table in, and makes the host of `ACKCLOCK_DIALECT` and `ACKCLOCK_STACK`. The process ends where there is
/// no such dialect or stack.
///
/// # Safety
///
/// `table` points to room for the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(_: *const c_char, table: *mut Interface) {
    match host() {
        Ok(host) => lab::begin(host),
        Err(message) => {
            eprintln!("{message}");
            std::process::exit(2);
        }
    }
    let userdata = ptr::null_mut();
    // SAFETY: the caller's promise.
    unsafe {
        table.write(Interface {
            userdata,
            free,
            socket,
            bind,
            listen,
            accept,
            connect,
            read,
            readv,
            recv,
            recvfrom,
            recvmsg,
            write,
            writev,
            send,
            sendto,
            sendmsg,
            fcntl,
            ioctl,
            close,
            shutdown,
            getsockopt,
            setsockopt,
            poll,
            netdev_send,
            netdev_receive,
            usleep,
            gettimeofday,
            epoll_create,
            epoll_ctl,
            epoll_wait,
            pipe,
            splice,
        });
    }
}

/// The entry has the type by which packetdrill calls it.
const _: Init = packetdrill_interface_init;

fn host() -> Result<EngineHost, String> {
    let dialect = match std::env::var("ACKCLOCK_DIALECT") {
        Err(_) => Dialect::default(),
        Ok(name) => {
            let known = DIALECTS.iter().find(|(known, _)| *known == name);
            known.map(|(_, dialect)| *dialect).ok_or_else(|| {
                let names: Vec<&str> = DIALECTS.iter().map(|(name, _)| *name).collect();
                format!("ACKCLOCK_DIALECT: `{name}` is not known; there are {}", names.join(", "))
            })?
        }
    };
    let stack = std::env::var("ACKCLOCK_STACK").ok();
    EngineHost::new(&Registry::builtin(), dialect, stack.as_deref(), SEED)
        .map_err(|e| format!("ACKCLOCK_STACK: {e}"))
}
