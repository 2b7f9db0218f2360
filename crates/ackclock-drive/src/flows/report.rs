//! Results of a run of flows.

use std::sync::Arc;

use ackclock_engine::Stats;
use ackclock_policy::Playback;
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration, Instant};

use super::stamping::Stamping;
use crate::ledger::{Ledger, Response};
use crate::{EmulatorReport, OptionSeen, TcpCounts};

/// The result of one end of a connection.
#[derive(Clone, Debug)]
pub struct FlowEnd {
    /// Bytes written by the application.
    pub written: Bytes,
    /// Bytes of them reported as acknowledged.
    pub acked: Bytes,
    /// Bytes read by the application.
    pub read: Bytes,
    /// First stream position at which a wrong byte was read.
    pub wrong: Option<u64>,
    /// Its transactions, in the order of completion.
    pub responses: Vec<Response>,
    /// Its state at the end of the run.
    pub outcome: Outcome,
    /// Why it failed, in the words of the table of flows.
    pub reason: Option<&'static str>,
    /// When it was over, since the start of the run; `None` while it is not.
    pub ended: Option<Duration>,
    /// SYNs or SYN-ACKs that a kernel retransmitted.
    pub syns: u64,
    /// What it has played, if it plays a video.
    pub playback: Option<Playback>,
    /// The kernel's counters, at an end that is a kernel.
    pub counts: Option<TcpCounts>,
    /// When they were read, since the start of the run.
    pub counted_at: Option<Duration>,
    /// The engine's counters, at an end that is the engine.
    pub stats: Option<Box<Stats>>,
}

impl FlowEnd {
    pub(super) const UNOPENED: Self = Self {
        written: 0,
        acked: 0,
        read: 0,
        wrong: None,
        responses: Vec::new(),
        outcome: Outcome::Unfinished,
        reason: None,
        ended: None,
        syns: 0,
        playback: None,
        counts: None,
        counted_at: None,
        stats: None,
    };

    /// From an application's counters. Times are relative to `zero`.
    pub(super) fn of(ledger: Ledger, zero: Instant) -> Self {
        Self {
            written: ledger.written,
            read: ledger.read,
            wrong: ledger.wrong,
            responses: ledger.responses(zero),
            ..Self::UNOPENED
        }
    }
}

/// The result of one connection.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// Its workload.
    pub group: Arc<str>,
    /// When it was opened, since the start of the run; `None` when the run ended before.
    pub opened: Option<Duration>,
    /// Time from opening until it was established at the client.
    pub established: Option<Duration>,
    /// The client's end.
    pub client: FlowEnd,
    /// The server's end.
    pub server: FlowEnd,
}

/// Results of a run of flows.
#[derive(Debug)]
pub struct FlowsReport {
    /// The connections.
    pub flows: Vec<FlowReport>,
    /// Options set on the clients' sockets.
    pub client_options: Vec<OptionSeen>,
    /// Options set on the accepted connections.
    pub server_options: Vec<OptionSeen>,
    /// Quality of the clients' timestamps of acknowledgments.
    pub stamping: Stamping,
    /// The counters [`crate::Flows::COUNTERS`] of the clients' and the servers' kernel; `None` for an end
    /// that is the engine, or a kernel without that counter.
    pub counters: Vec<(&'static str, Option<u64>, Option<u64>)>,
    /// Counters of the path at the end.
    pub path: EmulatorReport,
    /// Duration of the run.
    pub lasted: Duration,
}
