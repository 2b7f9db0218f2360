//! Whether a sender sends tail loss probes, as seen by its receivers.

/// Signs from silences for and against their sender sending tail loss probes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    pub(super) probes: u32,
    pub(super) none: u32,
}

impl Signs {
    pub(super) fn note(&mut self, probes: bool, weight: u32) {
        let count = if probes { &mut self.probes } else { &mut self.none };
        *count = count.saturating_add(weight);
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.note(true, other.probes);
        self.note(false, other.none);
    }

    /// Whether it probes; `None` unless one side clearly prevails.
    pub(crate) fn verdict(self) -> Option<bool> {
        let (more, less) = (self.probes.max(self.none), self.probes.min(self.none));
        (more > 2 * less).then_some(self.probes > self.none)
    }
}
