//! Segments that a window itself counts as application-limited.

use ackclock_units::Bytes;

/// MarkConnectionAppLimited() (draft-ietf-ccwg-bbr §4.1.2.4), from within a window that sends little on
/// purpose: what it delivers then says nothing about the path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limited {
    /// Counts of delivered bytes, first and last, at which segments are sent marked.
    marked: Option<(Bytes, Bytes)>,
}

impl Limited {
    /// What is sent from now on, with `delivered` bytes delivered, is marked until what is in flight now has
    /// been delivered too.
    pub fn mark(&mut self, delivered: Bytes, in_flight: Bytes) {
        let open = self.marked.filter(|(_, until)| delivered <= *until);
        self.marked = Some((open.map_or(delivered, |m| m.0), delivered.saturating_add(in_flight)));
    }

    /// True when a segment sent at this count of delivered bytes was marked.
    pub fn covers(&self, delivered: Bytes) -> bool {
        self.marked.is_some_and(|(from, until)| (from..=until).contains(&delivered))
    }
}
