//! The buffer of a player of a video: what has been played, and the interruptions.

use ackclock_units::{Bytes, Duration, Instant};

use crate::{Params, Playback};

/// A player. Its buffer holds time of playing.
#[derive(Clone, Debug)]
pub(super) struct Player {
    chunk: Duration,
    /// The most that the buffer holds; at least a chunk.
    limit: Duration,
    /// Buffer at which playing begins.
    startup: Duration,
    /// Buffer at which playing goes on after a stall.
    resume: Duration,
    /// Chunks that are still to be downloaded.
    remaining: u64,
    state: State,
    /// When the first request was made.
    first: Option<Instant>,
    /// The moment of the counters.
    as_of: Instant,
    counters: Playback,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Starting,
    Playing,
    Stalled,
}

impl Player {
    /// Reads `chunk`, `length`, `buffer`, `startup` and `resume`.
    pub fn new(p: &Params) -> Self {
        let chunk = p.duration("chunk");
        Self {
            chunk,
            limit: p.duration("buffer").max(chunk),
            startup: p.duration("startup"),
            resume: p.duration("resume"),
            remaining: p.duration("length").as_nanos().div_ceil(chunk.as_nanos().max(1)),
            state: State::Starting,
            first: None,
            as_of: Instant::ZERO,
            counters: Playback::default(),
        }
    }

    /// Time of playing of a chunk.
    pub fn chunk(&self) -> Duration {
        self.chunk
    }

    /// True when everything was downloaded.
    pub fn is_complete(&self) -> bool {
        self.remaining == 0
    }

    /// Notes that a chunk is requested; returns the buffer.
    pub fn on_request(&mut self, now: Instant) -> Duration {
        self.first.get_or_insert(now);
        self.play_until(now);
        self.counters.buffer
    }

    /// When the buffer has room for a chunk.
    pub fn has_room_at(&mut self, now: Instant) -> Instant {
        self.play_until(now);
        now + (self.counters.buffer + self.chunk).saturating_sub(self.limit)
    }

    /// A chunk is complete. `switched`: its bitrate is not that of the one before.
    pub fn on_chunk(&mut self, now: Instant, bytes: Bytes, switched: bool) {
        self.play_until(now);
        self.remaining = self.remaining.saturating_sub(1);
        let c = &mut self.counters;
        c.buffer += self.chunk;
        c.chunks += 1;
        c.downloaded += self.chunk;
        c.bytes += bytes;
        c.switches += u32::from(switched);
        let enough = if self.state == State::Starting { self.startup } else { self.resume };
        let full = c.buffer + self.chunk > self.limit;
        if self.state != State::Playing && (c.buffer >= enough || full || self.remaining == 0) {
            if self.state == State::Starting {
                c.startup_delay = Some(now.since(self.first.unwrap_or(now)));
            }
            self.state = State::Playing;
        }
    }

    /// The counters as of `now`. What is in the buffer of a complete video counts as played, since nothing
    /// can interrupt it.
    pub fn counters(&self, now: Instant) -> Playback {
        let mut player = self.clone();
        player.play_until(now);
        let c = &mut player.counters;
        if player.remaining == 0 {
            c.played += std::mem::take(&mut c.buffer);
        }
        *c
    }

    fn play_until(&mut self, now: Instant) {
        let elapsed = now.since(self.as_of);
        self.as_of = now;
        let c = &mut self.counters;
        match self.state {
            State::Starting => {}
            State::Stalled => c.stalled += elapsed,
            State::Playing => {
                let played = elapsed.min(c.buffer);
                c.played += played;
                c.buffer = c.buffer - played;
                if elapsed > played && self.remaining > 0 {
                    c.stalls += 1;
                    c.stalled += elapsed - played;
                    self.state = State::Stalled;
                }
            }
        }
    }
}
