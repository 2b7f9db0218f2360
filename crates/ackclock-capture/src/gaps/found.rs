//! What the second rule found, and what remains of it at the end of the capture.

use super::{Gap, Gaps, Signs};

/// A silence that the second rule found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub gap: Gap,
    /// It may have been a tail loss probe that ended it.
    pub maybe_probe: bool,
    /// Skipped identifications are the only evidence for it.
    pub by_number: bool,
}

impl Gaps {
    /// Silences that skipped identifications end: what their sender sent meanwhile was lost before the capture.
    pub(crate) fn lost_by_number(&self) -> usize {
        if !self.numbering.counts_alone() {
            return 0;
        }
        self.content.iter().filter(|f| f.by_number).count()
    }

    /// The final result of the second rule. `host` are the signs from all silences of its host; `probing`
    /// whether the host is known by other means to send tail loss probes or not; `others` what the other
    /// hosts of the capture do, which are often of the same kind; `numbered` whether it numbers its packets,
    /// as Linux does, which probes by default.
    pub(crate) fn by_content(
        &self,
        host: Signs,
        probing: Option<bool>,
        others: Option<bool>,
        numbered: bool,
    ) -> Vec<Gap> {
        // What is known by other means weighs more than one sign and less than two.
        let (mut signs, otherwise) = (host, probing.or(others));
        otherwise.into_iter().for_each(|probes| signs.note(probes, 3));
        let probes = signs.verdict().or(otherwise).unwrap_or(numbered);
        let alone = self.numbering.counts_alone();
        let mut none = 0;
        let mut found = Vec::new();
        for f in &self.content {
            // Silences that are dropped do not count in the rounds of those after them.
            none = if f.gap.round == 1 { 0 } else { none };
            if f.by_number && !alone {
                none += 1;
            } else if !(probes && f.maybe_probe) {
                found.push(Gap { round: f.gap.round - none.min(f.gap.round - 1), ..f.gap });
            }
        }
        found
    }
}
