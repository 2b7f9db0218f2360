//! The few system calls for which no library has a safe wrapper.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Brings a device of the present network namespace up.
pub(super) fn bring_up(device: &str) -> io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: an `ifreq` of zeros is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    // SAFETY: the request lives through both calls, and SIOCGIFFLAGS has filled in the member that is then read.
    unsafe {
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFFLAGS as _, &raw mut request) < 0 {
            return Err(io::Error::last_os_error());
        }
        request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        if libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Runs `child` in a forked copy of this process and returns the status it ends with (0..=255).
///
/// # Safety
/// `child` runs in a copy of a process that may have had several threads: it may make system calls, and must not allocate, lock or unwind.
pub(super) unsafe fn in_a_fork(child: impl FnOnce() -> u8) -> io::Result<u8> {
    // SAFETY: the caller keeps the child to what is allowed after a fork, and it ends without running destructors.
    unsafe {
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => libc::_exit(i32::from(child())),
            pid => {
                let mut status = 0;
                while libc::waitpid(pid, &raw mut status, 0) < 0 {
                    let e = io::Error::last_os_error();
                    if e.kind() != io::ErrorKind::Interrupted {
                        return Err(e);
                    }
                }
                Ok(if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) as u8 } else { u8::MAX })
            }
        }
    }
}

/// Makes a TUN device of no further use, to see whether it may be made: 0, or the step that failed. Allocates nothing.
pub(super) fn try_tun() -> Result<(), TunStep> {
    // SAFETY: plain system calls on a path and a request that live through them.
    unsafe {
        let fd = libc::open(c"/dev/net/tun".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if fd < 0 {
            return Err(TunStep::Open);
        }
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        let made = libc::ioctl(fd, libc::TUNSETIFF as _, &raw mut request);
        libc::close(fd);
        if made < 0 { Err(TunStep::Make) } else { Ok(()) }
    }
}

/// The step of making a TUN device that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TunStep {
    /// Opening `/dev/net/tun`.
    Open,
    /// Making a device with it.
    Make,
}

/// Asks the scheduler to run the calling thread as soon as it wakes: before all ordinary ones where that is allowed; otherwise with a larger share
/// (if that is) and in short turns, which kernels from 6.12 on reward with an earlier one.
///
/// For threads whose work comes from others alone, so that they can starve nobody.
pub(super) fn run_soon() {
    const NICE: i32 = -15;
    const TURN_NS: u64 = 100_000;
    // SAFETY: plain system calls; on Linux they concern the calling thread alone, and what they point to lives through them.
    unsafe {
        let lowest = libc::sched_param { sched_priority: 1 };
        if libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const lowest) == 0 {
            return;
        }
        libc::setpriority(libc::PRIO_PROCESS, 0, NICE);
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let size = size_of::<libc::sched_attr>() as u32;
        if libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) == 0 {
            attributes.sched_runtime = TURN_NS;
            libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0);
        }
    }
}
