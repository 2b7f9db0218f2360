//! Lines that count only where a word is defined: `#ifdef FreeBSD` to `#endif`.

use super::define::opaque;

/// What is wrong with such lines: where, and what was expected there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Misplaced {
    /// A byte of the text.
    pub at: usize,
    /// What was expected.
    pub expected: &'static str,
}

/// The text with blanks in place of directives, and of lines whose word is not `defined`: what is left keeps its
/// line and column. A directive is alone on its line. Parts do not hold others, as in FreeBSD's packetdrill.
///
/// # Errors
///
/// The first directive that has no counterpart, or no word.
pub(crate) fn chosen(text: &str, defined: impl Fn(&str) -> bool) -> Result<String, Misplaced> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    // Where the part began that is open, and whether its lines count.
    let mut part: Option<(usize, bool)> = None;
    // Only blanks since the line began.
    let mut fresh = true;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let skips = matches!(part, Some((_, false)));
        if fresh && first == '#' {
            let line = rest.lines().next().unwrap_or_default();
            part = directive(line, at, part, &defined)?;
            blank(line, &mut out);
            at += line.len();
            continue;
        }
        let len = match opaque(rest).filter(|_| !skips) {
            Some(len) => len,
            None => first.len_utf8(),
        };
        let piece = &rest[..len];
        fresh = piece.ends_with('\n') || fresh && piece.chars().all(char::is_whitespace);
        if skips {
            blank(piece, &mut out)
        } else {
            out.push_str(piece)
        }
        at += len;
    }
    match part {
        Some((at, _)) => Err(Misplaced { at, expected: "#endif after this #ifdef" }),
        None => Ok(out),
    }
}

/// What is open after a directive.
fn directive(
    line: &str,
    at: usize,
    open: Option<(usize, bool)>,
    defined: &impl Fn(&str) -> bool,
) -> Result<Option<(usize, bool)>, Misplaced> {
    let wrong = |expected| Err(Misplaced { at, expected });
    let line = line.split("//").next().unwrap_or_default();
    let mut words = line.split_whitespace();
    match (words.next(), words.next(), words.next(), open) {
        (Some("#ifdef"), Some(name), None, None) if is_name(name) => Ok(Some((at, defined(name)))),
        (Some("#ifdef"), Some(name), None, Some(_)) if is_name(name) => wrong("#endif before another #ifdef"),
        (Some("#ifdef"), ..) => wrong("one name behind #ifdef"),
        (Some("#endif"), None, None, Some(_)) => Ok(None),
        (Some("#endif"), None, None, None) => wrong("#ifdef before #endif"),
        (Some("#endif"), ..) => wrong("nothing behind #endif"),
        // Text that does not count may begin with anything.
        (_, _, _, Some((from, false))) => Ok(Some((from, false))),
        _ => wrong("#ifdef NAME or #endif"),
    }
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// As many blanks as there are bytes, with the ends of lines.
fn blank(piece: &str, out: &mut String) {
    out.extend(piece.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<String, (usize, &'static str)> {
        chosen(text, |name| name == "FreeBSD").map_err(|wrong| (wrong.at, wrong.expected))
    }

    #[test]
    fn lines_of_words_that_are_not_defined_become_blank() {
        let text = "a\n#ifdef Linux\nb `\n #endif\n#ifdef FreeBSD // here\nc\n#endif\nd";
        let kept = "a\n            \n   \n       \n                      \nc\n      \nd";
        assert_eq!(of(text).unwrap(), kept);
    }

    #[test]
    fn comments_commands_and_assertions_may_hold_what_looks_like_one() {
        let text = "/*\n#ifdef X\n*/ `echo 1\n# endif` %{\n# comment\n}% // #ifdef";
        assert_eq!(of(text).unwrap(), text);
    }

    #[test]
    fn errors_name_the_directive() {
        assert_eq!(of("a\n#ifdef X\nb").unwrap_err(), (2, "#endif after this #ifdef"));
        assert_eq!(of("#ifdef X\n#ifdef Y\n#endif").unwrap_err(), (9, "#endif before another #ifdef"));
        assert_eq!(of("a\n #endif").unwrap_err(), (3, "#ifdef before #endif"));
        assert_eq!(of("#ifdef").unwrap_err(), (0, "one name behind #ifdef"));
        assert_eq!(of("#ifdef X\n#endif X").unwrap_err(), (9, "nothing behind #endif"));
        assert_eq!(of("#else").unwrap_err(), (0, "#ifdef NAME or #endif"));
    }
}
