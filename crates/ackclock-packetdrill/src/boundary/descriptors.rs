//! Calls on `epoll` and pipes.

use std::ffi::{c_int, c_uint, c_void};
use std::slice;

use ackclock_script::{Call, Returned};
use libc::{epoll_event, loff_t, size_t, ssize_t};

use super::{count, number, real, set_errno, status};
use crate::lab::{self, Descriptor};

/// A descriptor that is no socket.
fn keep(host: i32) -> Result<c_int, c_int> {
    let fd = real()?;
    lab::keep(fd, Descriptor { host, family: libc::AF_UNSPEC, bound: None, peer: None })?;
    Ok(fd)
}

pub(super) unsafe extern "C" fn epoll_create(_: *mut c_void, size: c_int) -> c_int {
    if size <= 0 {
        return set_errno(libc::EINVAL);
    }
    status(lab::open(&mut Call::EpollCreate).and_then(keep))
}

pub(super) unsafe extern "C" fn epoll_ctl(
    _: *mut c_void,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // SAFETY: epoll_ctl(2) is given an event, or a null pointer.
    let event = unsafe { event.as_ref() };
    let (events, data) = event.map_or((0, 0), |e| ({ e.events }, { e.u64 }));
    let Some(fd) = lab::host_descriptor(fd) else { return set_errno(libc::EBADF) };
    let operation = operation.into();
    let make = |epoll| Call::EpollControl { epoll, operation, fd, events: events.into(), data };
    status(lab::call(epoll, make, |_, _| Ok(0)))
}

pub(super) unsafe extern "C" fn epoll_wait(
    _: *mut c_void,
    epoll: c_int,
    out: *mut epoll_event,
    most: c_int,
    timeout: c_int,
) -> c_int {
    let Some(most) = usize::try_from(most).ok().filter(|_| !out.is_null()) else {
        return set_errno(libc::EINVAL);
    };
    let until = lab::until(timeout);
    let make = |epoll| Call::EpollWait { epoll, most, until, forever: timeout < 0 };
    let found = lab::call(epoll, make, |_, returned| match returned {
        Returned::Ready(found) => Ok(found),
        _ => Err(libc::EIO),
    });
    status(found.map(|found| {
        // SAFETY: epoll_wait(2) gives the number of places for events.
        let out = unsafe { slice::from_raw_parts_mut(out, most) };
        for (place, (events, data)) in out.iter_mut().zip(&found) {
            *place = epoll_event { events: *events as u32, u64: *data };
        }
        found.len() as c_int
    }))
}

pub(super) unsafe extern "C" fn pipe(_: *mut c_void, out: *mut c_int) -> c_int {
    if out.is_null() {
        return set_errno(libc::EFAULT);
    }
    let made = lab::pipe().and_then(|[read, write]| Ok([keep(read)?, keep(write)?]));
    match made {
        Ok([read, write]) => {
            // SAFETY: pipe(2) is given room for two descriptors.
            unsafe {
                *out = read;
                *out.add(1) = write;
            }
            0
        }
        Err(errno) => set_errno(errno),
    }
}

pub(super) unsafe extern "C" fn splice(
    _: *mut c_void,
    from: c_int,
    from_offset: *mut loff_t,
    to: c_int,
    to_offset: *mut loff_t,
    len: size_t,
    flags: c_uint,
) -> ssize_t {
    // Pipes and sockets have no places (splice(2)). Packetdrill passes the address of a null pointer for
    // none. SAFETY: what is not null points to a place.
    let is_place = |at: *mut loff_t| unsafe { at.as_ref() }.is_some_and(|at| *at != 0);
    if is_place(from_offset) || is_place(to_offset) {
        return set_errno(libc::ESPIPE) as ssize_t;
    }
    let Some(to) = lab::host_descriptor(to) else { return set_errno(libc::EBADF) as ssize_t };
    let (len, flags) = (len as u64, flags.into());
    count(lab::call(from, |from| Call::Splice { from, to, len, flags }, |_, returned| Ok(number(&returned))))
}
