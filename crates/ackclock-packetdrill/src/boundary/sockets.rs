//! Calls that open, close and configure sockets.

use std::ffi::{c_int, c_ulong, c_void};
use std::slice;

use ackclock_script::{Call, Returned};
use libc::{nfds_t, pollfd, sockaddr, socklen_t};

use super::{bytes, number, real, set_errno, status, write_out};
use crate::interface::Variadic;
use crate::lab::{self, Descriptor};
use crate::{addresses, options, preload};

/// A call that returns zero.
fn simple(fd: c_int, make: impl FnOnce(i32) -> Call) -> c_int {
    status(lab::call(fd, make, |_, _| Ok(0)))
}

pub(super) unsafe extern "C" fn socket(_: *mut c_void, domain: c_int, kind: c_int, protocol: c_int) -> c_int {
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

pub(super) unsafe extern "C" fn bind(
    _: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
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

pub(super) unsafe extern "C" fn listen(_: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    simple(fd, |fd| Call::Listen { fd, backlog: backlog.into() })
}

pub(super) unsafe extern "C" fn accept(
    _: *mut c_void,
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
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

pub(super) unsafe extern "C" fn connect(
    _: *mut c_void,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: connect(2) gives the length of the address.
    let address = unsafe { bytes(address.cast(), len as usize) };
    // To connect to no address is to disconnect; the host does not know that.
    let Some(remote) = addresses::read(address) else { return set_errno(libc::EAFNOSUPPORT) };
    lab::connects(fd, remote);
    simple(fd, |fd| Call::Connect { fd, port: Some(remote.port()) })
}

pub(super) unsafe extern "C" fn fcntl(_: *mut c_void, fd: c_int, command: c_int, flags: Variadic) -> c_int {
    match command {
        libc::F_GETFL => {
            status(lab::call(fd, |fd| Call::GetFlags { fd }, |_, returned| Ok(number(&returned) as c_int)))
        }
        // An `int`, of whose register the upper half may hold anything.
        libc::F_SETFL => simple(fd, |fd| Call::SetFlags { fd, flags: (flags as c_int).into() }),
        _ => set_errno(libc::EINVAL),
    }
}

pub(super) unsafe extern "C" fn ioctl(_: *mut c_void, fd: c_int, request: c_ulong, out: *mut c_int) -> c_int {
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

pub(super) unsafe extern "C" fn close(_: *mut c_void, fd: c_int) -> c_int {
    let closed = lab::call(
        fd,
        |fd| Call::Close { fd, lingers: None },
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

pub(super) unsafe extern "C" fn shutdown(_: *mut c_void, fd: c_int, how: c_int) -> c_int {
    simple(fd, |fd| Call::Shutdown { fd, how: how.into() })
}

pub(super) unsafe extern "C" fn getsockopt(
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

pub(super) unsafe extern "C" fn setsockopt(
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

pub(super) unsafe extern "C" fn poll(_: *mut c_void, fds: *mut pollfd, len: nfds_t, timeout: c_int) -> c_int {
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
