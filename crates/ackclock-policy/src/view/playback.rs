//! What a player of a video has shown.

use ackclock_units::{Bytes, Count, Duration, since};

/// The counters of a player.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Playback {
    /// From the first request until playing began; `None` while it has not.
    pub startup_delay: Option<Duration>,
    /// Interruptions after playing began: the buffer was empty and more was to come.
    pub stalls: u32,
    /// Time in them.
    pub stalled: Duration,
    /// Time of playing.
    pub played: Duration,
    /// Chunks downloaded.
    pub chunks: u32,
    /// Their time of playing.
    pub downloaded: Duration,
    /// Their bytes.
    pub bytes: Bytes,
    /// Changes of the bitrate from one chunk to the next.
    pub switches: u32,
    /// Downloaded and not played yet.
    pub buffer: Duration,
}

impl Count for Playback {
    fn since(&self, before: &Self) -> Self {
        since!(Self { self, before }
            counted { stalls, stalled, played, chunks, downloaded, bytes, switches }
            kept { startup_delay, buffer }
            set {}
        )
    }
}
