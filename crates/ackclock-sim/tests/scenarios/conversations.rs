use ackclock_policy::{AppIo, Wake};
use ackclock_sim::scenario::Resolved;
use ackclock_units::{Bytes, Duration, Instant};

use super::{TEN_LINES, resolved, results};

const TYPING: &str = r#"
seed = 3
duration = "50s"
[path]
kind = "single"
link = { rate = "1Gbit/s" }
rtt = "100ms"
[[workload]]
kind = "telnet"
flows = 3
spread = "5s"
packets = 1
[[workload]]
name = "more"
kind = "telnet"
flows = 2
spread = "5s"
packets = 1
[stacks]
tcp = "sack"
"#;

/// An end whose data is acknowledged at once.
struct Ideal {
    written: Bytes,
}

impl AppIo for Ideal {
    fn readable(&self) -> Bytes {
        0
    }
    fn read(&mut self, _: Bytes) -> Bytes {
        0
    }
    fn writable(&self) -> Bytes {
        Bytes::MAX
    }
    fn write(&mut self, n: Bytes) -> Bytes {
        self.written += n;
        n
    }
    fn unacked(&self) -> Bytes {
        0
    }
    fn has_arrived(&self, _: Bytes, to: Bytes) -> bool {
        to <= self.written
    }
    fn room(&mut self) -> Bytes {
        Bytes::MAX
    }
    fn at_end(&self) -> bool {
        false
    }
    fn close(&mut self) {}
    fn mark_start(&mut self) {}
    fn mark_end(&mut self) {}
}

/// When each flow would write its one packet if its connection opened at once.
fn typed(scenario: &Resolved) -> Vec<(String, Instant, Duration)> {
    let conversations = scenario.conversations(scenario.jobs()[0]).unwrap();
    let first = |c: ackclock_sim::scenario::Conversation| {
        let (mut app, mut rng) = c.client;
        let Wake::At(due) = app.on_wake(c.start, &mut Ideal { written: 0 }, &mut rng) else {
            panic!("a think time comes first")
        };
        (c.group.to_string(), c.start, due.since(c.start))
    };
    conversations.into_iter().map(first).collect()
}

#[test]
fn conversations_are_the_simulators_flows_with_the_same_random_draws() {
    let whole = resolved(TYPING, &[]);
    let typed = typed(&whole);
    let flows = results(&whole, 1).flows;
    assert_eq!(flows.len(), 5);
    assert!(typed.windows(2).all(|w| w[0].1 <= w[1].1), "in the order of their starts");
    for (group, start, think) in &typed {
        let flow = flows
            .iter()
            .find(|f| f.start == *start && *f.group == **group)
            .unwrap_or_else(|| panic!("{group} at {start:?}"));
        // A round trip for the handshake, the think time, and a round trip until the acks of the packet,
        // which may be delayed, and of the FIN.
        let lasted = flow.end.unwrap().since(flow.start);
        let least = *think + Duration::from_millis(200);
        assert!(lasted >= least && lasted <= least + Duration::from_millis(700), "{lasted:?} for {least:?}");
    }
}

#[test]
fn conversations_need_applications_over_a_single_link() {
    let refused = |text: &str, overrides: &[(&str, &str)]| {
        let whole = resolved(text, overrides);
        whole.conversations(whole.jobs()[0]).unwrap_err().to_string()
    };
    assert!(refused(TEN_LINES, &[]).contains("only an application such as `telnet`"));
    let hops = "{ kind = \"dumbbell\", bottleneck = { rate = \"1Gbit/s\" }, access = { rate = \"1Gbit/s\" }, rtt = \"100ms\" }";
    assert!(refused(TYPING, &[("path", hops)]).contains("3 links"));
}
