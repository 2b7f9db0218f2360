//! Paths whose delay exceeds the range of the 48-bit time stored in a packet.

mod support;

use ackclock_sim::{
    Datagram, DatagramSource, DatagramSpec, LinkSpec, NetworkBuilder, RunOptions, Simulation, Sources,
};
use ackclock_units::{Duration, Instant, Rng};
use support::mbit;

/// A datagram of 1000 bytes every two days.
struct EveryTwoDays(u64);

impl DatagramSource for EveryTwoDays {
    fn next(&mut self, _: &mut Rng) -> Option<Datagram> {
        self.0 += 1;
        (self.0 <= 5).then(|| Datagram { at: days(2 * (self.0 - 1)), bytes: 1000 })
    }
}

fn days(n: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(n * 86_400)
}

#[test]
fn packets_that_travel_for_days_arrive_in_time_and_are_counted_at_each_step() {
    let mut net = NetworkBuilder::new();
    let (a, b) = (net.node("a").unwrap(), net.node("b").unwrap());
    let span = |n| days(n).since(Instant::ZERO);
    net.link("ab", a, b, LinkSpec { rate: Some(mbit(1)), delay: span(5), ..LinkSpec::default() }).unwrap();
    let source = DatagramSpec {
        from: a,
        to: b,
        up: span(4),
        down: span(7),
        reports: None,
        back: Duration::ZERO,
        source: Box::new(EveryTwoDays(0)),
        group: "far".into(),
    };
    let sources = Sources { flows: vec![], datagrams: vec![source] };
    let mut sim = Simulation::new(net.build(), sources, 1, RunOptions::default()).unwrap();
    // Sent on days 0, 2, 4, 6 and 8; on the link from four days later on for five, then seven more to the
    // receiver.
    for (day, offered, delivered) in [
        (1, 0, 0),
        (5, 1, 0),
        (7, 2, 0),
        (10, 4, 1),
        (12, 5, 2),
        (14, 5, 3),
        (15, 5, 4),
        (17, 5, 5),
        (25, 5, 5),
    ] {
        // Transmission takes 8 ms.
        sim.run_until(days(day) + Duration::from_secs(1)).unwrap();
        let link = &sim.links()[0];
        assert_eq!((link.packets_offered, link.delivered), (offered, delivered), "on day {day}");
        assert_eq!(u64::from(link.in_flight_at_end), offered - delivered, "on day {day}");
    }
    let outcome = sim.finish().unwrap();
    assert_eq!(outcome.flows[0].bytes_delivered, 5000);
}
