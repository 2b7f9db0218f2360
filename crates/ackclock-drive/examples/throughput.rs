//! Throughput between the engine and the kernel directly over a TUN device: `cargo run --release -p
//! ackclock-drive --example throughput [MTU [SECONDS [offload]]]`.

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    linux::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("{}", ackclock_drive::check().map_or_else(|e| e.to_string(), |_| String::new()));
}

#[cfg(target_os = "linux")]
mod linux {
    use std::error::Error;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, SocketAddr, TcpListener};
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use ackclock_drive::{
        Clock, Host, HostLimits, HostOptions, Means, Namespace, Tun, TunOptions, check, enter_user_namespace,
    };
    use ackclock_engine::Config;
    use ackclock_policy::Registry;

    const KERNEL: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 80);

    pub fn main() -> Result<(), Box<dyn Error>> {
        let mut args = std::env::args().skip(1);
        let mtu = args.next().map_or(Ok(1500), |a| a.parse())?;
        let seconds = args.next().map_or(Ok(3.0), |a| a.parse())?;
        let offload = args.next().is_some_and(|a| a == "offload");
        if check()? == Means::UserNamespace {
            enter_user_namespace()?;
        }
        let namespace = Namespace::new(false)?;
        let tun = Tun::new(
            &namespace,
            &TunOptions { ipv4: (Ipv4Addr::new(10, 0, 0, 1), 24), mtu, offload, ..TunOptions::default() },
        )?;
        let policies = ackclock_engine::Stack::named(&Registry::builtin(), "cubic")?;
        let options = HostOptions {
            addresses: vec![Ipv4Addr::new(10, 0, 0, 2).into()],
            mtu,
            config: Config { mss: 65_495, rcv_buf: 4 << 20, snd_buf: 4 << 20, ..policies.config() },
            policies: Arc::new(move || policies.build()),
            clock: Clock::start(),
            limits: HostLimits::default(),
        };
        let host = Host::start(tun, options)?;
        let listener = namespace.run(|| TcpListener::bind(KERNEL))??;
        let limit = Duration::from_secs_f64(seconds);
        for engine_sends in [true, false] {
            let (bytes, took, cpu) = std::thread::scope(|scope| -> Result<_, Box<dyn Error>> {
                let kernel = scope.spawn(|| -> std::io::Result<u64> {
                    let stream = listener.accept()?.0;
                    if engine_sends { drain(stream) } else { fill(stream, limit) }
                });
                let stream = host.connect(KERNEL)?;
                let (start, cpu) = (Instant::now(), cpu_time()?);
                let bytes = if engine_sends {
                    let bytes = fill(&stream, limit)?;
                    stream.shutdown_write();
                    bytes
                } else {
                    drain(&stream)?
                };
                kernel.join().map_err(|_| "the kernel's side failed")??;
                let s = stream.stats();
                println!(
                    "  {} segments out, {} in, {} retransmitted, {} timeouts",
                    s.segments_sent, s.segments_received, s.retransmitted_segments, s.timeouts
                );
                Ok((bytes, start.elapsed(), cpu_time()? - cpu))
            })?;
            let gbit = bytes as f64 * 8.0 / took.as_secs_f64() / 1e9;
            let per_byte = cpu.as_nanos() as f64 / bytes as f64;
            println!(
                "MTU {mtu}{}, engine {}: {gbit:.2} Gbit/s, {per_byte:.2} ns of CPU per byte",
                if offload { " with offload" } else { "" },
                if engine_sends { "sends" } else { "receives" }
            );
        }
        Ok(())
    }

    fn fill(mut to: impl Write, limit: Duration) -> std::io::Result<u64> {
        let (block, start, mut bytes) = (vec![7; 1 << 17], Instant::now(), 0);
        while start.elapsed() < limit {
            bytes += to.write(&block)? as u64;
        }
        Ok(bytes)
    }

    fn drain(mut from: impl Read) -> std::io::Result<u64> {
        let (mut block, mut bytes) = (vec![0; 1 << 18], 0);
        loop {
            match from.read(&mut block)? {
                0 => return Ok(bytes),
                n => bytes += n as u64,
            }
        }
    }

    /// CPU time of the process, user and system.
    fn cpu_time() -> Result<Duration, Box<dyn Error>> {
        let stat = std::fs::read_to_string("/proc/self/stat")?;
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
        Ok(Duration::from_millis(ticks * 10))
    }
}
