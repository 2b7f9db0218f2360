use ackclock_units::Bytes;

use crate::{AckInfo, Entry, Growth, Policy, SenderView, SlowStart};

/// Slow start until the threshold or a loss, the default of every sender.
#[derive(Clone, Copy, Debug)]
pub struct ClassicSlowStart;

impl Policy for ClassicSlowStart {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SlowStart for ClassicSlowStart {
    #[inline]
    fn on_ack(&mut self, _a: &AckInfo, most: Bytes, _v: &SenderView) -> Growth {
        Growth { bytes: most, exit: false }
    }

    fn is_default(&self) -> bool {
        true
    }
}

/// The standard.
pub(crate) const ENTRY: Entry<dyn SlowStart> = Entry {
    name: "classic",
    about: "Grows by what is acknowledged, up to one segment per ack or as the window's byte counting \
            allows, until the threshold or a loss.",
    source: "RFC 5681 3.1; Jacobson & Karels 1988 (J-A2)",
    params: &[],
    build: |_| Box::new(ClassicSlowStart),
};
