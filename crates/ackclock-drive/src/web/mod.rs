//! A scenario's web transfers between two kernels: each client a host of its own at its own distance, all
//! over one emulated path.

mod client;
mod server;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration as Time;

use ackclock_sim::scenario::Transfer;
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration};

use self::client::{Asked, Client};
use self::server::{Served, Server};
use crate::pattern::Pattern;
use crate::sockets::{Shared, ended, joined, open_as_many_as_allowed};
use crate::{AccessDelays, Clock, DriveError, EmulatorReport, Kernels, OptionSeen, TcpCounts, TcpOption};

/// Transfers to be made by the kernels' own TCP. The near kernel serves, so that the link there is the one
/// that data takes.
#[derive(Clone, Debug)]
pub struct KernelWeb {
    /// The transfers, in the order of their starts.
    pub transfers: Vec<Transfer>,
    /// Time in which they start.
    pub duration: Duration,
    /// Time after that in which those under way may finish.
    pub drain: Duration,
    /// Who closes first once the answer is written.
    pub closes: Closes,
    /// Parameters of both kernels, set before anything opens: `net.ipv4.tcp_recovery` and its like.
    pub parameters: Vec<(String, String)>,
    /// Options of every socket.
    pub options: Vec<(TcpOption, i32)>,
}

/// Who closes a connection first.
///
/// It matters: Linux's linear timeouts hold in the state ESTABLISHED alone, which a server leaves when it
/// closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closes {
    /// The server, as it writes the answer's last byte; the client takes that for the answer's end, as in the
    /// simulator.
    Server,
    /// The client, once it has read as many bytes as it knows will come.
    Client,
}

/// What became of one transfer.
#[derive(Clone, Copy, Debug)]
pub struct WebFlow {
    /// What was asked for.
    pub transfer: Transfer,
    /// When it was opened; `None` when the run was over before.
    pub opened: Option<Duration>,
    /// How late that was.
    pub late: Duration,
    /// From opening until the client could write.
    pub established: Option<Duration>,
    /// From opening until the client had read the answer to its end: the server's close, or the last byte
    /// where the client closes first.
    pub response_time: Option<Duration>,
    /// Bytes of the answer that the client has read; each was checked.
    pub received: Bytes,
    /// How it stands at the end.
    pub outcome: Outcome,
    /// Why it failed, in the words of the table of flows.
    pub reason: Option<&'static str>,
    /// What the client's kernel counted; a SYN sent again is a timeout of its.
    pub client: Option<TcpCounts>,
    /// What the server's kernel counted, once it had a connection.
    pub server: Option<TcpCounts>,
}

impl WebFlow {
    fn of(transfer: Transfer) -> Self {
        Self {
            transfer,
            opened: None,
            late: Duration::ZERO,
            established: None,
            response_time: None,
            received: 0,
            outcome: Outcome::Unfinished,
            reason: None,
            client: None,
            server: None,
        }
    }
}

/// What a run found.
#[derive(Debug)]
pub struct KernelWebReport {
    /// The transfers.
    pub flows: Vec<WebFlow>,
    /// The options of the clients' sockets.
    pub client_options: Vec<OptionSeen>,
    /// The options of the connections that the server accepted.
    pub server_options: Vec<OptionSeen>,
    /// Of [`KernelWeb::COUNTERS`]: what the server's kernel and the clients' counted. One that a kernel does
    /// not have is left out.
    pub counters: Vec<(&'static str, u64, u64)>,
    /// Bytes of answers that the clients had read by the time from which no transfer started any more.
    pub received_loaded: Bytes,
    /// The path at that time.
    pub path_loaded: EmulatorReport,
    /// The path at the end.
    pub path: EmulatorReport,
    /// How long it took.
    pub lasted: Duration,
}

const PORT: u16 = 80;
/// Between the beginning and the first start, so that everything is in place.
const LEAD: Duration = Duration::from_millis(50);
/// How often the caller is asked.
const GLANCE: Time = Time::from_millis(50);

impl KernelWeb {
    /// Counters of the kernels that are reported.
    pub const COUNTERS: &[&str] = &[
        "RetransSegs",
        "TCPTimeouts",
        "TCPLossProbes",
        "TCPLossProbeRecovery",
        "TCPSynRetrans",
        "TCPSpuriousRTOs",
        "TCPSlowStartRetrans",
        "TCPFastRetrans",
        "TCPLostRetransmit",
        "TCPReqQFullDoCookies",
        "ListenOverflows",
        "ListenDrops",
        "AttemptFails",
        "EstabResets",
    ];

    /// How far each client is from the path, for [`crate::KernelsOptions`].
    pub fn access(&self) -> AccessDelays {
        let delays = self.transfers.iter().zip(0_u16..).map(|(t, n)| (Kernels::host(n), t.access));
        Arc::new(delays.collect::<HashMap<_, _>>())
    }

    /// Makes the transfers. `go_on` is asked some ten times a second; what has come by then is reported.
    ///
    /// # Errors
    /// Too many transfers, a parameter or an option that the kernel does not take, a byte that is not what
    /// was sent, or a system call that failed.
    pub fn run(
        &self,
        kernels: Kernels,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<KernelWebReport, DriveError> {
        let n = self.transfers.len();
        if n > Kernels::MOST_HOSTS {
            let most = Kernels::MOST_HOSTS;
            return Err(DriveError::Input(format!(
                "the scenario has {n} transfers, each with a host of its own; at most {most} would do here"
            )));
        }
        open_as_many_as_allowed();
        for namespace in [&kernels.near, &kernels.far] {
            for (key, value) in &self.parameters {
                namespace.set_sysctl(key, value)?;
            }
        }
        // What opens at the same time is not to be turned away.
        for key in ["net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"] {
            kernels.near.set_sysctl(key, "16384")?;
        }
        let clock = Clock::start();
        let shared = Shared::new(clock)?;
        let (pattern, at) = (Pattern::new(), SocketAddr::new(Kernels::NEAR, PORT));
        let server = kernels.near.run(|| Server::new(self, &shared, &pattern, at))??;
        let zero = clock.now() + LEAD;
        let client = Client::new(self, &shared, &pattern, at, zero)?;
        let (done, served, path_loaded) = std::thread::scope(|scope| {
            let serving = scope.spawn(|| ended(&shared, kernels.near.run(|| server.run()).and_then(|r| r)));
            let asking = scope.spawn(|| ended(&shared, kernels.far.run(|| client.run()).and_then(|r| r)));
            let mut loaded = None;
            while !asking.is_finished() && !shared.over() {
                std::thread::sleep(GLANCE);
                if loaded.is_none() && clock.now() >= zero + self.duration {
                    loaded = Some(kernels.emulator.report());
                }
                if go_on().is_break() {
                    shared.end();
                }
            }
            (joined(asking), joined(serving), loaded)
        });
        let lasted = clock.now().since(zero);
        let (Asked { mut flows, loaded, options: client_options }, Served { counts, options }) =
            (done?, served?);
        for (flow, counts) in flows.iter_mut().zip(counts) {
            flow.server = counts;
        }
        let counted = |name: &&'static str| {
            Some((*name, kernels.near.tcp_counter(name).ok()?, kernels.far.tcp_counter(name).ok()?))
        };
        let counters = Self::COUNTERS.iter().filter_map(counted).collect();
        let path = kernels.emulator.stop();
        Ok(KernelWebReport {
            flows,
            received_loaded: loaded,
            client_options,
            server_options: options,
            counters,
            path_loaded: path_loaded.unwrap_or(path),
            path,
            lasted,
        })
    }
}
