//! The functions of the table: pointers become values, calls of the host are made, results are written back.
//!
//! What every pointer must point to is what the manual of its system call says; packetdrill passes its own buffers,
//! which live until the call returns. Payload is zeros: buffers to write are not looked at.

#![allow(unsafe_code, reason = "the interface of C programs passes pointers")]

mod control;
mod data;
mod descriptors;
mod device;
mod sockets;

use std::ffi::{c_char, c_int, c_void};
use std::{ptr, slice};

use ackclock_policy::Registry;
use ackclock_script::{DIALECTS, Dialect, EngineHost, Link, Returned};
use libc::{socklen_t, ssize_t};

use crate::interface::{Init, Interface};
use crate::lab;

/// The seed of the host's random numbers.
const SEED: u64 = 1;

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

/// A real descriptor for one of the host.
fn real() -> Result<c_int, c_int> {
    // SAFETY: it takes no pointer.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    if fd < 0 { Err(libc::EMFILE) } else { Ok(fd) }
}

fn number(returned: &Returned) -> u64 {
    match returned {
        Returned::Value(n) | Returned::Number(n) => u64::try_from(*n).unwrap_or(0),
        _ => 0,
    }
}

unsafe extern "C" fn free(_: *mut c_void) {
    lab::end();
}

/// Fills the table in, and makes the host that the environment asks for. The process ends where there is
/// no such dialect or stack.
///
/// # Safety
///
/// `table` points to room for the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn packetdrill_interface_init(_: *const c_char, table: *mut Interface) {
    match host() {
        Ok((host, mtu)) => lab::begin(host, mtu),
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
            socket: sockets::socket,
            bind: sockets::bind,
            listen: sockets::listen,
            accept: sockets::accept,
            connect: sockets::connect,
            read: data::read,
            readv: data::readv,
            recv: data::recv,
            recvfrom: data::recvfrom,
            recvmsg: data::recvmsg,
            write: data::write,
            writev: data::writev,
            send: data::send,
            sendto: data::sendto,
            sendmsg: data::sendmsg,
            fcntl: sockets::fcntl,
            ioctl: sockets::ioctl,
            close: sockets::close,
            shutdown: sockets::shutdown,
            getsockopt: sockets::getsockopt,
            setsockopt: sockets::setsockopt,
            poll: sockets::poll,
            netdev_send: device::netdev_send,
            netdev_receive: device::netdev_receive,
            usleep: device::usleep,
            gettimeofday: device::gettimeofday,
            epoll_create: descriptors::epoll_create,
            epoll_ctl: descriptors::epoll_ctl,
            epoll_wait: descriptors::epoll_wait,
            pipe: descriptors::pipe,
            splice: descriptors::splice,
        });
    }
}

/// The entry has the type by which packetdrill calls it.
const _: Init = packetdrill_interface_init;

/// The host, and the largest packet of its link, bytes.
fn host() -> Result<(EngineHost, u16), String> {
    let mtu = match std::env::var("ACKCLOCK_MTU") {
        Err(_) => Link::default().mtu,
        Ok(text) => text.parse().map_err(|_| format!("ACKCLOCK_MTU: `{text}` is no MTU up to 65535"))?,
    };
    let dialect = match std::env::var("ACKCLOCK_DIALECT") {
        Err(_) => Dialect::default(),
        Ok(name) => {
            let known = DIALECTS.iter().find(|(known, _)| *known == name);
            known.map(|(_, dialect)| *dialect).ok_or_else(|| {
                let names: Vec<&str> = DIALECTS.iter().map(|(name, _)| *name).collect();
                format!("ACKCLOCK_DIALECT: `{name}` is not known; expected one of {}", names.join(", "))
            })?
        }
    };
    let stack = std::env::var("ACKCLOCK_STACK").ok();
    let mut host = EngineHost::new(&Registry::builtin(), dialect, stack.as_deref(), SEED)
        .map_err(|e| format!("ACKCLOCK_STACK: {e}"))?;
    match std::env::var("ACKCLOCK_DEPARTURES").as_deref() {
        Err(_) | Ok("0") => {}
        Ok("1") => host.depart_from_standards().map_err(|e| format!("ACKCLOCK_DEPARTURES: {e}"))?,
        Ok(text) => return Err(format!("ACKCLOCK_DEPARTURES: `{text}` is neither 0 nor 1")),
    }
    Ok((host, mtu))
}
