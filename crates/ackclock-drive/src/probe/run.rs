//! A probe run over real sockets and a real clock.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Time, SystemTime, UNIX_EPOCH};

use ackclock_units::{Duration, Instant};

use super::options::{ProbeMethod, ProbeOptions};
use super::report::{ProbeProgress, ProbeReport};
use super::session::Session;
use super::socket::{Incoming, ProbeSocket};
use crate::linux::wait::{Waker, be_punctual, wait};
use crate::{Clock, DriveError, Namespace};

/// Destination and source of a probe run.
pub struct ProbeTarget<'a> {
    /// The host.
    pub to: IpAddr,
    /// The kind of probes.
    pub method: ProbeMethod,
    /// The namespace to send from; `None` for that of this process.
    pub from: Option<&'a Namespace>,
}

/// Results of a probe run over a real network.
#[derive(Clone, Debug)]
pub struct RealProbe {
    /// Results of the probe.
    pub report: ProbeReport,
    /// True when `progress` ended it.
    pub interrupted: bool,
    /// Address of the last sender of a reply other than the host itself, and whether there were several.
    pub answered_by: Option<(IpAddr, bool)>,
    /// Replies that this machine dropped because it was too busy to read them.
    pub overflowed: u32,
    /// Packets received that were not replies to a probe of this run.
    pub foreign: u64,
}

/// Interval between calls of `progress`.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Packets handled before deadlines are checked again.
const BATCH: usize = 32;
/// Largest plausible age of a kernel's timestamp, ns.
const OLDEST: u64 = 1_000_000_000;
const TOO_LARGE: &str =
    "a router reports that probes of this size exceed the MTU of the path: give a smaller `--mss`";

/// Probes a host. `progress` is called about ten times a second, on the calling thread, and can end the run
/// early.
///
/// # Errors
/// An address that is not of a single host, a missing right, no route to the host, a payload that does not
/// fit into a packet.
pub fn run_probe(
    options: ProbeOptions,
    target: &ProbeTarget<'_>,
    progress: &mut dyn FnMut(&ProbeProgress) -> ControlFlow<()>,
) -> Result<RealProbe, DriveError> {
    let clock = Clock::start();
    // From the system's random numbers.
    let keys = RandomState::new();
    let seed = keys.hash_one("seed");
    let open = || ProbeSocket::open(target.to, target.method, keys.clone());
    let socket = match target.from {
        Some(namespace) => namespace.run(open)??,
        None => open()?,
    };
    let headers = if target.to.is_ipv4() { 28 } else { 48 };
    let shared =
        ProbeShared { stop: AtomicBool::new(false), waker: Waker::new()?, progress: Mutex::default() };
    let session = Session::new(options, headers, seed);
    let mut worker = ProbeThread {
        clock,
        socket,
        session,
        last: Instant::ZERO,
        answered_by: None,
        foreign: 0,
        shared: &shared,
    };
    let mut interrupted = false;
    std::thread::scope(|scope| {
        let (caller, worker) = (std::thread::current(), &mut worker);
        let work = move || {
            let done = worker.run();
            caller.unpark();
            done
        };
        let thread = std::thread::Builder::new()
            .name("probe".into())
            .spawn_scoped(scope, work)
            .map_err(DriveError::system("start a thread"))?;
        while !thread.is_finished() {
            std::thread::park_timeout(Time::from_nanos(PROGRESS_INTERVAL.as_nanos()));
            let now = shared.progress.lock().unwrap_or_else(|e| e.into_inner()).take();
            if let Some(now) = now
                && !interrupted
                && progress(&now).is_break()
            {
                interrupted = true;
                shared.stop.store(true, Ordering::Release);
                shared.waker.wake();
            }
        }
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let report = worker.session.report(clock.now());
    Ok(RealProbe {
        report,
        interrupted,
        answered_by: worker.answered_by,
        overflowed: worker.socket.overflowed,
        foreign: worker.foreign,
    })
}

/// State shared by the probing thread and the caller.
struct ProbeShared {
    stop: AtomicBool,
    waker: Waker,
    /// The latest progress, until the caller takes it.
    progress: Mutex<Option<ProbeProgress>>,
}

struct ProbeThread<'a> {
    clock: Clock,
    socket: ProbeSocket,
    session: Session,
    /// Time of the last step, so that the session's time is monotonic.
    last: Instant,
    answered_by: Option<(IpAddr, bool)>,
    foreign: u64,
    shared: &'a ProbeShared,
}

impl ProbeThread<'_> {
    fn run(&mut self) -> Result<(), DriveError> {
        be_punctual();
        let now = self.now();
        self.session.start(now);
        let mut progress_at = now;
        while !self.session.is_done() {
            let now = self.now();
            if self.shared.stop.load(Ordering::Acquire) {
                self.session.stop(now);
                break;
            }
            if now >= progress_at {
                *self.shared.progress.lock().unwrap_or_else(|e| e.into_inner()) =
                    Some(self.session.progress(now));
                progress_at = now + PROGRESS_INTERVAL;
            }
            if self.session.poll_timeout().is_some_and(|at| at <= now) {
                self.session.handle_timeout(now);
            }
            self.send()?;
            let more = self.take_in()?;
            let next = if more {
                Some(now)
            } else {
                self.session.poll_timeout().map_or(progress_at, |at| at.min(progress_at)).into()
            };
            let [woken, _] = wait(&self.clock, [self.shared.waker.as_fd(), self.socket.as_fd()], next);
            if woken {
                self.shared.waker.clear();
            }
        }
        Ok(())
    }

    fn now(&mut self) -> Instant {
        self.last = self.last.max(self.clock.now());
        self.last
    }

    fn send(&mut self) -> Result<(), DriveError> {
        loop {
            let now = self.now();
            let Some(out) = self.session.poll_send(now) else { return Ok(()) };
            if !self.socket.send(out.number, out.payload)? {
                self.session.not_sent();
            }
        }
    }

    /// Handles a batch of replies; true when there may be more. After each, the probes that it allows are
    /// sent before the next one is read.
    fn take_in(&mut self) -> Result<bool, DriveError> {
        for _ in 0..BATCH {
            match self
                .socket
                .receive(self.session.next_number())
                .map_err(DriveError::system("read a reply"))?
            {
                Incoming::Reply(reply) => {
                    let at = self.when(reply.unix_ns);
                    if let Some(from) = reply.from {
                        let several =
                            self.answered_by.is_some_and(|(before, several)| several || before != from);
                        self.answered_by = Some((from, several));
                    }
                    self.session.reply(at, reply.number);
                    self.send()?;
                }
                Incoming::Foreign => self.foreign += 1,
                Incoming::TooLarge => return Err(DriveError::Input(TOO_LARGE.into())),
                Incoming::Nothing => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Converts a kernel's timestamp to our clock; now if it is missing or implausible.
    fn when(&mut self, unix_ns: Option<u64>) -> Instant {
        let before = self.last;
        let now = self.now();
        let of_day = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        let age = unix_ns.and_then(|at| of_day.checked_sub(at)).filter(|age| *age < OLDEST).unwrap_or(0);
        self.last = now.saturating_sub(Duration::from_nanos(age)).max(before);
        self.last
    }
}
