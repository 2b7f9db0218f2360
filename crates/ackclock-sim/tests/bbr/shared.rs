//! Flows that share a link.

use crate::*;

#[test]
fn two_flows_share_the_link() {
    let text = format!(
        "duration = \"60s\"\nseed = 1\n[workload]\nkind = \"bulk\"\nflows = 2\nstagger = \"5s\"\n[path]\nkind = \
         \"single\"\nrtt = \"40ms\"\n[path.link]\nrate = \"10Mbit/s\"\n{DEEP}\n[stacks]\nbbr = {{ preset = \
         \"sack\", window = \"bbr\" }}"
    );
    let shares = goodputs(&simulate(&text), "bbr", 60.0);
    let sum: f64 = shares.iter().sum();
    assert!(sum > 0.9 * 10.0 * PAYLOAD, "{shares:?}");
    // Jain's index; the second flow begins 5 s later.
    let squares: f64 = shares.iter().map(|x| x * x).sum();
    let index = sum * sum / (2.0 * squares);
    assert!(index > 0.9, "{shares:?}");
}
