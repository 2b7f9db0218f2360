//! A program in namespaces of its own, of which nothing is left when it or this process ends in any way.
//!
//! Its first process is a small one that only waits, in a new PID namespace: when it ends, the kernel kills all
//! others there. It ends with the program, and the kernel kills it when this process ends.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::UnshareFlags;

use super::Namespace;
use super::first_process::{self, Failure, Plan};
use super::signals::Signals;
use super::wait::Waker;
use crate::DriveError;

/// What to start, and where.
pub(crate) struct ProgramOptions<'a> {
    /// Its network.
    pub(crate) namespace: &'a Namespace,
    /// Its arguments; the first one names it.
    pub(crate) arguments: &'a [CString],
    /// Its environment, `NAME=VALUE` each.
    pub(crate) environment: &'a [CString],
    /// The signals that are read here; it gets those that were blocked before.
    pub(crate) signals: &'a Signals,
    /// It has no standard input, and its output goes to standard error.
    pub(crate) apart: bool,
    /// The user that it is, where this process has entered a user namespace.
    pub(crate) user: Option<(u32, u32)>,
    /// What it finds in `/etc/resolv.conf`.
    pub(crate) resolver: Option<Vec<u8>>,
    /// Largest number of descriptors, as it was before this process raised its own.
    pub(crate) descriptors: libc::rlimit,
}

/// How a program ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// With this status: 128 and the number of the signal if one has killed it.
    Status(i32),
    /// It was not started.
    NotFound(io::Error),
    /// The same, since something else failed.
    Failed(DriveError),
}

/// A program that runs. Dropping it kills it.
pub(crate) struct Program {
    /// A descriptor of its first process, which names no other one once that has ended.
    process: Option<OwnedFd>,
    ended: Receiver<Ended>,
    /// The kernel kills the program when this thread ends.
    thread: Option<JoinHandle<()>>,
}

impl Program {
    /// Starts a program. `waker` is woken when it has ended.
    pub(crate) fn start(options: &ProgramOptions<'_>, waker: Arc<Waker>) -> Result<Self, DriveError> {
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| DriveError::System("make a pipe", e.into()));
        let ((watched, alive), (failed, failure)) = (pipe()?, pipe()?);
        let namespace = options
            .namespace
            .as_fd()
            .try_clone_to_owned()
            .map_err(DriveError::system("duplicate a descriptor"))?;
        let plan = plan(options, [&namespace, &watched, &alive, &failure]);
        let ((started, process), (end, ended)) = (sync_channel(1), sync_channel(1));
        let work = move || {
            let status = run(&plan, failure, failed, |process| drop(started.send(process)));
            // They were used by number alone.
            drop((watched, alive, namespace));
            let _ = end.send(status);
            waker.wake();
        };
        let thread = std::thread::Builder::new()
            .name("program".into())
            .spawn(work)
            .map_err(DriveError::system("start a thread"))?;
        // Nothing comes where it could not be started; then its end says why.
        Ok(Self { process: process.recv().ok(), ended, thread: Some(thread) })
    }

    /// How it has ended, once it has.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended.try_recv().ok()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, number: i32) {
        let signal = Signal::from_named_raw(number);
        if let (Some(process), Some(signal)) = (&self.process, signal) {
            // Fails when it has ended.
            let _ = pidfd_send_signal(process, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.signal(libc::SIGKILL);
            let _ = thread.join();
        }
    }
}

/// Everything that the first process needs, made before it exists: it may not allocate.
fn plan(options: &ProgramOptions<'_>, fds: [&OwnedFd; 4]) -> Plan {
    let text = |s: String| CString::new(s).expect("numbers have no zero byte");
    let scratch = ["/tmp", "/var/tmp", "/mnt"].into_iter().find(|p| Path::new(p).is_dir()).unwrap_or("/tmp");
    let [namespace, watched, alive, failure] = fds.map(|fd| -> RawFd { fd.as_raw_fd() });
    Plan {
        arguments: options.arguments.to_vec(),
        environment: options.environment.to_vec(),
        fds: first_process::Fds { namespace, watched, alive, failure },
        mask: options.signals.before(),
        descriptors: options.descriptors,
        apart: options.apart,
        maps: options.user.map(|(uid, gid)| [text(format!("{uid} 0 1")), text(format!("{gid} 0 1"))]),
        resolver: options.resolver.clone(),
        scratch: text(scratch.into()),
        scratch_file: text(format!("{scratch}/resolv.conf")),
    }
}

/// Starts the first process and waits for its end.
fn run(plan: &Plan, failure: OwnedFd, failed: OwnedFd, started: impl FnOnce(OwnedFd)) -> Ended {
    // SAFETY: this thread was made for the program; a new PID namespace concerns only its children.
    #[allow(unsafe_code)]
    let unshared = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWPID) };
    if let Err(e) = unshared {
        return Ended::Failed(DriveError::Missing(format!(
            "cannot create a PID namespace for the command: {e} (it needs CAP_SYS_ADMIN, or user namespaces; see \
             pid_namespaces(7))"
        )));
    }
    let pid = match first_process::fork(plan) {
        Ok(pid) => pid,
        Err(e) => return Ended::Failed(DriveError::System("start a process", e)),
    };
    // It has not been waited for, so that the number is still its own.
    match Pid::from_raw(pid).map(|pid| pidfd_open(pid, PidfdFlags::empty())) {
        Some(Ok(process)) => started(process),
        _ => {
            return Ended::Failed(DriveError::Missing(
                "the kernel has no pidfd_open (Linux 5.3 or newer)".into(),
            ));
        }
    }
    // Ends when the program has started, which closes the other end, or could not be.
    drop(failure);
    let mut told = Vec::new();
    let _ = std::fs::File::from(failed).read_to_end(&mut told);
    let status = first_process::wait(pid);
    match Failure::from_bytes(&told) {
        Some((Failure::Program, e)) => Ended::NotFound(e),
        Some((step, e)) => Ended::Failed(DriveError::System(step.doing(), e)),
        None => Ended::Status(status),
    }
}
