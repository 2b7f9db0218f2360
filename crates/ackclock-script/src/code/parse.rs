//! From tokens to statements.

use super::syntax::{Binary, Expression, Node, Statement};
use super::token::{Kind, Token, tokens, too_deep};
use super::{CodeError, MAX_DEPTH};

/// The statements of a block.
pub(super) fn statements(text: &str) -> Result<Vec<Statement>, CodeError> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0, depth: 0 };
    let mut out = Vec::new();
    while parser.kind() != Kind::End {
        parser.statement(&mut out)?;
    }
    Ok(out)
}

pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub tokens: Vec<Token<'a>>,
    /// The next token.
    pub at: usize,
    /// How many expressions and blocks are open.
    pub depth: usize,
}

impl<'a> Parser<'a> {
    pub fn kind(&self) -> Kind<'a> {
        self.token().kind
    }

    pub fn place(&self) -> usize {
        self.token().start
    }

    fn token(&self) -> Token<'a> {
        // The last one is the end, beyond which nothing goes.
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// The next token is this mark or word: go beyond it.
    pub fn takes(&mut self, expected: &str) -> bool {
        let met = matches!(self.kind(), Kind::Mark(m) if m == expected) || self.is_word(expected);
        self.at += usize::from(met);
        met
    }

    pub fn is_word(&self, expected: &str) -> bool {
        matches!(self.kind(), Kind::Word(word) if word == expected)
    }

    pub fn expects(&mut self, expected: &str) -> Result<(), CodeError> {
        if self.takes(expected) { Ok(()) } else { Err(self.met(&format!("`{expected}`"))) }
    }

    pub fn error(&self, place: usize, message: impl Into<String>) -> CodeError {
        CodeError::at(self.text, place, message)
    }

    /// The error of a token that does not fit.
    pub fn met(&self, expected: &str) -> CodeError {
        let token = self.token();
        let met = match token.kind {
            Kind::Newline if self.text[token.start..].trim().is_empty() => "the end of the block".to_owned(),
            Kind::Newline => "the end of the line".to_owned(),
            Kind::End if self.text[token.start..].trim().is_empty() => "the end of the block".to_owned(),
            Kind::End => "the end of the field".to_owned(),
            Kind::Indent => "a line that is indented more".to_owned(),
            Kind::Dedent => "a line that is indented less".to_owned(),
            _ => format!("`{}`", self.text[token.start..token.end].chars().take(40).collect::<String>()),
        };
        self.error(token.start, format!("met {met}; expected {expected}"))
    }

    /// Goes one level deeper, until [`Parser::leave`].
    pub fn enter(&mut self) -> Result<(), CodeError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.error(self.place(), too_deep())) } else { Ok(()) }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// One line of statements, or a whole `if`.
    fn statement(&mut self, out: &mut Vec<Statement>) -> Result<(), CodeError> {
        if self.is_word("if") {
            self.enter()?;
            let branching = self.branching()?;
            self.leave();
            out.push(branching);
            return Ok(());
        }
        loop {
            let simple = self.simple()?;
            out.push(simple);
            if self.takes(";") {
                if self.kind() != Kind::Newline {
                    continue;
                }
            } else if self.kind() != Kind::Newline {
                return Err(self.unended(out.last()));
            }
            self.at += 1;
            return Ok(());
        }
    }

    /// The error of a statement that goes on where it should have ended.
    fn unended(&self, last: Option<&Statement>) -> CodeError {
        match last {
            Some(Statement::Expression(Expression { node: Node::Name(name), .. })) if name == "print" => {
                self.met("`(`, as print is a function: print(x)")
            }
            Some(Statement::Assert { message: None, .. }) => {
                self.met("an operator, `,` and a message, or the end of the statement")
            }
            _ => self.met("an operator or the end of the statement"),
        }
    }

    fn simple(&mut self) -> Result<Statement, CodeError> {
        let place = self.place();
        if self.takes("pass") {
            return Ok(Statement::Pass);
        }
        if self.takes("assert") {
            return self.assertion(place);
        }
        match self.kind() {
            Kind::Word("if") => return Err(self.met("a statement without a block of its own")),
            Kind::Word("elif" | "else") => {
                return Err(self.met("a statement; `elif` and `else` follow the block of an `if`"));
            }
            Kind::Word(word) if is_statement(word) => return Err(self.met(STATEMENTS)),
            Kind::Indent => return Err(self.met("a statement with the indentation of the one before")),
            Kind::Mark(";") | Kind::Newline => return Err(self.met(STATEMENTS)),
            _ => {}
        }
        let first = self.expressions()?;
        let Kind::Mark(mark) = self.kind() else { return Ok(Statement::Expression(first)) };
        if mark == "=" {
            let mut names = Vec::new();
            let mut value = first;
            while self.takes("=") {
                names.push((value.place, self.assigned(value)?));
                value = self.expressions()?;
            }
            return Ok(Statement::Assign { names, value });
        }
        let Some(operator) = mark.strip_suffix('=').and_then(Binary::from_mark) else {
            return Ok(Statement::Expression(first));
        };
        self.at += 1;
        let name = self.assigned(first)?;
        Ok(Statement::Update { place, name, operator, value: self.expressions()? })
    }

    /// The name that an assignment is to.
    fn assigned(&self, target: Expression) -> Result<String, CodeError> {
        match target.node {
            Node::Name(name) => Ok(name),
            _ => Err(self.error(target.place, "met an expression left of an assignment; expected a name")),
        }
    }

    fn assertion(&mut self, place: usize) -> Result<Statement, CodeError> {
        let from = self.at;
        let condition = self.condition()?;
        let text = self.source(from, self.at);
        if matches!(&condition.node, Node::Tuple(items) if !items.is_empty()) {
            let message =
                "met a tuple, which always holds; expected a condition, or `assert condition, message`";
            return Err(self.error(condition.place, message));
        }
        let message = if self.takes(",") { Some(self.expression()?) } else { None };
        Ok(Statement::Assert { place, condition, text, message })
    }

    fn condition(&mut self) -> Result<Expression, CodeError> {
        let condition = self.expression()?;
        match self.kind() {
            Kind::Mark("=") => Err(self.met("`==`, which compares")),
            _ => Ok(condition),
        }
    }

    /// The text of some tokens, on one line and without comments.
    fn source(&self, from: usize, to: usize) -> String {
        let mut out = String::new();
        let mut end = None;
        for token in &self.tokens[from..to] {
            if end.is_some_and(|end| end < token.start) {
                out.push(' ');
            }
            out.push_str(&self.text[token.start..token.end]);
            end = Some(token.end);
        }
        out
    }

    fn branching(&mut self) -> Result<Statement, CodeError> {
        let mut branches = Vec::new();
        while self.takes(if branches.is_empty() { "if" } else { "elif" }) {
            let condition = self.condition()?;
            branches.push((condition, self.block()?));
        }
        let otherwise = if self.takes("else") { self.block()? } else { Vec::new() };
        Ok(Statement::If { branches, otherwise })
    }

    /// What follows `if x`: a colon, then statements on its line or an indented block.
    fn block(&mut self) -> Result<Vec<Statement>, CodeError> {
        self.expects(":")?;
        let mut out = Vec::new();
        if self.kind() != Kind::Newline {
            if self.is_word("if") {
                return Err(self.met("a statement without a block of its own"));
            }
            self.statement(&mut out)?;
            return Ok(out);
        }
        self.at += 1;
        if self.kind() != Kind::Indent {
            return Err(self.met("a line that is indented more than its `if`, `elif` or `else`"));
        }
        self.at += 1;
        while self.kind() != Kind::Dedent {
            self.statement(&mut out)?;
        }
        self.at += 1;
        Ok(out)
    }
}

/// The words that Python reserves.
pub(super) fn is_keyword(word: &str) -> bool {
    let expression = ["and", "else", "if", "in", "is", "not", "or", "True", "False", "None", "lambda"];
    expression.contains(&word) || ["assert", "pass", "elif"].contains(&word) || is_statement(word)
}

/// Python's statements that blocks do not have.
fn is_statement(word: &str) -> bool {
    [
        "as", "async", "await", "break", "class", "continue", "def", "del", "except", "finally", "for",
        "from", "global", "import", "nonlocal", "raise", "return", "try", "while", "with", "yield",
    ]
    .contains(&word)
}

const STATEMENTS: &str = "assert, an assignment, a call such as print(x), pass or if";
