use ackclock_units::{Bytes, Duration, Instant, Rng};

use crate::{AppIo, Application, Entry, Param, Policy, Wake};

/// The longest time of a run, and more.
const LONGEST: Duration = Duration::from_secs(100_000_000);

#[derive(Debug)]
struct Bulk {
    /// Since the run began; `None` for never.
    stop: Option<Duration>,
    /// When the run began.
    began: Instant,
}

impl Policy for Bulk {
    fn name(&self) -> &str {
        "bulk"
    }
}

impl Application for Bulk {
    fn on_wake(&mut self, now: Instant, io: &mut dyn AppIo, _: &mut Rng) -> Wake {
        let Some(stop) = self.stop.map(|after| self.began + after) else {
            io.write(Bytes::MAX);
            return Wake::Writable;
        };
        if now >= stop {
            io.close();
            return Wake::Done;
        }
        io.write(Bytes::MAX);
        Wake::WritableOrAt(stop)
    }

    fn run_began(&mut self, at: Instant) {
        self.began = at;
    }
}

/// Endless data.
pub const ENTRY: Entry<dyn Application> = Entry {
    name: "bulk",
    about: "Always has data to send. Closes at `stop`, if that is given; what its send buffer holds then is \
            still sent.",
    source: "Mathis, Semke, Mahdavi & Ott 1997 (M-F2); Jacobson & Karels 1988 (J-F7); Mondal & Kuzmanovic \
             2008 (B-A11)",
    params: &[Param::duration(
        "stop",
        LONGEST,
        Duration::from_nanos(1)..=LONGEST,
        "when it stops writing and closes, since the run began; never by default",
    )],
    build: |p| {
        Box::new(Bulk { stop: Some(p.duration("stop")).filter(|stop| *stop < LONGEST), began: Instant::ZERO })
    },
};
