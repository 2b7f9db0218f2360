//! A value that changes over time: in steps or linearly, once or repeated.

/// A value over time. Times are nanoseconds since the beginning of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct Track {
    /// In order; the first is 0. Of several points of one time the last applies from then on.
    times: Box<[u64]>,
    values: Box<[u64]>,
    linear: bool,
    /// Length of a period; `None` to keep the last value.
    period: Option<u64>,
}

/// A moment within a track.
#[derive(Clone, Copy)]
pub(super) struct Position {
    /// Periods before it.
    pub(super) round: u64,
    /// Number of the segment, which begins with the point of that number.
    pub(super) segment: usize,
    /// Time since the segment began.
    pub(super) since: u64,
}

impl Track {
    /// A track through `(time, value)`, in order of time, `before` being the value until the first of them if
    /// that is later than 0. `linear` interpolates between points; otherwise the value changes in steps.
    /// `None` without points, or when `period` is 0 or shorter than the points.
    pub fn new(
        points: impl IntoIterator<Item = (u64, u64)>,
        before: u64,
        linear: bool,
        period: Option<u64>,
    ) -> Option<Self> {
        let (mut times, mut values): (Vec<u64>, Vec<u64>) = points.into_iter().unzip();
        if *times.first()? > 0 {
            times.insert(0, 0);
            values.insert(0, before);
        }
        let ordered = times.is_sorted() && period.is_none_or(|p| p > 0 && times.last() <= Some(&p));
        ordered.then(|| Self { times: times.into(), values: values.into(), linear, period })
    }

    pub(super) fn segments(&self) -> usize {
        self.times.len()
    }

    pub(super) fn period(&self) -> Option<u64> {
        self.period
    }

    pub(super) fn begins(&self, segment: usize) -> u64 {
        self.times[segment]
    }

    /// Length of a segment; `None` for the last one of a track that does not repeat.
    pub(super) fn length(&self, segment: usize) -> Option<u64> {
        let end = self.times.get(segment + 1).copied().or(self.period);
        end.map(|end| end - self.times[segment])
    }

    /// The values at the beginning and at the end of a segment.
    pub(super) fn ends(&self, segment: usize) -> (u64, u64) {
        let first = self.values[segment];
        let last = self.values.get(segment + 1).filter(|_| self.linear);
        (first, last.copied().unwrap_or(first))
    }

    pub(super) fn position(&self, at: u64) -> Position {
        let (round, at) = self.period.map_or((0, at), |p| (at / p, at % p));
        // The first point is at 0.
        let segment = self.times.partition_point(|t| *t <= at) - 1;
        Position { round, segment, since: at - self.times[segment] }
    }

    /// The value at `at`.
    pub(super) fn value(&self, at: u64) -> u64 {
        let Position { segment, since, .. } = self.position(at);
        let (first, last) = self.ends(segment);
        match self.length(segment) {
            Some(length) if first != last => {
                let change = (i128::from(last) - i128::from(first)) * i128::from(since) / i128::from(length);
                (i128::from(first) + change) as u64
            }
            _ => first,
        }
    }
}
