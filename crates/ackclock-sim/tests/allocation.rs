//! The packet path does not allocate in the steady state. The test has its own file because the counting
//! allocator counts for the whole process.

mod support;

use std::sync::Arc;

use ackclock_sim::{Access, FlowList, RunOptions, Simulation, Sources};
use support::{Path, Tcp, at, choose, drop_tail, flow, mbit, ms};

/// Packets over the bottleneck and allocations in the second minute of a run with `flows` bulk flows and that
/// recovery.
fn steady(
    queue: Box<dyn ackclock_policy::QueueDiscipline>,
    flows: u64,
    recovery: &'static str,
) -> (u64, u64) {
    let tcp = Arc::new(Tcp { min_rto: "200ms", recovery, ..Tcp::default() });
    let (net, left, right) =
        Path { rate: mbit(50), delay: ms(1), queue: Some(queue), ..Path::default() }.build();
    let mut specs: Vec<_> =
        (0..flows).map(|i| flow(&tcp, (left, right), "bulk", "sink", at(20 * i))).collect();
    for (i, spec) in specs.iter_mut().enumerate() {
        spec.access = Access::at_client(ms(10 + 7 * i as u64));
    }
    let sources = Sources { flows: vec![Box::new(FlowList::new(specs))], datagrams: vec![] };
    let mut sim = Simulation::new(net, sources, 1, RunOptions::default()).unwrap();
    sim.run_until(at(60_000)).unwrap();
    let before = sim.progress().data_packets;
    let info = allocation_counter::measure(|| sim.run_until(at(120_000)).unwrap());
    let packets = sim.progress().data_packets - before;
    sim.finish().unwrap();
    (packets, info.count_total)
}

#[test]
fn a_packet_allocates_nothing() {
    for (queue, recovery) in [
        ("drop-tail limit=100packets", "sack"),
        ("red limit=200packets", "sack"),
        ("red limit=200packets", "fack adjustment=rate-halving"),
        ("red limit=200packets", "rack"),
        ("codel", "sack"),
        ("fq-codel", "sack"),
        ("pie", "sack"),
        ("dualpi2", "sack"),
        ("drr limit=200packets", "sack"),
        ("sfq", "sack"),
    ] {
        let (packets, allocations) = steady(choose(queue).build(), 20, recovery);
        assert!(packets > 200_000, "{packets} packets");
        // A few lists still grow to a new maximum, or free memory after a burst of losses.
        assert!(
            allocations < packets / 1000,
            "{allocations} allocations for {packets} packets behind {queue}, {recovery}"
        );
    }
    let (packets, allocations) = steady(drop_tail("1000packets"), 1, "sack");
    assert!(allocations < packets / 1000, "{allocations} allocations for {packets} packets of one flow");
}
