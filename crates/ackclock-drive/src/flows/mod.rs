//! A scenario's applications over real connections of kernels' sockets or of the engine. They are the same
//! applications as in the simulator, with the same random numbers.

mod conn;
mod ends;
mod engine_side;
mod io;
mod kernel_side;
mod report;
mod sacks;
mod side;
mod snapshot;
mod stamping;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration as Time;

use ackclock_sim::scenario::Conversation;
use ackclock_sim::{Access, StackFactory};
use ackclock_units::{Duration, Instant};

pub use self::ends::{EndKind, FlowTestbed};
pub use self::report::{FlowEnd, FlowReport, FlowsReport};
pub use self::stamping::Stamping;

pub(crate) use self::conn::App;
use self::ends::EndSystem;
use self::engine_side::EngineSide;
pub(crate) use self::kernel_side::{Barriers, KernelSide, Place, SideOptions};
pub(crate) use self::sacks::SackWatch;
pub(crate) use self::side::{Opening, SideReport, SideRole};
pub(crate) use self::snapshot::{Moments, Sample, Snapshot};
use crate::ledger::Ledger;
use crate::pattern::PayloadPattern;
use crate::sockets::{RunControl, SocketOptions, join, raise_descriptor_limit, then_stop};
use crate::{AccessDelays, DriveError, Kernels, Namespace, TcpOption};

/// Connections with an application at each end. The near end opens them, so that their data takes the link to
/// the far end. Each server is a separate host with its own access delays.
#[derive(Debug)]
pub struct Flows {
    /// The connections, in the order of their starts.
    pub conversations: Vec<Conversation>,
    /// Duration of the run.
    pub duration: Duration,
    /// Parameters of the kernels, such as `net.ipv4.tcp_recovery`, set before any connection is opened.
    pub parameters: Vec<(String, String)>,
    /// Options of every kernel's socket.
    pub options: Vec<(TcpOption, i32)>,
    /// True to set TCP_QUICKACK after every read, since the kernel clears it.
    pub quick_acks: bool,
}

const PORT: u16 = 23;
/// Time for set-up before the first start.
const LEAD: Duration = Duration::from_millis(50);
/// Interval between calls of `go_on`.
const POLL_INTERVAL: Time = Time::from_millis(50);

impl Flows {
    /// The reported counters of the kernels.
    pub const COUNTERS: &[&str] = &[
        "RetransSegs",
        "TCPTimeouts",
        "TCPFastRetrans",
        "TCPSlowStartRetrans",
        "TCPSackRecovery",
        "TCPRenoRecovery",
        "TCPLossProbes",
        "TCPLossProbeRecovery",
        "TCPSpuriousRTOs",
        "TCPLostRetransmit",
        "TCPDSACKRecv",
        "TCPDSACKOldSent",
        "TCPDSACKOfoSent",
        "DelayedACKs",
    ];

    /// The access delays of the servers, for [`crate::KernelsOptions`].
    pub fn access(&self) -> AccessDelays {
        // The emulator's hosts are at the far end and count as clients there; here they are servers.
        let turned = |a: &Access| Access {
            client_up: a.server_up,
            client_down: a.server_down,
            server_up: a.client_up,
            server_down: a.client_down,
        };
        let delays =
            self.conversations.iter().zip(0_u16..).map(|(c, n)| (Kernels::host(n), turned(&c.access)));
        Arc::new(delays.collect::<HashMap<_, _>>())
    }

    /// Number of hosts at the far end, one for each connection.
    ///
    /// # Errors
    /// Too many connections.
    pub fn hosts(&self) -> Result<u16, DriveError> {
        let (n, most) = (self.conversations.len(), Kernels::MOST_HOSTS);
        let fits = u16::try_from(n).ok().filter(|_| n <= most);
        fits.ok_or_else(|| {
            DriveError::Input(format!(
                "the scenario has {n} flows, each with its own host; at most {most} are supported here"
            ))
        })
    }

    /// Runs the flows between `ends`, which must have [`Flows::hosts`] hosts. `go_on` is called about twenty
    /// times a second and can end the run early.
    ///
    /// # Errors
    /// Too many connections, a parameter or an option that a kernel refuses or that needs a kernel where
    /// there is none, a kernel without timestamps of acknowledgments, or a system call that failed.
    pub fn run(
        self,
        ends: FlowTestbed,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<FlowsReport, DriveError> {
        self.hosts()?;
        raise_descriptor_limit();
        self.prepare(&ends)?;
        let control = RunControl::new(ends.clock)?;
        let pattern = Arc::new(PayloadPattern::new());
        let (mut starts, mut groups, mut clients, mut servers) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let zero = ends.clock.now() + LEAD;
        for (n, mut c) in self.conversations.into_iter().enumerate() {
            let [client, server] = c.stacks;
            c.client.0.run_began(zero);
            c.server.0.run_began(zero);
            starts.push(c.start);
            groups.push(c.group);
            clients.push((c.client, client, Ledger::new(&pattern, n, true)));
            servers.push((c.server, server, Ledger::new(&pattern, n, false)));
        }
        let settings = Settings { options: self.options, quick_acks: self.quick_acks };
        let hosts = || (0..starts.len()).map(|n| (n, Kernels::host(n as u16)));
        let listening = SideRole::Accepts {
            at: vec![(SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)), 0)],
            numbers: hosts().map(|(n, host)| ((host, Kernels::NEAR), n)).collect(),
        };
        let from = SocketAddr::new(Kernels::NEAR, 0);
        let to = |host| SocketAddr::new(host, PORT);
        let openings = hosts().map(|(_, host)| Opening { from, to: to(host), place: 0 }).collect();
        let server = Running::new(&control, &ends.far, listening, servers, &settings)?;
        let opening = SideRole::Opens { starts, openings };
        let client = Running::new(&control, &ends.near, opening, clients, &settings)?;
        let end = zero + self.duration;
        let (opened, accepted) = std::thread::scope(|scope| {
            let accepting = scope.spawn(|| then_stop(&control, server.run(zero, None)));
            let opening = scope.spawn(|| then_stop(&control, client.run(zero, Some(end))));
            while !opening.is_finished() && !control.is_stopped() {
                std::thread::sleep(POLL_INTERVAL);
                if go_on().is_break() {
                    control.stop();
                }
            }
            (join(opening), join(accepting))
        });
        let lasted = ends.clock.now().since(zero);
        let (opened, accepted) = (opened?, accepted?);
        let counted = |end: &EndSystem, name| end.kernel().and_then(|kernel| kernel.tcp_counter(name).ok());
        let counters = Self::COUNTERS
            .iter()
            .map(|&name| (name, counted(&ends.near, name), counted(&ends.far, name)))
            .collect();
        let both = opened.ends.into_iter().zip(accepted.ends).zip(opened.opened);
        let flows = groups.into_iter().zip(both).map(|(group, ((client, server), (at, established)))| {
            FlowReport { group, opened: at, established, client, server }
        });
        Ok(FlowsReport {
            flows: flows.collect(),
            client_options: opened.options.into_iter().flatten().collect(),
            server_options: accepted.options.into_iter().flatten().collect(),
            stamping: opened.stamping,
            counters,
            path: ends.emulator.stop(),
            lasted,
        })
    }

    /// Sets the kernels' parameters.
    fn prepare(&self, ends: &FlowTestbed) -> Result<(), DriveError> {
        let kernels: Vec<&Namespace> =
            [&ends.near, &ends.far].into_iter().filter_map(EndSystem::kernel).collect();
        if kernels.is_empty() && !(self.parameters.is_empty() && self.options.is_empty() && !self.quick_acks)
        {
            return Err(DriveError::Input(
                "parameters of kernels and options of their sockets are given, but both ends are the engine"
                    .into(),
            ));
        }
        for namespace in kernels {
            for (key, value) in &self.parameters {
                namespace.set_sysctl(key, value)?;
            }
        }
        // Allow many connections to open at the same time.
        for key in ["net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"] {
            ends.far.kernel().map_or(Ok(()), |far| far.set_sysctl(key, "16384"))?;
        }
        Ok(())
    }
}

/// Settings of kernels' sockets.
struct Settings {
    options: Vec<(TcpOption, i32)>,
    quick_acks: bool,
}

/// One end of all connections, ready to run.
enum Running<'a> {
    Kernel(Box<KernelSide<'a>>, &'a Namespace),
    EngineSide(Box<EngineSide<'a>>),
}

impl<'a> Running<'a> {
    fn new(
        control: &'a RunControl,
        end: &'a EndSystem,
        role: SideRole,
        apps: Vec<(App, Arc<dyn StackFactory>, Ledger)>,
        settings: &Settings,
    ) -> Result<Self, DriveError> {
        match end {
            EndSystem::Kernel(namespace) => {
                let apps = apps.into_iter().map(|(app, _, ledger)| (app, ledger)).collect();
                // Its thread runs in the namespace.
                let place = Place { namespace: None, options: SocketOptions::new(&settings.options) };
                let options = SideOptions { quick_acks: settings.quick_acks, ..SideOptions::default() };
                let side = namespace.run(|| KernelSide::new(control, role, apps, vec![place], options))??;
                Ok(Self::Kernel(Box::new(side), namespace))
            }
            EndSystem::Engine(host) => {
                Ok(Self::EngineSide(Box::new(EngineSide::new(control, host, role, apps))))
            }
        }
    }

    fn run(self, zero: Instant, end: Option<Instant>) -> Result<SideReport, DriveError> {
        match self {
            Self::Kernel(side, namespace) => namespace.run(|| side.run(zero, end)).and_then(|r| r),
            Self::EngineSide(apps) => apps.run(zero, end),
        }
    }
}
