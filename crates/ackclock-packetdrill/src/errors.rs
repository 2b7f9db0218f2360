//! Errors by their numbers.

use std::ffi::c_int;

/// The number of an error by its name. All that the host returns are known.
pub(crate) fn number(errno: &str) -> c_int {
    let known = NUMBERS.iter().find(|(name, _)| *name == errno);
    known.map_or(libc::EIO, |(_, number)| *number)
}

macro_rules! numbers {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name),)*] };
}

const NUMBERS: &[(&str, c_int)] = numbers! {
    EBADF EAGAIN EINVAL ENOTCONN EISCONN EPIPE ECONNRESET ECONNREFUSED ECONNABORTED ETIMEDOUT EHOSTUNREACH
    ENETUNREACH EINPROGRESS EALREADY EADDRINUSE EOPNOTSUPP ENOPROTOOPT EMSGSIZE EDESTADDRREQ ENOTSOCK
    EMFILE EPROTO EFAULT EACCES EEXIST ENOENT EBUSY
};
