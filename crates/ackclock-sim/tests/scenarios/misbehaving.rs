//! Misbehaving receivers in whole runs: conservation holds, and early acks are detected.

use crate::{resolved, results};

/// A transfer of 2 MB over a narrow link, once with each stack.
const SCENARIO: &str = r#"
duration = "20s"
drain = "600s"
[path]
kind = "single"
rtt = "40ms"
link = { rate = "10Mbit/s", queue = { kind = "drop-tail", limit = "2bdp" } }
[workload]
kind = "fixed"
size = "2MB"
[stacks]
honest = { preset = "sack", skip_test = 200 }
divided = "sack+divide-acks(8)"
repeated = "newreno+repeat-acks(2)"
early = "sack+early-acks(6000B)"
"found out" = { preset = "sack+early-acks(6000B)", skip_test = 20 }
"#;

#[test]
fn only_early_acks_are_detected() {
    let r = results(&resolved(SCENARIO, &[]), 1);
    let of = |stack: &str| r.flows.iter().find(|f| *f.stack == *stack).unwrap();
    for stack in ["honest", "divided", "repeated"] {
        assert_eq!((of(stack).reason, of(stack).bytes_delivered), (None, 2_000_000), "{stack}");
    }
    // Lost bytes that were acknowledged are never retransmitted: the connection ends with a hole in the
    // stream.
    assert!(of("early").bytes_delivered < of("early").bytes_acked && of("early").retransmitted_segments > 0);
    assert_eq!(of("found out").reason, Some("false-ack"));
    assert!(of("found out").bytes_acked < 2_000_000);
}
