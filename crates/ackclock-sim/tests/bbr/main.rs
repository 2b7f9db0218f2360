//! BBRv3 over simulated paths: the example test cases of draft-ietf-ccwg-bbr-06, appendix A, and what its
//! sections promise of throughput and queues.

mod alone;
mod changes;
mod limited;
mod policed;
mod shared;

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use ackclock_policy::Registry;
use ackclock_sim::scenario::{Files, Results, Scenario, run};
use ackclock_trace::EventKind;
use ackclock_units::SeqNumber;

/// The states, as a trace numbers them.
const STARTUP: f64 = 0.0;
const DRAIN: f64 = 1.0;
const DOWN: f64 = 2.0;
const CRUISE: f64 = 3.0;
const REFILL: f64 = 4.0;
const UP: f64 = 5.0;
const PROBE_RTT: f64 = 6.0;

/// Payload of a full segment with its headers: the share of the link's rate that data has.
const PAYLOAD: f64 = 1460.0 / 1500.0;

/// Runs a scenario: its path's link, its workload, and its stacks; all else by default.
fn simulate(text: &str) -> Results {
    let scenario = Scenario::parse(text).unwrap_or_else(|e| panic!("{e}"));
    let resolved = scenario
        .resolve_with(&Registry::builtin(), &Files::in_folder(std::path::Path::new(".")))
        .unwrap_or_else(|e| panic!("{e}"));
    run(&resolved, |_| ControlFlow::Continue(()), 1).unwrap_or_else(|e| panic!("{e}")).expect("it ends")
}

/// One flow with BBR over 40 ms and a link of `rate`; `more` are further keys of the link, `rest` tables.
fn one(seconds: u32, workload: &str, rate: &str, more: &str, rest: &str) -> Results {
    with("preset = \"sack\"", seconds, workload, rate, more, rest)
}

/// What finds lost retransmissions without a timeout (RFC 8985), and a send buffer larger than what is in
/// flight, so that it does not limit the flow.
const RACK: &str = "preset = \"rack+prr\", snd_buf = \"8MB\", rcv_buf = \"8MB\"";

/// The same with another rest of the stack.
fn with(stack: &str, seconds: u32, workload: &str, rate: &str, more: &str, rest: &str) -> Results {
    simulate(&format!(
        "duration = \"{seconds}s\"\nseed = 1\ntrace = [\"state\", \"samples\", \"packets\"]\n[[workload]]\n{workload}\n{rest}\n[path]\nkind = \
         \"single\"\nrtt = \"40ms\"\n[path.link]\nrate = \"{rate}\"\n{more}\n[stacks]\nbbr = {{ {stack}, window = \"bbr\" }}"
    ))
}

/// A link whose rate changes at these times.
fn rates(points: &[(f64, &str)]) -> String {
    let points: Vec<_> =
        points.iter().map(|(at, rate)| format!("{{ at = \"{at}s\", rate = \"{rate}\" }}")).collect();
    format!("schedule = {{ points = [{}] }}", points.join(", "))
}

const BULK: &str = "kind = \"bulk\"";
const DEEP: &str = "queue = { kind = \"drop-tail\", limit = \"5bdp\" }";

/// What the first connection's window was, number by number: pairs of seconds and value at each change. `cwnd`
/// is what the engine has, and `flight` what was not acknowledged at each ack.
struct Window(BTreeMap<&'static str, Vec<(f64, f64)>>);

impl Window {
    fn of(r: &Results) -> Self {
        let mut all: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut sent = None;
        let events = r.events.first().expect("a traced run");
        for e in events {
            let at = e.at.as_nanos() as f64 / 1e9;
            match e.kind {
                _ if e.connection != 0 => {}
                EventKind::State { policy: "window", name, value } => {
                    all.entry(name).or_default().push((at, value));
                }
                EventKind::Window { cwnd, .. } => all.entry("cwnd").or_default().push((at, cwnd as f64)),
                EventKind::Sent { seq, len: len @ 1.., .. } => {
                    let end = seq + len;
                    sent = Some(sent.map_or(end, |sent: SeqNumber| sent.max(end)));
                }
                EventKind::Received { ack, len: 0, .. } => {
                    if let Some(sent) = sent {
                        all.entry("flight").or_default().push((at, f64::from(sent.bytes_since(ack))));
                    }
                }
                _ => {}
            }
        }
        Self(all)
    }

    /// Every change of a number.
    fn changes(&self, name: &str) -> &[(f64, f64)] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Its value at a time.
    fn at(&self, name: &str, time: f64) -> f64 {
        self.changes(name).iter().rev().find(|c| c.0 <= time + 1e-9).map_or(0.0, |c| c.1)
    }

    /// Its values between two times, that at the beginning included.
    fn between(&self, name: &str, from: f64, until: f64) -> Vec<f64> {
        let inside = self.changes(name).iter().filter(|c| c.0 > from && c.0 <= until).map(|c| c.1);
        std::iter::once(self.at(name, from)).chain(inside).collect()
    }

    /// The bandwidth-delay product that it estimates, bytes.
    fn bdp(&self, time: f64) -> f64 {
        self.at("bw", time) / 8.0 * self.at("min_rtt", time)
    }

    /// The stays in a state: when each began and ended.
    fn stays(&self, state: f64) -> Vec<(f64, f64)> {
        let all = self.changes("state");
        let ended = |i: usize| all.get(i + 1).map(|next: &(f64, f64)| next.0);
        let stays = all.iter().enumerate().filter(|(_, c)| c.1 == state);
        stays.filter_map(|(i, c)| Some((c.0, ended(i)?))).collect()
    }

    /// The states in their order.
    fn states(&self) -> Vec<f64> {
        self.changes("state").iter().map(|c| c.1).collect()
    }
}

/// Goodput of the flows of a stack, Mbit/s over the whole run.
fn goodputs(r: &Results, stack: &str, seconds: f64) -> Vec<f64> {
    let flows = r.flows.iter().filter(|f| *f.stack == *stack);
    flows.map(|f| f.bytes_delivered as f64 * 8.0 / 1e6 / seconds).collect()
}
