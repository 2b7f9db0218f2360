//! The language of packetdrill, from text to [`Script`].

mod call;
mod conditional;
mod define;
mod error;
mod packet;
mod text;
mod token;

use winnow::combinator::{alt, cut_err, eof, fail, opt, peek, preceded, repeat, terminated};
use winnow::error::StrContext;
use winnow::prelude::*;
use winnow::stream::Location;
use winnow::token::{any, take_till, take_until};
use winnow::{LocatingSlice, Stateful};

pub use error::ParseError;
use error::{BEGINNING, expected};
use text::Lines;
use token::{Input, back_quoted, blank, name, symbol, time};

use crate::ast::{Action, Code, Event, Flag, Script, Shell, When};

/// The largest script that is read, bytes.
pub const MAX_SCRIPT: usize = 1 << 20;

/// Parses a script. `name` is what errors call it; `defines` are words with what they stand for, beside those that the
/// script itself defines by `--define=NAME=VALUE`. `#ifdef NAME` asks whether a word is among them: pass
/// [`Dialect::defines`](crate::Dialect::defines) for those of the tested host.
///
/// # Errors
///
/// Names the place, what stands there, and what was expected.
pub fn parse(name: &str, text: &str, defines: &[(String, String)]) -> Result<Script, ParseError> {
    if text.len() > MAX_SCRIPT {
        return Err(ParseError::too_long(name, text.len()));
    }
    let definitions = define::definitions(text, defines);
    let text = &conditional::chosen(text, |word| definitions.contains_key(word))
        .map_err(|wrong| ParseError::misplaced(name, text, wrong))?;
    let defined =
        define::replaced(text, &definitions).ok_or_else(|| ParseError::too_long(name, text.len()))?;
    let text = defined.as_str();
    let lines = Lines::new(text);
    let input = Stateful { input: LocatingSlice::new(text), state: &lines };
    script.parse(input).map_err(|e| ParseError::new(name, text, &lines, e.offset(), e.inner()))
}

fn script(input: &mut Input<'_>) -> ModalResult<Script> {
    blank(input)?;
    let flags = repeat(0.., flag).parse_next(input)?;
    let setup = repeat(0.., shell).parse_next(input)?;
    let mut script = Script { flags, setup, ..Script::default() };
    while !input.is_empty() {
        if peek(opt('`')).parse_next(input)?.is_some() {
            script.cleanup = repeat(1.., shell).parse_next(input)?;
            cut_err(
                eof.context(expected("nothing more after the last command"))
                    .context(StrContext::Label(BEGINNING)),
            )
            .parse_next(input)?;
            break;
        }
        script.events.push(event(input)?);
    }
    if script.events.is_empty() {
        // It would pass without checking anything.
        return cut_err(fail.context(expected("an event"))).parse_next(input);
    }
    Ok(script)
}

fn flag(input: &mut Input<'_>) -> ModalResult<Flag> {
    let line = here(input);
    "--".parse_next(input)?;
    let flag = cut_err(name.context(expected("the name of a flag"))).parse_next(input)?;
    // A value may hold anything but blanks, which only backquotes may hold.
    let quoted = (name, '=', '`', take_until(0.., '`'), '`').take();
    let plain = take_till(1.., char::is_whitespace);
    let value = cut_err(alt((quoted, plain)).context(expected("the value of the flag")));
    let value = opt(preceded('=', value)).parse_next(input)?;
    blank(input)?;
    Ok(Flag { line, name: flag.to_owned(), value: value.map(str::to_owned) })
}

fn shell(input: &mut Input<'_>) -> ModalResult<Shell> {
    let line = here(input);
    Ok(Shell { line, text: back_quoted.parse_next(input)? })
}

fn event(input: &mut Input<'_>) -> ModalResult<Event> {
    let line = here(input);
    let when =
        cut_err(when.context(expected("a time, such as 0, +0.1 or *")).context(StrContext::Label(BEGINNING)))
            .parse_next(input)?;
    let from = input.current_token_start();
    let action = cut_err(action).parse_next(input)?;
    let text = input.state.on_one_line(from, input.current_token_start());
    Ok(Event { line, when, action, text })
}

/// The line on which the rest begins.
fn here(input: &Input<'_>) -> u32 {
    input.state.of(input.current_token_start()).0
}

/// `+0.1`, `0.1`, `0.1~0.2`, `+0.1~+0.2`, `*`.
pub(crate) fn when(input: &mut Input<'_>) -> ModalResult<When> {
    if opt(symbol("*")).parse_next(input)?.is_some() {
        return Ok(When::Any);
    }
    if opt(symbol("+")).parse_next(input)?.is_some() {
        let from = time.parse_next(input)?;
        let to = opt(preceded((symbol("~"), opt(symbol("+"))), cut_err(time))).parse_next(input)?;
        return Ok(to.map_or(When::After(from), |to| When::AfterWithin(from, to)));
    }
    let from = time.parse_next(input)?;
    let to = opt(preceded(symbol("~"), cut_err(time))).parse_next(input)?;
    Ok(to.map_or(When::At(from), |to| When::Within(from, to)))
}

fn action(input: &mut Input<'_>) -> ModalResult<Action> {
    match peek(opt(any)).parse_next(input)? {
        Some('<') => preceded(symbol("<"), cut_err(packet::packet)).map(Action::Inject).parse_next(input),
        Some('>') => preceded(symbol(">"), cut_err(packet::packet)).map(Action::Expect).parse_next(input),
        Some('`') => shell.map(Action::Shell).parse_next(input),
        Some('%') => code.map(Action::Code).parse_next(input),
        _ => call::call
            .context(expected("a packet (< or >), a system call, a `command` or %{ assertions }%"))
            .map(Action::Call)
            .parse_next(input),
    }
}

fn code(input: &mut Input<'_>) -> ModalResult<Code> {
    "%{".parse_next(input)?;
    let line = here(input);
    let text = terminated(take_until(0.., "}%"), "}%").context(expected("}% after the assertions"));
    let text = cut_err(text).parse_next(input)?;
    blank(input)?;
    Ok(Code { line, text: text.to_owned() })
}
