//! Signals of the user, read in place of obeyed, while another program has the terminal.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::DriveError;

/// The signals that a terminal or a user sends to end a program.
pub(super) const ENDING: [libc::c_int; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// A signal that was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Caught {
    /// Its number.
    pub(crate) number: i32,
    /// A process has sent it to this one. False for those of the terminal, which every process before it gets.
    pub(crate) by_process: bool,
}

/// Keeps these signals from ending this process, and reads them. Threads that exist already are not covered.
pub(crate) struct Signals {
    fd: OwnedFd,
    before: libc::sigset_t,
}

impl Signals {
    /// Blocks the signals for the calling thread and those that it starts.
    pub(crate) fn catch() -> Result<Self, DriveError> {
        let mut before = MaybeUninit::uninit();
        // SAFETY: the set is initialised by the first call; all pointers live through the calls, and `before` is
        // filled in by the call that succeeds.
        let made = unsafe {
            let mut set = MaybeUninit::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            for number in ENDING {
                libc::sigaddset(set.as_mut_ptr(), number);
            }
            if libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) != 0 {
                return Err(DriveError::System("block signals", io::Error::last_os_error()));
            }
            let fd = libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
            (fd >= 0).then(|| OwnedFd::from_raw_fd(fd)).ok_or_else(io::Error::last_os_error)
        };
        // SAFETY: the call above has filled it in.
        let before = unsafe { before.assume_init() };
        let fd = made.map_err(|e| {
            restore(&before);
            DriveError::System("read signals", e)
        })?;
        Ok(Self { fd, before })
    }

    /// The next signal that has come, if any.
    pub(crate) fn next(&self) -> Option<Caught> {
        // SAFETY: a `signalfd_siginfo` is numbers alone; the kernel fills in the whole of it or nothing.
        unsafe {
            let mut info: libc::signalfd_siginfo = std::mem::zeroed();
            let size = size_of_val(&info);
            let read = libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size);
            (read == size as isize)
                .then_some(Caught { number: info.ssi_signo as i32, by_process: info.ssi_code <= 0 })
        }
    }

    /// The signals that were blocked before.
    pub(super) fn before(&self) -> libc::sigset_t {
        self.before
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // What has come in the meantime was meant for the program.
        while self.next().is_some() {}
        restore(&self.before);
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn restore(before: &libc::sigset_t) {
    // SAFETY: the set lives through the call, which cannot fail with a valid `how`.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}
