use crate::{Entry, Policy, SpuriousTimeout};

/// No detection: every timeout counts as a loss.
#[derive(Debug)]
struct Never;

impl Policy for Never {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SpuriousTimeout for Never {}

/// No undo.
pub(crate) const ENTRY: Entry<dyn SpuriousTimeout> = Entry {
    name: "none",
    about: "No detection: treats every timeout as a loss.",
    source: "RFC 5681 3.1",
    params: &[],
    build: |_| Box::new(Never),
};
