//! The probe over real packets: two kernels and an emulated path between them, and the loopback device.
#![cfg(target_os = "linux")]

mod common;

use std::net::IpAddr;
use std::ops::ControlFlow;
use std::sync::Arc;

use ackclock_drive::{Clock, Kernels, KernelsOptions, ProbeMethod, ProbeOptions, ProbeTarget, RealProbe, run_probe};
use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_sim::{LinkSpec, Passing, Verdict};
use ackclock_units::{Duration, Instant, Rng};
use common::allowed;

fn options(ms: u64) -> ProbeOptions {
    let stack = Stack::named(&Registry::builtin(), "sack").unwrap();
    let config = stack.config();
    let options = ProbeOptions::new(config, Arc::new(move || stack.build()));
    ProbeOptions { mss: 1440, duration: Duration::from_millis(ms), background: 10, interval: Duration::from_millis(10), ..options }
}

fn lossy(p: f64) -> LinkSpec {
    let fault = move |_: &Passing, _: Instant, rng: &mut Rng| if rng.chance(p) { Verdict::Drop } else { Verdict::Pass };
    LinkSpec::delay(Duration::from_millis(4)).with_fault(fault)
}

fn kernels(loss: f64) -> Kernels {
    let back = LinkSpec::delay(Duration::from_millis(4));
    Kernels::new(KernelsOptions { mtu: 1500, there: lossy(loss), back, seed: 3, clock: Clock::start() }).unwrap()
}

fn run(kernels: &Kernels, to: IpAddr, method: ProbeMethod, options: ProbeOptions) -> RealProbe {
    let target = ProbeTarget { to, method, from: Some(&kernels.near) };
    run_probe(options, &target, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn dbg() {
    if !allowed() {
        return;
    }
    let k = kernels(0.01);
    for unprivileged in [true, false] {
        k.near.set_sysctl("net.ipv4.ping_group_range", if unprivileged { "0 0" } else { "1 0" }).unwrap();
        for to in [Kernels::FAR, Kernels::FAR6] {
            let f = run(&k, to, ProbeMethod::Icmp, options(1500));
            show(&f);
        }
    }
    for to in [Kernels::FAR, Kernels::FAR6, Kernels::BEYOND] {
        let f = run(&k, to, ProbeMethod::Udp { ttl: 1 }, options(1500));
        show(&f);
    }
    println!("{:?}", k.emulator.report());
}

fn show(f: &RealProbe) {
    let m = f.report.measured.as_ref().unwrap();
    println!(
        "cap {:?} p {:?} rtt {:?} {:?} {:?} ca {} non {} sent {} answered {} {:?} by {:?} foreign {} limit {:?} before {}/{} {:?}",
        m.capacity(),
        m.p(),
        m.rtt.min(),
        m.rtt.mean(),
        m.rtt.quantile(0.99),
        m.ca_events,
        m.non_ca_events,
        m.sent,
        m.answered,
        f.report.replies,
        f.answered_by,
        f.foreign,
        f.report.limit,
        f.report.before.answered,
        f.report.before.sent,
        f.report.before.rtt.mean()
    );
}
