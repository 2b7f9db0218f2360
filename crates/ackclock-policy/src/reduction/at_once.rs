use ackclock_units::Bytes;

use crate::{AckInfo, Entry, Policy, Reduction, SenderView, Window};

/// The window is reduced at once, and the loss recovery decides how much is sent within it.
#[derive(Debug)]
struct AtOnce;

impl Policy for AtOnce {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl Reduction for AtOnce {
    fn begin(&mut self, _before: Window, _v: &SenderView) {}

    fn on_ack(&mut self, _a: &AckInfo, v: &SenderView) -> Bytes {
        v.room()
    }

    fn on_sent(&mut self, _bytes: u32, _smss: u32) {}

    fn is_default(&self) -> bool {
        true
    }
}

/// The reduction of the loss recovery itself.
pub(crate) const ENTRY: Entry<dyn Reduction> = Entry {
    name: "at-once",
    about: "The window is reduced at once; the loss recovery alone decides what is sent while the loss is \
            repaired.",
    source: "RFC 5681 3.2, RFC 6675 5",
    params: &[],
    build: |_| Box::new(AtOnce),
};
