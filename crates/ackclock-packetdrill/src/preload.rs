//! `getsockopt` in place of the C library's. Packetdrill asks for what its code blocks see by this function and not
//! through its table; the library is therefore preloaded as well. Descriptors that are not the lab's go to the next
//! function of this name.

#![allow(unsafe_code, reason = "the C library's interface")]

use std::ffi::{c_int, c_void};
use std::os::fd::BorrowedFd;

use ackclock_script::{Call, Returned};
use libc::{off_t, size_t, socklen_t, ssize_t};

use crate::boundary::{set_errno, write_out};
use crate::lab;

/// `TCP_CC_INFO`: what a congestion control says of itself; nothing here.
const TCP_CC_INFO: c_int = 26;
/// `SO_MEMINFO`: nine numbers of the memory that a socket takes (`SK_MEMINFO_VARS`); zeros here.
const SO_MEMINFO: c_int = 55;
const MEMINFO_LEN: usize = 9 * 4;

/// What the lab answers for one of its descriptors; `None` where that is not one of them.
pub(crate) fn answer(fd: c_int, level: c_int, name: c_int) -> Option<Result<Vec<u8>, c_int>> {
    let mut guard = lab::lock();
    let lab = guard.as_mut()?;
    let fd = lab.descriptors.get(&fd)?.host;
    Some(match (level, name) {
        (libc::IPPROTO_TCP, libc::TCP_INFO) => Ok(lab.host.info_of(fd).unwrap_or_default().to_bytes()),
        (libc::IPPROTO_TCP, TCP_CC_INFO) => Ok(Vec::new()),
        (libc::SOL_SOCKET, SO_MEMINFO) => Ok(vec![0; MEMINFO_LEN]),
        _ => Err(libc::ENOPROTOOPT),
    })
}

/// `getsockopt(2)`.
///
/// # Safety
///
/// `len` points to the length of what `value` points to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    match answer(fd, level, name) {
        // SAFETY: the caller's promise is the one that `write_out` asks for.
        Some(Ok(bytes)) => unsafe { write_out(&bytes, value.cast(), len) },
        Some(Err(errno)) => set_errno(errno),
        // SAFETY: the arguments are passed on as they came.
        None => unsafe { next(fd, level, name, value, len) },
    }
}

/// `sendfile(2)`, which packetdrill does not call through its table either.
///
/// # Safety
///
/// `offset` is null or points to a place in the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendfile(to: c_int, from: c_int, offset: *mut off_t, len: size_t) -> ssize_t {
    if lab::host_descriptor(to).is_none() {
        // SAFETY: the arguments are passed on as they came; the kernel's call has the same.
        return unsafe { libc::syscall(libc::SYS_sendfile, to, from, offset, len) as ssize_t };
    }
    // SAFETY: the caller's promise.
    let place = unsafe { offset.as_mut() };
    let begin = place.as_ref().map_or(0, |at| u64::try_from(**at).unwrap_or(0));
    let rest = length(from).saturating_sub(begin);
    let (len, flags) = ((len as u64).min(rest), 0);
    let sent = lab::call(
        to,
        |fd| Call::Write { fd, len, flags, done: 0 },
        |_, returned| match returned {
            Returned::Value(n) => Ok(n),
            _ => Err(libc::EIO),
        },
    );
    match sent {
        Ok(n) => {
            if let Some(place) = place {
                *place += n as off_t;
            }
            n as ssize_t
        }
        Err(errno) => set_errno(errno) as ssize_t,
    }
}

/// The length of a file, bytes; of a device it has none.
fn length(fd: c_int) -> u64 {
    // SAFETY: packetdrill has this descriptor open.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    let Ok(stat) = rustix::fs::fstat(file) else { return 0 };
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    if regular { u64::try_from(stat.st_size).unwrap_or(0) } else { u64::MAX }
}

type GetSockOpt = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int;

/// The next function of this name: the C library's.
unsafe fn next(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut socklen_t) -> c_int {
    // SAFETY: the name ends in a zero byte.
    let symbol = unsafe { libc::dlsym(libc::RTLD_NEXT, c"getsockopt".as_ptr()) };
    if symbol.is_null() {
        return set_errno(libc::ENOSYS);
    }
    // SAFETY: every `getsockopt` has this type.
    let function = unsafe { std::mem::transmute::<*mut c_void, GetSockOpt>(symbol) };
    // SAFETY: the caller's promise.
    unsafe { function(fd, level, name, value, len) }
}
