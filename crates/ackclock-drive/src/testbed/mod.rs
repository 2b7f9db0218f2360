//! A scenario, unchanged, on the kernel's TCP: a namespace for each host, the emulator for all links, and the
//! tables of the simulator.

mod check;
mod datagrams;
mod events;
mod flow_rows;
mod flow_series;
mod hosts;
mod links;
mod run;
mod setup;
mod tables;

use std::path::PathBuf;

use ackclock_sim::RunOutcome;
use ackclock_sim::scenario::{Resolved, RunInfo};
use ackclock_trace::{Label, Side, TracedRows};
use ackclock_units::Duration;

use crate::{DriveError, OptionSeen};

pub use self::events::{COLUMNS as EVENT_COLUMNS, UNKNOWN_OF_EPISODES};
pub use self::flow_rows::UNKNOWN;
pub use self::run::run_testbed;

/// Options of a run on the testbed.
#[derive(Clone, Debug, Default)]
pub struct TestbedOptions {
    /// A file for the packets that pass the device of the first host that opens connections.
    pub capture: Option<PathBuf>,
}

/// The results of a run on the testbed.
#[derive(Debug)]
pub struct TestbedRun {
    /// What is known of the run as a whole.
    pub info: RunInfo,
    /// Its tables.
    pub outcome: RunOutcome,
    /// Cells of the table of flows that are unknown: rows and columns.
    pub unknown: Vec<(usize, &'static str)>,
    /// What the scenario's `trace` asks for.
    pub trace: Option<TracedRows>,
    /// What only kernels and emulators have.
    pub kernel: KernelReport,
}

/// What the kernels and the emulator report of a run.
#[derive(Debug)]
pub struct KernelReport {
    /// Packets that the emulator delivered.
    pub deliveries: u64,
    /// Those of them that were more than a millisecond late.
    pub late: u64,
    /// Mean lateness of deliveries.
    pub mean_lateness: Duration,
    /// Largest lateness of a delivery.
    pub max_lateness: Duration,
    /// Packets that the emulator could not deliver.
    pub undelivered: u64,
    /// Counters of the kernel's TCP that are not zero, by host.
    pub counters: Vec<KernelCounters>,
    /// Options of sockets, with how many had the value asked for.
    pub options: Vec<OptionSeen>,
    /// Events inside the kernels' TCP.
    pub events: EventsReport,
}

/// Events inside the kernels' TCP.
#[derive(Clone, Debug, Default)]
pub struct EventsReport {
    /// Events of the run's connections.
    pub recorded: u64,
    /// Records that found no room.
    pub lost: u64,
    /// Why numbers are missing, a sentence each.
    pub missing: Vec<String>,
    /// Both ends of all connections that were opened.
    pub ends: Vec<EndReport>,
}

/// What the events of a whole run, and the emulator, say of one end of a connection.
#[derive(Clone, Debug)]
pub struct EndReport {
    /// Number of its flow.
    pub flow: u32,
    /// Which end it is.
    pub side: Side,
    /// Its host, as a position in [`KernelReport::counters`].
    pub host: usize,
    /// Label of its stack.
    pub stack: Label,
    /// Expiries of its retransmission timer, those of SYN-ACKs included.
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub recoveries: u64,
    /// Tail loss probes that repeat data.
    pub repeated_probes: u64,
    /// Segments that the emulator has seen twice, SYNs, SYN-ACKs and FINs included.
    pub retransmissions: u64,
}

/// Counters of one host.
#[derive(Clone, Debug)]
pub struct KernelCounters {
    /// Its node in the scenario.
    pub host: String,
    /// Label of its stack.
    pub stack: String,
    /// Names as in `/proc/net/snmp` and `/proc/net/netstat`, with values.
    pub counters: Vec<(String, u64)>,
}

/// Fails for what a kernel or the emulator cannot honour.
///
/// # Errors
/// One sentence that names the key.
pub fn check_testbed(scenario: &Resolved) -> Result<(), DriveError> {
    check::check(scenario)
}
