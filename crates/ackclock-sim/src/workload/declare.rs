//! The parameters of workloads, sizes and arrivals: one declaration for scenario keys, help texts, Python
//! signatures and reference pages.

use ackclock_policy::{Declaration, Param};
use ackclock_units::{Bytes, Duration, Rate};

/// The longest time of a run, and more.
pub(crate) const LONGEST: Duration = Duration::from_secs(100_000_000);
/// The largest transfer.
pub(crate) const LARGEST_TRANSFER: Bytes = 1 << 50;
/// With shorter periods, a run would spend most of its time drawing periods.
const SHORTEST: Duration = Duration::from_micros(100);
const SECOND: Duration = Duration::from_secs(1);

const ON: Param = Param::duration("on", SECOND, SHORTEST..=LONGEST, "mean ON period");
const OFF: Param = Param::duration("off", SECOND, Duration::ZERO..=LONGEST, "mean OFF period");
const PERIODS: Param = Param::choice(
    "periods",
    "constant",
    &["constant", "exponential", "pareto"],
    "distribution of both periods",
);
const SHAPE: Param = Param::ratio("shape", 1.5, 1.01..=100.0, "shape of Pareto periods");

/// Keys of a stream of flows, each of which requests a file.
pub(crate) const WEB: Declaration = Declaration {
    kind: "workload",
    name: "web",
    about: "One connection for each transfer: the client sends a request, the server responds with a file, \
            and one of them closes; random arrivals.",
    source: "Mondal & Kuzmanovic 2008 (B-A7, B-A8, B-A9)",
    params: &[
        Param::choice(
            "trace",
            "II",
            &["I", "II", "III"],
            // B-A7
            "how sizes are changed: I cuts them to 10 kB, II leaves them, III adds long ones",
        ),
        Param::ratio(
            "load",
            1.0,
            1e-9..=1000.0,
            "offered load: mean size times arrivals over the rate of the slowest link on the way",
        ),
        Param::choice(
            "load_counts",
            "payload",
            &["payload", "wire"],
            "whether the load counts payload alone or 40 bytes of headers for each segment too",
        ),
        Param::ratio("arrival_rate", 0.0, 0.0..=1e9, "flows per second on average, in place of a load"),
        Param::bytes("request", 300, 1..=1 << 30, "size of the request"),
        Param::choice(
            "closes",
            "server",
            &["server", "client"],
            "who closes first: the server after its last byte, or the client when it has read it",
        ),
        Param::duration("start", Duration::ZERO, Duration::ZERO..=LONGEST, "when arrivals begin"),
        Param::duration(
            "stop",
            LONGEST,
            Duration::ZERO..=LONGEST,
            "when arrivals end; the end of the run by default",
        ),
    ],
};

/// Keys of transfers from a log.
pub(crate) const LOG: Declaration = Declaration {
    kind: "workload",
    name: "log",
    about: "Transfers as a log has them, one connection for each: the client sends a request, the server \
            responds with a file and closes. The log is a file of comma-separated values. Its first line \
            names its columns: `time` in seconds, `bytes` of the file, and, if wanted, `class`, which \
            becomes the name of a workload of its own, and `stack`, one of `[stacks]`.",
    source: "any measured log",
    params: &[
        Param::bytes("request", 300, 1..=1 << 30, "size of the request"),
        Param::duration("start", Duration::ZERO, Duration::ZERO..=LONGEST, "added to all times"),
        Param::choice(
            "origin",
            "first",
            &["first", "zero"],
            "which time of the file is `start`: that of its first transfer, or 0",
        ),
    ],
};

/// Keys of a number of flows that run an application.
pub const FLOWS: &[Param] = &[
    Param::count("flows", 1, 1..=1_000_000, "how many"),
    Param::count(
        "per_server",
        0,
        0..=1000,
        // B-A11
        "flows to each node of `server`, from so many different nodes of `client`, in place of `flows`; 0 \
         for none",
    ),
    Param::duration("start", Duration::ZERO, Duration::ZERO..=LONGEST, "when the first begins"),
    Param::duration("stagger", Duration::ZERO, Duration::ZERO..=LONGEST, "time between consecutive starts"),
    Param::duration(
        "spread",
        Duration::ZERO,
        Duration::ZERO..=LONGEST,
        "random time, uniform up to this, added to each start",
    ),
];

/// Keys of datagrams at a constant rate.
pub(crate) const UDP: Declaration = Declaration {
    kind: "workload",
    name: "udp",
    about: "Unacknowledged datagrams at a constant rate.",
    source: "Mondal & Kuzmanovic 2007 (I-A10); Mondal & Kuzmanovic 2008 (B-A10)",
    params: &[
        Param::count("flows", 1, 1..=1_000_000, "how many sources"),
        Param::rate(
            "rate",
            Rate::from_bits_per_sec(1_000_000),
            Rate::from_bits_per_sec(1)..=Rate::from_bits_per_sec(1_000_000_000_000),
            "rate of each, headers included",
        ),
        Param::bytes("bytes", 576, 28..=65_535, "size of a datagram on the wire, headers included"),
        Param::duration("start", Duration::ZERO, Duration::ZERO..=LONGEST, "when they begin"),
        Param::duration(
            "stop",
            LONGEST,
            Duration::ZERO..=LONGEST,
            "when they end; the end of the run by default",
        ),
    ],
};

/// Keys of datagrams under rate control.
pub(crate) const UDP_RATE: Declaration = Declaration {
    kind: "workload",
    name: "udp-rate",
    about: "Datagrams paced by a rate control; the receiver reports each gap in their numbers at once, and \
            the source treats it as congestion.",
    source: "Jacobson & Karels 1988 (J-A15); how the source learns of a loss is unstated there",
    params: &[
        UDP.params[0],
        UDP.params[2],
        Param::bytes("report_bytes", 40, 28..=65_535, "size of a report on the wire, headers included"),
        UDP.params[3],
        UDP.params[4],
    ],
};

/// Keys of datagrams in bursts.
pub(crate) const UDP_ON_OFF: Declaration = Declaration {
    kind: "workload",
    name: "udp-on-off",
    about: "Datagrams at a constant rate during ON periods and none during OFF periods.",
    source: "Mondal & Kuzmanovic 2008 (B-A10): means 16 s and 8 s; the shape is unstated there, 1.5 is our \
             choice",
    params: &[
        UDP.params[0],
        UDP.params[1],
        UDP.params[2],
        UDP.params[3],
        UDP.params[4],
        Param::duration("on", Duration::from_secs(16), SHORTEST..=LONGEST, "mean ON period"),
        Param::duration("off", Duration::from_secs(8), Duration::ZERO..=LONGEST, "mean OFF period"),
        Param::choice(
            "periods",
            "pareto",
            &["constant", "exponential", "pareto"],
            "distribution of both periods",
        ),
        SHAPE,
    ],
};

/// Distributions of sizes.
pub(crate) const SIZES: &[Declaration] = &[
    Declaration {
        kind: "sizes",
        name: "bounded-pareto",
        about: "Heavy-tailed sizes between two bounds; the lower one follows from the mean unless it is \
                given.",
        source: "Mondal & Kuzmanovic 2008 (B-A7): shape 1.2, mean 7000 bytes, up to 2 GB",
        params: &[
            Param::ratio("shape", 1.2, 0.1..=100.0, "shape: the smaller, the heavier the tail"),
            Param::bytes("mean", 7000, 1..=1 << 50, "mean, when `min` is 0B"),
            Param::bytes("min", 0, 0..=1 << 50, "smallest; 0B to let it follow from the mean"),
            Param::bytes("max", 2_000_000_000, 2..=1 << 50, "largest"),
        ],
    },
    Declaration {
        kind: "sizes",
        name: "lognormal-pareto",
        about: "Lognormal sizes cut at a bound for most flows, bounded Pareto for the rest.",
        source: "the second choice for the sizes of Mondal & Kuzmanovic 2008 (B-A7): 90 % lognormal(ln \
                 1024, 1.5) cut at 10 kB, 10 % Pareto(1.2) on \
                 10 kB to 1 GB",
        params: &[
            Param::ratio("share", 0.9, 0.0..=1.0, "share of the lognormal part"),
            Param::bytes("median", 1024, 1..=1 << 50, "median of the lognormal part"),
            Param::ratio("sigma", 1.5, 0.001..=10.0, "standard deviation of its logarithm"),
            Param::bytes("cut", 10_000, 1..=1 << 50, "larger samples of it become this"),
            Param::ratio("shape", 1.2, 0.1..=100.0, "shape of the Pareto part"),
            Param::bytes("min", 10_000, 1..=1 << 50, "smallest of the Pareto part"),
            Param::bytes("max", 1_000_000_000, 2..=1 << 50, "largest of the Pareto part"),
        ],
    },
    Declaration {
        kind: "sizes",
        name: "exponential",
        about: "Exponential sizes.",
        source: "background",
        params: &[Param::bytes("mean", 10_000, 1..=1 << 50, "mean")],
    },
    Declaration {
        kind: "sizes",
        name: "fixed",
        about: "All of one size.",
        source: "background",
        params: &[Param::bytes("bytes", 10_000, 1..=1 << 50, "size")],
    },
    Declaration {
        kind: "sizes",
        name: "cdf",
        about: "Sizes from a distribution function: `file` names a file of lines `bytes probability`, \
                `points` lists them.",
        source: "any measured distribution",
        params: &[],
    },
];

/// Patterns of arrivals.
pub(crate) const ARRIVALS: &[Declaration] = &[
    Declaration {
        kind: "arrivals",
        name: "poisson",
        about: "Independent arrivals.",
        source: "Mondal & Kuzmanovic 2008 (B-A7)",
        params: &[],
    },
    Declaration {
        kind: "arrivals",
        name: "regular",
        about: "Arrivals at equal intervals.",
        source: "background",
        params: &[],
    },
    Declaration {
        kind: "arrivals",
        name: "on-off",
        about: "Independent arrivals during ON periods, at a rate that keeps the average, and none during \
                OFF periods.",
        source: "Mondal & Kuzmanovic 2008 (B-A9, B-A10)",
        params: &[ON, OFF, PERIODS, SHAPE],
    },
];

/// Declarations of all workloads, sizes and arrivals, for listings beside those of the policies. An
/// application's name is a workload too.
pub fn declarations() -> Vec<Declaration> {
    [WEB, LOG, UDP, UDP_ON_OFF, UDP_RATE]
        .into_iter()
        .chain(SIZES.iter().copied())
        .chain(ARRIVALS.iter().copied())
        .collect()
}
