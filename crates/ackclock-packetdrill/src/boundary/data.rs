//! Calls that read and write.

use std::ffi::{c_int, c_void};
use std::{ptr, slice};

use ackclock_script::{Call, FastOpenCall, Returned};
use libc::{iovec, msghdr, size_t, sockaddr, socklen_t, ssize_t};

use super::{bytes, control, count, number, set_errno};
use crate::{addresses, lab};

/// Most bytes of one call: as many as `read(2)` moves at most.
const MOST: u64 = 0x7fff_f000;

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

/// True for a null pointer where there should be bytes.
fn is_missing(buffer: *const c_void, len: size_t) -> bool {
    buffer.is_null() && len > 0
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

/// Writes with `MSG_FASTOPEN` to an address.
fn write_with_syn(fd: c_int, len: u64, flags: c_int, address: &[u8]) -> ssize_t {
    let (remote, to_nobody) = (addresses::read(address), addresses::family(address) == Some(libc::AF_UNSPEC));
    if let Some(remote) = remote {
        lab::connects(fd, remote);
    }
    let (len, flags, port) = (len.min(MOST), i64::from(flags), remote.map(|remote| remote.port()));
    let call =
        |fd| Call::FastOpen(FastOpenCall { fd, len, flags, port, to_nobody, ..FastOpenCall::default() });
    count(lab::call(fd, call, |_, returned| Ok(number(&returned))))
}

fn read_len(fd: c_int, len: u64, flags: c_int) -> Result<u64, c_int> {
    let (len, flags) = (len.min(MOST), i64::from(flags));
    lab::call(fd, |fd| Call::Read { fd, len, flags }, |_, returned| Ok(number(&returned)))
}

pub(super) unsafe extern "C" fn read(_: *mut c_void, fd: c_int, buffer: *mut c_void, len: size_t) -> ssize_t {
    if is_missing(buffer, len) {
        return set_errno(libc::EFAULT) as ssize_t;
    }
    let n = read_len(fd, len as u64, 0);
    // SAFETY: the buffer has `len` bytes, and no more were read.
    unsafe { clear(buffer, n.unwrap_or(0)) };
    count(n)
}

pub(super) unsafe extern "C" fn readv(_: *mut c_void, fd: c_int, at: *const iovec, len: c_int) -> ssize_t {
    // SAFETY: readv(2) gives the number of buffers.
    let all = unsafe { vectors(at, usize::try_from(len).unwrap_or(0)) };
    let n = read_len(fd, total(all), 0);
    // SAFETY: each buffer has its length.
    unsafe { clear_all(all, n.unwrap_or(0)) };
    count(n)
}

pub(super) unsafe extern "C" fn recv(
    _: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    if is_missing(buffer, len) {
        return set_errno(libc::EFAULT) as ssize_t;
    }
    let n = read_len(fd, len as u64, flags);
    // SAFETY: the buffer has `len` bytes, and no more were read.
    unsafe { clear(buffer, n.unwrap_or(0)) };
    count(n)
}

pub(super) unsafe extern "C" fn recvfrom(
    _: *mut c_void,
    fd: c_int,
    buffer: *mut c_void,
    len: size_t,
    flags: c_int,
    _address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    if is_missing(buffer, len) {
        return set_errno(libc::EFAULT) as ssize_t;
    }
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

pub(super) unsafe extern "C" fn recvmsg(
    _: *mut c_void,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: recvmsg(2) is given a message; a null pointer is none.
    let Some(message) = (unsafe { message.as_mut() }) else { return set_errno(libc::EFAULT) as ssize_t };
    // SAFETY: the message says how many buffers it has.
    let all = unsafe { vectors(message.msg_iov, message.msg_iovlen) };
    let (len, flags) = (total(all).min(MOST), i64::from(flags));
    let got = lab::call(
        fd,
        |fd| Call::Message { fd, len, flags },
        |_, returned| match returned {
            Returned::Message(message) => Ok(message),
            _ => Err(libc::EIO),
        },
    );
    let got = match got {
        Ok(got) => got,
        Err(errno) => return set_errno(errno) as ssize_t,
    };
    // SAFETY: each buffer has its length.
    unsafe { clear_all(all, got.len) };
    let room = if message.msg_control.is_null() { 0 } else { message.msg_controllen };
    let (bytes, whole) = control::write(&got.control, room);
    if !bytes.is_empty() {
        // SAFETY: the message says how much room there is for control messages, and no more are written.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), message.msg_control.cast(), bytes.len()) };
    }
    message.msg_namelen = 0;
    message.msg_controllen = bytes.len();
    message.msg_flags = got.flags as c_int | if whole { 0 } else { libc::MSG_CTRUNC };
    got.len as ssize_t
}

pub(super) unsafe extern "C" fn write(
    _: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
) -> ssize_t {
    if is_missing(buffer, len) {
        return set_errno(libc::EFAULT) as ssize_t;
    }
    write_len(fd, len as u64, 0)
}

pub(super) unsafe extern "C" fn writev(_: *mut c_void, fd: c_int, at: *const iovec, len: c_int) -> ssize_t {
    // SAFETY: writev(2) gives the number of buffers.
    write_len(fd, total(unsafe { vectors(at, usize::try_from(len).unwrap_or(0)) }), 0)
}

pub(super) unsafe extern "C" fn send(
    _: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    if is_missing(buffer, len) {
        return set_errno(libc::EFAULT) as ssize_t;
    }
    write_len(fd, len as u64, flags)
}

pub(super) unsafe extern "C" fn sendto(
    _: *mut c_void,
    fd: c_int,
    buffer: *const c_void,
    len: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    if is_missing(buffer, len) {
        return set_errno(libc::EFAULT) as ssize_t;
    }
    if flags & libc::MSG_FASTOPEN != 0 {
        // SAFETY: sendto(2) gives the length of the address.
        return write_with_syn(fd, len as u64, flags, unsafe { bytes(address.cast(), address_len as usize) });
    }
    write_len(fd, len as u64, flags)
}

pub(super) unsafe extern "C" fn sendmsg(
    _: *mut c_void,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    // SAFETY: sendmsg(2) is given a message; a null pointer is none.
    let Some(message) = (unsafe { message.as_ref() }) else { return set_errno(libc::EFAULT) as ssize_t };
    // SAFETY: the message says how many buffers it has.
    let len = total(unsafe { vectors(message.msg_iov, message.msg_iovlen) });
    if flags & libc::MSG_FASTOPEN != 0 {
        // SAFETY: the message says how long its address is.
        let address = unsafe { bytes(message.msg_name.cast(), message.msg_namelen as usize) };
        return write_with_syn(fd, len, flags, address);
    }
    write_len(fd, len, flags)
}
