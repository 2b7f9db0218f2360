//! Lines and columns of a text.

/// Where the lines of a text begin.
#[derive(Debug)]
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { text, starts }
    }

    /// Line and column of a byte, both from 1; a column counts characters.
    pub(crate) fn of(&self, at: usize) -> (u32, u32) {
        let line = self.starts.partition_point(|start| *start <= at) - 1;
        let column = self.text.get(self.starts[line]..at).map_or(0, |before| before.chars().count());
        (line as u32 + 1, column as u32 + 1)
    }

    /// The text from one byte to another on one line, without comments behind it.
    pub(crate) fn on_one_line(&self, from: usize, to: usize) -> String {
        let text = self.text.get(from..to).unwrap_or_default();
        let lines = text.lines().map(|line| {
            // A comment begins where nothing is quoted.
            let comment = line.match_indices("//").find(|(at, _)| line[..*at].matches('"').count() % 2 == 0);
            comment.map_or(line, |(at, _)| &line[..at])
        });
        lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
    }
}
