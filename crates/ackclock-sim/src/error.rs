use std::fmt;

use ackclock_units::Instant;

/// Why a network or a run was refused or stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SimError {
    /// Two nodes or two links share a name.
    DuplicateName {
        /// `node` or `link`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A node that the network does not have.
    UnknownNode(u32),
    /// No sequence of links leads from one node to the other.
    NoPath {
        /// Where it should begin.
        from: String,
        /// Where it should end.
        to: String,
    },
    /// A source returned a flow or a datagram whose start has passed.
    OutOfOrder {
        /// The start that it asked for.
        start_ns: u64,
        /// The simulated time then.
        now_ns: u64,
    },
    /// The counts of packets or bytes do not add up: a bug in the simulator or the engine, never in the
    /// scenario.
    Conservation(String),
    /// More of something than is supported: what, and the largest number allowed.
    TooMany(&'static str, u64),
    /// The run would exceed its memory limit.
    Memory {
        /// The limit, bytes.
        limit: u64,
        /// The simulated moment.
        at: Instant,
        /// Active flows.
        flows: u64,
        /// Packets in flight.
        packets: u64,
        /// Table rows and traced events.
        rows: u64,
    },
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateName { what, name } => {
                write!(f, "two {what}s are named `{name}`; names must differ")
            }
            Self::UnknownNode(n) => write!(f, "node number {n} does not exist in this network"),
            Self::NoPath { from, to } => write!(f, "no path leads from `{from}` to `{to}`"),
            Self::OutOfOrder { start_ns, now_ns } => {
                write!(
                    f,
                    "a source asked for a start at {start_ns} ns when the time was already {now_ns} ns; \
                     sources must run forwards in time"
                )
            }
            Self::Conservation(what) => write!(f, "conservation does not hold: {what}"),
            Self::Memory { limit, at, flows, packets, rows } => {
                let (limit, at) = (Size(*limit), at.as_secs_f64());
                write!(
                    f,
                    "at {at:.3}s it would hold more than {limit} of memory, with {flows} flows, {packets} \
                     packets in flight and {rows} rows: "
                )?;
                f.write_str(
                    "lower the load, make `duration` or windows shorter, or allow more memory (`--memory`)",
                )
            }
            Self::TooMany(what, most) => write!(f, "there are too many {what}; at most {most} are allowed"),
        }
    }
}

impl std::error::Error for SimError {}

/// Displays bytes in the largest unit that fits.
#[derive(Clone, Copy)]
pub(crate) struct Size(pub(crate) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(1_u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        match units.into_iter().find(|(unit, _)| self.0 >= *unit) {
            Some((unit, name)) if self.0.is_multiple_of(unit) => write!(f, "{} {name}", self.0 / unit),
            Some((unit, name)) => write!(f, "{:.1} {name}", self.0 as f64 / unit as f64),
            None => write!(f, "{} B", self.0),
        }
    }
}
