//! Scripts against the kernel's own TCP, in real time.

mod addresses;
mod calls;
mod descriptors;
mod differ;
mod early_calls;
mod errno;
mod icmp;
mod info;
mod messages;
mod packets;
mod socket;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::SystemTime;

use ackclock_script::ast::{Icmp, Script, Tcp};
use ackclock_script::code::TcpInfo;
use ackclock_script::{Call, Departure, Host, Link, Outcome, Ports, Returned, Setting, SettingsError};
use ackclock_units::{Duration, Ecn, Instant};

pub use differ::against_kernel;
use packets::{Burst, Flow};
use rustix::io::Errno;
use socket::Socket;

use crate::linux::wait;
use crate::{Clock, DriveError, Namespace, Tun, TunOptions};

/// How often what blocks is tried again.
const SLICE: Duration = Duration::from_millis(1);

/// How long a call that should return at once, and a packet that may come at any time, are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a run looks whether it is to stop.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

/// The kernel's own TCP in a network namespace of its own, with a TUN device. What a script injects is
/// written to the device, and what leaves is read from it. Sockets are real, and never block: a call that
/// would is tried again.
///
/// Time begins with the first event, so that settings before it take none.
#[derive(Debug)]
pub struct KernelHost {
    namespace: Namespace,
    tun: Tun,
    link: Link,
    clock: Option<Clock>,
    /// When the clock began, by that of the machine.
    begun_at: SystemTime,
    now: Instant,
    sockets: BTreeMap<i32, Socket>,
    /// Descriptors whose close takes time (`SO_LINGER`).
    closing: BTreeMap<i32, JoinHandle<()>>,
    /// Calls that write and block in a thread of their own.
    writing: BTreeMap<i32, JoinHandle<Result<usize, Errno>>>,
    /// All connections, in the order of their making.
    flows: Vec<Flow>,
    /// How many there were when the latest socket was made.
    flows_before_socket: usize,
    sent: VecDeque<Departure>,
    /// The latest data that left.
    burst: Option<Burst>,
    buffer: Vec<u8>,
    stopped: Arc<AtomicBool>,
}

impl KernelHost {
    /// Makes the namespace and the device. Packets leave in segments of the size that the connection sends:
    /// the device does not cut up larger ones by itself.
    ///
    /// # Errors
    ///
    /// A right that is missing (see [`crate::check`]), or a system call that failed.
    pub fn start(link: Link) -> Result<Self, DriveError> {
        let namespace = Namespace::new(false)?;
        let options = TunOptions {
            ipv4: (addresses::LOCAL_V4, addresses::PREFIX_V4),
            ipv6: link.is_v6().then_some((addresses::LOCAL_V6, 64)),
            mtu: link.mtu,
            ..TunOptions::default()
        };
        if link.is_v6() {
            // A namespace may begin with the machine's own setting.
            namespace.set_sysctl("net.ipv6.conf.default.disable_ipv6", "0")?;
        }
        let tun = Tun::new(&namespace, &options)?;
        if link.is_v6() {
            addresses::warm_up(&namespace, &tun)?;
        }
        Ok(Self {
            namespace,
            tun,
            link,
            clock: None,
            begun_at: SystemTime::now(),
            now: Instant::ZERO,
            sockets: BTreeMap::new(),
            closing: BTreeMap::new(),
            writing: BTreeMap::new(),
            flows: Vec::new(),
            flows_before_socket: 0,
            sent: VecDeque::new(),
            burst: None,
            buffer: vec![0; usize::from(u16::MAX)],
            stopped: Arc::new(AtomicBool::new(false)),
        })
    }
}

/// Runs a script against the kernel, over packets of `link`. `tolerance`: by how much times may differ; what
/// the script says where there is none. `file` reads a file that a command of the script names, to look for
/// settings in it. `go_on` is asked now and then whether to go on.
///
/// # Errors
///
/// A right that is missing, a system call that failed, or [`DriveError::Interrupted`]; and inside, a setting
/// that cannot have its value.
pub fn run_script(
    script: &Script,
    link: Link,
    tolerance: Option<Duration>,
    file: &(dyn Fn(&str) -> Option<String> + Sync),
    go_on: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Result<Outcome, SettingsError>, DriveError> {
    let mut host = KernelHost::start(link)?;
    let stopped = Arc::clone(&host.stopped);
    let (done, over) = channel();
    std::thread::scope(|scope| {
        let run = move || {
            wait::be_punctual();
            let outcome = ackclock_script::run(script, &mut host, tolerance, file);
            drop(host);
            // Fails only when nobody waits any more.
            let _ = done.send(());
            outcome
        };
        let thread = std::thread::Builder::new()
            .name("script".into())
            .spawn_scoped(scope, run)
            .map_err(DriveError::system("start a thread"))?;
        while let Err(RecvTimeoutError::Timeout) = over.recv_timeout(LOOK) {
            if go_on().is_break() {
                stopped.store(true, Ordering::Release);
            }
        }
        let outcome = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if stopped.load(Ordering::Acquire) { Err(DriveError::Interrupted) } else { Ok(outcome) }
    })
}

impl Drop for KernelHost {
    fn drop(&mut self) {
        self.end_writing();
    }
}

impl Host for KernelHost {
    fn now(&self) -> Instant {
        self.now
    }

    fn deadline(&self) -> Option<Instant> {
        (!self.stopped.load(Ordering::Acquire)).then(|| self.now + SLICE)
    }

    fn patience(&self) -> Duration {
        PATIENCE
    }

    fn advance(&mut self, then: Instant) {
        let begun_at = &mut self.begun_at;
        let clock = *self.clock.get_or_insert_with(|| {
            *begun_at = SystemTime::now();
            Clock::start()
        });
        while !self.stopped.load(Ordering::Acquire) {
            let [readable] = wait::wait(&clock, [self.tun.as_fd()], Some(then));
            if readable && let Some(at) = self.collect(&clock) {
                self.now = self.now.max(at);
                return;
            }
            if clock.now() >= then {
                break;
            }
        }
        self.now = self.now.max(then);
    }

    fn inject(&mut self, ports: Ports, tcp: &Tcp, ecn: Ecn) -> Result<(), String> {
        let packet = self.packet(ports, tcp, ecn)?;
        self.deliver(&packet)?;
        self.let_writing_return();
        Ok(())
    }

    fn inject_icmp(&mut self, ports: Ports, icmp: &Icmp) -> Result<(), String> {
        let packet = icmp::packet(icmp, ports, self.flow(ports), self.link)?;
        self.deliver(&packet)
    }

    fn sent(&mut self) -> &mut VecDeque<Departure> {
        &mut self.sent
    }

    fn ports(&self, opens: bool) -> Ports {
        self.next_ports(opens)
    }

    fn call(&mut self, call: &mut Call) -> Option<Returned> {
        self.try_call(call).unwrap_or_else(|e| Some(Returned::Error(errno::named(e))))
    }

    fn info(&mut self) -> Option<TcpInfo> {
        let ports = self.flows.last()?.ports;
        let socket = self.sockets.values().find(|s| s.ports == Some(ports))?;
        info::of(socket.fd.as_fd())
    }

    fn set_addresses(&mut self, local: Option<IpAddr>, remote: Option<IpAddr>) -> bool {
        let [own, scripts] = addresses::of_packets(self.link, [0, 0]).map(|a| a.ip());
        local.is_none_or(|ip| ip == own) && remote.is_none_or(|ip| ip == scripts)
    }

    fn is_real(&self) -> bool {
        true
    }

    fn late(&self) -> Duration {
        self.clock.map_or(Duration::ZERO, |clock| clock.now().since(self.now))
    }

    fn set(&mut self, name: &str, value: &str) -> Setting {
        let key = format!("net.ipv4.{}", name.replace('/', "."));
        let Ok(written) = self.namespace.try_sysctl(&key, value) else { return Setting::Unknown };
        match written.map_err(|e| e.kind()) {
            Ok(()) => Setting::Done,
            // It belongs to the whole machine.
            Err(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => Setting::Unknown,
            Err(_) if self.namespace.sysctl(&key).is_ok() => Setting::Refused,
            Err(_) => Setting::Unknown,
        }
    }
}
