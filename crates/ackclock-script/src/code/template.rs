//! The fields of f-strings.

use super::parse::Parser;
use super::syntax::Piece;
use super::token::{Kind, Text, tokens_within};
use super::{CodeError, literal};

/// Appends the pieces of an f-string that is `depth` expressions deep.
pub(super) fn pieces(source: &str, text: Text, depth: usize, out: &mut Vec<Piece>) -> Result<(), CodeError> {
    let mut at = text.start;
    let mut plain = String::new();
    while at < text.end {
        let rest = &source[at..text.end];
        let brace = rest.find(['{', '}']).unwrap_or(rest.len());
        let characters = &rest[..brace];
        if text.raw {
            plain.push_str(characters);
        } else {
            plain.push_str(&literal::unescaped(characters).map_err(|e| CodeError::at(source, at, e))?);
        }
        at += brace;
        let rest = &rest[brace..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            plain.push_str(&rest[..1]);
            at += 2;
        } else if rest.starts_with('}') {
            return Err(CodeError::at(source, at, "met `}` in an f-string; expected `}}`, or `{` before it"));
        } else if rest.starts_with('{') {
            out.push(Piece::Text(std::mem::take(&mut plain)));
            at = field(source, at, text.end, depth, out)?;
        }
    }
    out.push(Piece::Text(plain));
    Ok(())
}

/// Appends the field whose brace is at `open`, and returns where the text after it begins.
fn field(
    source: &str,
    open: usize,
    end: usize,
    depth: usize,
    out: &mut Vec<Piece>,
) -> Result<usize, CodeError> {
    let fail = |place, message: &str| Err(CodeError::at(source, place, message));
    let stop = expression_end(source, open + 1, end);
    let tokens = tokens_within(source, open + 1, stop)?;
    let mut parser = Parser { text: source, tokens, at: 0, depth };
    if parser.kind() == Kind::End {
        return fail(
            open,
            "met a field of an f-string without a value; expected `{name}`, or `{{` for a brace",
        );
    }
    let value = parser.expressions()?;
    if parser.kind() != Kind::End {
        return Err(parser.met("an operator, `!r`, `:` or `}`"));
    }
    let mut rest = &source[stop..end];
    let mut repr = false;
    if let Some(conversion) = rest.strip_prefix('!') {
        repr = conversion.starts_with('r');
        if !conversion.starts_with(['r', 's']) {
            return fail(stop, "met an unknown conversion; expected `!r` or `!s`");
        }
        rest = &conversion[1..];
    }
    let mut spec = "";
    if let Some(format) = rest.strip_prefix(':') {
        let len = format.find(['{', '}']).unwrap_or(format.len());
        spec = &format[..len];
        rest = &format[len..];
    }
    let Some(rest) = rest.strip_prefix('}') else {
        return fail(end - rest.len(), "the field of the f-string is not closed; expected `}`");
    };
    out.push(Piece::Field { value, repr, spec: spec.to_owned() });
    Ok(end - rest.len())
}

/// Where a field's expression ends: at `!`, `:` or `}` outside of brackets and strings.
fn expression_end(source: &str, start: usize, end: usize) -> usize {
    let mut depth = 0_usize;
    let mut quote = None;
    let text = &source[start..end];
    for (i, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), _) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, '}') if depth > 0 => depth -= 1,
            (None, '!') if depth == 0 && text[i..].starts_with("!=") => {}
            (None, '!' | ':' | '}') if depth == 0 => return start + i,
            _ => {}
        }
    }
    end
}
