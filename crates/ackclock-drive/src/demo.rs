//! The demonstration: a download over an emulated path, from a web server on the kernel's TCP to this crate's
//! engine.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::TcpStream;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration as Time, Instant as Now};

use ackclock_engine::{Config, Stats};
use ackclock_sim::{Fault, LinkSpec};
use ackclock_units::{Bytes, Duration, Rate, Rng};
use sha2::{Digest, Sha256};

use crate::{
    Capture, Clock, DriveError, EmulatorReport, Lab, LabOptions, Means, Namespace, PolicyFactory, Stream,
};

/// Options of the demonstration. [`DemoOptions::new`] has the values of the README.
pub struct DemoOptions {
    /// Size of the file.
    pub bytes: Bytes,
    /// Rate of the path, each way.
    pub rate: Rate,
    /// Round-trip time of the empty path.
    pub rtt: Duration,
    /// Queue in front of each link, packets.
    pub queue_packets: u64,
    /// Probability with which a packet is lost, each way.
    pub loss: f64,
    /// Seed of the file and of the losses.
    pub seed: u64,
    /// The Python interpreter that serves the file: a path, or a name to look up in `PATH`.
    pub python: PathBuf,
    /// Congestion control of the serving kernel: a name, or `None` for BBR if the kernel has it and otherwise
    /// the kernel's default. Loss-based congestion controls reach a fifth of this path's rate.
    pub congestion_control: Option<String>,
    /// Folder for `kernel.pcapng` and `engine.pcapng`, the captures at the two ends of the path.
    pub captures: Option<PathBuf>,
    /// Time limit.
    pub limit: Time,
    /// Options of the engine's connection.
    pub config: Config,
    /// Its policies.
    pub policies: PolicyFactory,
}

impl DemoOptions {
    /// 20 MB over 20 Mbit/s, 40 ms and 1 % loss each way.
    pub fn new(config: Config, policies: PolicyFactory) -> Self {
        Self {
            bytes: 20_000_000,
            rate: Rate::from_bits_per_sec(20_000_000),
            rtt: Duration::from_millis(40),
            queue_packets: 100,
            loss: 0.01,
            seed: 1,
            python: "python3".into(),
            congestion_control: None,
            captures: None,
            limit: Time::from_secs(180),
            config,
            policies,
        }
    }
}

/// Progress of the demonstration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DemoProgress {
    /// Bytes received so far.
    pub received: Bytes,
    /// Bytes of the file.
    pub of: Bytes,
    /// Time since the connection was opened.
    pub elapsed: Time,
}

/// Results of the demonstration. The checksums have been compared.
#[derive(Clone, Debug)]
pub struct DemoReport {
    /// Bytes of the file.
    pub bytes: Bytes,
    /// SHA-256 of the file sent, which equals that of the bytes received; in hexadecimal.
    pub sha256: String,
    /// From the SYN to the last byte.
    pub duration: Time,
    /// Bytes of the file over that time.
    pub goodput: Rate,
    /// The engine's counters: what it sent (request and acknowledgments) and received.
    pub engine: Stats,
    /// Segments that the kernel retransmitted.
    pub kernel_retransmissions: u64,
    /// Retransmission timeouts of the kernel.
    pub kernel_timeouts: u64,
    /// The kernel's congestion control.
    pub kernel_congestion_control: String,
    /// Counters of the path.
    pub path: EmulatorReport,
    /// The captures written, the kernel's end first.
    pub captures: Vec<PathBuf>,
}

/// Runs the demonstration. `progress` is called about ten times a second and can end it.
///
/// Where rights are missing that a user namespace gives, the process enters one and stays there. For that,
/// the process must have no other threads.
///
/// # Errors
/// A right that is missing (see [`crate::check`]), a server that does not start, a download that fails or
/// differs, [`DriveError::Interrupted`].
pub fn download_demo(
    options: &DemoOptions,
    progress: &mut dyn FnMut(&DemoProgress) -> ControlFlow<()>,
) -> Result<DemoReport, DriveError> {
    if crate::check()? == Means::UserNamespace {
        crate::enter_user_namespace()?;
    }
    let clock = Clock::start();
    let capture =
        |name: &str| options.captures.as_ref().map(|dir| Capture::create(&dir.join(name), clock)).transpose();
    let (kernel_capture, engine_capture) = (capture("kernel.pcapng")?, capture("engine.pcapng")?);
    let captures: Vec<Capture> = kernel_capture.iter().chain(&engine_capture).cloned().collect();
    let lab = Lab::new(LabOptions {
        mtu: 1500,
        to_engine: link(options)?,
        to_kernel: link(options)?,
        seed: options.seed,
        clock,
        config: options.config.clone(),
        policies: options.policies.clone(),
        kernel_capture,
        engine_capture,
    })?;
    let kernel_congestion_control =
        choose_congestion_control(&lab.namespace, options.congestion_control.as_deref())?;
    let (file, sent) = random_file(options)?;
    let server = WebServer::start(&lab.namespace, options, file)?;
    let counter = |name| lab.namespace.tcp_counter(name);
    let before = (counter("RetransSegs")?, counter("TCPTimeouts")?);

    let start = Now::now();
    let stream = lab
        .host
        .connect(Lab::kernel(HTTP_PORT))
        .map_err(DriveError::system("connect to the web server through the engine"))?;
    let mut report = |received| {
        let elapsed = start.elapsed();
        if elapsed > options.limit {
            return Err(DriveError::Failed(format!(
                "the download had {received} of {} bytes after the time limit of {elapsed:.0?}",
                options.bytes
            )));
        }
        let now = DemoProgress { received, of: options.bytes, elapsed };
        if progress(&now).is_break() { Err(DriveError::Interrupted) } else { Ok(()) }
    };
    let (received, got) = get(&stream, options.bytes, &mut report)?;
    let duration = start.elapsed();
    if received != options.bytes || got != sent {
        return Err(DriveError::Failed(format!(
            "the download differs: received {received} bytes with SHA-256 {got}, sent {} bytes with {sent}",
            options.bytes
        )));
    }
    let engine = stream.stats();
    let _ = stream.close(Some(Time::from_secs(2)));
    drop(server);
    let (kernel_retransmissions, kernel_timeouts) =
        (counter("RetransSegs")? - before.0, counter("TCPTimeouts")? - before.1);
    let Lab { host, emulator, namespace } = lab;
    drop(host);
    let path = emulator.stop();
    drop(namespace);
    captures.iter().try_for_each(Capture::finish)?;
    Ok(DemoReport {
        bytes: received,
        sha256: got,
        duration,
        goodput: Rate::from_bits_per_sec((received as f64 * 8.0 / duration.as_secs_f64()) as u64),
        engine,
        kernel_retransmissions,
        kernel_timeouts,
        kernel_congestion_control,
        path,
        captures: captures.iter().map(|c| c.path().to_owned()).collect(),
    })
}

const HTTP_PORT: u16 = 8000;
/// Time limit for the server's start.
const SERVER_PATIENCE: Time = Time::from_secs(20);
/// Largest header of a response.
const MAX_HEAD: usize = 65_536;

fn link(options: &DemoOptions) -> Result<LinkSpec, DriveError> {
    let input = |e: ackclock_policy::RegistryError| DriveError::Input(e.to_string());
    let mut queue = ackclock_policy::Registry::builtin()
        .choose::<dyn ackclock_policy::QueueDiscipline>("drop-tail")
        .map_err(input)?;
    queue.set("limit", &format!("{}packets", options.queue_packets)).map_err(input)?;
    let mut spec = LinkSpec::new(options.rate, options.rtt / 2, queue.build());
    spec.faults.push(random_loss(options.loss)?);
    Ok(spec)
}

fn random_loss(p: f64) -> Result<Box<dyn Fault>, DriveError> {
    let entry = ackclock_sim::fault::ENTRIES
        .iter()
        .find(|e| e.name == "loss")
        .ok_or_else(|| DriveError::Input("there is no fault named `loss`".into()))?;
    let mut params = ackclock_policy::Params::defaults(entry.params);
    if !(0.0..=1.0).contains(&p) || !params.set("p", ackclock_policy::Value::Ratio(p)) {
        return Err(DriveError::Input(format!("a loss of {p} is not a probability: give 0 to 1")));
    }
    Ok((entry.build)(&params))
}

fn choose_congestion_control(namespace: &Namespace, wanted: Option<&str>) -> Result<String, DriveError> {
    const KEY: &str = "net.ipv4.tcp_congestion_control";
    match wanted {
        Some(name) => namespace.set_sysctl(KEY, name)?,
        // Fails where the module is missing or not allowed; then the kernel's default stays.
        None => _ = namespace.set_sysctl(KEY, "bbr"),
    }
    namespace.sysctl(KEY)
}

/// A file of random bytes in memory, and its SHA-256.
fn random_file(options: &DemoOptions) -> Result<(File, String), DriveError> {
    let failed = DriveError::system("create the file to download");
    let make = || -> io::Result<_> {
        let mut file = File::from(rustix::fs::memfd_create("download", rustix::fs::MemfdFlags::CLOEXEC)?);
        let (mut rng, mut hash, mut left) =
            (Rng::stream(options.seed, "file", 0), Sha256::new(), options.bytes);
        let mut block = vec![0; 1 << 16];
        while left > 0 {
            for word in block.chunks_exact_mut(8) {
                word.copy_from_slice(&rng.next_u64().to_le_bytes());
            }
            let n = left.min(block.len() as u64) as usize;
            file.write_all(&block[..n])?;
            hash.update(&block[..n]);
            left -= n as u64;
        }
        file.rewind()?;
        Ok((file, hex(&hash.finalize())))
    };
    make().map_err(failed)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The web server; killed when dropped.
struct WebServer(Child);

impl WebServer {
    /// Starts the server with the file as its standard input, and serves `/proc/self/fd`, so that nothing is
    /// written to disk.
    fn start(namespace: &Namespace, options: &DemoOptions, file: File) -> Result<Self, DriveError> {
        let mut command = Command::new(&options.python);
        command.args([
            "-m",
            "http.server",
            &HTTP_PORT.to_string(),
            "--bind",
            &Lab::KERNEL.to_string(),
            "--directory",
            "/proc/self/fd",
        ]);
        command.stdin(Stdio::from(file)).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Self(namespace.spawn(&mut command).map_err(|e| {
            DriveError::Failed(format!(
                "the web server `{} -m http.server` does not start: {e}",
                options.python.display()
            ))
        })?);
        let deadline = Now::now() + SERVER_PATIENCE;
        // Connects inside the namespace, so that this does not pass the path.
        while namespace.run(|| TcpStream::connect(Lab::kernel(HTTP_PORT)))?.is_err() {
            if let Ok(Some(status)) = server.0.try_wait() {
                return Err(DriveError::Failed(format!(
                    "the web server `{} -m http.server` ended at once: {status}",
                    options.python.display()
                )));
            }
            if Now::now() > deadline {
                return Err(DriveError::Failed(format!(
                    "the web server `{} -m http.server` does not respond",
                    options.python.display()
                )));
            }
            std::thread::sleep(Time::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Downloads the file; how long it was, and its SHA-256.
fn get(
    mut stream: &Stream,
    of: Bytes,
    report: &mut dyn FnMut(Bytes) -> Result<(), DriveError>,
) -> Result<(Bytes, String), DriveError> {
    const EVERY: Time = Time::from_millis(100);
    let request = format!("GET /0 HTTP/1.0\r\nHost: {}\r\n\r\n", Lab::KERNEL);
    stream.write_all(request.as_bytes()).map_err(DriveError::system("send the request"))?;
    stream.set_read_timeout(Some(EVERY));
    let (mut head, mut hash, mut received) = (Some(Vec::new()), Sha256::new(), 0);
    let mut buffer = vec![0; 1 << 16];
    let mut reported = Now::now();
    report(0)?;
    loop {
        let n = match stream.read(&mut buffer) {
            Ok(0) => return Ok((received, hex(&hash.finalize()))),
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => return Err(DriveError::System("download the file", e)),
        };
        let mut body = &buffer[..n];
        if let Some(before) = &mut head {
            before.extend_from_slice(body);
            let Some(end) = before.windows(4).position(|w| w == b"\r\n\r\n") else {
                if before.len() > MAX_HEAD {
                    return Err(DriveError::Failed(
                        "the web server's response has no end of its header".into(),
                    ));
                }
                report(0)?;
                continue;
            };
            check_status(&before[..end])?;
            // The rest of the block just read is the body.
            body = &body[n - (before.len() - end - 4)..];
            head = None;
        }
        hash.update(body);
        received += body.len() as u64;
        if received >= of {
            return Ok((received, hex(&hash.finalize())));
        }
        if reported.elapsed() >= EVERY {
            reported = Now::now();
            report(received)?;
        }
    }
}

fn check_status(head: &[u8]) -> Result<(), DriveError> {
    let line = String::from_utf8_lossy(head.split(|b| *b == b'\r').next().unwrap_or_default()).into_owned();
    match line.split_ascii_whitespace().nth(1) {
        Some("200") => Ok(()),
        _ => Err(DriveError::Failed(format!("the web server responded with `{line}` instead of 200"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_status_200_is_accepted() {
        assert!(check_status(b"HTTP/1.0 200 OK\r\nServer: x").is_ok());
        let e = check_status(b"HTTP/1.0 404 File not found\r\n").unwrap_err().to_string();
        assert!(e.contains("404"), "{e}");
        assert!(check_status(b"").is_err() && check_status(&[0xff; 10]).is_err());
    }

    #[test]
    fn a_loss_outside_0_to_1_is_refused() {
        assert!(random_loss(0.5).is_ok());
        for p in [-0.1, 1.1, f64::NAN] {
            assert!(random_loss(p).is_err(), "{p}");
        }
    }
}
