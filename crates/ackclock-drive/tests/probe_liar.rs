//! A lying host that replies to probes which have not reached it, by prediction from those that have.
#![cfg(target_os = "linux")]

mod common;

use std::ops::ControlFlow;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ackclock_drive::{
    Clock, DriveError, Kernels, KernelsOptions, Namespace, ProbeMethod, ProbeOptions, ProbeTarget, RealProbe,
    run_probe,
};
use ackclock_engine::Stack;
use ackclock_policy::Registry;
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo};
use ackclock_units::{Duration, Instant, Rate, Rng};
use ackclock_wire::internet_checksum;
use common::allowed;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrV4, SocketFlags, SocketType, ipproto, recvfrom, sendto,
    socket_with,
};

/// Half of all probes are lost.
const LOSS: f64 = 0.5;
/// Number of later probes to which the liar also replies after each one that arrives.
const AHEAD: u16 = 40;

fn probe(kernels: &Kernels, method: ProbeMethod) -> RealProbe {
    let stack = Stack::named(&Registry::builtin(), "sack").unwrap();
    let options = ProbeOptions::new(stack.config(), Arc::new(move || stack.build()));
    let max_rate = Rate::from_bits_per_sec(5_000_000);
    let options = ProbeOptions {
        mss: 500,
        max_rate,
        duration: Duration::from_secs(2),
        background: 20,
        interval: Duration::from_millis(5),
        ..options
    };
    let target = ProbeTarget { to: Kernels::FAR, method, from: Some(&kernels.near) };
    run_probe(options, &target, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// Replies until `stop` to probes that have arrived and to `ahead` probes after each; counts the lies.
fn lie(method: ProbeMethod, ahead: u16, stop: &AtomicBool, lies: &AtomicU64) {
    let raw = |protocol| {
        socket_with(AddressFamily::INET, SocketType::RAW, SocketFlags::NONBLOCK, Some(protocol)).unwrap()
    };
    let icmp = raw(ipproto::ICMP);
    let heard = if method == ProbeMethod::Icmp { raw(ipproto::ICMP) } else { raw(ipproto::UDP) };
    let mut buffer = [0; 2000];
    while !stop.load(Ordering::Relaxed) {
        let Ok((n, _, Some(from))) = recvfrom(&heard, &mut buffer, RecvFlags::empty()) else {
            std::thread::sleep(std::time::Duration::from_micros(200));
            continue;
        };
        let from = SocketAddrV4::try_from(from).unwrap();
        let packet = &buffer[..n];
        for message in lies_about(method, ahead, packet) {
            if sendto(&icmp, &message, SendFlags::empty(), &from).is_ok() {
                lies.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// The liar's replies to a probe.
fn lies_about(method: ProbeMethod, ahead: u16, packet: &[u8]) -> Vec<Vec<u8>> {
    let finish = |mut message: Vec<u8>| {
        let sum = internet_checksum(&message);
        message[2..4].copy_from_slice(&sum);
        message
    };
    let body = &packet[20..];
    match method {
        ProbeMethod::Icmp if body[0] == 8 => {
            let number = u64::from_be_bytes(body[16..24].try_into().unwrap());
            let ahead = (1..=u64::from(ahead)).map(|i| {
                let mut reply = body.to_vec();
                (reply[0], reply[2], reply[3]) = (0, 0, 0);
                reply[6..8].copy_from_slice(&((number + i) as u16).to_be_bytes());
                reply[16..24].copy_from_slice(&(number + i).to_be_bytes());
                finish(reply)
            });
            ahead.collect()
        }
        ProbeMethod::Icmp => Vec::new(),
        // Errors that quote eight bytes beyond the IP header: of the probe itself, and of predicted later
        // ones.
        ProbeMethod::Udp { .. } => {
            let port = u16::from_be_bytes([body[2], body[3]]);
            let quotes = (0..=ahead).map(|i| {
                let mut quoted = packet[..28].to_vec();
                quoted[22..24].copy_from_slice(&(port.wrapping_add(i)).to_be_bytes());
                let mut message = vec![3, 3, 0, 0, 0, 0, 0, 0];
                message.extend_from_slice(&quoted);
                finish(message)
            });
            quotes.collect()
        }
    }
}

/// Runs a probe over a path that loses half of the probes, to the lying host. Returns the results and the
/// number of lies.
fn run(method: ProbeMethod, ahead: u16, prepare: impl FnOnce(&Kernels)) -> (RealProbe, u64) {
    let there =
        LinkSpec::delay(Duration::from_millis(4)).with_fault(|_: &PacketInfo, _: Instant, rng: &mut Rng| {
            if rng.chance(LOSS) { FaultVerdict::Drop } else { FaultVerdict::Pass }
        });
    let back = LinkSpec::delay(Duration::from_millis(4));
    let kernels = Kernels::new(KernelsOptions {
        mtu: 1500,
        there,
        back,
        access: Default::default(),
        seed: 3,
        clock: Clock::start(),
        capture: None,
    })
    .unwrap();
    kernels.near.set_sysctl("net.ipv4.ping_group_range", "0 0").unwrap();
    // No rate limit on the kernel's own replies.
    kernels.far.set_sysctl("net.ipv4.icmp_ratemask", "0").unwrap();
    kernels.far.set_sysctl("net.ipv4.icmp_msgs_per_sec", "1000000").unwrap();
    prepare(&kernels);
    let (stop, lies) = (AtomicBool::new(false), AtomicU64::new(0));
    let found = std::thread::scope(|scope| {
        scope.spawn(|| kernels.far.run(|| lie(method, ahead, &stop, &lies)).unwrap());
        let found = probe(&kernels, method);
        stop.store(true, Ordering::Relaxed);
        found
    });
    let m = found.report.measured.as_ref().unwrap();
    let lies = lies.load(Ordering::Relaxed);
    println!(
        "{method:?}: {lies} made up, {} foreign, {:?}, {:?} bit/s",
        found.foreign,
        found.report.replies,
        m.capacity()
    );
    (found, lies)
}

/// Number of probes sent, and of those with a reply.
fn all(found: &RealProbe) -> (u64, u64) {
    let (m, b) = (found.report.measured.as_ref().unwrap(), &found.report.before);
    println!("{} sent, {} answered", m.sent + b.sent, m.answered + b.answered);
    (m.sent + b.sent, m.answered + b.answered)
}

fn lied_to(method: ProbeMethod) {
    if !allowed() {
        return;
    }
    let (found, lies) = run(method, AHEAD, |_| ());
    let (sent, answered) = all(&found);
    assert!(lies > 500);
    assert!((answered as f64) < 0.7 * sent as f64, "{answered} of {sent} answered");
    assert!(found.foreign > lies / 4);
}

#[test]
fn echoes_that_were_predicted_do_not_count() {
    lied_to(ProbeMethod::Icmp);
}

#[test]
fn short_quotes_that_were_predicted_do_not_count() {
    lied_to(ProbeMethod::Udp { ttl: 9 });
}

/// Makes the kernel in `namespace` quote at most eight bytes in errors.
fn quote_little(namespace: &Namespace) -> bool {
    let rule = "add table ip t; add chain ip t o { type filter hook output priority 0; }; add rule ip t o \
                icmp type destination-unreachable ip length > 60 drop";
    let done = namespace
        .spawn(Command::new("nft").arg(rule))
        .and_then(|mut child| child.wait().map_err(|e| DriveError::System("wait for nft", e)));
    done.is_ok_and(|status| status.success())
}

#[test]
fn short_quotes_are_identified_by_unpredictable_ports() {
    if !allowed() {
        return;
    }
    for ahead in [0, AHEAD] {
        let mut works = true;
        let (found, _) =
            run(ProbeMethod::Udp { ttl: 9 }, ahead, |kernels| works = quote_little(&kernels.far));
        if !works {
            eprintln!("skipped: needs the program `nft`");
            return;
        }
        let (sent, answered) = all(&found);
        assert!(answered as f64 > 0.2 * sent as f64, "{answered} of {sent} answered");
        // A guessed port matches a probe in flight about once in a thousand times.
        assert!((answered as f64) < 0.75 * sent as f64, "{answered} of {sent} answered");
    }
}
