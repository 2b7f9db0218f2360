//! What limited a sender is the same whether the capture was taken beside it or beside its receiver, and agrees
//! with what the kernel says of itself (fixtures/README.md).

use std::ops::ControlFlow;

use ackclock_capture::read::{Packets, decompressed};
use ackclock_capture::{Analysis, Connection, Options, View};

fn read(file: &'static [u8]) -> Connection {
    let mut packets = Packets::new(decompressed(file).expect("gzip")).expect("a pcap file");
    let mut analysis = Analysis::new(Options::default());
    analysis.read(&mut packets, |_| ControlFlow::Continue(())).expect("packets");
    analysis.finish().connections.pop().expect("one connection")
}

/// The shares of the time (the client's limits) beside the sender and beside the receiver.
fn both(sender: &'static [u8], receiver: &'static [u8]) -> [Vec<(&'static str, f64)>; 2] {
    [(sender, View::Sender), (receiver, View::Receiver)].map(|(file, view)| {
        let c = read(file);
        let d = &c.directions[0];
        assert_eq!(d.view, view);
        let lasted = c.end.since(c.start).as_secs_f64();
        d.limits.parts().iter().map(|(what, time)| (*what, time.as_secs_f64() / lasted)).collect()
    })
}

fn share(shares: &[(&str, f64)], of: &str) -> f64 {
    shares.iter().find(|(what, _)| *what == of).expect("a share of that name").1
}

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../fixtures/kernel-limited-", $name, ".pcap.gz"))
    };
}

#[test]
fn a_small_receive_buffer_is_seen_from_both_ends() {
    let ends = both(fixture!("rwnd-sender"), fixture!("rwnd-receiver"));
    for shares in &ends {
        // The kernel: 344 of 964 ms at the least.
        assert!(share(shares, "receiver_window") > 0.36, "{ends:?}");
    }
    for (what, _) in &ends[0] {
        let [a, b] = [0, 1].map(|i| share(&ends[i], what));
        assert!((a - b).abs() < 0.2, "{what}: {a} beside the sender, {b} beside the receiver; {ends:?}");
    }
}

#[test]
fn slow_start_is_seen_from_both_ends() {
    let ends = both(fixture!("slow-sender"), fixture!("slow-receiver"));
    for shares in &ends {
        assert!(share(shares, "slow_start") > 0.5, "{ends:?}");
        assert!(share(shares, "receiver_window") < 0.02, "the kernel: 0 ms; {ends:?}");
        assert!(share(shares, "congestion_window") < 0.2, "{ends:?}");
    }
}
