//! System calls for which no library has a safe wrapper.
#![allow(unsafe_code)]

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

/// Brings up a device of the present network namespace.
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
    // SAFETY: the request lives through both calls, and SIOCGIFFLAGS has filled in the member that is then
    // read.
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

/// Adds a second address to the loopback device of the present network namespace. This makes every address of
/// its network local to the machine.
pub(super) fn own(address: Ipv4Addr, prefix: u8) -> io::Result<()> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
    for (request, value) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, Ipv4Addr::from_bits(mask))]
    {
        // SAFETY: an `ifreq` of zeros is a valid one.
        let mut ifr: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in ifr.ifr_name.iter_mut().zip(b"lo:hosts") {
            *to = *from as libc::c_char;
        }
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: 0,
            sin_addr: libc::in_addr { s_addr: u32::from(value).to_be() },
            sin_zero: [0; 8],
        };
        // SAFETY: a `sockaddr_in` has the size of a `sockaddr`; the request lives through the call.
        unsafe {
            ifr.ifr_ifru.ifru_addr = std::mem::transmute::<libc::sockaddr_in, libc::sockaddr>(address);
            if libc::ioctl(socket.as_raw_fd(), request as _, &raw const ifr) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}

/// Sets an integer option of TCP.
pub(crate) fn set_tcp_option(socket: BorrowedFd<'_>, option: libc::c_int, value: i32) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_TCP, option, &value.to_ne_bytes())
}

/// Sets an option of a socket to the bytes of its value.
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: the value lives through the call, and its size is passed.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sends to an address of no family (`AF_UNSPEC`), with flags of `sendto`.
pub(crate) fn send_to_nobody(socket: BorrowedFd<'_>, bytes: &[u8], flags: u32) -> io::Result<usize> {
    // SAFETY: all zeros are a `sockaddr`, of family 0.
    let nobody: libc::sockaddr = unsafe { std::mem::zeroed() };
    // SAFETY: bytes and address live through the call, and their sizes are passed.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags as libc::c_int,
            &raw const nobody,
            size_of_val(&nobody) as libc::socklen_t,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Reads an option of a socket; returns how many bytes it takes.
pub(crate) fn option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut size = value.len() as libc::socklen_t;
    // SAFETY: value and size live through the call, which writes no more than the size passed.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &raw mut size)
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(size as usize) }
}

/// A count of bytes of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queued {
    /// Received and not read.
    Received,
    /// Written and not acknowledged; a FIN counts as one.
    Unacked,
    /// Written and not sent.
    Unsent,
    /// 1 where the next byte is the urgent one.
    AtMark,
}

/// Bytes in the queues of a connection.
pub(crate) fn queued(socket: BorrowedFd<'_>, which: Queued) -> io::Result<i32> {
    /// `linux/sockios.h`; the other two are requests of terminals by other names.
    const SIOCOUTQNSD: u32 = 0x894b;
    const SIOCATMARK: u32 = 0x8905;
    let request = match which {
        Queued::Received => libc::FIONREAD as u32,
        Queued::Unacked => libc::TIOCOUTQ as u32,
        Queued::Unsent => SIOCOUTQNSD,
        Queued::AtMark => SIOCATMARK,
    };
    let mut bytes: libc::c_int = 0;
    // SAFETY: the number lives through the call, which writes just that.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &raw mut bytes) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(bytes) }
}

/// A control message in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ControlBytes {
    pub(crate) level: libc::c_int,
    pub(crate) kind: libc::c_int,
    pub(crate) data: Vec<u8>,
}

/// Receives a message of up to `len` bytes, which are dropped; returns how many there were, its flags, and
/// its control messages.
pub(crate) fn receive_message(
    socket: BorrowedFd<'_>,
    len: u64,
    flags: libc::c_int,
) -> io::Result<(u64, libc::c_int, Vec<ControlBytes>)> {
    /// More than the control messages of a packet take.
    const MOST_CONTROL: usize = 512;
    /// More bytes than a buffer of the kernel has.
    const MOST: u64 = 16 << 20;
    let mut bytes = vec![0_u8; usize::try_from(len.min(MOST)).unwrap_or(0)];
    // Words, for the alignment of the structures inside.
    let mut control = [0_u64; MOST_CONTROL / 8];
    let mut vector = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: a `msghdr` of zeros is a valid one.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut vector;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = MOST_CONTROL as _;
    // SAFETY: the message and what it points to live through the call, with the sizes that it says.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    if n < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut found = Vec::new();
    // SAFETY: the kernel has filled in the control messages and their length; each is read within its own.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(&raw const message);
        while let Some(header) = next.as_ref() {
            let data = libc::CMSG_DATA(header);
            #[allow(clippy::unnecessary_cast, reason = "it has another type in other C libraries")]
            let len = (header.cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
            let data = std::slice::from_raw_parts(data, len).to_vec();
            found.push(ControlBytes { level: header.cmsg_level, kind: header.cmsg_type, data });
            next = libc::CMSG_NXTHDR(&raw const message, header);
        }
    }
    Ok((n as u64, message.msg_flags, found))
}

/// Reads an integer option of TCP.
pub(crate) fn tcp_option(socket: BorrowedFd<'_>, option: libc::c_int) -> io::Result<i32> {
    let (mut value, mut size) = (0_i32, size_of::<i32>() as libc::socklen_t);
    // SAFETY: value and size live through the call, which writes no more than the size passed.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw mut value).cast(),
            &raw mut size,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

/// TCP_INFO of a connection, and the number of bytes that this kernel has filled in.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<(libc::tcp_info, usize)> {
    // SAFETY: a `tcp_info` is numbers alone, for which zeros are valid.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: both live through the call, which writes no more than the size passed.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok((info, size as usize)) }
}

/// Unacknowledged bytes of a connection; a FIN counts as one.
pub(crate) fn unacked(socket: BorrowedFd<'_>) -> io::Result<u32> {
    queued(socket, Queued::Unacked).map(|bytes| bytes.max(0) as u32)
}

/// Runs `child` in a forked copy of this process and returns the status it ends with (0..=255).
///
/// # Safety
/// `child` runs in a copy of a process that may have had several threads: it may make system calls, and must
/// not allocate, lock or unwind.
pub(super) unsafe fn in_a_fork(child: impl FnOnce() -> u8) -> io::Result<u8> {
    // SAFETY: the caller keeps the child to what is allowed after a fork, and it ends without running
    // destructors.
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

/// Creates and removes a TUN device, to check whether that is possible. The error is the step that failed.
/// Does not allocate.
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
        if made < 0 { Err(TunStep::Create) } else { Ok(()) }
    }
}

/// The step of creating a TUN device that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TunStep {
    /// Opening `/dev/net/tun`.
    Open,
    /// Creating a device with it.
    Create,
}

/// Makes the scheduler run the calling thread soon after it wakes: with real-time priority where that is
/// allowed, otherwise with a higher priority (if allowed) and short slices, which kernels from 6.12 on
/// schedule earlier.
///
/// For threads that only react to others, so that they cannot starve them. All have the same priority: an
/// emulator above the ends would interrupt them at each of their packets, which costs so much more time that
/// the kernel's limit for real-time threads stops everything for 50 ms at a time where six of them share two
/// cores.
pub(super) fn run_soon() {
    const NICE: i32 = -15;
    const TURN_NS: u64 = 100_000;
    // SAFETY: plain system calls that on Linux affect only the calling thread; what they point to lives
    // through them.
    unsafe {
        let priority = libc::sched_param { sched_priority: 1 };
        if libc::sched_setscheduler(0, libc::SCHED_RR | libc::SCHED_RESET_ON_FORK, &raw const priority) == 0 {
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

/// The limit of open descriptors.
pub(crate) fn descriptor_limit() -> libc::rlimit {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit lives through the call, which cannot fail for a valid resource.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    limit
}
