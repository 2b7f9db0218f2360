//! A scenario's web transfers between two kernels over an emulated path. Each client is a separate host with
//! its own access delays.

mod client;
mod plan;
mod server;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration as Time;

use ackclock_units::Duration;

pub use self::plan::{Closes, KernelWeb, KernelWebReport, WebFlow};

use self::client::{Client, ClientReport};
use self::server::{Server, ServerReport};
use crate::pattern::PayloadPattern;
use crate::sockets::{RunControl, join, raise_descriptor_limit, then_stop};
use crate::{AccessDelays, Clock, DriveError, Kernels};

const PORT: u16 = 80;
/// Time for set-up before the first start.
const LEAD: Duration = Duration::from_millis(50);
/// Interval between calls of `go_on`.
const POLL_INTERVAL: Time = Time::from_millis(50);

impl KernelWeb {
    /// The reported counters of the kernels.
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

    /// The access delays of the clients, for [`crate::KernelsOptions`].
    pub fn access(&self) -> AccessDelays {
        let delays = self.transfers.iter().zip(0_u16..).map(|(t, n)| (Kernels::host(n), t.access));
        Arc::new(delays.collect::<HashMap<_, _>>())
    }

    /// Runs the transfers. `go_on` is called about twenty times a second and can end the run early.
    ///
    /// # Errors
    /// Too many transfers, a parameter or an option that the kernel refuses, a wrong byte, or a system call
    /// that failed.
    pub fn run(
        &self,
        kernels: Kernels,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<KernelWebReport, DriveError> {
        let n = self.transfers.len();
        if n > Kernels::MOST_HOSTS {
            let most = Kernels::MOST_HOSTS;
            return Err(DriveError::Input(format!(
                "the scenario has {n} transfers, each with its own host; at most {most} are supported here"
            )));
        }
        raise_descriptor_limit();
        for namespace in [&kernels.near, &kernels.far] {
            for (key, value) in &self.parameters {
                namespace.set_sysctl(key, value)?;
            }
        }
        // Allow many connections to open at the same time.
        for key in ["net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog"] {
            kernels.near.set_sysctl(key, "16384")?;
        }
        let clock = Clock::start();
        let control = RunControl::new(clock)?;
        let (pattern, at) = (PayloadPattern::new(), SocketAddr::new(Kernels::NEAR, PORT));
        let server = kernels.near.run(|| Server::new(self, &control, &pattern, at))??;
        let zero = clock.now() + LEAD;
        let client = Client::new(self, &control, &pattern, at, zero)?;
        let (done, served, path_loaded) = std::thread::scope(|scope| {
            let serving =
                scope.spawn(|| then_stop(&control, kernels.near.run(|| server.run()).and_then(|r| r)));
            let asking =
                scope.spawn(|| then_stop(&control, kernels.far.run(|| client.run()).and_then(|r| r)));
            let mut loaded = None;
            while !asking.is_finished() && !control.is_stopped() {
                std::thread::sleep(POLL_INTERVAL);
                if loaded.is_none() && clock.now() >= zero + self.duration {
                    loaded = Some(kernels.emulator.report());
                }
                if go_on().is_break() {
                    control.stop();
                }
            }
            (join(asking), join(serving), loaded)
        });
        let lasted = clock.now().since(zero);
        let (ClientReport { mut flows, loaded, options: client_options }, ServerReport { counts, options }) =
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
