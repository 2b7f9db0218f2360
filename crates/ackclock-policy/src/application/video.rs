use ackclock_units::{Bytes, Duration, Instant, Rate, Rng};

use super::exchange::{Exchange, Step};
use super::player::Player;
use crate::{AppIo, Application, Entry, Param, Playback, Policy, Request, Requests, Wake};

#[derive(Debug)]
struct Video {
    exchange: Exchange,
    player: Player,
    ladder: Ladder,
    /// Position in the ladder of the latest chunk.
    level: Option<usize>,
    stage: Stage,
    request: Bytes,
}

#[derive(Debug)]
enum Stage {
    /// Until the buffer has room for a chunk.
    Pausing(Instant),
    /// A chunk of so many bytes is under way; true if its bitrate is not that of the one before.
    Downloading(Bytes, bool),
}

/// The bitrates, and the choice between them by the buffer: BBA-0.
#[derive(Debug)]
struct Ladder {
    /// Ascending, bit/s.
    bitrates: Vec<u64>,
    reservoir: Duration,
    cushion: Duration,
}

impl Ladder {
    /// Geometric steps.
    fn steps(lowest: u64, highest: u64, levels: u64) -> Vec<u64> {
        let ratio = highest.max(lowest) as f64 / lowest.max(1) as f64;
        let step = |i: u64| i as f64 / (levels - 1).max(1) as f64;
        (0..levels).map(|i| (lowest as f64 * libm::pow(ratio, step(i)) + 0.5) as u64).collect()
    }

    /// The level of the next chunk (Huang et al., SIGCOMM 2014, section 4, Algorithm 1), by the level of the
    /// one before and the buffer. The first chunk has the lowest bitrate, since the buffer is empty.
    fn next(&self, previous: Option<usize>, buffer: Duration) -> usize {
        let (top, Some(previous)) = (self.bitrates.len() - 1, previous) else { return 0 };
        if buffer <= self.reservoir {
            return 0;
        }
        if buffer >= self.reservoir + self.cushion {
            return top;
        }
        // The rate map f: linear over the cushion.
        let share = (buffer - self.reservoir).as_secs_f64() / self.cushion.as_secs_f64();
        let (lowest, highest) = (self.bitrates[0] as f64, self.bitrates[top] as f64);
        let mapped = lowest + share * (highest - lowest);
        let (up, down) = ((previous + 1).min(top), previous.saturating_sub(1));
        if mapped >= self.bitrates[up] as f64 {
            // The largest rate below f.
            self.bitrates.partition_point(|r| (*r as f64) < mapped).saturating_sub(1)
        } else if mapped <= self.bitrates[down] as f64 {
            // The smallest rate above f.
            self.bitrates.partition_point(|r| (*r as f64) <= mapped).min(top)
        } else {
            previous
        }
    }
}

impl Policy for Video {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Application for Video {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        loop {
            match self.stage {
                Stage::Pausing(until) if now < until => return Wake::At(until),
                Stage::Pausing(_) => {
                    let level = self.ladder.next(self.level, self.player.on_request(now));
                    let bitrate = Rate::from_bits_per_sec(self.ladder.bitrates[level]);
                    let response = bitrate.bytes_in(self.player.chunk()).max(1);
                    self.exchange.begin(now, Request { bytes: self.request, response });
                    let switched = self.level.is_some_and(|before| before != level);
                    self.level = Some(level);
                    self.stage = Stage::Downloading(response, switched);
                }
                Stage::Downloading(bytes, switched) => match self.exchange.step(io) {
                    Step::Waits(wake) => return wake,
                    Step::Complete => {
                        self.player.on_chunk(now, bytes, switched);
                        if self.player.is_complete() {
                            io.close();
                            return Wake::Done;
                        }
                        self.stage = Stage::Pausing(self.player.has_room_at(now));
                    }
                    Step::Broken => {
                        io.close();
                        return Wake::Done;
                    }
                },
            }
        }
    }

    fn requests(&self) -> Option<Requests> {
        Some(self.exchange.requests())
    }

    fn playback(&self, now: Instant) -> Option<Playback> {
        Some(self.player.counters(now))
    }

    fn held_bytes(&self) -> u64 {
        (self.ladder.bitrates.capacity() * size_of::<u64>()) as u64
    }
}

const DAY: Duration = Duration::from_secs(86_400);
const SHORTEST: Duration = Duration::from_millis(1);

/// A player of a video in chunks.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "video",
    about: "Downloads a video chunk by chunk on one connection into a buffer, plays from it, and chooses the \
            bitrate of each chunk by the buffer (BBA-0): lowest up to the reservoir, highest above the \
            cushion, linear between, changed only when the next bitrate is reached. The client of `serve`. \
            The table `playback` has its stalls, start-up delay and bitrate.",
    source: "Huang et al., SIGCOMM 2014, section 4 and Algorithm 1 (BBA-0: 240 s of buffer, 90 s of \
             reservoir, 126 s of cushion, chunks of 4 s; 235 kb/s to 5 Mb/s); the steps of the ladder, \
             geometric, and when playing begins are our choice",
    params: &[
        Param::duration("chunk", Duration::from_secs(4), SHORTEST..=DAY, "time of playing of a chunk"),
        Param::duration(
            "length",
            Duration::from_secs(600),
            SHORTEST..=DAY,
            "time of playing of the video, rounded up to whole chunks",
        ),
        Param::rate(
            "bitrate",
            Rate::from_bits_per_sec(235_000),
            Rate::from_bits_per_sec(1000)..=Rate::from_bits_per_sec(1_000_000_000_000),
            "lowest bitrate",
        ),
        Param::rate(
            "bitrate_max",
            Rate::from_bits_per_sec(5_000_000),
            Rate::from_bits_per_sec(1000)..=Rate::from_bits_per_sec(1_000_000_000_000),
            "highest bitrate; no less than `bitrate`",
        ),
        Param::count(
            "levels",
            8,
            1..=64,
            "number of bitrates, in geometric steps; 1 for the constant `bitrate`",
        ),
        Param::duration(
            "buffer",
            Duration::from_secs(240),
            SHORTEST..=DAY,
            "the most that the buffer holds, time of playing; at least a chunk",
        ),
        Param::duration(
            "reservoir",
            Duration::from_secs(90),
            Duration::ZERO..=DAY,
            "buffer up to which the lowest bitrate is chosen",
        ),
        Param::duration(
            "cushion",
            Duration::from_secs(126),
            Duration::ZERO..=DAY,
            "buffer above the reservoir over which the bitrate rises to the highest",
        ),
        Param::duration(
            "startup",
            Duration::from_secs(4),
            Duration::ZERO..=DAY,
            "buffer at which playing begins",
        ),
        Param::duration(
            "resume",
            Duration::from_secs(4),
            Duration::ZERO..=DAY,
            "buffer at which playing goes on after a stall",
        ),
        Param::bytes("request", 300, 1..=1 << 30, "size of a request"),
    ],
    build: |p| {
        let (lowest, highest) = (p.rate("bitrate").bits_per_sec(), p.rate("bitrate_max").bits_per_sec());
        Box::new(Video {
            exchange: Exchange::new(),
            player: Player::new(p),
            ladder: Ladder {
                bitrates: Ladder::steps(lowest, highest, p.count("levels")),
                reservoir: p.duration("reservoir"),
                cushion: p.duration("cushion"),
            },
            level: None,
            stage: Stage::Pausing(Instant::ZERO),
            request: p.bytes("request"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    #[test]
    fn bba0_follows_its_rate_map() {
        // Huang et al., section 4: 90 s of reservoir, 126 s of cushion. With rates of 1, 2, 4 and 8 Mb/s the
        // map rises by 7 Mb/s over 126 s, 1 Mb/s in 18 s.
        let ladder = Ladder {
            bitrates: vec![1_000_000, 2_000_000, 4_000_000, 8_000_000],
            reservoir: secs(90),
            cushion: secs(126),
        };
        let steps = [
            (None, 200, 0),
            (Some(3), 90, 0),
            (Some(0), 216, 3),
            // f = 1 + 17/18: below the next rate.
            (Some(0), 107, 0),
            // f = 2: Rate+ is reached; the largest rate below f is still the first.
            (Some(0), 108, 0),
            (Some(0), 109, 1),
            // f = 4.06: the largest rate below it, two steps up.
            (Some(0), 145, 2),
            // f = 2.5 lies between the neighbours of the present rate.
            (Some(1), 117, 1),
            (Some(2), 117, 2),
            // f = 2: Rate- is reached; the smallest rate above f.
            (Some(2), 108, 2),
            (Some(2), 107, 1),
            (Some(3), 109, 2),
            (Some(3), 215, 3),
        ];
        for (previous, buffer, expected) in steps {
            assert_eq!(ladder.next(previous, secs(buffer)), expected, "{previous:?} at {buffer} s");
        }
        // Without a cushion the map is a step, and nothing is divided by it.
        let step = Ladder { cushion: secs(0), ..ladder };
        assert_eq!((step.next(Some(0), secs(90)), step.next(Some(0), secs(91))), (0, 3));
    }

    #[test]
    fn a_ladder_has_geometric_steps_between_its_ends() {
        assert_eq!(Ladder::steps(1000, 8000, 4), [1000, 2000, 4000, 8000]);
        assert_eq!(Ladder::steps(1000, 8000, 1), [1000]);
        assert_eq!(Ladder::steps(1000, 10, 2), [1000, 1000]);
    }
}
