//! Looks at both links every second, and at the end.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use ackclock_sim::{LinkCounters, LinkLabels};
use ackclock_trace::{LinkRow, LinkSeriesRow};
use ackclock_units::{Duration, Instant};

use crate::emulator::{Lane, Watch};
use crate::linux::wait::Waker;

/// How far a run has come.
#[derive(Clone, Debug)]
pub enum LinkProgress {
    /// The link is there, and the command begins.
    Begins,
    /// A second has passed.
    Second(Box<LinkSample>),
}

/// What passed in the last second: from the command, and to it.
#[derive(Clone, Debug)]
pub struct LinkSample {
    /// From the command.
    pub up: LinkSeriesRow,
    /// To the command.
    pub down: LinkSeriesRow,
}

/// Interval between samples.
const EVERY: Duration = Duration::from_secs(1);

/// The rows of both links at the end.
pub(super) type LastRows = Arc<Mutex<Vec<LinkRow>>>;

/// Looks at both links.
pub(super) struct Looker {
    at: Instant,
    before: Vec<LinkCounters>,
    /// `None` if nobody looks on.
    samples: Option<(Sender<LinkSample>, Arc<Waker>)>,
    last: LastRows,
}

impl Looker {
    /// A looker, its samples and its last rows. `waker` is woken for each sample; without one there are none.
    pub(super) fn new(waker: Option<Arc<Waker>>) -> (Self, Receiver<LinkSample>, LastRows) {
        let ((sender, samples), last) = (channel(), LastRows::default());
        let looker = Self {
            at: Instant::ZERO,
            before: vec![LinkCounters::default(); 2],
            samples: waker.map(|waker| (sender, waker)),
            last: Arc::clone(&last),
        };
        (looker, samples, last)
    }
}

impl Watch for Looker {
    fn next(&self) -> Option<Instant> {
        self.samples.is_some().then_some(self.at + EVERY)
    }

    fn look(&mut self, now: Instant, links: &mut [Lane]) {
        let interval = now.since(self.at);
        self.at = now;
        let rows = links.iter_mut().zip(labels()).zip(&mut self.before);
        let mut rows =
            rows.map(|((lane, labels), before)| lane.link.series_row(now, labels, interval, before));
        let (Some(up), Some(down)) = (rows.next(), rows.next()) else { return };
        drop(rows);
        if let Some((samples, waker)) = &self.samples
            && samples.send(LinkSample { up, down }).is_ok()
        {
            waker.wake();
        }
    }

    fn finish(&mut self, now: Instant, links: &mut [Lane]) {
        let rows = links.iter_mut().zip(labels());
        let rows = rows.map(|(lane, labels)| lane.link.row(now, labels, lane.passed())).collect();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = rows;
    }
}

/// The names of both links.
fn labels() -> [LinkLabels; 2] {
    let one = |link, name: &str, from: &str, to: &str| LinkLabels {
        run: "link".into(),
        stack: "".into(),
        link,
        name: name.into(),
        from: from.into(),
        to: to.into(),
    };
    [one(0, "up", "near", "far"), one(1, "down", "far", "near")]
}
