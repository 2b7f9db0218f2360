//! Records: ends of writes over which no segment reaches.

use std::collections::VecDeque;

use super::Connection;

/// Ends of records, as positions in the stream, ascending. One for each record that is not sent.
#[derive(Debug, Default)]
pub(super) struct Records(VecDeque<u64>);

impl Connection {
    /// What was written so far ends a record (`MSG_EOR`): no segment holds bytes from before and after it.
    /// The standard lets a sender cut the stream as it likes (RFC 9293 §3.8). Does nothing while nothing is
    /// unsent.
    pub fn end_record(&mut self) {
        if self.unsent() == 0 {
            return;
        }
        let end = self.send.end();
        let records = self.rare.make_mut().records.get_or_insert_default();
        if records.0.back() != Some(&end) {
            records.0.push_back(end);
        }
    }

    /// How much of `most` bytes a segment of new data takes that begins at stream position `from`: no more
    /// than to the end of its record, unless nothing follows it.
    #[cold]
    pub(super) fn within_record(&mut self, from: u64, most: u32) -> u32 {
        let written = self.send.end();
        let Some(records) = self.rare.part_mut(|r| r.records.as_deref_mut()) else { return most };
        while records.0.front().is_some_and(|end| *end <= from) {
            records.0.pop_front();
        }
        let next = records.0.front().filter(|end| **end < written);
        next.map_or(most, |end| most.min(u32::try_from(end - from).unwrap_or(u32::MAX)))
    }
}
