//! Calls that the host does not have.

use std::ffi::{c_int, c_uint, c_void};

use libc::{epoll_event, loff_t, size_t, ssize_t};

use super::set_errno;

pub(super) unsafe extern "C" fn epoll_create(_: *mut c_void, _: c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

pub(super) unsafe extern "C" fn epoll_ctl(
    _: *mut c_void,
    _: c_int,
    _: c_int,
    _: c_int,
    _: *mut epoll_event,
) -> c_int {
    set_errno(libc::ENOSYS)
}

pub(super) unsafe extern "C" fn epoll_wait(
    _: *mut c_void,
    _: c_int,
    _: *mut epoll_event,
    _: c_int,
    _: c_int,
) -> c_int {
    set_errno(libc::ENOSYS)
}

pub(super) unsafe extern "C" fn pipe(_: *mut c_void, _: *mut c_int) -> c_int {
    set_errno(libc::ENOSYS)
}

pub(super) unsafe extern "C" fn splice(
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
