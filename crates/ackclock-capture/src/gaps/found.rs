//! What the second rule found, and what is left of it when all is known.

use super::{Gap, Gaps, Signs};

/// A silence that the second rule found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub gap: Gap,
    /// It may have been a tail loss probe that ended it.
    pub maybe_probe: bool,
    /// Numbers that were left out are all that tells of it.
    pub by_number: bool,
}

impl Gaps {
    /// What the second rule says in the end. `host` is what all silences of its host tell; `probing` whether
    /// that is known otherwise to send tail loss probes, or not to; `others` what the other hosts of the
    /// capture do, which are often of one make; `numbered` whether it numbers its packets, as Linux does,
    /// which probes unless that is switched off.
    pub(crate) fn by_content(
        &self,
        host: Signs,
        probing: Option<bool>,
        others: Option<bool>,
        numbered: bool,
    ) -> Vec<Gap> {
        // What is known otherwise weighs more than one sign, and less than two.
        let (mut signs, otherwise) = (host, probing.or(others));
        otherwise.into_iter().for_each(|probes| signs.note(probes, 3));
        let probes = signs.verdict().or(otherwise).unwrap_or(numbered);
        let alone = self.numbering.counts_alone();
        let mut none = 0;
        let mut found = Vec::new();
        for f in &self.content {
            // Those that are none count for no round of those behind them.
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
