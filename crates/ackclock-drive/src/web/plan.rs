//! Web transfers to make, and their results.

use ackclock_sim::scenario::Transfer;
use ackclock_trace::Outcome;
use ackclock_units::{Bytes, Duration};

use crate::{EmulatorReport, OptionSeen, TcpCounts, TcpOption};

/// Transfers over the kernels' TCP. The near kernel is the server, so that data takes the link to the far
/// kernel.
#[derive(Clone, Debug)]
pub struct KernelWeb {
    /// The transfers, in the order of their starts.
    pub transfers: Vec<Transfer>,
    /// Time in which transfers start.
    pub duration: Duration,
    /// Time after that in which active transfers may finish.
    pub drain: Duration,
    /// Which end closes first after the response.
    pub closes: Closes,
    /// Parameters of both kernels, such as `net.ipv4.tcp_recovery`, set before any connection is opened.
    pub parameters: Vec<(String, String)>,
    /// Options of every socket.
    pub options: Vec<(TcpOption, i32)>,
}

/// Which end closes a connection first.
///
/// It matters because Linux applies linear timeouts only in ESTABLISHED, which a server leaves when it
/// closes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Closes {
    /// The server, after it has written the response; the FIN marks the end of the response, as in the
    /// simulator.
    Server,
    /// The client, once it has read the known size of the response.
    Client,
}

/// The result of one transfer.
#[derive(Clone, Copy, Debug)]
pub struct WebFlow {
    /// The transfer.
    pub transfer: Transfer,
    /// When it was opened; `None` when the run ended before.
    pub opened: Option<Duration>,
    /// Lateness of its start.
    pub late: Duration,
    /// Time from opening until the client could write.
    pub established: Option<Duration>,
    /// Time from opening until the client had read the response: until the server's FIN, or until the last
    /// byte if the client closes first.
    pub response_time: Option<Duration>,
    /// Bytes of the response read and checked by the client.
    pub received: Bytes,
    /// Its state at the end of the run.
    pub outcome: Outcome,
    /// Why it failed, in the words of the table of flows.
    pub reason: Option<&'static str>,
    /// Counters of the client's kernel; a retransmitted SYN counts as its timeout.
    pub client: Option<TcpCounts>,
    /// Counters of the server's kernel, if it had a connection.
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

/// Results of a run.
#[derive(Debug)]
pub struct KernelWebReport {
    /// The transfers.
    pub flows: Vec<WebFlow>,
    /// Options set on the clients' sockets.
    pub client_options: Vec<OptionSeen>,
    /// Options set on the accepted connections.
    pub server_options: Vec<OptionSeen>,
    /// The counters [`KernelWeb::COUNTERS`] of the server's and the clients' kernel, without those that a
    /// kernel does not have.
    pub counters: Vec<(&'static str, u64, u64)>,
    /// Bytes of responses read by the clients by the end of `duration`.
    pub received_loaded: Bytes,
    /// Counters of the path at that time.
    pub path_loaded: EmulatorReport,
    /// Counters of the path at the end.
    pub path: EmulatorReport,
    /// Duration of the run.
    pub lasted: Duration,
}
