//! Web transfers to make, and their results.

use ackclock_sim::scenario::Transfer;
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration};

use crate::{EmulatorReport, OptionSeen, TcpCounts, TcpOption};

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
    pub(super) fn of(transfer: Transfer) -> Self {
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
