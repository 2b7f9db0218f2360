use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ackclock_sim::{Link, LinkCounters, LinkSpec};
use ackclock_units::{Duration, Instant};

use super::direction::Direction;
use super::hosts::{AccessDelays, Hosts};
use crate::linux::wait::{Waker, be_punctual, wait};
use crate::{Clock, DriveError, Port};

/// Options of an emulator.
pub struct EmulatorOptions {
    /// The link from port A to port B.
    pub forward: LinkSpec,
    /// The link from port B to port A.
    pub backward: LinkSpec,
    /// Delays between hosts behind port B and the links.
    pub access: AccessDelays,
    /// Seed of the links' random streams: the faults decide the same for the n-th packet of a direction in
    /// every run.
    pub seed: u64,
    /// The clock of the run.
    pub clock: Clock,
}

/// Counters of an emulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmulatorReport {
    /// The link from A to B.
    pub forward: LinkCounters,
    /// The link from B to A.
    pub backward: LinkCounters,
    /// Packets delivered, copies included.
    pub delivered: u64,
    /// Packets that the receiving port refused, or that exceeded the emulator's memory limit: unintended
    /// losses.
    pub undelivered: u64,
    /// Deliveries more than a millisecond late because the machine was busy.
    pub late: u64,
    /// Largest lateness of a delivery.
    pub max_lateness: Duration,
    /// Mean lateness of deliveries.
    pub mean_lateness: Duration,
}

/// A running emulator. Dropping it stops it and closes its ports.
pub struct Emulator {
    shared: Arc<EmulatorShared>,
    thread: Option<JoinHandle<()>>,
}

struct EmulatorShared {
    stop: AtomicBool,
    waker: Waker,
    report: Mutex<EmulatorReport>,
}

impl Emulator {
    /// Starts carrying packets between two ports.
    ///
    /// # Errors
    /// A device with offload, or a system call that failed.
    pub fn start(a: Port, b: Port, options: EmulatorOptions) -> Result<Self, DriveError> {
        if a.offload() || b.offload() {
            return Err(DriveError::Input(
                "the emulator carries packets as on a wire: create the device without `offload`".into(),
            ));
        }
        let shared = Arc::new(EmulatorShared {
            stop: AtomicBool::new(false),
            waker: Waker::new()?,
            report: Mutex::default(),
        });
        let half_duplex = options.forward.elements.medium.is_some();
        let mut worker = EmulatorThread {
            clock: options.clock,
            ports: [a, b],
            directions: [
                Direction::new(
                    Link::new(options.forward, options.seed, 0),
                    Hosts::new(options.access.clone(), true),
                ),
                Direction::new(
                    Link::new(options.backward, options.seed, 1),
                    Hosts::new(options.access, false),
                ),
            ],
            buffer: vec![0; MAX_PACKET],
            report: EmulatorReport::default(),
            lateness: 0,
            half_duplex,
            shared: shared.clone(),
        };
        let thread = std::thread::Builder::new()
            .name("emulator".into())
            .spawn(move || worker.run())
            .map_err(DriveError::system("start a thread"))?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Its counters, updated within a tenth of a second and when it stops.
    pub fn report(&self) -> EmulatorReport {
        *self.shared.report.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Stops it; packets in flight are lost.
    pub fn stop(mut self) -> EmulatorReport {
        self.halt();
        self.report()
    }

    fn halt(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.halt();
    }
}

/// Largest IP packet.
const MAX_PACKET: usize = 65_536;
/// Packets read from one port before deliveries are checked again.
const BATCH: usize = 32;
/// Interval between updates of the report.
const REPORT_EVERY: Duration = Duration::from_millis(100);
/// A delivery later than this counts as late.
const LATE: Duration = Duration::from_millis(1);

struct EmulatorThread {
    clock: Clock,
    ports: [Port; 2],
    directions: [Direction; 2],
    buffer: Vec<u8>,
    report: EmulatorReport,
    lateness: u128,
    /// The two links share a medium.
    half_duplex: bool,
    shared: Arc<EmulatorShared>,
}

impl EmulatorThread {
    fn run(&mut self) {
        be_punctual();
        let mut publish_at = None;
        while !self.shared.stop.load(Ordering::Acquire) {
            let now = self.clock.now();
            self.deliver(now);
            if publish_at.is_some_and(|at| at <= now) {
                self.publish(now);
                publish_at = None;
            }
            let next = self.directions.iter().filter_map(Direction::next).chain(publish_at).min();
            let [woken, a, b] = wait(
                &self.clock,
                [self.shared.waker.as_fd(), self.ports[0].as_fd(), self.ports[1].as_fd()],
                next,
            );
            if woken {
                self.shared.waker.clear();
            }
            // There is activity: update the report a little later, then not again until there is more.
            publish_at = publish_at.or_else(|| (a || b || next.is_some()).then(|| now + REPORT_EVERY));
            for (side, readable) in [(0, a), (1, b)] {
                if readable && !self.take_in(side) {
                    // A port is closed, so nothing can be carried any more.
                    return self.publish(self.clock.now());
                }
            }
        }
        self.publish(self.clock.now());
    }

    /// Reads a batch of packets from one port; false when the port is closed.
    fn take_in(&mut self, side: usize) -> bool {
        for _ in 0..BATCH {
            match self.ports[side].recv(&mut self.buffer) {
                Ok(0) => return false,
                Ok(n) => {
                    let now = self.clock.now();
                    self.directions[side].offer(now, &self.buffer[..n]);
                }
                Err(e) => {
                    return matches!(
                        e.kind(),
                        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::Interrupted
                    );
                }
            }
        }
        true
    }

    /// Delivers what is due.
    fn deliver(&mut self, now: Instant) {
        if self.half_duplex {
            // Both links see the departures of both in the order of time, since they take turns.
            let next = |directions: &[Direction; 2]| directions.iter().filter_map(Direction::next).min();
            while let Some(at) = next(&self.directions).filter(|at| *at < now) {
                self.deliver_until(at, now);
            }
        }
        self.deliver_until(now, now);
    }

    fn deliver_until(&mut self, until: Instant, now: Instant) {
        for (side, direction) in self.directions.iter_mut().enumerate() {
            let far = &self.ports[1 - side];
            direction.deliver(until, |due, packet| {
                let late = now.since(due);
                self.lateness += u128::from(late.as_nanos());
                self.report.late += u64::from(late > LATE);
                self.report.max_lateness = self.report.max_lateness.max(late);
                match far.send(packet) {
                    Ok(()) => self.report.delivered += 1,
                    Err(_) => self.report.undelivered += 1,
                }
            });
        }
    }

    fn publish(&mut self, now: Instant) {
        let [forward, backward] = &mut self.directions;
        let handled = self.report.delivered + self.report.undelivered;
        let mut report = self.report;
        report.forward = forward.counters(now);
        report.backward = backward.counters(now);
        report.undelivered += forward.refused() + backward.refused();
        report.mean_lateness = Duration::from_nanos((self.lateness / u128::from(handled.max(1))) as u64);
        *self.shared.report.lock().unwrap_or_else(|e| e.into_inner()) = report;
    }
}
