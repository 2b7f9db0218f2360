//! Captures of a port's packets.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use ackclock_trace::Pcapng;
use ackclock_units::Duration;

use crate::{Clock, DriveError};

/// A pcapng file of the packets that pass one or more ports, with nanosecond timestamps.
#[derive(Clone, Debug)]
pub struct Capture {
    state: Arc<Mutex<State>>,
    clock: Clock,
    path: PathBuf,
}

#[derive(Debug)]
struct State {
    /// `None` once finished.
    file: Option<Pcapng<BufWriter<File>>>,
    /// The first failure; nothing is written after it.
    failure: Option<io::Error>,
}

impl Capture {
    /// Creates the file, or truncates an existing one.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, clock: Clock) -> Result<Self, DriveError> {
        let failed = |e: io::Error| {
            DriveError::Input(format!("cannot create the capture file {}: {e}", path.display()))
        };
        let epoch = Duration::from_nanos(clock.unix_nanos(ackclock_units::Instant::ZERO));
        let file = Pcapng::new(BufWriter::with_capacity(1 << 18, File::create(path).map_err(failed)?), epoch)
            .map_err(failed)?;
        Ok(Self {
            state: Arc::new(Mutex::new(State { file: Some(file), failure: None })),
            clock,
            path: path.to_owned(),
        })
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Flushes and closes the file. Packets that pass later are not recorded.
    ///
    /// # Errors
    /// The first failure to write.
    pub fn finish(&self) -> Result<(), DriveError> {
        let mut state = self.lock();
        let flushed = state.file.take().map_or(Ok(()), |f| f.finish().map(drop));
        state.failure.take().map_or(flushed, Err).map_err(DriveError::system("write a capture file"))
    }

    pub(super) fn tap(&self, name: &str) -> Result<Tap, DriveError> {
        let mut state = self.lock();
        let interface = state
            .file
            .as_mut()
            .map_or(Ok(0), |f| f.interface(name, None))
            .map_err(DriveError::system("write a capture file"))?;
        drop(state);
        Ok(Tap { capture: self.clone(), interface })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// A port's interface of a capture.
#[derive(Debug)]
pub(super) struct Tap {
    capture: Capture,
    interface: u32,
}

impl Tap {
    pub(super) fn record(&self, packet: &[u8]) {
        let mut state = self.capture.lock();
        // Read under the lock, so that timestamps in the file are monotonic.
        let now = self.capture.clock.now();
        if let Some(file) = &mut state.file
            && let Err(e) = file.packet(self.interface, now, packet, packet.len() as u32, None)
        {
            state.file = None;
            state.failure = Some(e);
        }
    }
}
