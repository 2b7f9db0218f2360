//! A bulk transfer between the TCPs of two kernels over an emulated path.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Time, Instant as Moment};

use ackclock_units::Duration;

use crate::{DriveError, EmulatorReport, Kernels};

/// A connection on which the near kernel sends as much as it can.
#[derive(Clone, Debug)]
pub struct KernelTransfer {
    /// Time for which it sends.
    pub duration: Duration,
    /// Parameters of both kernels, such as `net.ipv4.tcp_congestion_control`, set before the connection is
    /// opened.
    pub parameters: Vec<(String, String)>,
}

/// Counters of the near kernel and of the path.
#[derive(Debug)]
pub struct KernelTransferReport {
    /// Segments that it retransmitted (`RetransSegs`).
    pub retransmitted: u64,
    /// Retransmission timeouts (`TCPTimeouts`).
    pub timeouts: u64,
    /// Bytes that the far application has read.
    pub received: u64,
    /// Counters of the path.
    pub path: EmulatorReport,
}

const PORT: u16 = 5001;
/// Interval at which each side checks whether the run is over.
const POLL_INTERVAL: Time = Time::from_millis(100);
/// Time limit for opening the connection.
const CONNECT_TIMEOUT: Time = Time::from_secs(10);

impl KernelTransfer {
    /// Runs the transfer. `go_on` is called about ten times a second and can end it early.
    ///
    /// # Errors
    /// A parameter that a kernel refuses, or a system call that failed.
    pub fn run(
        &self,
        kernels: Kernels,
        go_on: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<KernelTransferReport, DriveError> {
        for (key, value) in &self.parameters {
            kernels.near.set_sysctl(key, value)?;
            kernels.far.set_sysctl(key, value)?;
        }
        let to = SocketAddr::new(Kernels::FAR, PORT);
        let failed = |what| DriveError::system(what);
        let listener = kernels.far.run(|| TcpListener::bind(to))?.map_err(failed("listen in a namespace"))?;
        let over = AtomicBool::new(false);
        let received = std::thread::scope(|scope| {
            let reader = scope.spawn(|| read(&listener, &over));
            let written = kernels
                .near
                .run(|| TcpStream::connect_timeout(&to, CONNECT_TIMEOUT))
                .and_then(|opened| opened.map_err(failed("open a connection in a namespace")))
                .and_then(|stream| {
                    self.write(&stream, go_on).map_err(failed("write to a connection in a namespace"))
                });
            over.store(true, Ordering::Relaxed);
            // If connecting failed, the reader still waits in `accept`: connect once so that it returns.
            let instead = written
                .is_err()
                .then(|| kernels.far.run(|| TcpStream::connect_timeout(&to, CONNECT_TIMEOUT)));
            let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            drop(instead);
            written.and(read.map_err(failed("read from a connection in a namespace")))
        })?;
        let (retransmitted, timeouts) =
            (kernels.near.tcp_counter("RetransSegs")?, kernels.near.tcp_counter("TCPTimeouts")?);
        Ok(KernelTransferReport { retransmitted, timeouts, received, path: kernels.emulator.stop() })
    }

    fn write(&self, mut stream: &TcpStream, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> io::Result<()> {
        stream.set_write_timeout(Some(POLL_INTERVAL))?;
        let block = vec![0; 1 << 16];
        let (began, lasts) = (Moment::now(), Time::from_nanos(self.duration.as_nanos()));
        let mut polled = began;
        while began.elapsed() < lasts {
            match stream.write(&block) {
                Ok(_) => {}
                Err(e) if is_transient(&e) => {}
                Err(e) => return Err(e),
            }
            if polled.elapsed() >= POLL_INTERVAL {
                polled = Moment::now();
                if go_on().is_break() {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Accepts one connection and reads from it until its end, or until the run is `over`.
fn read(listener: &TcpListener, over: &AtomicBool) -> io::Result<u64> {
    let (mut stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(POLL_INTERVAL))?;
    let (mut block, mut received) = (vec![0; 1 << 18], 0);
    while !over.load(Ordering::Relaxed) {
        match stream.read(&mut block) {
            Ok(0) => break,
            Ok(n) => received += n as u64,
            Err(e) if is_transient(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(received)
}

fn is_transient(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
