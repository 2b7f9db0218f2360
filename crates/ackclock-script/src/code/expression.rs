//! From tokens to expressions.

use super::parse::{Parser, is_keyword};
use super::syntax::{Binary, Choice, Comparison, Expression, LEVELS, Node, Piece, Unary};
use super::token::{Kind, Text};
use super::{CodeError, Value, literal, template};

impl Parser<'_> {
    /// One expression, or a tuple of several without parentheses.
    pub fn expressions(&mut self) -> Result<Expression, CodeError> {
        let place = self.place();
        let first = self.expression()?;
        if !self.takes(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while !self.ends_expression() {
            items.push(self.expression()?);
            if !self.takes(",") {
                break;
            }
        }
        Ok(Expression { place, node: Node::Tuple(items) })
    }

    fn ends_expression(&self) -> bool {
        matches!(self.kind(), Kind::Newline | Kind::End | Kind::Mark(";" | "="))
    }

    /// An expression of any kind: `a if c else b` binds least.
    pub fn expression(&mut self) -> Result<Expression, CodeError> {
        self.enter()?;
        let yes = self.logical("or", Node::Or)?;
        let expression = if self.takes("if") {
            let condition = self.logical("or", Node::Or)?;
            self.expects("else")?;
            let no = self.expression()?;
            let place = yes.place;
            Expression { place, node: Node::Choice(Box::new(Choice { condition, yes, no })) }
        } else {
            yes
        };
        self.leave();
        Ok(expression)
    }

    /// Operands with `or`, or with `and`, between them.
    fn logical(&mut self, word: &str, node: fn(Vec<Expression>) -> Node) -> Result<Expression, CodeError> {
        let mut operands = Vec::new();
        loop {
            let operand = if word == "or" { self.logical("and", Node::And)? } else { self.negation()? };
            let last = !self.takes(word);
            if last && operands.is_empty() {
                return Ok(operand);
            }
            operands.push(operand);
            if last {
                return Ok(Expression { place: operands[0].place, node: node(operands) });
            }
        }
    }

    fn negation(&mut self) -> Result<Expression, CodeError> {
        let place = self.place();
        if !self.takes("not") {
            return self.comparison();
        }
        self.enter()?;
        let operand = self.negation()?;
        self.leave();
        Ok(Expression { place, node: Node::Unary(Unary::Not, Box::new(operand)) })
    }

    fn comparison(&mut self) -> Result<Expression, CodeError> {
        let first = self.operation(0)?;
        let mut rest = Vec::new();
        loop {
            let place = self.place();
            let Some(comparison) = self.comparator()? else { break };
            rest.push((comparison, place, self.operation(0)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Expression { place: first.place, node: Node::Compare(Box::new(first), rest) })
    }

    fn comparator(&mut self) -> Result<Option<Comparison>, CodeError> {
        let found = match self.kind() {
            Kind::Word("not") => {
                self.at += 1;
                self.expects("in")?;
                return Ok(Some(Comparison::NotIn));
            }
            Kind::Word("is") => {
                self.at += 1;
                let not = self.takes("not");
                return Ok(Some(if not { Comparison::IsNot } else { Comparison::Is }));
            }
            Kind::Mark(mark) | Kind::Word(mark) => Comparison::from_mark(mark),
            _ => None,
        };
        self.at += usize::from(found.is_some());
        Ok(found)
    }

    /// Operands with the operators of one level between them.
    fn operation(&mut self, level: usize) -> Result<Expression, CodeError> {
        if level == LEVELS {
            return self.unary();
        }
        let first = self.operation(level + 1)?;
        let mut rest = Vec::new();
        while let Kind::Mark(mark) = self.kind() {
            let Some(operator) = Binary::from_mark(mark).filter(|o| o.level() == level) else { break };
            let place = self.place();
            self.at += 1;
            rest.push((operator, place, self.operation(level + 1)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Expression { place: first.place, node: Node::Binary(Box::new(first), rest) })
    }

    fn unary(&mut self) -> Result<Expression, CodeError> {
        let place = self.place();
        let operator = match self.kind() {
            Kind::Mark("-") => Unary::Minus,
            Kind::Mark("+") => Unary::Plus,
            Kind::Mark("~") => Unary::Invert,
            _ => return self.power(),
        };
        self.at += 1;
        self.enter()?;
        let operand = self.unary()?;
        self.leave();
        Ok(Expression { place, node: Node::Unary(operator, Box::new(operand)) })
    }

    /// `a ** b` binds more tightly than a sign before it, and less than one after it.
    fn power(&mut self) -> Result<Expression, CodeError> {
        let base = self.indexed()?;
        let place = self.place();
        if !self.takes("**") {
            return Ok(base);
        }
        self.enter()?;
        let exponent = self.unary()?;
        self.leave();
        let rest = vec![(Binary::Power, place, exponent)];
        Ok(Expression { place: base.place, node: Node::Binary(Box::new(base), rest) })
    }

    fn indexed(&mut self) -> Result<Expression, CodeError> {
        let value = self.atom()?;
        let mut indexes = Vec::new();
        while self.takes("[") {
            indexes.push(self.expression()?);
            self.expects("]")?;
        }
        match self.kind() {
            Kind::Mark("(") => return Err(self.met("a function's name before it")),
            Kind::Mark(".") => return Err(self.met("an operator; there are no attributes and methods")),
            _ if indexes.is_empty() => return Ok(value),
            _ => {}
        }
        Ok(Expression { place: value.place, node: Node::Index(Box::new(value), indexes) })
    }

    fn atom(&mut self) -> Result<Expression, CodeError> {
        let place = self.place();
        let node = match self.kind() {
            Kind::Int(n) => Node::Literal(Value::Int(n)),
            Kind::Float(x) => Node::Literal(Value::Float(x)),
            Kind::Word("True") => Node::Literal(Value::Bool(true)),
            Kind::Word("False") => Node::Literal(Value::Bool(false)),
            Kind::Word("None") => Node::Literal(Value::None),
            Kind::Text(_) => return self.texts(),
            Kind::Mark("(") => return self.parenthesized(),
            Kind::Mark("[") => {
                self.at += 1;
                return Ok(Expression { place, node: Node::List(self.items("]")?.0) });
            }
            Kind::Word(word) if !is_keyword(word) => {
                self.at += 1;
                let name = word.to_owned();
                let called = self.takes("(");
                let node = if called { Node::Call(name, self.items(")")?.0) } else { Node::Name(name) };
                return Ok(Expression { place, node });
            }
            _ => return Err(self.met("an expression: a name, a number, a string, a list or parentheses")),
        };
        self.at += 1;
        Ok(Expression { place, node })
    }

    fn parenthesized(&mut self) -> Result<Expression, CodeError> {
        let place = self.place();
        self.at += 1;
        let (mut items, comma) = self.items(")")?;
        match items.pop() {
            // Parentheses around one expression only group.
            Some(only) if items.is_empty() && !comma => Ok(only),
            last => {
                items.extend(last);
                Ok(Expression { place, node: Node::Tuple(items) })
            }
        }
    }

    /// Expressions with commas between them, up to a closing bracket; whether there is a comma at all.
    fn items(&mut self, close: &str) -> Result<(Vec<Expression>, bool), CodeError> {
        let mut items = Vec::new();
        let mut comma = false;
        while !self.takes(close) {
            items.push(self.expression()?);
            if self.takes(",") {
                comma = true;
            } else if !self.takes(close) {
                return Err(self.met(&format!("an operator, `,` or `{close}`")));
            } else {
                break;
            }
        }
        Ok((items, comma))
    }

    /// String literals side by side, which are one string.
    fn texts(&mut self) -> Result<Expression, CodeError> {
        let place = self.place();
        let mut pieces = Vec::new();
        let mut fields = false;
        while let Kind::Text(text) = self.kind() {
            if text.template {
                fields = true;
                template::pieces(self.text, text, self.depth, &mut pieces)?;
            } else {
                pieces.push(Piece::Text(self.characters(text)?));
            }
            self.at += 1;
        }
        if fields {
            return Ok(Expression { place, node: Node::Template(pieces) });
        }
        let texts = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text),
            Piece::Field { .. } => None,
        });
        Ok(Expression { place, node: Node::Literal(Value::Str(texts.collect())) })
    }

    fn characters(&self, text: Text) -> Result<String, CodeError> {
        let characters = &self.text[text.start..text.end];
        if text.raw {
            return Ok(characters.to_owned());
        }
        literal::unescaped(characters).map_err(|message| self.error(text.start, message))
    }
}
