//! Results of a run of flows.

use std::sync::Arc;

use ackclock_engine::Stats;
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration, Instant};

use super::stamping::Stamping;
use crate::ledger::{Ledger, Response};
use crate::{EmulatorReport, OptionSeen, TcpCounts};

/// What became of one end of a connection.
#[derive(Clone, Debug)]
pub struct FlowEnd {
    /// Bytes that its TCP has taken from the application.
    pub written: Bytes,
    /// Bytes of them whose acknowledgment it has told of.
    pub acked: Bytes,
    /// Bytes that the application has read.
    pub read: Bytes,
    /// The first position of those whose byte is not the one that was written there.
    pub wrong: Option<u64>,
    /// Its transactions, in the order of their ends.
    pub responses: Vec<Response>,
    /// How it stands at the end of the run.
    pub outcome: Outcome,
    /// Why it failed, in the words of the table of flows.
    pub reason: Option<&'static str>,
    /// What its kernel counted, where that carries it.
    pub counts: Option<TcpCounts>,
    /// What our engine counted, where that does.
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
        counts: None,
        stats: None,
    };

    /// What an application's books say. Times count from `zero`.
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

/// What became of one connection.
#[derive(Clone, Debug)]
pub struct FlowReport {
    /// The workload that it belongs to.
    pub group: Arc<str>,
    /// When it was opened, from the run's beginning; `None` when the run was over before.
    pub opened: Option<Duration>,
    /// From opening until the client's TCP had the server's answer.
    pub established: Option<Duration>,
    /// The client's end.
    pub client: FlowEnd,
    /// The server's end.
    pub server: FlowEnd,
}

/// What a run found.
#[derive(Debug)]
pub struct FlowsReport {
    /// The connections.
    pub flows: Vec<FlowReport>,
    /// The options of the clients' sockets, where they have any.
    pub client_options: Vec<OptionSeen>,
    /// The options of the connections that were accepted, where they have any.
    pub server_options: Vec<OptionSeen>,
    /// How the clients learned of acknowledgments from their kernel.
    pub stamping: Stamping,
    /// Of [`crate::Flows::COUNTERS`]: what the clients' kernel and the servers' counted, where they are kernels and
    /// have it.
    pub counters: Vec<(&'static str, Option<u64>, Option<u64>)>,
    /// The path at the end.
    pub path: EmulatorReport,
    /// How long it took.
    pub lasted: Duration,
}
