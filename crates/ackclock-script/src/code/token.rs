//! From text to tokens, with Python's lines and indentation.

use super::literal;
use super::{CodeError, MAX_DEPTH, MAX_TEXT};

/// A token and where it is: bytes of the block's text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Token<'a> {
    pub kind: Kind<'a>,
    pub start: usize,
    pub end: usize,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Kind<'a> {
    /// A name or a keyword.
    Word(&'a str),
    Int(i128),
    Float(f64),
    Text(Text),
    /// An operator or another mark.
    Mark(&'static str),
    /// The end of a logical line.
    Newline,
    Indent,
    Dedent,
    /// The end of the block.
    End,
}

/// A string literal: where its characters are and what its prefix says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Text {
    pub start: usize,
    pub end: usize,
    /// `r''`: backslashes are kept.
    pub raw: bool,
    /// `f''`: there are fields in braces.
    pub template: bool,
}

/// The tokens of a block, closed by [`Kind::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, CodeError> {
    if text.len() > MAX_TEXT {
        let message = format!("the block has {} bytes; expected at most {MAX_TEXT}", text.len());
        return Err(CodeError::at(text, 0, message));
    }
    Lexer::new(text, 0, text.len()).block()
}

/// The tokens of an expression within the text, as between brackets: lines do not count.
pub(super) fn tokens_within(text: &str, start: usize, end: usize) -> Result<Vec<Token<'_>>, CodeError> {
    Lexer::new(text, start, end).expression()
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    end: usize,
    tokens: Vec<Token<'a>>,
    /// The brackets that are open.
    open: Vec<(&'static str, usize)>,
    /// The indentations of the blocks around; the first is that of the whole.
    indents: Vec<&'a str>,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str, at: usize, end: usize) -> Self {
        Self { text, at, end, tokens: Vec::new(), open: Vec::new(), indents: Vec::new() }
    }

    fn block(mut self) -> Result<Vec<Token<'a>>, CodeError> {
        loop {
            self.indentation()?;
            if self.at == self.end {
                break;
            }
            self.logical_line()?;
        }
        for _ in 1..self.indents.len() {
            self.push(Kind::Dedent, self.end);
        }
        self.push(Kind::End, self.end);
        Ok(self.tokens)
    }

    fn expression(mut self) -> Result<Vec<Token<'a>>, CodeError> {
        loop {
            self.skip_blanks()?;
            match self.rest().chars().next() {
                None => break,
                Some('\n') => self.at += 1,
                Some('#') => {
                    return Err(self.error(self.at, "met a comment within the braces of an f-string"));
                }
                Some(c) => self.token(c)?,
            }
        }
        self.all_closed()?;
        self.push(Kind::End, self.end);
        Ok(self.tokens)
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    fn error(&self, place: usize, message: impl Into<String>) -> CodeError {
        CodeError::at(self.text, place, message)
    }

    fn push(&mut self, kind: Kind<'a>, start: usize) {
        self.tokens.push(Token { kind, start, end: self.at });
    }

    /// Skips lines without code; then says with tokens how the next line is indented.
    fn indentation(&mut self) -> Result<(), CodeError> {
        let indent = loop {
            let rest = self.rest();
            let code = rest.trim_start_matches([' ', '\t', '\x0c']);
            let indent = &rest[..rest.len() - code.len()];
            let line = code.split('\n').next().unwrap_or(code);
            if !line.trim_end().is_empty() && !line.starts_with('#') {
                let first = self.at == 0;
                self.at += indent.len();
                // Blanks after `%{` are no indentation.
                break if first { "" } else { indent };
            }
            self.at += (indent.len() + line.len() + 1).min(rest.len());
            if self.at == self.end {
                return Ok(());
            }
        };
        let Some(&outer) = self.indents.last() else {
            self.indents.push(indent);
            return Ok(());
        };
        if indent == outer {
            return Ok(());
        }
        if indent.starts_with(outer) {
            if self.indents.len() > MAX_DEPTH {
                return Err(self.error(self.at, too_deep()));
            }
            self.indents.push(indent);
            self.push(Kind::Indent, self.at);
            return Ok(());
        }
        while self.indents.len() > 1 && self.indents.last() != Some(&indent) {
            self.indents.pop();
            self.push(Kind::Dedent, self.at);
        }
        if self.indents.last() == Some(&indent) {
            return Ok(());
        }
        let message = "the line is indented as no line before it; expected the blanks of an outer block";
        Err(self.error(self.at, message))
    }

    /// The tokens up to the end of a logical line.
    fn logical_line(&mut self) -> Result<(), CodeError> {
        loop {
            self.skip_blanks()?;
            match self.rest().chars().next() {
                None => {
                    self.all_closed()?;
                    self.push(Kind::Newline, self.at);
                    return Ok(());
                }
                Some('\n') if self.open.is_empty() => {
                    self.push(Kind::Newline, self.at);
                    self.at += 1;
                    return Ok(());
                }
                Some('\n') => self.at += 1,
                Some('#') => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                Some(c) => self.token(c)?,
            }
        }
    }

    /// Skips blanks and line ends after a backslash.
    fn skip_blanks(&mut self) -> Result<(), CodeError> {
        loop {
            let rest = self.rest();
            let code = rest.trim_start_matches([' ', '\t', '\x0c']);
            self.at += rest.len() - code.len();
            if code.starts_with("\r\n") || code == "\r" {
                self.at += 1;
                return Ok(());
            }
            let Some(after) = code.strip_prefix('\\') else { return Ok(()) };
            let lines = after.strip_prefix("\r\n").or_else(|| after.strip_prefix('\n'));
            let Some(lines) = lines else {
                return Err(self.error(self.at, "met a backslash; expected the end of the line after it"));
            };
            self.at += code.len() - lines.len();
        }
    }

    fn all_closed(&self) -> Result<(), CodeError> {
        match self.open.last() {
            Some(&(open, place)) => Err(self.error(place, format!("`{open}` is never closed"))),
            None => Ok(()),
        }
    }

    fn token(&mut self, first: char) -> Result<(), CodeError> {
        let rest = self.rest();
        let start = self.at;
        if first.is_ascii_alphabetic() || first == '_' {
            let len = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..len];
            self.at += len;
            // `in'abc'` has no prefix.
            let prefix = word.len() <= 2 && word.chars().all(|c| "bfrtuBFRTU".contains(c));
            if prefix && self.rest().starts_with(['\'', '"']) {
                return self.string(start, word);
            }
            self.push(Kind::Word(word), start);
            return Ok(());
        }
        if matches!(first, '\'' | '"') {
            return self.string(start, "");
        }
        if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
            let (kind, len) = literal::number(rest).map_err(|message| self.error(start, message))?;
            self.at += len;
            self.push(kind, start);
            return Ok(());
        }
        let Some(&mark) = MARKS.iter().find(|&&mark| rest.starts_with(mark)) else {
            let message = format!("met {first:?}; expected a name, a number, a string or an operator");
            return Err(self.error(start, message));
        };
        self.at += mark.len();
        self.brackets(mark, start)?;
        self.push(Kind::Mark(mark), start);
        Ok(())
    }

    fn brackets(&mut self, mark: &'static str, place: usize) -> Result<(), CodeError> {
        let close = |open| match open {
            "(" => ")",
            "[" => "]",
            _ => "}",
        };
        match mark {
            "(" | "[" | "{" => {
                if self.open.len() >= MAX_DEPTH {
                    return Err(self.error(place, too_deep()));
                }
                self.open.push((mark, place));
            }
            ")" | "]" | "}" => match self.open.pop() {
                Some((open, _)) if close(open) == mark => {}
                Some((open, _)) => {
                    let message = format!("met `{mark}`; expected `{}`, which closes `{open}`", close(open));
                    return Err(self.error(place, message));
                }
                None => return Err(self.error(place, format!("met `{mark}`, which closes nothing"))),
            },
            _ => {}
        }
        Ok(())
    }

    fn string(&mut self, start: usize, prefix: &str) -> Result<(), CodeError> {
        let (raw, template) = match prefix.to_ascii_lowercase().as_str() {
            "" | "u" => (false, false),
            "r" => (true, false),
            "f" => (false, true),
            "rf" | "fr" => (true, true),
            _ => {
                let message = format!("met a string with the prefix `{prefix}`; expected none, r or f");
                return Err(self.error(start, message));
            }
        };
        let rest = self.rest();
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        if rest.starts_with("'''") || rest.starts_with("\"\"\"") {
            let message = "met a string in triple quotes; expected one in single quotes, on one line";
            return Err(self.error(start, message));
        }
        let mut escaped = false;
        for (i, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = c == '\r' && rest[i..].starts_with("\r\n"),
                '\\' => escaped = true,
                '\n' => break,
                c if c == quote => {
                    let text = Text { start: self.at + 1, end: self.at + i, raw, template };
                    self.at += i + 1;
                    self.push(Kind::Text(text), start);
                    return Ok(());
                }
                _ => {}
            }
        }
        Err(self.error(start, format!("the string is not closed; expected {quote} on its line")))
    }
}

pub(super) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

pub(super) fn too_deep() -> String {
    format!("nested more deeply than {MAX_DEPTH} levels")
}

/// Operators and other marks, longer ones first.
const MARKS: [&str; 45] = [
    "**=", "//=", "<<=", ">>=", "==", "!=", "<=", ">=", "<<", ">>", "**", "//", "+=", "-=", "*=", "/=", "%=",
    "&=", "|=", "^=", ":=", "->", "+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "=", "(", ")", "[",
    "]", "{", "}", ",", ":", ";", ".", "@",
];
