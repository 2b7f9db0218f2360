//! Two kernels, the emulator between them, and the applications at both ends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration as Time, Instant as Moment};

use ackclock_drive::{
    Capture, Clock, DriveError, Emulator, EmulatorOptions, Namespace, Port, Tun, TunOptions,
};
use ackclock_policy::{QueueDiscipline, Registry};
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo};
use ackclock_units::{Duration, Instant, Rate, Rng};

use crate::plan::{Plan, Way};
use crate::trace::Trace;

/// The kernel's counters.
pub const COUNTERS: [&str; 8] = [
    "RetransSegs",
    "TCPTimeouts",
    "TCPLossProbes",
    "TCPSpuriousRTOs",
    "TCPSynRetrans",
    "TCPDSACKRecv",
    "TCPLossUndo",
    "TCPFullUndo",
];

/// Time limit for closing connections.
const CLOSE: Time = Time::from_secs(8);

fn link(plan: &Plan, way: &Way) -> LinkSpec {
    let queue = plan.mbit.map(|_| {
        let mut queue =
            Registry::builtin().choose::<dyn QueueDiscipline>("drop-tail").expect("it is built in");
        queue.set("limit", &format!("{}packets", plan.queue)).expect("a number of packets is a limit");
        queue.build()
    });
    let rate = plan.mbit.map(|m| Rate::from_bits_per_sec((m * 1e6) as u64));
    let way = way.clone();
    let began = std::cell::Cell::new(None);
    let fate = move |_: &PacketInfo, now: Instant, rng: &mut Rng| {
        let start = began.get().unwrap_or(now);
        began.set(Some(start));
        let since = now.since(start).as_nanos() / 1_000_000;
        let within =
            |s: &&crate::plan::Stretch| (u64::from(s.from)..u64::from(s.from + s.lasts)).contains(&since);
        let x = rng.unit();
        if way.outages.iter().any(|s| within(&s)) || x < way.loss {
            return FaultVerdict::Drop;
        }
        if let Some(s) = way.spikes.iter().find(within) {
            return FaultVerdict::Delay(Duration::from_millis(u64::from(s.from + s.lasts) - since));
        }
        match x - way.loss {
            y if y < way.reorder => FaultVerdict::Delay(Duration::from_millis(u64::from(way.held_ms))),
            y if y < way.reorder + way.duplicate => FaultVerdict::Duplicate,
            _ => FaultVerdict::Pass,
        }
    };
    LinkSpec {
        rate,
        delay: Duration::from_micros(u64::from(plan.rtt_ms) * 500),
        queue,
        ..LinkSpec::default()
    }
    .with_fault(fate)
}

/// Runs a plan in the network 10.`index`, and writes both captures and the kernels' counters and events to
/// `folder`.
pub fn run(plan: &Plan, index: u8, folder: &Path, trace: &Trace) -> Result<(), Box<dyn std::error::Error>> {
    let (near, far) = (Namespace::new(false)?, Namespace::new(false)?);
    let router = plan.offload.then(|| Namespace::new(false)).transpose()?;
    let tun = |ns: &Namespace, host| {
        Tun::new(
            ns,
            &TunOptions { ipv4: ([10, index, 0, host].into(), 16), mtu: plan.mtu, ..TunOptions::default() },
        )
    };
    let near_port = Port::from(tun(router.as_ref().unwrap_or(&near), 1)?);
    let mut far_port = Port::from(tun(&far, 2)?);
    let clock = Clock::start();
    // With offload there is a second capture behind the device, where frames are single packets.
    let at_near = if plan.offload { "behind" } else { "near" };
    let file = |end: &str| folder.join(format!("{end}.pcapng"));
    let captures = [Capture::create(&file(at_near), clock)?, Capture::create(&file("far"), clock)?];
    far_port.record(&captures[1], "far")?;
    let mut near_port = near_port;
    let mut dumping = None;
    near_port.record(&captures[0], at_near)?;
    if let Some(router) = &router {
        behind_a_router(&near, router, index, plan.mtu)?;
        dumping = Some(dump(&near, &file("near"))?);
    }
    for (key, value) in &plan.sysctls {
        near.set_sysctl(key, value)?;
        far.set_sysctl(key, value)?;
    }
    let offset = realtime_less_monotonic();
    let (forward, backward) = (link(plan, &plan.ways[0]), link(plan, &plan.ways[1]));
    let links =
        EmulatorOptions { forward, backward, access: Default::default(), seed: u64::from(index), clock };
    let emulator = Emulator::start(near_port, far_port, links)?;
    talk(plan, &near, &far, index)?;
    let began = Moment::now();
    while began.elapsed() < CLOSE && (busy(&near)? || busy(&far)?) {
        std::thread::sleep(Time::from_millis(50));
    }
    let report = emulator.stop();
    let count = |ns: &Namespace| {
        COUNTERS.map(|name| (name.to_owned(), serde_json::json!(ns.tcp_counter(name).unwrap_or(u64::MAX))))
    };
    let counters = [count(&near), count(&far)];
    for capture in captures {
        capture.finish()?;
    }
    if let Some(mut child) = dumping {
        // tcpdump writes out each packet at once.
        std::thread::sleep(Time::from_millis(100));
        child.kill()?;
        child.wait()?;
    }
    std::thread::sleep(Time::from_millis(300));
    let events: Vec<_> = trace
        .of(&format!("10.{index}."))
        .into_iter()
        .map(|e| serde_json::json!([e.at + offset, e.why, e.from, e.to, e.state]))
        .collect();
    let truth = serde_json::json!({
        "plan": format!("{plan:?}"), "talk": plan.talk, "offload": plan.offload, "rtt_ms": plan.rtt_ms,
        "sysctls": std::collections::BTreeMap::from_iter(plan.sysctls.iter().copied()),
        "counters": counters.map(serde_json::Map::from_iter), "events": events,
        "late": report.late, "undelivered": report.undelivered,
    });
    std::fs::write(folder.join("truth.json"), serde_json::to_string(&truth)?)?;
    Ok(())
}

fn realtime_less_monotonic() -> u64 {
    let (real, mono) = (
        rustix::time::clock_gettime(rustix::time::ClockId::Realtime),
        rustix::time::clock_gettime(rustix::time::ClockId::Monotonic),
    );
    let ns = |t: rustix::time::Timespec| t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64;
    ns(real) - ns(mono)
}

/// A device with segmentation offload between the near kernel and the emulated path.
fn behind_a_router(near: &Namespace, router: &Namespace, index: u8, mtu: u16) -> Result<(), DriveError> {
    use std::os::fd::{AsFd, AsRawFd};
    let path = format!("/proc/{}/fd/{}", std::process::id(), router.as_fd().as_raw_fd());
    let ip = |ns: &Namespace, line: &str| -> Result<(), DriveError> {
        let mut child = ns.spawn(Command::new("ip").args(line.split(' ')))?;
        let done = child.wait().is_ok_and(|s| s.success());
        if done { Ok(()) } else { Err(DriveError::Missing(format!("`ip {line}` failed"))) }
    };
    ip(near, &format!("link add v0 mtu {mtu} type veth peer name v1 netns {path}"))?;
    ip(near, &format!("addr add 10.{index}.1.1/24 dev v0"))?;
    ip(near, "link set v0 up")?;
    ip(router, &format!("addr add 10.{index}.1.2/24 dev v1"))?;
    ip(router, &format!("link set v1 mtu {mtu}"))?;
    ip(router, "link set v1 up")?;
    router.set_sysctl("net.ipv4.ip_forward", "1")?;
    ip(near, &format!("route add default via 10.{index}.1.2"))
}

fn dump(near: &Namespace, file: &Path) -> Result<Child, Box<dyn std::error::Error>> {
    let mut command = Command::new("tcpdump");
    command
        .args([
            "-i",
            "v0",
            "-n",
            "-s",
            "100",
            "-U",
            "--immediate-mode",
            "--time-stamp-precision=nano",
            "-Z",
            "root",
            "-B",
            "65536",
            "-w",
        ])
        .arg(file);
    let mut child = near.spawn(command.stderr(Stdio::piped()).stdout(Stdio::null()))?;
    let mut said = [0; 64];
    // Its first line of output says that it captures.
    let _ = child.stderr.as_mut().map(|e| e.read(&mut said)).transpose()?;
    std::thread::sleep(Time::from_millis(100));
    Ok(child)
}

/// True while a connection is not closed.
fn busy(ns: &Namespace) -> Result<bool, DriveError> {
    let text = ns.run(|| std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default())?;
    // Listening is 0A, TIME-WAIT 06.
    Ok(text.lines().skip(1).any(|l| !matches!(l.split_whitespace().nth(3), Some("0A" | "06"))))
}

fn talk(plan: &Plan, near: &Namespace, far: &Namespace, index: u8) -> Result<(), Box<dyn std::error::Error>> {
    let to = SocketAddr::from(([10, index, 0, 2], 80));
    let listener = Arc::new(far.run(|| TcpListener::bind(to))??);
    let until = Moment::now() + Time::from_secs(u64::from(plan.lasts));
    let shared = Arc::new(plan.clone());
    let serving = (listener.clone(), shared.clone());
    listener.set_nonblocking(true)?;
    let server = std::thread::spawn(move || {
        let mut threads = Vec::new();
        let mut left = serving.1.connections;
        while left > 0 && Moment::now() < until {
            match serving.0.accept() {
                Ok((s, _)) => {
                    left -= 1;
                    let plan = serving.1.clone();
                    threads.push(std::thread::spawn(move || {
                        let _ = s.set_nonblocking(false).and_then(|()| serve(&plan, s, until));
                    }));
                }
                Err(_) => std::thread::sleep(Time::from_millis(2)),
            }
        }
        threads.into_iter().for_each(|t| drop(t.join()));
    });
    let next = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for _ in 0..plan.together {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < plan.connections && Moment::now() < until {
                    // A connection that fails is part of the capture too.
                    let _ = near
                        .run(|| {
                            TcpStream::connect_timeout(
                                &to,
                                until.saturating_duration_since(Moment::now()).max(Time::from_millis(1)),
                            )
                        })
                        .map(|opened| opened.and_then(|s| ask(plan, s, until)));
                }
            });
        }
    });
    let _ = server.join();
    Ok(())
}

/// Writes or reads `n` bytes, at most until `until`.
fn write(mut s: &TcpStream, n: u32, until: Moment) -> io::Result<()> {
    let block = [7; 1 << 15];
    let mut left = n as usize;
    while left > 0 {
        s.set_write_timeout(Some(until.saturating_duration_since(Moment::now()).max(Time::from_millis(1))))?;
        left -= s.write(&block[..left.min(block.len())])?;
    }
    Ok(())
}

fn read(mut s: &TcpStream, n: u32, until: Moment) -> io::Result<()> {
    let mut block = [0; 1 << 15];
    let mut left = n as usize;
    while left > 0 {
        s.set_read_timeout(Some(until.saturating_duration_since(Moment::now()).max(Time::from_millis(1))))?;
        let most = left.min(block.len());
        match s.read(&mut block[..most])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            got => left -= got,
        }
    }
    Ok(())
}

fn think(ms: u32) {
    std::thread::sleep(Time::from_millis(u64::from(ms)));
}

fn ask(plan: &Plan, s: TcpStream, until: Moment) -> io::Result<()> {
    s.set_nodelay(true)?;
    for e in &plan.exchanges {
        if plan.both_ways {
            let other = s.try_clone()?;
            let (request, response) = (e.request, e.response);
            let writer = std::thread::spawn(move || write(&other, request, until));
            read(&s, response, until)?;
            let _ = writer.join();
            continue;
        }
        write(&s, e.request, until)?;
        read(&s, e.response, until)?;
        think(e.client_thinks);
    }
    Ok(())
}

fn serve(plan: &Plan, s: TcpStream, until: Moment) -> io::Result<()> {
    s.set_nodelay(true)?;
    for e in &plan.exchanges {
        if plan.both_ways {
            let other = s.try_clone()?;
            let (request, response) = (e.request, e.response);
            let writer = std::thread::spawn(move || write(&other, response, until));
            read(&s, request, until)?;
            let _ = writer.join();
            continue;
        }
        read(&s, e.request, until)?;
        think(e.server_thinks);
        write(&s, e.response, until)?;
    }
    // Until the peer has closed.
    read(&s, 1, until)
}
