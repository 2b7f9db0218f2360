//! System calls, their arguments and results.

use winnow::combinator::{alt, cut_err, delimited, fail, opt, preceded, separated, terminated};
use winnow::prelude::*;
use winnow::token::take_until;

use super::error::expected;
use super::token::{Failure, Input, number, quoted, symbol, word};
use super::when;
use crate::ast::{Call, Expr};

/// How deep arrays and structures may lie in each other.
const MAX_DEPTH: usize = 16;

/// `...0.5 read(4, ..., 1000) = -1 EAGAIN (a note)`.
pub(crate) fn call(input: &mut Input<'_>) -> ModalResult<Call> {
    let until = opt(preceded(symbol("..."), cut_err(when))).parse_next(input)?;
    let name = word.parse_next(input)?.to_owned();
    let arguments = cut_err(arguments(0)).parse_next(input)?;
    cut_err(symbol("=").context(expected("= and the result of the call"))).parse_next(input)?;
    let result = cut_err(expr(0)).parse_next(input)?;
    let error =
        |w: &str| w.starts_with('E') && w.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    let errno = opt(word.verify(error)).parse_next(input)?.map(str::to_owned);
    let note = delimited('(', take_until(0.., ')'), symbol(")"));
    let note = opt(note).parse_next(input)?.map(str::to_owned);
    Ok(Call { until, name, arguments, result, errno, note })
}

fn arguments<'a>(depth: usize) -> impl Parser<Input<'a>, Vec<Expr>, Failure> {
    let list = separated(0..=64, expr(depth), symbol(","));
    let open = symbol("(").context(expected("( and the arguments"));
    delimited(open, list, cut_err(symbol(")").context(expected(", or ) after an argument"))))
}

/// An expression, which is an alternative of bits where `|` follows.
fn expr<'a>(depth: usize) -> impl FnMut(&mut Input<'a>) -> ModalResult<Expr> {
    move |input| {
        if depth > MAX_DEPTH {
            return cut_err(fail.context(expected("fewer arrays and structures within each other")))
                .parse_next(input);
        }
        let mut all: Vec<Expr> = separated(1..=64, operand(depth), symbol("|"))
            .context(expected("a value: a number, a word, \"text\", [an array], {a structure} or ..."))
            .parse_next(input)?;
        Ok(if all.len() == 1 { all.remove(0) } else { Expr::Or(all) })
    }
}

fn operand<'a>(depth: usize) -> impl FnMut(&mut Input<'a>) -> ModalResult<Expr> {
    move |input| {
        let list = |input: &mut Input<'a>| separated(0..=64, expr(depth + 1), symbol(",")).parse_next(input);
        let array = delimited(symbol("["), list, cut_err(symbol("]").context(expected(", or ]"))));
        let fields = separated(0..=64, field(depth + 1), symbol(","));
        let structure = delimited(symbol("{"), fields, cut_err(symbol("}").context(expected(", or }"))));
        let text = (quoted, opt(symbol("..."))).map(|(text, more)| Expr::Text(text, more.is_some()));
        alt((
            symbol("...").value(Expr::Any),
            number.map(Expr::Int),
            text,
            array.map(Expr::Array),
            structure.map(Expr::Struct),
            named(depth),
        ))
        .parse_next(input)
    }
}

/// A constant, or a function such as `htons(80)`.
fn named<'a>(depth: usize) -> impl FnMut(&mut Input<'a>) -> ModalResult<Expr> {
    move |input| {
        let name = word.parse_next(input)?.to_owned();
        if input.starts_with('(') {
            let list = arguments(depth + 1).parse_next(input)?;
            return Ok(Expr::Function(name, list));
        }
        Ok(Expr::Word(name))
    }
}

/// A field of a structure: `name=value`, `name(n)=value`, or a value alone.
fn field<'a>(depth: usize) -> impl FnMut(&mut Input<'a>) -> ModalResult<(Option<String>, Expr)> {
    move |input| {
        let count = delimited(symbol("("), alt((symbol("...").void(), number.void())), symbol(")"));
        let name = terminated(word, (opt(count), symbol("=")));
        let name = opt(name).parse_next(input)?.map(str::to_owned);
        let value = cut_err(expr(depth)).parse_next(input)?;
        Ok((name, value))
    }
}
