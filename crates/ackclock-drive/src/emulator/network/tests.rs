use std::collections::HashMap;

use ackclock_policy::{Admit, Backlog, Dequeued, PacketScheduler, Policy, QueueDiscipline};
use ackclock_sim::{Access, FaultVerdict, LinkSpec, PacketKind};
use ackclock_units::{Duration, Ecn, Rate, Rng, SeqNumber};
use ackclock_wire::{Flags, Segment, emit_tcp, parse_ip};

use super::*;
use crate::AccessDelays;
use crate::emulator::hosts::Hosts;
use crate::emulator::packet::set_ce;
use crate::emulator::routes::{Route, Way, WayTable};

const MS: Duration = Duration::from_millis(1);

/// One link from port 0 to port 1.
fn one_link(spec: LinkSpec) -> Network {
    with_hosts(spec, Hosts::default())
}

fn with_hosts(spec: LinkSpec, hosts: Hosts) -> Network {
    Network::new([Link::new(spec, 1, 0)], Routes::TwoPorts([hosts, Hosts::default()]))
}

/// All deliveries with their due times.
fn run(d: &mut Network) -> Vec<(Instant, Vec<u8>)> {
    let mut out = Vec::new();
    while let Some(at) = d.next() {
        d.carry(at, |_, due, packet| out.push((due, packet.to_vec())));
    }
    out
}

fn packet(ecn: Ecn, payload: &[u8], v6: bool) -> Vec<u8> {
    let (a, b) = if v6 { ("[fd00::1]:1", "[fd00::2]:2") } else { ("10.0.0.1:1", "10.0.0.2:2") };
    let segment =
        Segment { seq: SeqNumber(7), len: payload.len() as u32, flags: Flags::ACK, ..Segment::default() };
    let mut out = Vec::new();
    emit_tcp(a.parse().unwrap(), b.parse().unwrap(), &segment, payload, ecn, &mut out).unwrap();
    out
}

#[test]
fn packets_arrive_whole_after_serialization_and_delay() {
    let mut d = one_link(LinkSpec {
        rate: Some(Rate::from_bits_per_sec(8_000_000)),
        delay: MS * 10,
        ..LinkSpec::default()
    });
    // 1000 bytes take 1 ms.
    for i in 0..3_u8 {
        d.offer(0, Instant::ZERO, &[i; 1000]);
    }
    let got = run(&mut d);
    let at = |ms: u64| Instant::ZERO + MS * ms;
    assert_eq!(got, vec![(at(11), vec![0; 1000]), (at(12), vec![1; 1000]), (at(13), vec![2; 1000])]);
    assert_eq!((d.held_bytes(), d.held.free.len()), (0, 3));
}

#[test]
fn losses_and_copies_leave_no_packet_behind() {
    let fault = |p: &PacketInfo, _: Instant, _: &mut Rng| match p.number % 3 {
        0 => FaultVerdict::Drop,
        1 => FaultVerdict::Duplicate,
        _ => FaultVerdict::Delay(MS * 5),
    };
    let mut d = one_link(LinkSpec::delay(MS).with_fault(fault));
    for i in 0..4_u8 {
        d.offer(0, Instant::ZERO, &[i; 10]);
    }
    let order: Vec<u8> = run(&mut d).iter().map(|(_, p)| p[0]).collect();
    assert_eq!(order, [1, 1, 2]);
    assert_eq!(d.held_bytes(), 0);
    assert_eq!(d.held.free.len(), d.held.packets.len());
}

/// Holds one packet; a second one pushes out the first. It has a scheduler, so the link is polled.
#[derive(Debug, Default)]
struct Newest(Option<Queued>);

impl Policy for Newest {
    fn name(&self) -> &str {
        "newest"
    }
}

impl QueueDiscipline for Newest {
    fn enqueue(&mut self, p: Queued, _: Instant, _: &mut Rng) -> Admit {
        self.0.replace(p).map_or(Admit::Take, |old| Admit::PushOut(old.id))
    }
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.0.is_some().into(), bytes: self.0.map_or(0, |p| p.bytes.into()) }
    }
    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }
}

impl PacketScheduler for Newest {
    fn dequeue(&mut self, _: Instant, _: &mut Vec<PacketId>) -> Option<Dequeued> {
        self.0.take().map(Dequeued::from)
    }
}

#[test]
fn a_queue_that_pushes_out_is_served() {
    let mut d = one_link(LinkSpec::new(Rate::from_bits_per_sec(8_000_000), MS, Box::new(Newest::default())));
    for i in 0..4_u8 {
        d.offer(0, Instant::ZERO, &[i; 1000]);
    }
    let order: Vec<u8> = run(&mut d).iter().map(|(_, p)| p[0]).collect();
    assert_eq!(order, [0, 3]);
    assert_eq!((d.held_bytes(), d.held.free.len()), (0, d.held.packets.len()));
}

#[test]
fn a_mark_keeps_the_header_checksum_valid() {
    for v6 in [false, true] {
        for ecn in [Ecn::Ect0, Ecn::Ect1] {
            let mut bytes = packet(ecn, b"payload", v6);
            set_ce(&mut bytes);
            assert_eq!(parse_ip(&bytes).unwrap().ecn, Ecn::Ce);
        }
    }
    set_ce(&mut []);
    set_ce(&mut [0x45]);
}

#[test]
fn damage_is_detected_by_the_checksum() {
    let corrupt = |_: &PacketInfo, _: Instant, _: &mut Rng| FaultVerdict::Corrupt;
    let mut d = one_link(LinkSpec::default().with_fault(corrupt));
    d.offer(0, Instant::ZERO, &packet(Ecn::NotEct, b"payload", false));
    let got = run(&mut d);
    assert!(parse_ip(&got[0].1).is_err());
}

#[test]
fn packets_are_described_by_what_they_carry() {
    let about = |packet: &[u8]| {
        let about = describe(packet);
        (about.info, about.ecn)
    };
    assert_eq!(
        about(&packet(Ecn::Ect0, b"x", false)),
        (PacketInfo { kind: PacketKind::Data, payload: 1, ..PacketInfo::opaque(41) }, Ecn::Ect0)
    );
    assert_eq!(about(&packet(Ecn::NotEct, b"", true)).0.kind, PacketKind::Ack);
    assert_eq!(about(&[]), (PacketInfo::opaque(0), Ecn::NotEct));
    assert_eq!(about(&[0x45; 30]).0.kind, PacketKind::Other);
}

/// A packet to or from host `n`; the other address is 10.0.0.1.
fn with_host(n: u8, to_clients: bool) -> Vec<u8> {
    let (near, host) = ("10.0.0.1:1".parse().unwrap(), format!("10.79.0.{n}:2").parse().unwrap());
    let (src, dst) = if to_clients { (near, host) } else { (host, near) };
    let (segment, payload) = (Segment { len: 960, flags: Flags::ACK, ..Segment::default() }, [n; 960]);
    let mut out = Vec::new();
    emit_tcp(src, dst, &segment, &payload, Ecn::NotEct, &mut out).unwrap();
    out
}

/// Host 1 has delays of 20 ms and 30 ms, host 2 none, and host 3 is not in the table.
fn delays() -> AccessDelays {
    let access = |up, down| Access { client_up: MS * up, client_down: MS * down, ..Access::default() };
    let table = [("10.79.0.1", access(20, 30)), ("10.79.0.2", access(0, 0))];
    std::sync::Arc::new(table.into_iter().map(|(a, d)| (a.parse().unwrap(), d)).collect())
}

/// Hosts in the order in which their packets arrive, with times in milliseconds.
fn arrivals(d: &mut Network) -> Vec<(u8, u64)> {
    run(d).iter().map(|(at, p)| (p[p.len() - 1], at.as_nanos() / 1_000_000)).collect()
}

#[test]
fn hosts_behind_the_link_get_their_packets_after_their_own_delays() {
    // 1000 bytes take 1 ms, and the link 10 ms more.
    let spec =
        LinkSpec { rate: Some(Rate::from_bits_per_sec(8_000_000)), delay: MS * 10, ..LinkSpec::default() };
    let mut d = with_hosts(spec, Hosts::new(delays(), true));
    for n in [1, 2, 3] {
        d.offer(0, Instant::ZERO, &with_host(n, true));
    }
    assert_eq!(arrivals(&mut d), [(2, 12), (3, 13), (1, 11 + 30)]);
    assert_eq!(d.held_bytes(), 0);
}

#[test]
fn hosts_before_the_link_reach_it_in_the_order_of_their_delays() {
    let spec = LinkSpec { rate: Some(Rate::from_bits_per_sec(8_000_000)), ..LinkSpec::default() };
    let mut d = with_hosts(spec, Hosts::new(delays(), false));
    d.offer(0, Instant::ZERO, &with_host(1, false));
    d.offer(0, Instant::ZERO + MS * 19, &with_host(2, false));
    // After a late wake-up, the first packet has still reached the link at 20 ms, before the one offered now.
    d.offer(0, Instant::ZERO + MS * 25, &with_host(3, false));
    assert_eq!(arrivals(&mut d), [(2, 20), (1, 21), (3, 26)]);
    let counters = d.counters(0, Instant::ZERO + MS * 30);
    assert_eq!((counters.offered, counters.served), (3, 3));
}

/// Links of 1 ms a packet, and routes: host 1 takes links 0 and 1, host 2 link 1 alone.
fn two_hops(delays: [Duration; 2], before: Duration) -> Network {
    let link = |(i, delay)| {
        let spec = LinkSpec { rate: Some(Rate::from_bits_per_sec(8_000_000)), delay, ..LinkSpec::default() };
        Link::new(spec, 1, i)
    };
    let route = |links: &[u32], port| Route { links: links.into(), port };
    let way = |route, before| Way { route, before, after: MS, stream: None };
    let ends = |n: u8| ([10, 79, 0, n].into(), [10, 0, 0, 1].into());
    let ways = HashMap::from([(ends(1), way(0, Duration::ZERO)), (ends(2), way(1, before))]);
    let table = WayTable { routes: vec![route(&[0, 1], 2), route(&[1], 1)], ways };
    Network::new((0..).zip(delays).map(link), Routes::Table(table))
}

#[test]
fn packets_of_several_routes_share_a_link_in_the_order_of_time() {
    let mut d = two_hops([MS * 3, MS * 5], MS * 2);
    d.offer(0, Instant::ZERO, &with_host(1, false));
    d.offer(0, Instant::ZERO + MS, &with_host(2, false));
    d.offer(0, Instant::ZERO + MS * 2, &with_host(2, false));
    let mut got = Vec::new();
    // As after one late wake-up.
    d.carry(Instant::ZERO + MS * 50, |port, due, p| {
        got.push((port, p[p.len() - 1], due.as_nanos() / 1_000_000));
    });
    // Those of host 2 reach link 1 at 3 ms and 4 ms, that of host 1 at 4 ms; each takes 1 ms, 5 ms and 1 ms.
    assert_eq!(got, [(1, 2, 10), (1, 2, 11), (2, 1, 12)]);
    assert_eq!((d.held_bytes(), d.refused()), (0, 0));
    assert_eq!(d.lanes.iter().map(|lane| lane.passed().over).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn a_packet_without_a_way_goes_nowhere() {
    let mut d = two_hops([MS, MS], MS);
    d.offer(0, Instant::ZERO, &with_host(3, false));
    d.offer(0, Instant::ZERO, &[1, 2, 3]);
    assert_eq!((d.refused(), d.next(), d.held_bytes()), (2, None, 0));
}

#[test]
fn a_copy_goes_its_own_way_over_the_next_link() {
    let twice = |_: &PacketInfo, _: Instant, _: &mut Rng| FaultVerdict::Duplicate;
    let damage = |_: &PacketInfo, _: Instant, _: &mut Rng| FaultVerdict::Corrupt;
    let links = [LinkSpec::delay(MS).with_fault(twice), LinkSpec::delay(MS).with_fault(damage)];
    let way = Way { route: 0, before: Duration::ZERO, after: Duration::ZERO, stream: None };
    let table = WayTable {
        routes: vec![Route { links: [0, 1].into(), port: 1 }],
        ways: HashMap::from([(([10, 79, 0, 1].into(), [10, 0, 0, 1].into()), way)]),
    };
    let mut d = Network::new((0..).zip(links).map(|(i, l)| Link::new(l, 1, i)), Routes::Table(table));
    d.offer(0, Instant::ZERO, &with_host(1, false));
    let got = run(&mut d);
    assert_eq!(got.len(), 2);
    assert!(got.iter().all(|(_, p)| parse_ip(p).is_err()));
    let passed = |lane: &Lane| (lane.passed().over, lane.passed().corrupted);
    assert_eq!(d.lanes.iter().map(passed).collect::<Vec<_>>(), [(2, 0), (2, 2)]);
    assert_eq!((d.held_bytes(), d.held.free.len()), (0, 2));
}
