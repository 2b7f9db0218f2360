//! The probe over real packets: two kernels and an emulated path between them, and the loopback device.
#![cfg(target_os = "linux")]

mod common;

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant as Now;

use ackclock_drive::{
    Clock, DriveError, Kernels, KernelsOptions, LimitSign, ProbeMethod, ProbeOptions, ProbePhase,
    ProbeTarget, RealProbe, run_probe,
};
use ackclock_engine::Stack;
use ackclock_policy::{QueueDiscipline, Registry};
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo};
use ackclock_units::{Duration, Instant, Rate, Rng};
use common::allowed;

/// A short probe with a few background probes. A busy machine can only lengthen round-trip times.
fn options(ms: u64) -> ProbeOptions {
    let stack = Stack::named(&Registry::builtin(), "sack").unwrap();
    let config = stack.config();
    let options = ProbeOptions::new(config, Arc::new(move || stack.build()));
    ProbeOptions {
        mss: 1440,
        duration: Duration::from_millis(ms),
        background: 20,
        interval: Duration::from_millis(5),
        ..options
    }
}

fn delay() -> LinkSpec {
    LinkSpec::delay(Duration::from_millis(4))
}

/// Loses every `n`-th packet.
fn lossy(n: u64) -> LinkSpec {
    delay().with_fault(
        move |p: &PacketInfo, _: Instant, _: &mut Rng| {
            if p.number % n == n - 1 { FaultVerdict::Drop } else { FaultVerdict::Pass }
        },
    )
}

fn kernels(there: LinkSpec) -> Kernels {
    let kernels = Kernels::new(KernelsOptions {
        mtu: 1500,
        there,
        back: delay(),
        access: Default::default(),
        seed: 3,
        clock: Clock::start(),
        capture: None,
    })
    .unwrap();
    kernels.near.set_sysctl("net.ipv4.ping_group_range", "0 0").unwrap();
    kernels
}

fn try_run(
    kernels: &Kernels,
    to: IpAddr,
    method: ProbeMethod,
    options: ProbeOptions,
) -> Result<RealProbe, DriveError> {
    run_probe(options, &ProbeTarget { to, method, from: Some(&kernels.near) }, &mut |_| {
        ControlFlow::Continue(())
    })
}

fn run(kernels: &Kernels, to: IpAddr, method: ProbeMethod, options: ProbeOptions) -> RealProbe {
    try_run(kernels, to, method, options).unwrap()
}

/// A run long enough for slow start to end with a loss, which takes longer on a busy machine.
fn run_past_slow_start(kernels: &Kernels, to: IpAddr, method: ProbeMethod) -> RealProbe {
    let far_enough = |found: &RealProbe| {
        found.report.measured.as_ref().is_some_and(|m| m.answered > 100 && m.ca_events > 0)
    };
    let longer = [1000, 4000].into_iter().map(|ms| run(kernels, to, method, options(ms))).find(far_enough);
    longer.unwrap_or_else(|| run(kernels, to, method, options(16_000)))
}

/// Checks a run over the path of 8 ms with 1 % loss.
fn expect_the_path(found: &RealProbe, label: &str) {
    let m = found.report.measured.as_ref().unwrap();
    assert!(m.rtt.min().unwrap() >= 0.008, "{label}: {m:?}");
    assert!(found.report.before.answered >= 15 && found.report.after.answered >= 15, "{label}");
    assert!(m.answered > 100 && m.answered < m.sent && m.ca_events > 0, "{label}: {m:?}");
    assert!(m.sent - m.answered <= m.sent / 40, "{label}: {m:?}");
    assert!(m.capacity().unwrap() > 0.0 && m.slow_start_excluded);
    let r = found.report.replies;
    assert_eq!((r.again, r.unknown, found.foreign, found.overflowed), (0, 0, 0, 0), "{label}");
    assert!(found.report.limit.is_none(), "{label}: {:?}", found.report.limit);
}

#[test]
fn icmp_echo_with_and_without_rights_over_both_families() {
    if !allowed() {
        return;
    }
    let kernels = kernels(lossy(100));
    for groups in ["0 0", "1 0"] {
        kernels.near.set_sysctl("net.ipv4.ping_group_range", groups).unwrap();
        for to in [Kernels::FAR, Kernels::FAR6] {
            let found = run_past_slow_start(&kernels, to, ProbeMethod::Icmp);
            expect_the_path(&found, &format!("{to}, groups {groups}"));
            assert_eq!(found.answered_by, None);
        }
    }
}

#[test]
fn the_host_and_a_router_reply_to_udp_probes() {
    if !allowed() {
        return;
    }
    let kernels = kernels(lossy(100));
    for (to, by) in
        [(Kernels::FAR, Kernels::FAR), (Kernels::FAR6, Kernels::FAR6), (Kernels::BEYOND, Kernels::FAR)]
    {
        let found = run_past_slow_start(&kernels, to, ProbeMethod::Udp { ttl: 1 });
        expect_the_path(&found, &format!("UDP to {to}"));
        assert_eq!(found.answered_by, Some((by, false)));
    }
}

#[test]
fn a_rate_limit_of_a_router_is_detected() {
    if !allowed() {
        return;
    }
    let kernels = kernels(delay());
    // Linux's limit: a token each 100 ms, with a burst of six.
    kernels.far.set_sysctl("net.ipv4.icmp_ratelimit", "100").unwrap();
    let probe = ProbeOptions { background: 120, interval: Duration::from_millis(20), ..options(500) };
    let found = run(&kernels, Kernels::BEYOND, ProbeMethod::Udp { ttl: 1 }, probe).report;
    let limit = found.limit.expect("a limit");
    assert_eq!(limit.sign, LimitSign::EvenReplies);
    assert!(limit.per_second > 5.0 && limit.per_second < 15.0, "{limit:?}");
    assert!(found.before.answered < 60, "{:?}", found.before);
}

#[test]
fn a_bottleneck_bounds_the_capacity_and_its_queue_shows() {
    if !allowed() {
        return;
    }
    let mut queue = Registry::builtin().choose::<dyn QueueDiscipline>("drop-tail").unwrap();
    queue.set("limit", "170packets").unwrap();
    let rate = Rate::from_bits_per_sec(4_000_000);
    let kernels = kernels(LinkSpec::new(rate, Duration::from_millis(4), queue.build()));
    let found = run(&kernels, Kernels::FAR, ProbeMethod::Icmp, options(3000)).report;
    let capacity = found.measured.as_ref().unwrap().capacity().unwrap();
    assert!(capacity < 4_000_000.0 && capacity > 2_000_000.0, "{capacity}");
    // M-X3: half a second of buffer, and the probe that fills it.
    let mean = |b: &ackclock_drive::Background| b.rtt.mean().unwrap();
    assert!(
        mean(&found.during) > 3.0 * mean(&found.before),
        "{} {}",
        mean(&found.during),
        mean(&found.before)
    );
    assert_eq!(found.limit, None);
}

#[test]
fn a_run_reports_progress_and_can_be_interrupted() {
    if !allowed() {
        return;
    }
    let kernels = kernels(lossy(100));
    let mut phases = Vec::new();
    let began = Now::now();
    let target = ProbeTarget { to: Kernels::FAR, method: ProbeMethod::Icmp, from: Some(&kernels.near) };
    let found = run_probe(options(60_000), &target, &mut |p| {
        phases.push(p.phase);
        if p.measured.as_ref().is_some_and(|m| m.segments_acked > 100) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
    .unwrap();
    assert!(found.interrupted && began.elapsed().as_secs() < 30);
    assert!(found.report.measured.unwrap().segments_acked > 100);
    assert_eq!(phases.last(), Some(&ProbePhase::Test));
}

#[test]
fn impossible_targets_are_errors_of_one_sentence() {
    if !allowed() {
        return;
    }
    let kernels = kernels(delay());
    let failed =
        |to: IpAddr, options| try_run(&kernels, to, ProbeMethod::Icmp, options).unwrap_err().to_string();
    let e = failed(Kernels::FAR, ProbeOptions { mss: 1473, ..options(200) });
    assert!(e.contains("1473") && e.contains("--mss"), "{e}");
    for (to, says) in [
        ("10.79.255.255", "broadcast"),
        ("255.255.255.255", "broadcast"),
        ("224.0.0.1", "multicast"),
        ("192.0.2.1", "no route"),
    ] {
        let e = failed(to.parse().unwrap(), options(200));
        assert!(e.contains(to) && e.contains(says), "{to}: {e}");
    }
}

#[test]
fn a_missing_right_is_an_error_and_udp_needs_none() {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
    if !allowed() {
        return;
    }
    let kernels = kernels(delay());
    kernels.near.set_sysctl("net.ipv4.ping_group_range", "1 0").unwrap();
    // Capabilities are per thread, inherited by threads that it starts.
    let without_rights = || {
        let mut sets = capabilities(None).unwrap();
        for set in [&mut sets.effective, &mut sets.permitted, &mut sets.inheritable] {
            set.remove(CapabilitySet::NET_RAW);
        }
        set_capabilities(None, sets).unwrap();
        let icmp =
            [Kernels::FAR, Kernels::FAR6].map(|to| try_run(&kernels, to, ProbeMethod::Icmp, options(100)));
        (icmp, run(&kernels, Kernels::FAR, ProbeMethod::Udp { ttl: 9 }, options(300)))
    };
    let (icmp, udp) = std::thread::scope(|s| s.spawn(without_rights).join().unwrap());
    for refused in icmp {
        let e = refused.unwrap_err();
        assert!(matches!(e, DriveError::Missing(_)), "{e}");
        for wanted in ["net.ipv4.ping_group_range", "CAP_NET_RAW", "--udp-ttl"] {
            assert!(e.to_string().contains(wanted), "{e}");
        }
    }
    assert!(udp.report.answered);
}

#[test]
fn probes_work_over_the_loopback_device() {
    if !allowed() {
        return;
    }
    let namespace = ackclock_drive::Namespace::new(true).unwrap();
    let largest = Rate::from_bits_per_sec(20_000_000);
    for (to, method) in [("127.0.0.1", ProbeMethod::Icmp), ("::1", ProbeMethod::Icmp)] {
        let target = ProbeTarget { to: to.parse().unwrap(), method, from: Some(&namespace) };
        let options = ProbeOptions { max_rate: largest, ..options(500) };
        let found = run_probe(options, &target, &mut |_| ControlFlow::Continue(())).unwrap();
        let m = found.report.measured.unwrap();
        // Requests and replies of other programs, and our own requests, arrive at the same socket: none
        // counts as a reply.
        assert!(m.segments_acked > 10 && found.report.replies.unknown == 0, "{to}: {m:?}");
        assert!(m.capacity().unwrap() < 21_000_000.0, "{to}: {:?}", m.capacity());
    }
}
