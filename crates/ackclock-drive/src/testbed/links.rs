//! The links of a run: their rows at the moments that tables need.

use std::sync::{Arc, Mutex, PoisonError};

use ackclock_sim::scenario::{RealLink, Resolved};
use ackclock_sim::{LinkCounters, LinkLabels, Met, row_since};
use ackclock_trace::{Label, LinkRow, LinkSeriesRow};
use ackclock_units::{Duration, Instant};

use crate::emulator::{Lane, Watch};

/// Rows of links.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// At the moment from which on tables count, and at the end of `duration`.
    pub(super) warm: Vec<LinkRow>,
    pub(super) end: Vec<LinkRow>,
    /// At the end of the run.
    pub(super) last: Vec<LinkRow>,
    /// Over time.
    pub(super) series: Vec<LinkSeriesRow>,
    /// What the packets of each stream have met, from the moment that counts on.
    pub(super) met: Vec<Met>,
}

/// When links are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moments {
    pub(super) warmup: Instant,
    pub(super) duration: Instant,
    pub(super) last: Instant,
    pub(super) series: Option<Duration>,
}

/// Looks at the links of an emulator.
pub(super) struct Recorder {
    labels: Vec<LinkLabels>,
    moments: Moments,
    /// Moments passed of the three, and those of which what streams have met is known.
    passed: usize,
    met: usize,
    series_at: Instant,
    before: Vec<LinkCounters>,
    rows: Arc<Mutex<Rows>>,
}

impl Recorder {
    /// For links with these labels; returns the rows, which fill during the run.
    pub(super) fn new(labels: Vec<LinkLabels>, moments: Moments) -> (Self, Arc<Mutex<Rows>>) {
        let rows = Arc::new(Mutex::new(Rows::default()));
        let before = vec![LinkCounters::default(); labels.len()];
        let recorder = Self {
            labels,
            moments,
            passed: 0,
            met: 0,
            series_at: Instant::ZERO,
            before,
            rows: Arc::clone(&rows),
        };
        (recorder, rows)
    }

    fn next_moment(&self) -> Option<Instant> {
        let Moments { warmup, duration, last, .. } = self.moments;
        [warmup, duration, last].get(self.passed).copied()
    }

    fn next_series(&self) -> Option<Instant> {
        self.moments.series.map(|interval| self.series_at + interval)
    }

    fn rows(&self, now: Instant, links: &mut [Lane]) -> Vec<LinkRow> {
        let all = links.iter_mut().zip(&self.labels);
        all.map(|(lane, labels)| lane.link.row(now, labels.clone(), lane.passed())).collect()
    }

    fn add_series(&mut self, now: Instant, links: &mut [Lane]) {
        let interval = now.since(self.series_at);
        let all = links.iter_mut().zip(&self.labels).zip(&mut self.before);
        let rows =
            all.map(|((lane, labels), before)| lane.link.series_row(now, labels.clone(), interval, before));
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).series.extend(rows);
        self.series_at = now;
    }
}

impl Watch for Recorder {
    fn next(&self) -> Option<Instant> {
        [self.next_moment(), self.next_series().filter(|at| *at <= self.moments.last)]
            .into_iter()
            .flatten()
            .min()
    }

    fn look(&mut self, now: Instant, links: &mut [Lane]) {
        if self.next_series().is_some_and(|at| at <= now) {
            self.add_series(now, links);
        }
        while self.next_moment().is_some_and(|at| at <= now) {
            let rows = self.rows(now, links);
            let mut kept = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            match self.passed {
                0 => {
                    kept.warm = rows;
                    for lane in links.iter_mut().filter(|_| now > Instant::ZERO) {
                        lane.link.forget_longest_queue(now);
                        lane.link.restart_sojourns(now);
                    }
                }
                1 => kept.end = rows,
                _ => kept.last = rows,
            }
            drop(kept);
            self.passed += 1;
        }
    }

    fn finish(&mut self, now: Instant, links: &mut [Lane]) {
        if self.passed > 2 {
            return;
        }
        if self.moments.series.is_some() && now > self.series_at {
            self.add_series(now, links);
        }
        let rows = self.rows(now, links);
        let mut kept = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last = rows;
        self.passed = 3;
    }

    fn look_at_streams(&mut self, met: &mut [Met]) {
        if self.met == self.passed {
            return;
        }
        if self.met == 0 && self.moments.warmup > Instant::ZERO {
            met.fill(Met::default());
        }
        if self.passed > 2 {
            self.rows.lock().unwrap_or_else(PoisonError::into_inner).met = met.to_vec();
        }
        self.met = self.passed;
    }
}

impl Rows {
    /// What the packets of a stream have met on so many links: drops, and how long they waited, which all links
    /// measure or none.
    pub(super) fn met(&self, stream: usize, links: usize) -> (u64, Option<[Duration; 2]>) {
        let met = self.met.get(stream).copied().unwrap_or_default();
        (met.dropped, met.waits(links as u64))
    }

    /// The table of links.
    pub(super) fn counted(&self, whole: bool) -> Vec<LinkRow> {
        if whole {
            return self.last.clone();
        }
        self.last.iter().zip(&self.warm).map(|(row, before)| row_since(row, before)).collect()
    }
}

/// What names the links of a run.
pub(super) fn labels(run: &Label, scenario: &Resolved, links: &[RealLink]) -> Vec<LinkLabels> {
    let node = |i: usize| Label::from(scenario.path.nodes[i].as_str());
    let one = |(i, link): (usize, &RealLink)| LinkLabels {
        run: run.clone(),
        stack: "".into(),
        link: i as u32,
        name: link.name.as_str().into(),
        from: node(link.ends[0]),
        to: node(link.ends[1]),
    };
    links.iter().enumerate().map(one).collect()
}
