//! The first process of a PID namespace, and the program that it starts.
//!
//! Both are copies of a process that has other threads: until the program runs they make system calls only, on
//! what was made before.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI32, Ordering};

use super::signals::ENDING;

/// What they need.
pub(super) struct Plan {
    pub(super) arguments: Vec<CString>,
    pub(super) environment: Vec<CString>,
    pub(super) fds: Fds,
    /// The signals that the program finds blocked.
    pub(super) mask: libc::sigset_t,
    pub(super) descriptors: libc::rlimit,
    pub(super) apart: bool,
    /// The program's user and group, as lines of `uid_map` and `gid_map`.
    pub(super) maps: Option<[CString; 2]>,
    pub(super) resolver: Option<Vec<u8>>,
    /// A folder in whose place a file is made that nobody else sees, and the file.
    pub(super) scratch: CString,
    pub(super) scratch_file: CString,
}

/// Descriptors by number.
pub(super) struct Fds {
    /// The network namespace.
    pub(super) namespace: RawFd,
    /// A pipe that hangs up when the process that holds `alive` ends.
    pub(super) watched: RawFd,
    pub(super) alive: RawFd,
    /// A pipe for a failure.
    pub(super) failure: RawFd,
}

/// The step that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    Network = 1,
    Mounts = 2,
    Resolver = 3,
    User = 4,
    Program = 5,
}

impl Failure {
    const ALL: [Self; 5] = [Self::Network, Self::Mounts, Self::Resolver, Self::User, Self::Program];

    /// What was being done; completes "could not ...".
    pub(super) fn doing(self) -> &'static str {
        match self {
            Self::Network => "enter the network namespace of the command",
            Self::Mounts => "create a mount namespace for the command",
            Self::Resolver => "give the command its own /etc/resolv.conf",
            Self::User => "become the user again in a user namespace of the command",
            Self::Program => "start the command",
        }
    }

    /// Reads what [`fail`] wrote.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<(Self, io::Error)> {
        let (step, errno) = bytes.split_first()?;
        let errno = i32::from_ne_bytes(errno.try_into().ok()?);
        let step = Self::ALL.into_iter().find(|s| *s as u8 == *step)?;
        Some((step, io::Error::from_raw_os_error(errno)))
    }
}

/// The process that the first one waits for, in it.
static PROGRAM: AtomicI32 = AtomicI32::new(0);

/// Starts the first process.
pub(super) fn fork(plan: &Plan) -> io::Result<libc::pid_t> {
    let pointers = |all: &[CString]| all.iter().map(|s| s.as_ptr()).chain([null()]).collect::<Vec<_>>();
    let (arguments, environment) = (pointers(&plan.arguments), pointers(&plan.environment));
    // SAFETY: the child keeps to system calls, and never returns; the pointers are of strings in `plan`, of
    // which the child has its own copy.
    unsafe {
        match libc::fork() {
            -1 => Err(io::Error::last_os_error()),
            0 => first(plan, &arguments, &environment),
            pid => Ok(pid),
        }
    }
}

/// Waits for a child; returns its status as a shell does.
pub(super) fn wait(pid: libc::pid_t) -> i32 {
    let mut status = 0;
    loop {
        // SAFETY: the number lives through the call.
        let done = unsafe { libc::waitpid(pid, &raw mut status, 0) };
        if done == pid {
            return as_shell(status);
        }
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return as_shell(libc::SIGKILL);
        }
    }
}

fn as_shell(status: libc::c_int) -> i32 {
    if libc::WIFEXITED(status) { libc::WEXITSTATUS(status) } else { 128 + libc::WTERMSIG(status) }
}

/// The first process.
unsafe fn first(plan: &Plan, arguments: &[*const libc::c_char], environment: &[*const libc::c_char]) -> ! {
    // SAFETY: system calls on values that live through them.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
        libc::close(plan.fds.alive);
        let mut parent = libc::pollfd { fd: plan.fds.watched, events: libc::POLLIN, revents: 0 };
        if libc::poll(&raw mut parent, 1, 0) != 0 {
            // It died before the signal was set.
            libc::_exit(1);
        }
        if libc::setns(plan.fds.namespace, libc::CLONE_NEWNET) < 0 {
            fail(plan, Failure::Network);
        }
        mounts(plan);
        if plan.apart {
            // The keys of the terminal are not for it.
            libc::setsid();
        }
        for number in ENDING {
            pass_on(number);
        }
        match libc::fork() {
            -1 => fail(plan, Failure::Program),
            0 => program(plan, arguments, environment),
            pid => {
                PROGRAM.store(pid, Ordering::SeqCst);
                libc::sigprocmask(libc::SIG_SETMASK, &raw const plan.mask, null_mut());
                // It would keep pipes open that the program has closed.
                libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
                loop {
                    let mut status = 0;
                    // Programs whose parents have ended are its children too.
                    let done = libc::waitpid(-1, &raw mut status, 0);
                    if done == pid {
                        libc::_exit(as_shell(status));
                    }
                    if done < 0 && *libc::__errno_location() != libc::EINTR {
                        libc::_exit(1);
                    }
                }
            }
        }
    }
}

/// Gives the program its own view of processes, and of name servers.
unsafe fn mounts(plan: &Plan) {
    let mount = |source: &CStr, target: &CStr, kind: &CStr, flags| {
        // SAFETY: the strings live through the call.
        unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, null()) }
    };
    // SAFETY: system calls on strings and bytes that live through them.
    unsafe {
        // Mounts here do not spread to others; what others mount later is seen here.
        if libc::unshare(libc::CLONE_NEWNS) < 0
            || mount(c"none", c"/", c"none", libc::MS_REC | libc::MS_SLAVE) < 0
        {
            fail(plan, Failure::Mounts);
        }
        // In some containers it is refused; then tools such as `ps` show the processes of the machine.
        mount(c"proc", c"/proc", c"proc", libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC);
        let Some(text) = &plan.resolver else { return };
        if mount(c"tmpfs", &plan.scratch, c"tmpfs", libc::MS_NOSUID | libc::MS_NODEV) < 0 {
            fail(plan, Failure::Resolver);
        }
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC;
        let file = libc::open(plan.scratch_file.as_ptr(), flags, 0o644 as libc::c_uint);
        if file < 0 || libc::write(file, text.as_ptr().cast(), text.len()) != text.len() as isize {
            fail(plan, Failure::Resolver);
        }
        libc::fchmod(file, 0o644);
        libc::close(file);
        if mount(&plan.scratch_file, c"/etc/resolv.conf", c"none", libc::MS_BIND) < 0
            || libc::umount2(plan.scratch.as_ptr(), libc::MNT_DETACH) < 0
        {
            fail(plan, Failure::Resolver);
        }
    }
}

/// Makes the first process pass a signal on that a process has sent to it. One of the terminal reaches the
/// program by itself. Ignored signals stay ignored.
unsafe fn pass_on(number: libc::c_int) {
    // SAFETY: a `sigaction` of zeros is a valid one, and both live through the calls.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(number, null(), &raw mut action);
        if action.sa_sigaction != libc::SIG_IGN {
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = passing;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            libc::sigaction(number, &raw const action, null_mut());
        }
    }
}

extern "C" fn passing(number: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let program = PROGRAM.load(Ordering::SeqCst);
    // SAFETY: the kernel passes a valid `siginfo_t`.
    unsafe {
        if program > 0 && (*info).si_code <= 0 {
            libc::kill(program, number);
        }
    }
}

/// The process that becomes the program.
unsafe fn program(plan: &Plan, arguments: &[*const libc::c_char], environment: &[*const libc::c_char]) -> ! {
    // SAFETY: system calls on values that live through them; both lists end with a null pointer.
    unsafe {
        if plan.apart {
            let none = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
            libc::dup2(none, 0);
            libc::dup2(2, 1);
        }
        if let Some([user, group]) = &plan.maps {
            let mapped = libc::unshare(libc::CLONE_NEWUSER) == 0
                && write_file(c"/proc/self/setgroups", c"deny")
                && write_file(c"/proc/self/uid_map", user)
                && write_file(c"/proc/self/gid_map", group);
            if !mapped {
                fail(plan, Failure::User);
            }
        }
        libc::setrlimit(libc::RLIMIT_NOFILE, &raw const plan.descriptors);
        // Python ignores these two, and so would the program.
        for number in [libc::SIGPIPE, libc::SIGXFSZ] {
            libc::signal(number, libc::SIG_DFL);
        }
        libc::sigprocmask(libc::SIG_SETMASK, &raw const plan.mask, null_mut());
        libc::execvpe(arguments[0], arguments.as_ptr(), environment.as_ptr());
        fail(plan, Failure::Program)
    }
}

unsafe fn write_file(path: &CStr, text: &CStr) -> bool {
    // SAFETY: both live through the calls.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        let len = text.count_bytes();
        let done = file >= 0 && libc::write(file, text.as_ptr().cast(), len) == len as isize;
        // The reason must not be that of this call.
        if done {
            libc::close(file);
        }
        done
    }
}

/// Reports a failure, and ends the process.
unsafe fn fail(plan: &Plan, step: Failure) -> ! {
    // SAFETY: the bytes live through the call.
    unsafe {
        let [a, b, c, d] = (*libc::__errno_location()).to_ne_bytes();
        let told = [step as u8, a, b, c, d];
        libc::write(plan.fds.failure, told.as_ptr().cast(), told.len());
        libc::_exit(127)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_read_as_it_was_written() {
        let mut told = vec![Failure::Program as u8];
        told.extend_from_slice(&libc::ENOENT.to_ne_bytes());
        let (step, e) = Failure::from_bytes(&told).unwrap();
        assert_eq!((step, e.kind()), (Failure::Program, io::ErrorKind::NotFound));
        for wrong in [&told[..4], &[][..], &[9, 0, 0, 0, 0][..]] {
            assert!(Failure::from_bytes(wrong).is_none(), "{wrong:?}");
        }
    }
}
