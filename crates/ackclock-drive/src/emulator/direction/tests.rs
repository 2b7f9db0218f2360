use ackclock_policy::{Admit, Backlog, Dequeued, PacketScheduler, Policy, QueueDiscipline};
use ackclock_sim::{Access, FaultVerdict, LinkSpec};
use ackclock_units::{Duration, Rate, Rng, SeqNumber};
use ackclock_wire::{Segment, emit_tcp, parse_ip};

use super::*;
use crate::AccessDelays;

const MS: Duration = Duration::from_millis(1);

fn direction(spec: LinkSpec) -> Direction {
    Direction::new(Link::new(spec, 1, 0), Hosts::default())
}

/// All deliveries with their due times.
fn run(d: &mut Direction) -> Vec<(Instant, Vec<u8>)> {
    let mut out = Vec::new();
    while let Some(at) = d.next() {
        d.deliver(at, |due, packet| out.push((due, packet.to_vec())));
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
    let mut d = direction(LinkSpec {
        rate: Some(Rate::from_bits_per_sec(8_000_000)),
        delay: MS * 10,
        ..LinkSpec::default()
    });
    // 1000 bytes take 1 ms.
    for i in 0..3_u8 {
        d.offer(Instant::ZERO, &[i; 1000]);
    }
    let got = run(&mut d);
    let at = |ms: u64| Instant::ZERO + MS * ms;
    assert_eq!(got, vec![(at(11), vec![0; 1000]), (at(12), vec![1; 1000]), (at(13), vec![2; 1000])]);
    assert_eq!((d.held.bytes, d.held.free.len()), (0, 3));
}

#[test]
fn losses_and_copies_leave_no_packet_behind() {
    let fault = |p: &PacketInfo, _: Instant, _: &mut Rng| match p.number % 3 {
        0 => FaultVerdict::Drop,
        1 => FaultVerdict::Duplicate,
        _ => FaultVerdict::Delay(MS * 5),
    };
    let mut d = direction(LinkSpec::delay(MS).with_fault(fault));
    for i in 0..4_u8 {
        d.offer(Instant::ZERO, &[i; 10]);
    }
    let order: Vec<u8> = run(&mut d).iter().map(|(_, p)| p[0]).collect();
    assert_eq!(order, [1, 1, 2]);
    assert_eq!(d.held.bytes, 0);
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
    let mut d = direction(LinkSpec::new(Rate::from_bits_per_sec(8_000_000), MS, Box::new(Newest::default())));
    for i in 0..4_u8 {
        d.offer(Instant::ZERO, &[i; 1000]);
    }
    let order: Vec<u8> = run(&mut d).iter().map(|(_, p)| p[0]).collect();
    assert_eq!(order, [0, 3]);
    assert_eq!((d.held.bytes, d.held.free.len()), (0, d.held.packets.len()));
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
    let mut d = direction(LinkSpec::default().with_fault(corrupt));
    d.offer(Instant::ZERO, &packet(Ecn::NotEct, b"payload", false));
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
fn arrivals(d: &mut Direction) -> Vec<(u8, u64)> {
    run(d).iter().map(|(at, p)| (p[p.len() - 1], at.as_nanos() / 1_000_000)).collect()
}

#[test]
fn hosts_behind_the_link_get_their_packets_after_their_own_delays() {
    // 1000 bytes take 1 ms, and the link 10 ms more.
    let spec =
        LinkSpec { rate: Some(Rate::from_bits_per_sec(8_000_000)), delay: MS * 10, ..LinkSpec::default() };
    let mut d = Direction::new(Link::new(spec, 1, 0), Hosts::new(delays(), true));
    for n in [1, 2, 3] {
        d.offer(Instant::ZERO, &with_host(n, true));
    }
    assert_eq!(arrivals(&mut d), [(2, 12), (3, 13), (1, 11 + 30)]);
    assert_eq!(d.held.bytes, 0);
}

#[test]
fn hosts_before_the_link_reach_it_in_the_order_of_their_delays() {
    let spec = LinkSpec { rate: Some(Rate::from_bits_per_sec(8_000_000)), ..LinkSpec::default() };
    let mut d = Direction::new(Link::new(spec, 1, 0), Hosts::new(delays(), false));
    d.offer(Instant::ZERO, &with_host(1, false));
    d.offer(Instant::ZERO + MS * 19, &with_host(2, false));
    // After a late wake-up, the first packet has still reached the link at 20 ms, before the one offered now.
    d.offer(Instant::ZERO + MS * 25, &with_host(3, false));
    assert_eq!(arrivals(&mut d), [(2, 20), (1, 21), (3, 26)]);
    let counters = d.counters(Instant::ZERO + MS * 30);
    assert_eq!((counters.offered, counters.served), (3, 3));
}
