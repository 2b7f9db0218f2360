//! Checks that need the whole scenario, and values derived from the whole of it.

use ackclock_policy::{Params, Value};
use ackclock_units::{Bytes, Duration, Rate};

use super::build;
use super::error::{Result, ScenarioError};
use super::pair_paths::{HEADERS, MOST_PAIRS, PairPaths};
use super::resolved::{Expected, Resolved};
use super::stack::StackPlan;
use super::workload::{Body, WorkloadPlan};

/// Largest expected number of flows of one run.
const MOST_FLOWS: f64 = 1e9;
/// Largest number of flows without random arrivals, which may all be open at once: each takes a few thousand
/// bytes of memory.
const MOST_AT_ONCE: f64 = 2e6;

/// Checks `r` as a whole, and fills in derived values: arrival rates and [`Expected`].
pub(super) fn complete(r: &mut Resolved) -> Result<()> {
    queues(r)?;
    media(r)?;
    let network = build::network(r, true)?;
    let nodes = build::node_ids(r);
    let (mut rates, mut first_paths, mut pairs) = (Vec::new(), Vec::new(), 0);
    for w in &r.workloads {
        pairs += w.clients.len().saturating_mul(w.servers.len());
        if pairs > MOST_PAIRS {
            return Err(ScenarioError::new(format!(
                "the workloads have {pairs} pairs of client and server; at most {MOST_PAIRS} are allowed"
            )));
        }
        let paths = PairPaths::of(w, r, &network, &nodes)?;
        let longest = paths.values().map(|path| path.round_trip).max().unwrap_or_default();
        if let Some(least) = w.rtt.least().filter(|least| *least < longest) {
            let message = format!(
                "workload `{}` has a round-trip time of `{least}`, but its links alone take `{longest}`: \
                 give at least that",
                w.name
            );
            return Err(ScenarioError::new(message));
        }
        // On a path without rate or delay, a flow would send forever at one simulated time.
        let instant =
            paths.values().any(|path| path.up.is_none() && path.down.is_none() && path.round_trip.is_zero());
        if instant && w.rtt.least().is_none_or(Duration::is_zero) {
            let message = format!(
                "workload `{}` has a path without any `rate`, `delay` or `rtt`: give it at least one of them",
                w.name
            );
            return Err(ScenarioError::new(message));
        }
        let path = paths.values().next().copied();
        rates.push(path.and_then(|path| path.down).or(r.path.slowest()));
        first_paths.push(path);
    }
    let mss = r.stacks.iter().map(|s| s.mss()).max().unwrap_or(1460);
    for (w, rate) in r.workloads.iter_mut().zip(rates) {
        derive_arrivals(w, rate, mss)?;
    }
    let at_once: f64 = r
        .workloads
        .iter()
        .filter(|w| !matches!(w.body, Body::Web(_)))
        .map(|w| w.expected_flows(r.duration()))
        .sum();
    if at_once > MOST_AT_ONCE {
        return Err(ScenarioError::new(format!(
            "the workloads have {at_once:.0} flows open at once; at most {MOST_AT_ONCE:.0} are allowed"
        )));
    }
    let flows: f64 = r.workloads.iter().map(|w| w.expected_flows(r.duration())).sum();
    if flows > MOST_FLOWS {
        return Err(ScenarioError::new(format!(
            "the workloads would start about {flows:.0} flows; at most {MOST_FLOWS:.0} are allowed"
        )));
    }
    let mut expected = Expected::default();
    r.workloads.iter().zip(first_paths).for_each(|(w, path)| expected.add(Expected::of(w, r, path, mss)));
    r.expected = expected;
    Ok(())
}

/// A medium is shared by a link and its way back, and given for the link.
fn media(r: &Resolved) -> Result<()> {
    for edge in &r.path.edges {
        let (there, back) = (&edge.link.elements.half_duplex, edge.back.as_ref());
        if there.is_some() && back.is_none() {
            let name = &edge.name;
            return Err(ScenarioError::new(format!(
                "link `{name}` is `half_duplex`, but it has no way back"
            )));
        }
        if there.is_none() && back.is_some_and(|b| b.elements.half_duplex.is_some()) {
            return Err(ScenarioError::new(format!(
                "the way back of link `{}` is `half_duplex`: give that for the link itself, which shares \
                 its medium with the way back",
                edge.name
            )));
        }
    }
    Ok(())
}

/// A queue that counts bytes must hold a full packet of every stack and of every source of datagrams.
fn queues(r: &Resolved) -> Result<()> {
    for (name, _, _, link) in r.path.links() {
        let Some(limit) = link.limit_bytes() else { continue };
        let short = r.stacks.iter().find(|s| limit < s.mss() + HEADERS);
        if let Some(StackPlan { label, .. }) = short {
            let packet = r.stacks.iter().map(|s| s.mss() + HEADERS).max().unwrap_or_default();
            let message = format!(
                "the queue of link `{name}` has a `limit` of `{limit}B`, less than a packet of stack \
                 `{label}`"
            );
            return Err(ScenarioError::new(format!(
                "{message}: give at least `{packet}B` or a number of packets"
            )));
        }
        for w in &r.workloads {
            let Body::Udp { params, .. } = &w.body else { continue };
            let packet = params.bytes("bytes");
            if limit < packet {
                let message = format!(
                    "the queue of link `{name}` has a `limit` of `{limit}B`, less than a datagram of \
                     workload `{}`",
                    w.name
                );
                return Err(ScenarioError::new(format!(
                    "{message}: give at least `{packet}B` or a number of packets"
                )));
            }
        }
    }
    Ok(())
}

/// Largest number of rows that each link has in a table over time.
const MOST_INTERVALS: u64 = 1_000_000;

/// Checks the number of intervals of `series`.
pub(super) fn intervals(params: &Params) -> std::result::Result<(), String> {
    let (interval, last) =
        (params.duration("series"), params.duration("duration") + params.duration("drain"));
    let Some(count) = last.as_nanos().checked_div(interval.as_nanos()) else { return Ok(()) };
    if count <= MOST_INTERVALS {
        return Ok(());
    }
    Err(format!(
        "`series` is `{interval}`, of which `duration` and `drain` have {count}; at most {MOST_INTERVALS} are \
         allowed: give a longer one"
    ))
}

/// Derives the arrival rate of a `web` workload from its load.
fn derive_arrivals(w: &mut WorkloadPlan, rate: Option<Rate>, mss: Bytes) -> Result<()> {
    let Body::Web(web) = &mut w.body else { return Ok(()) };
    let Some(load) = web.load else { return Ok(()) };
    let rate = rate.ok_or_else(|| {
        ScenarioError::new(format!(
            "workload `{}` has a `load`, but no link on its path has a rate: give an `arrival_rate` in flows \
             per second",
            w.name
        ))
    })?;
    let mean = match web.params.choice("load_counts") {
        "wire" => web.sizes.mean() + HEADERS as f64 * web.sizes.mean_segments(mss),
        _ => web.sizes.mean(),
    };
    let per_second = load * rate.bits_per_sec() as f64 / 8.0 / mean;
    web.params.set("arrival_rate", Value::Ratio(per_second));
    Ok(())
}
