//! Shared by the tests in namespaces.
#![allow(dead_code)]

pub mod flows;
pub mod wire;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Time, Instant as Now};

use ackclock_drive::{
    Clock, Emulator, EmulatorOptions, Lab, LabOptions, Means, Namespace, PolicyFactory, Tun, TunOptions,
    check,
};
use ackclock_engine::{Config, Lazy, Policies, SenderPolicies};
use ackclock_policy::{
    AckPolicy, Backoff, Chosen, CongestionControl, LossRecovery, Registry, RetransmissionTimer, Role,
    RttEstimator, SpuriousTimeout,
};
use ackclock_sim::{FaultVerdict, LinkSpec, PacketInfo};
use ackclock_units::{Duration, Instant, Rate, Rng};

/// True when the tests can run here; otherwise prints the reason.
pub fn allowed() -> bool {
    match check() {
        Ok(Means::Direct) => return true,
        Ok(Means::UserNamespace) => {
            eprintln!("skipped: needs root (a program with several threads cannot enter a user namespace)")
        }
        Err(e) => eprintln!("skipped: {e}"),
    }
    false
}

/// Two kernels with the emulator between them: 10.0.0.1 and 10.0.0.2.
pub fn two_kernels(forward: LinkSpec, backward: LinkSpec) -> (Namespace, Namespace, Emulator) {
    let (a, b) = (Namespace::new(false).unwrap(), Namespace::new(false).unwrap());
    let tun = |ns: &Namespace, host| {
        Tun::new(ns, &TunOptions { ipv4: ([10, 0, 0, host].into(), 24), ..TunOptions::default() }).unwrap()
    };
    let ports = (tun(&a, 1).into(), tun(&b, 2).into());
    let options =
        EmulatorOptions { forward, backward, access: Default::default(), seed: 1, clock: Clock::start() };
    let emulator = Emulator::start(ports.0, ports.1, options).unwrap();
    (a, b, emulator)
}

/// Repeats a check in real time until it holds: three times at most while the machine kept time, eight at
/// most in all. A thread that sleeps in steps of a millisecond watches: where it woke 3 ms late, the machine
/// stood still, and what was measured meanwhile says nothing of the emulator.
///
/// # Panics
///
/// With the last words of `check`, when it never held.
pub fn in_real_time(mut check: impl FnMut() -> Result<(), String>) {
    let mut undisturbed = 0;
    for run in 1.. {
        let over = AtomicBool::new(false);
        let (held, late) = std::thread::scope(|scope| {
            let watch = scope.spawn(|| {
                let mut late = Time::ZERO;
                while !over.load(Ordering::Relaxed) {
                    let began = Now::now();
                    std::thread::sleep(Time::from_millis(1));
                    late = late.max(began.elapsed().saturating_sub(Time::from_millis(1)));
                }
                late
            });
            let held = std::panic::catch_unwind(std::panic::AssertUnwindSafe(&mut check));
            over.store(true, Ordering::Relaxed);
            let late = watch.join().unwrap();
            (held.unwrap_or_else(|panic| std::panic::resume_unwind(panic)), late)
        });
        let Err(why) = held else { return };
        undisturbed += usize::from(late < Time::from_millis(3));
        println!("run {run}, a sleep was {late:?} late: {why}");
        assert!(undisturbed < 3 && run < 8, "{why}");
    }
}

fn choose<T: Role + ?Sized>(name: &str) -> Chosen<T> {
    Registry::builtin().choose(name).unwrap()
}

/// Policies by name, with a minimum timeout of 20 ms so that tests with losses over paths of 1 ms end soon.
pub fn policies(recovery: &str, window: &str) -> PolicyFactory {
    let mut estimator = choose::<dyn RttEstimator>("rfc6298");
    estimator.set("min_rto", "20ms").unwrap();
    let (backoff, timer) =
        (choose::<dyn Backoff>("exponential"), choose::<dyn RetransmissionTimer>("restart-on-ack"));
    let undo = choose::<dyn SpuriousTimeout>("none");
    let (recovery, window) = (choose::<dyn LossRecovery>(recovery), choose::<dyn CongestionControl>(window));
    let ack = choose::<dyn AckPolicy>("delayed");
    Arc::new(move || Policies {
        estimator: estimator.build(),
        ack: Lazy::Built(ack.build()),
        sender: Lazy::Built(Box::new(SenderPolicies {
            backoff: backoff.build(),
            timer: timer.build(),
            recovery: recovery.build(),
            undo: undo.build(),
            window: window.build(),
            special: None,
        })),
    })
}

/// Faults in both directions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Trouble {
    pub loss: f64,
    pub reorder: f64,
    pub duplicate: f64,
}

impl Trouble {
    /// Loss, with reordering and duplication.
    pub fn of(loss: f64) -> Self {
        Self { loss, reorder: 0.02, duplicate: 0.01 }
    }

    fn on(self, spec: LinkSpec) -> LinkSpec {
        spec.with_fault(move |_: &PacketInfo, _: Instant, rng: &mut Rng| {
            let x = rng.unit();
            if x < self.loss {
                FaultVerdict::Drop
            } else if x < self.loss + self.reorder {
                FaultVerdict::Delay(Duration::from_micros(1 + rng.below(2000)))
            } else if x < self.loss + self.reorder + self.duplicate {
                FaultVerdict::Duplicate
            } else {
                FaultVerdict::Pass
            }
        })
    }
}

/// A lab with equal links in both directions. Without a rate, packets are only delayed.
pub struct Setup {
    pub mtu: u16,
    pub rate: Option<Rate>,
    pub delay: Duration,
    pub trouble: Trouble,
    pub config: Config,
    pub recovery: &'static str,
}

impl Default for Setup {
    fn default() -> Self {
        let config = Config { mss: 65_495, time_wait: Duration::from_millis(100), ..Config::default() };
        Self {
            mtu: 1500,
            rate: None,
            delay: Duration::from_micros(500),
            trouble: Trouble::default(),
            config,
            recovery: "sack",
        }
    }
}

impl Setup {
    pub fn lab(self) -> Lab {
        let link = || self.trouble.on(LinkSpec { rate: self.rate, delay: self.delay, ..LinkSpec::default() });
        let lab = Lab::new(LabOptions {
            mtu: self.mtu,
            to_engine: link(),
            to_kernel: link(),
            seed: 7,
            clock: Clock::start(),
            config: self.config.clone(),
            policies: policies(self.recovery, "cubic"),
            kernel_capture: None,
            engine_capture: None,
        });
        lab.unwrap()
    }
}

/// A listening socket of the kernel.
pub fn kernel_listener(lab: &Lab, port: u16) -> TcpListener {
    lab.namespace.run(|| TcpListener::bind(Lab::kernel(port))).unwrap().unwrap()
}

/// A connection opened by the kernel.
pub fn kernel_connect(lab: &Lab, to: SocketAddr) -> std::io::Result<TcpStream> {
    lab.namespace.run(|| TcpStream::connect(to)).unwrap()
}

/// The byte at a position of a stream, from a sequence with a long period, so that a misplaced byte is
/// detected.
fn byte(position: u64) -> u8 {
    let x = (position / 8 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> (8 * (position % 8))) as u8
}

/// Writes `bytes` bytes of the pattern.
pub fn send_pattern(mut to: impl Write, bytes: u64) {
    let mut block = vec![0; 1 << 16];
    let mut at = 0;
    while at < bytes {
        let n = (bytes - at).min(block.len() as u64) as usize;
        for (i, b) in block[..n].iter_mut().enumerate() {
            *b = byte(at + i as u64);
        }
        to.write_all(&block[..n]).unwrap_or_else(|e| panic!("after {at} bytes: {e}"));
        at += n as u64;
    }
}

/// Reads to the end, and checks every byte of the pattern.
pub fn expect_pattern(from: impl Read, bytes: u64) {
    assert_eq!(read_pattern(from, u64::MAX), bytes);
}

/// Reads up to `most` bytes and checks them; returns their number.
pub fn read_pattern(mut from: impl Read, most: u64) -> u64 {
    let mut block = vec![0; 1 << 16];
    let mut at = 0;
    while at < most {
        let room = (most - at).min(block.len() as u64) as usize;
        let n = from.read(&mut block[..room]).unwrap_or_else(|e| panic!("after {at} bytes: {e}"));
        if n == 0 {
            break;
        }
        for (i, b) in block[..n].iter().enumerate() {
            assert!(*b == byte(at + i as u64), "byte {} is wrong", at + i as u64);
        }
        at += n as u64;
    }
    at
}
