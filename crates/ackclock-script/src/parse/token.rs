//! Words, numbers and blanks of the language.

use ackclock_units::Duration;
use winnow::ascii::{digit0, digit1, hex_digit1, multispace1};
use winnow::combinator::{alt, cut_err, delimited, opt, preceded, repeat, terminated};
use winnow::error::{ContextError, ErrMode};
use winnow::prelude::*;
use winnow::token::{any, none_of, take_till, take_until, take_while};
use winnow::{LocatingSlice, Stateful};

use super::error::expected;
use super::text::Lines;

/// The rest of a script; knows its lines.
pub(crate) type Input<'a> = Stateful<LocatingSlice<&'a str>, &'a Lines<'a>>;

/// What a parser fails with.
pub(crate) type Failure = ErrMode<ContextError>;

/// Skips blanks and comments.
pub(crate) fn blank(input: &mut Input<'_>) -> ModalResult<()> {
    let line = ("//", take_till(0.., '\n')).void();
    let closed = cut_err((take_until(0.., "*/"), "*/").context(expected("*/ after the comment")));
    let block = preceded("/*", closed).void();
    repeat(0.., alt((multispace1.void(), line, block))).parse_next(input)
}

/// A sign, and the blanks behind it.
pub(crate) fn symbol<'a>(sign: &'static str) -> impl Parser<Input<'a>, (), Failure> {
    (sign, blank).void()
}

/// A word of letters, digits and `_` that does not begin with a digit. No blanks are skipped.
pub(crate) fn name<'a>(input: &mut Input<'a>) -> ModalResult<&'a str> {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    (take_while(1, first), take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_'))
        .take()
        .parse_next(input)
}

/// A word, and the blanks behind it.
pub(crate) fn word<'a>(input: &mut Input<'a>) -> ModalResult<&'a str> {
    terminated(name, blank).parse_next(input)
}

/// One certain word, and the blanks behind it.
pub(crate) fn keyword<'a>(wanted: &'static str) -> impl Parser<Input<'a>, (), Failure> {
    word.verify(move |found: &str| found == wanted).void()
}

/// A decimal or hexadecimal number, and the blanks behind it.
pub(crate) fn number(input: &mut Input<'_>) -> ModalResult<i64> {
    let hex =
        preceded("0x", hex_digit1).verify_map(|s: &str| u64::from_str_radix(s, 16).ok().map(|n| n as i64));
    let decimal = (opt('-'), digit1).take().verify_map(|s: &str| s.parse().ok());
    terminated(alt((hex, decimal)), blank).parse_next(input)
}

/// A number that its type can hold, and the blanks behind it.
pub(crate) fn whole<'a, T: TryFrom<i64>>(what: &'static str) -> impl Parser<Input<'a>, T, Failure> {
    number.verify_map(|n| T::try_from(n).ok()).context(expected(what))
}

/// Seconds with any number of decimals, of which nine count, and the blanks behind them.
pub(crate) fn time(input: &mut Input<'_>) -> ModalResult<Duration> {
    let seconds = (digit0, opt(preceded('.', digit1))).verify_map(|(whole, part): (&str, Option<&str>)| {
        if whole.is_empty() && part.is_none() {
            return None;
        }
        let seconds: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut nanos = 0;
        for (i, digit) in part.unwrap_or_default().bytes().take(9).enumerate() {
            nanos += u64::from(digit - b'0') * 10_u64.pow(8 - i as u32);
        }
        Some(Duration::from_nanos(seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?))
    });
    // More than thirty years is a slip, and would overflow sums.
    let seconds = seconds.verify(|d| *d <= Duration::from_secs(1_000_000_000));
    terminated(seconds, blank).context(expected("a time in seconds")).parse_next(input)
}

/// Text in double quotes, with the escapes of C, and the blanks behind it.
pub(crate) fn quoted(input: &mut Input<'_>) -> ModalResult<Vec<u8>> {
    let plain = none_of(['"', '\\']).map(|c: char| c.to_string().into_bytes());
    let byte = preceded('x', take_while(2, |c: char| c.is_ascii_hexdigit()))
        .verify_map(|s: &str| u8::from_str_radix(s, 16).ok());
    let other = any.map(|c: char| match c {
        'n' => b"\n".to_vec(),
        'r' => b"\r".to_vec(),
        't' => b"\t".to_vec(),
        '0' => vec![0],
        c => c.to_string().into_bytes(),
    });
    let escaped = preceded('\\', alt((byte.map(|b| vec![b]), other)));
    let text = repeat(0.., alt((plain, escaped))).fold(Vec::new, |mut all: Vec<u8>, more| {
        all.extend(more);
        all
    });
    let closed = cut_err((text, '"').context(expected("\" at the end of the text"))).map(|(text, _)| text);
    terminated(preceded('"', closed), blank).parse_next(input)
}

/// A shell command in backquotes, and the blanks behind it.
pub(crate) fn back_quoted(input: &mut Input<'_>) -> ModalResult<String> {
    let closed = cut_err(take_until(0.., '`').context(expected("` at the end of the command")));
    let text = delimited('`', closed, '`').map(str::to_owned);
    terminated(text, blank).parse_next(input)
}

/// Bytes in hexadecimal, and the blanks behind them.
pub(crate) fn hex_bytes(input: &mut Input<'_>) -> ModalResult<Vec<u8>> {
    let bytes = hex_digit1.verify_map(|s: &str| {
        let pairs = (0..s.len()).step_by(2).map(|i| s.get(i..i + 2));
        pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
    });
    terminated(bytes, blank).context(expected("bytes as pairs of hexadecimal digits")).parse_next(input)
}
