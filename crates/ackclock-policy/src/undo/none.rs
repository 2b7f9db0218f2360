use crate::{
    AckInfo, Entry, Policy, ScoreboardView, SenderView, SpuriousTimeout, SuspectTimeout, TimeoutVerdict,
    Window,
};

/// No detection: every timeout counts as a loss.
#[derive(Debug)]
struct Never;

impl Policy for Never {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SpuriousTimeout for Never {
    fn on_rto(&mut self, _v: &SenderView) -> bool {
        false
    }

    fn on_ack(
        &mut self,
        _a: &AckInfo,
        _t: &SuspectTimeout,
        _b: &dyn ScoreboardView,
        _v: &SenderView,
    ) -> TimeoutVerdict {
        TimeoutVerdict::Genuine
    }

    fn resume(&mut self, _a: &AckInfo, _t: &SuspectTimeout, v: &SenderView) -> Window {
        v.window
    }
}

/// No undo.
pub(crate) const ENTRY: Entry<dyn SpuriousTimeout> = Entry {
    name: "none",
    about: "No detection: treats every timeout as a loss.",
    source: "RFC 5681 3.1",
    params: &[],
    build: |_| Box::new(Never),
};
