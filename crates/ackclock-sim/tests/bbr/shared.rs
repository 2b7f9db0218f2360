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

#[test]
fn two_flows_keep_about_a_bandwidth_delay_product_in_the_queue() {
    // §5.6.1: the windows are twice the estimates' product, which leaves one of the two in the queue, 40 ms;
    // the filter remembers the largest bandwidth of two probes, so that both estimates together are somewhat
    // more than the link (a tenth here). A writer that is woken only when half of a send buffer of less than
    // twice what is in flight is free leaves a flow application-limited, whose probes do not end (A.7).
    let queue = |snd_buf: &str, wake: u32| {
        let r = simulate(&format!(
            "duration = \"60s\"\nwarmup = \"30s\"\nseed = 1\n[workload]\nkind = \"bulk\"\nflows = 2\nstagger = \
             \"5s\"\n[path]\nkind = \"single\"\nrtt = \"40ms\"\n[path.link]\nrate = \"50Mbit/s\"\n{DEEP}\n[stacks]\nbbr = \
             {{ preset = \"sack\", window = \"bbr\", snd_buf = \"{snd_buf}\", snd_wake = {wake} }}"
        ));
        r.links[0].queue_mean_delay.expect("the link has a rate").as_secs_f64()
    };
    for (snd_buf, wake) in [("8MB", 16), ("8MB", 2), ("1MiB", 16)] {
        let enough = queue(snd_buf, wake);
        assert!((0.030..0.048).contains(&enough), "{enough} s with {snd_buf} and {wake}");
    }
    let short = queue("1MiB", 2);
    assert!(short > 0.048, "{short} s");
}
