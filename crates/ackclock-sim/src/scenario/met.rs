//! What errors show of the files that a scenario names.

/// Units of numbers in such files.
const UNITS: &[&str] = &[
    "", "ns", "us", "ms", "s", "min", "h", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "B", "kB", "MB", "GB", "%",
];

/// The value met in a file, as an error names it. Only a number is quoted, with its unit: an untrusted scenario
/// may name any file that it can reach, and whoever reads the error must not see its text.
pub(super) fn met(text: &str) -> String {
    let number = |unit: &&str| text.strip_suffix(*unit).is_some_and(|n| n.trim().parse::<f64>().is_ok());
    match text.chars().count() {
        0 => "empty".to_owned(),
        1..=30 if UNITS.iter().any(number) => format!("`{text}`"),
        1 => "text of 1 character".to_owned(),
        n => format!("text of {n} characters"),
    }
}

#[cfg(test)]
mod tests {
    use super::met;

    #[test]
    fn numbers_alone_are_quoted() {
        let cases = [
            ("-3", "`-3`"),
            ("1.5Mbit/s", "`1.5Mbit/s`"),
            ("1e9 ms", "`1e9 ms`"),
            ("NaN", "`NaN`"),
            ("", "empty"),
            ("x", "text of 1 character"),
            ("hunter2", "text of 7 characters"),
            ("12 hunter", "text of 9 characters"),
            ("0123456789012345678901234567890", "text of 31 characters"),
        ];
        for (text, expected) in cases {
            assert_eq!(met(text), expected);
        }
    }
}
