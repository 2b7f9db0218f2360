//! A scenario's web transfers between two kernels: each client a host of its own at its own distance, all
//! over one emulated path.

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
use crate::sockets::{RunControl, join, open_as_many_as_allowed, then_stop};
use crate::{AccessDelays, Clock, DriveError, Kernels};

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
                std::thread::sleep(GLANCE);
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
