//! A probe run over real sockets and the real clock.

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

/// Where a probe run goes.
pub struct ProbeTarget<'a> {
    /// The host.
    pub to: IpAddr,
    /// What probes it sends.
    pub method: ProbeMethod,
    /// The namespace that it starts from; this process's own where there is none.
    pub from: Option<&'a Namespace>,
}

/// What a probe run over a real network found.
#[derive(Clone, Debug)]
pub struct RealProbe {
    /// What the probe found.
    pub report: ProbeReport,
    /// True when `progress` ended it.
    pub interrupted: bool,
    /// Who answered, where that was not the host itself: the last one, and whether there were several.
    pub answered_by: Option<(IpAddr, bool)>,
    /// Replies that this machine dropped because it was too busy to read them.
    pub overflowed: u32,
    /// Packets that came to the socket and were no replies to a probe of ours.
    pub foreign: u64,
}

/// How often `progress` is called.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Packets taken in before deadlines are looked at again.
const BATCH: usize = 32;
/// The longest that a kernel's timestamp may lie back.
const OLDEST: u64 = 1_000_000_000;
const TOO_LARGE: &str =
    "a router says that probes of this size do not fit into a packet on the way: give a smaller `--mss`";

/// Probes a host. `progress` is called some ten times a second, on the calling thread, and may end the run,
/// which then reports what there is.
///
/// # Errors
/// An address that is none of a single host, a right that is missing, no way to the host, a payload that does
/// not fit into a packet.
pub fn run_probe(
    options: ProbeOptions,
    target: &ProbeTarget<'_>,
    progress: &mut dyn FnMut(&ProbeProgress) -> ControlFlow<()>,
) -> Result<RealProbe, DriveError> {
    let clock = Clock::start();
    // Of the system's random numbers.
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

/// What the thread that probes and the one that watches it share.
struct ProbeShared {
    stop: AtomicBool,
    waker: Waker,
    /// How far it is, until that was told.
    progress: Mutex<Option<ProbeProgress>>,
}

struct ProbeThread<'a> {
    clock: Clock,
    socket: ProbeSocket,
    session: Session,
    /// The moment of the last step: time as the session sees it never goes back.
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
        let mut told_at = now;
        while !self.session.is_done() {
            let now = self.now();
            if self.shared.stop.load(Ordering::Acquire) {
                self.session.stop(now);
                break;
            }
            if now >= told_at {
                *self.shared.progress.lock().unwrap_or_else(|e| e.into_inner()) =
                    Some(self.session.progress(now));
                told_at = now + PROGRESS_INTERVAL;
            }
            if self.session.poll_timeout().is_some_and(|at| at <= now) {
                self.session.handle_timeout(now);
            }
            self.send()?;
            let more = self.take_in()?;
            let next = if more {
                Some(now)
            } else {
                self.session.poll_timeout().map_or(told_at, |at| at.min(told_at)).into()
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

    /// Takes in a batch of replies; true when there may be more. Each acknowledgment releases what it allows
    /// before the next one comes.
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

    /// The moment that a kernel's timestamp names, on our clock; now where there is none, or none that can
    /// be.
    fn when(&mut self, unix_ns: Option<u64>) -> Instant {
        let before = self.last;
        let now = self.now();
        let of_day = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
        let age = unix_ns.and_then(|at| of_day.checked_sub(at)).filter(|age| *age < OLDEST).unwrap_or(0);
        self.last = now.saturating_sub(Duration::from_nanos(age)).max(before);
        self.last
    }
}
