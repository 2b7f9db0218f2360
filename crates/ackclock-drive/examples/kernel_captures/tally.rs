//! Precision and recall of found events.

/// Largest difference between the kernel's and the capture's time of the same event: the time for which the
/// emulator's thread waited for the processor, which is long on a busy machine. Timeouts of one connection
/// are farther apart.
pub const SAME: u64 = 150_000_000;

/// Counts of found and real events, and of those in both.
#[derive(Clone, Copy, Default, Debug)]
pub struct Tally {
    pub found: u32,
    pub real: u32,
    pub both: u32,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        (self.found, self.real, self.both) =
            (self.found + other.found, self.real + other.real, self.both + other.both);
    }

    pub fn exact(&self) -> bool {
        self.found == self.both && self.real == self.both
    }

    pub fn words(&self) -> String {
        let part = |n: u32| if n == 0 { 1.0 } else { f64::from(self.both) / f64::from(n) };
        format!(
            "{} real, {} found, {} both: precision {:.3} recall {:.3}",
            self.real,
            self.found,
            self.both,
            part(self.found),
            part(self.real)
        )
    }
}

/// Matches times within `within`, each once. Returns the counts, the unmatched found times and the unmatched
/// real times.
pub fn pair(found: &[u64], real: &[u64], within: u64) -> (Tally, Vec<u64>, Vec<u64>) {
    let mut left: Vec<u64> = real.to_vec();
    let mut extra = Vec::new();
    for f in found {
        match left.iter().enumerate().map(|(i, r)| (r.abs_diff(*f), i)).min().filter(|(d, _)| *d <= within) {
            Some((_, i)) => drop(left.remove(i)),
            None => extra.push(*f),
        }
    }
    let both = (found.len() - extra.len()) as u32;
    (Tally { found: found.len() as u32, real: real.len() as u32, both }, extra, left)
}
