use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use ackclock_sim::{Link, LinkCounters, LinkSpec, Met};
use ackclock_units::{Duration, Instant};

use super::hosts::{AccessDelays, Hosts};
use super::network::{Lane, Network};
use super::routes::{Routes, WayTable};
use super::streams::{SackListener, StreamLog};
use crate::linux::wait::{Waker, be_punctual, wait_for_any};
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

/// Options of an emulator of many links.
pub struct NetworkOptions {
    /// The links, by number.
    pub links: Vec<LinkSpec>,
    /// Which links packets take.
    pub table: WayTable,
    /// Measure the sojourn times in queues.
    pub sojourns: bool,
    /// Seed of the links' random streams.
    pub seed: u64,
    /// The clock of the run.
    pub clock: Clock,
    /// Looks at the links during the run, if wanted.
    pub watch: Option<Box<dyn Watch>>,
}

/// Looks at links at moments of its choice. Every packet event before the moment has happened by then, and
/// none after it.
pub trait Watch: Send {
    /// The next moment.
    fn next(&self) -> Option<Instant>;
    /// Looks at the links at that moment; [`Watch::next`] is later then.
    fn look(&mut self, now: Instant, links: &mut [Lane]);
    /// Looks at the links when the emulator stops. Does nothing by default.
    fn finish(&mut self, _now: Instant, _links: &mut [Lane]) {}
    /// Looks at what the packets of each stream have met, by number, after each of the two. Does nothing by default.
    fn look_at_streams(&mut self, _met: &mut [Met]) {}
}

/// Counters of an emulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct EmulatorReport {
    /// The link from A to B, or the first of many.
    pub forward: LinkCounters,
    /// The link from B to A, or the second of many.
    pub backward: LinkCounters,
    /// Packets delivered, copies included.
    pub delivered: u64,
    /// Packets that the receiving port refused, that exceeded the emulator's memory limit, or that no route
    /// leads on: unintended losses.
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
    /// Packets in it.
    inside: AtomicUsize,
    report: Mutex<EmulatorReport>,
    /// What streams have sent again, once it has stopped.
    log: Mutex<StreamLog>,
}

impl Emulator {
    /// Starts carrying packets between two ports.
    ///
    /// # Errors
    /// A device with offload, or a system call that failed.
    pub fn start(a: Port, b: Port, options: EmulatorOptions) -> Result<Self, DriveError> {
        let hosts = [Hosts::new(options.access.clone(), true), Hosts::new(options.access, false)];
        let links = [options.forward, options.backward];
        let links = (0..).zip(links).map(|(i, spec)| Link::new(spec, options.seed, i));
        let network = Network::new(links, Routes::TwoPorts(hosts));
        Self::of(vec![a, b], network, options.clock, None)
    }

    /// The same with sojourn times in the queues measured, and something that looks at both links.
    pub(crate) fn start_watched(
        a: Port,
        b: Port,
        options: EmulatorOptions,
        watch: Box<dyn Watch>,
    ) -> Result<Self, DriveError> {
        let hosts = [Hosts::new(options.access.clone(), true), Hosts::new(options.access, false)];
        let links = (0..).zip([options.forward, options.backward]).map(|(i, spec)| {
            let mut link = Link::new(spec, options.seed, i);
            link.measure_sojourns();
            link
        });
        let network = Network::new(links, Routes::TwoPorts(hosts));
        Self::of(vec![a, b], network, options.clock, Some(watch))
    }

    /// Starts carrying packets between many ports over many links.
    ///
    /// # Errors
    /// As [`Emulator::start`].
    pub fn start_network(ports: Vec<Port>, options: NetworkOptions) -> Result<Self, DriveError> {
        Self::start_with_streams(ports, options, None, false)
    }

    /// The same, which also reports what acks say to have arrived out of order, and may record all segments.
    pub(crate) fn start_with_streams(
        ports: Vec<Port>,
        options: NetworkOptions,
        sacks: Option<Arc<dyn SackListener>>,
        segments: bool,
    ) -> Result<Self, DriveError> {
        let links = (0..).zip(options.links).map(|(i, spec)| {
            let mut link = Link::new(spec, options.seed, i);
            if options.sojourns {
                link.measure_sojourns();
            }
            link
        });
        let mut network = Network::new(links, Routes::Table(options.table));
        if let Some(sacks) = sacks {
            network.watch_sacks(sacks);
        }
        if segments {
            network.log_segments();
        }
        Self::of(ports, network, options.clock, options.watch)
    }

    fn of(
        ports: Vec<Port>,
        network: Network,
        clock: Clock,
        watch: Option<Box<dyn Watch>>,
    ) -> Result<Self, DriveError> {
        if ports.iter().any(Port::offload) {
            return Err(DriveError::Input(
                "the emulator carries packets as on a wire: create the device without `offload`".into(),
            ));
        }
        let shared = Arc::new(EmulatorShared {
            stop: AtomicBool::new(false),
            waker: Waker::new()?,
            inside: AtomicUsize::new(0),
            report: Mutex::default(),
            log: Mutex::default(),
        });
        let mut worker = EmulatorThread {
            clock,
            ports,
            network,
            watch,
            buffer: vec![0; MAX_PACKET],
            report: EmulatorReport::default(),
            lateness: 0,
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

    /// Packets in its queues and on its wires.
    pub(crate) fn inside(&self) -> usize {
        self.shared.inside.load(Ordering::Acquire)
    }

    /// Stops it; packets in flight are lost.
    pub fn stop(mut self) -> EmulatorReport {
        self.halt();
        self.report()
    }

    /// The same; returns also what streams have sent again.
    pub(crate) fn stop_with_log(mut self) -> (EmulatorReport, StreamLog) {
        self.halt();
        let log = std::mem::take(&mut *self.shared.log.lock().unwrap_or_else(|e| e.into_inner()));
        (self.report(), log)
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
    ports: Vec<Port>,
    network: Network,
    watch: Option<Box<dyn Watch>>,
    buffer: Vec<u8>,
    report: EmulatorReport,
    lateness: u128,
    shared: Arc<EmulatorShared>,
}

impl EmulatorThread {
    fn run(&mut self) {
        be_punctual();
        let mut publish_at = None;
        let mut ready = Vec::new();
        while !self.shared.stop.load(Ordering::Acquire) {
            let now = self.clock.now();
            self.deliver(now);
            self.shared.inside.store(self.network.inside(), Ordering::Release);
            if publish_at.is_some_and(|at| at <= now) {
                self.publish(now);
                publish_at = None;
            }
            let next = [self.network.next(), self.look_at(), publish_at].into_iter().flatten().min();
            let ports = self.ports.iter().map(AsFd::as_fd);
            let woken = [self.shared.waker.as_fd()].into_iter().chain(ports);
            wait_for_any(&self.clock, woken, next, &mut ready);
            if ready.first() == Some(&0) {
                self.shared.waker.clear();
            }
            // There is activity: update the report a little later, then not again until there is more.
            let active = ready.last().is_some_and(|last| *last > 0) || self.network.next().is_some();
            publish_at = publish_at.or_else(|| active.then(|| now + REPORT_EVERY));
            for port in ready.iter().filter_map(|place| place.checked_sub(1)) {
                if !self.take_in(port) {
                    // A port is closed, so nothing can be carried any more.
                    return self.publish(self.clock.now());
                }
            }
        }
        let now = self.clock.now();
        if let Some(watch) = &mut self.watch {
            watch.finish(now, &mut self.network.lanes);
            watch.look_at_streams(&mut self.network.streams.met);
        }
        *self.shared.log.lock().unwrap_or_else(|e| e.into_inner()) =
            std::mem::take(&mut self.network.streams.log);
        self.publish(now);
    }

    /// Reads a batch of packets from one port; false when the port is closed.
    fn take_in(&mut self, port: usize) -> bool {
        for _ in 0..BATCH {
            match self.ports[port].recv(&mut self.buffer) {
                Ok(0) => return false,
                Ok(n) => {
                    let now = self.clock.now();
                    self.network.offer(port, now, &self.buffer[..n]);
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
        while let Some(at) = self.look_at().filter(|at| *at <= now) {
            self.deliver_until(at, now);
            if let Some(watch) = &mut self.watch {
                watch.look(at, &mut self.network.lanes);
                watch.look_at_streams(&mut self.network.streams.met);
            }
        }
        self.deliver_until(now, now);
    }

    /// When the links are looked at next.
    fn look_at(&self) -> Option<Instant> {
        self.watch.as_ref().and_then(|watch| watch.next())
    }

    fn deliver_until(&mut self, until: Instant, now: Instant) {
        let Self { network, ports, report, lateness, .. } = self;
        network.carry(until, |port, due, packet| {
            let late = now.since(due);
            *lateness += u128::from(late.as_nanos());
            report.late += u64::from(late > LATE);
            report.max_lateness = report.max_lateness.max(late);
            match ports[port].send(packet) {
                Ok(()) => report.delivered += 1,
                Err(_) => report.undelivered += 1,
            }
        });
    }

    fn publish(&mut self, now: Instant) {
        let handled = self.report.delivered + self.report.undelivered;
        let mut report = self.report;
        let mut counted = (0..self.network.lanes.len().min(2)).map(|link| self.network.counters(link, now));
        report.forward = counted.next().unwrap_or_default();
        report.backward = counted.next().unwrap_or_default();
        drop(counted);
        report.undelivered += self.network.refused();
        report.mean_lateness = Duration::from_nanos((self.lateness / u128::from(handled.max(1))) as u64);
        *self.shared.report.lock().unwrap_or_else(|e| e.into_inner()) = report;
    }
}
