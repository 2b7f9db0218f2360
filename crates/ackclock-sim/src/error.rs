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
    /// A source gave a flow or a datagram for a moment that has passed.
    OutOfOrder {
        /// What it wanted.
        start_ns: u64,
        /// What the time was.
        now_ns: u64,
    },
    /// Packets or bytes were lost from the books: a bug in the simulator or the engine, never in the
    /// scenario.
    Conservation(String),
    /// More of something than can be numbered: what, and how many there may be.
    TooMany(&'static str, u64),
    /// The run would hold more memory than it may.
    Memory {
        /// What it may hold, bytes.
        limit: u64,
        /// The simulated moment.
        at: Instant,
        /// Flows under way.
        flows: u64,
        /// Packets under way.
        packets: u64,
        /// Rows and traced events.
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
                    "at {at:.3}s it would hold more than {limit} of memory, with {flows} flows and {packets} \
                     packets under way and {rows} rows: "
                )?;
                f.write_str(
                    "lower the load, make `duration` or windows shorter, or allow more memory (`--memory`)",
                )
            }
            Self::TooMany(what, most) => write!(f, "there are too many {what}; at most {most} would do"),
        }
    }
}

impl std::error::Error for SimError {}

/// Bytes, as a person reads them.
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
