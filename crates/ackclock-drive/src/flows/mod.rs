//! A scenario's applications over two kernels' own sockets: the very policies that run above the simulator's connections, with the same random numbers.

mod conn;
mod io;
mod side;

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration as Time;

use ackclock_sim::Access;
use ackclock_sim::scenario::Conversation;
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration};

pub use self::io::Response;
pub use self::side::Stamping;

use self::side::{Role, Side};
use crate::sockets::{Shared, Wanted, ended, joined, open_as_many_as_allowed};
use crate::{AccessDelays, Clock, DriveError, EmulatorReport, Kernels, OptionSeen, TcpCounts, TcpOption};

/// Connections of the kernels' own TCP with an application of the registry at each end. The near kernel opens them, so that the link there is the one
/// that its applications' data takes; each server is a host of its own at its own distance.
#[derive(Debug)]
pub struct KernelFlows {
    /// The connections, in the order of their starts.
    pub conversations: Vec<Conversation>,
    /// How long they run.
    pub duration: Duration,
    /// Parameters of both kernels, set before anything opens: `net.ipv4.tcp_recovery` and its like.
    pub parameters: Vec<(String, String)>,
    /// Options of every socket.
    pub options: Vec<(TcpOption, i32)>,
    /// True when a kernel is told after every read to acknowledge at once (TCP_QUICKACK, which does not last).
    pub quick_acks: bool,
}

/// What became of one end of a connection.
#[derive(Clone, Debug)]
pub struct FlowEnd {
    /// Bytes that the kernel has taken from the application.
    pub written: Bytes,
    /// Bytes of them whose acknowledgment it has told of.
    pub acked: Bytes,
    /// Bytes that the application has read.
    pub read: Bytes,
    /// Its transactions, in the order of their ends.
    pub responses: Vec<Response>,
    /// How it stands at the end of the run.
    pub outcome: Outcome,
    /// Why it failed, in the words of the table of flows.
    pub reason: Option<&'static str>,
    /// What its kernel counted.
    pub counts: Option<TcpCounts>,
}

impl FlowEnd {
    const UNOPENED: Self = Self { written: 0, acked: 0, read: 0, responses: Vec::new(), outcome: Outcome::Unfinished, reason: None, counts: None };
}

/// What became of one connection.
#[derive(Clone, Debug)]
pub struct KernelFlow {
    /// The workload that it belongs to.
    pub group: Arc<str>,
    /// When it was opened, from the run's beginning; `None` when the run was over before.
    pub opened: Option<Duration>,
    /// From opening until the client's kernel had the server's answer.
    pub established: Option<Duration>,
    /// The client's end.
    pub client: FlowEnd,
    /// The server's end.
    pub server: FlowEnd,
}

/// What a run found.
#[derive(Debug)]
pub struct KernelFlowsReport {
    /// The connections.
    pub flows: Vec<KernelFlow>,
    /// The options of the clients' sockets.
    pub client_options: Vec<OptionSeen>,
    /// The options of the connections that were accepted.
    pub server_options: Vec<OptionSeen>,
    /// How the clients learned of acknowledgments.
    pub stamping: Stamping,
    /// Of [`KernelFlows::COUNTERS`]: what the clients' kernel and the servers' counted. One that a kernel does not have is left out.
    pub counters: Vec<(&'static str, u64, u64)>,
    /// The path at the end.
    pub path: EmulatorReport,
    /// How long it took.
    pub lasted: Duration,
}

const PORT: u16 = 23;
/// Between the beginning and the first start, so that everything is in place.
const LEAD: Duration = Duration::from_millis(50);
/// How often the caller is asked.
const GLANCE: Time = Time::from_millis(50);

impl KernelFlows {
    /// Counters of the kernels that are reported.
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
        "DelayedACKs",
    ];

    /// How far each server is from the path, for [`crate::KernelsOptions`].
    pub fn access(&self) -> AccessDelays {
        // The emulator's hosts are at the far end, and it calls them clients; here they are servers.
        let turned = |a: &Access| Access { client_up: a.server_up, client_down: a.server_down, server_up: a.client_up, server_down: a.client_down };
        let delays = self.conversations.iter().zip(0_u16..).map(|(c, n)| (Kernels::host(n), turned(&c.access)));
        Arc::new(delays.collect::<HashMap<_, _>>())
    }

    /// Runs them. `go_on` is asked some ten times a second; what has come by then is reported.
    ///
    /// # Errors
    /// Too many connections, a parameter or an option that the kernel does not take, a kernel that does not tell of acknowledgments, or a system call
    /// that failed.
    pub fn run(self, kernels: Kernels, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<KernelFlowsReport, DriveError> {
        let n = self.conversations.len();
        if n > Kernels::MOST_HOSTS {
            let most = Kernels::MOST_HOSTS;
            return Err(DriveError::Input(format!("the scenario has {n} flows, each with a host of its own; at most {most} would do here")));
        }
        open_as_many_as_allowed();
        for namespace in [&kernels.near, &kernels.far] {
            for (key, value) in &self.parameters {
                namespace.set_sysctl(key, value)?;
            }
        }
        // What opens at the same time is not to be turned away.
        for key in ["net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"] {
            kernels.far.set_sysctl(key, "16384")?;
        }
        let clock = Clock::start();
        let shared = Shared::new(clock)?;
        let (mut starts, mut groups, mut clients, mut servers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for c in self.conversations {
            starts.push(c.start);
            groups.push(c.group);
            clients.push(Some(c.client));
            servers.push(Some(c.server));
        }
        let wanted = || Wanted::new(&self.options);
        let listening = Role::Accepts { at: SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT)) };
        let server = kernels.far.run(|| Side::new(&shared, listening, servers, wanted(), self.quick_acks))??;
        let zero = clock.now() + LEAD;
        let opening = Role::Opens { from: SocketAddr::new(Kernels::NEAR, 0), port: PORT, starts };
        let client = Side::new(&shared, opening, clients, wanted(), self.quick_acks)?;
        let end = zero + self.duration;
        let (opened, accepted) = std::thread::scope(|scope| {
            let accepting = scope.spawn(|| ended(&shared, kernels.far.run(|| server.run(zero, None)).and_then(|r| r)));
            let opening = scope.spawn(|| ended(&shared, kernels.near.run(|| client.run(zero, Some(end))).and_then(|r| r)));
            while !opening.is_finished() && !shared.over() {
                std::thread::sleep(GLANCE);
                if go_on().is_break() {
                    shared.end();
                }
            }
            (joined(opening), joined(accepting))
        });
        let lasted = clock.now().since(zero);
        let (opened, accepted) = (opened?, accepted?);
        let counted = |name: &&'static str| Some((*name, kernels.near.tcp_counter(name).ok()?, kernels.far.tcp_counter(name).ok()?));
        let counters = Self::COUNTERS.iter().filter_map(counted).collect();
        let ends = opened.ends.into_iter().zip(accepted.ends).zip(opened.opened);
        let flows = groups.into_iter().zip(ends).map(|(group, ((client, server), (at, established)))| KernelFlow {
            group,
            opened: at,
            established,
            client,
            server,
        });
        Ok(KernelFlowsReport {
            flows: flows.collect(),
            client_options: opened.options,
            server_options: accepted.options,
            stamping: opened.stamping,
            counters,
            path: kernels.emulator.stop(),
            lasted,
        })
    }
}
