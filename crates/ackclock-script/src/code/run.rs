//! Evaluates blocks.

use super::call::{self, FUNCTIONS};
use super::error::shortened;
use super::syntax::{Expression, Node, Piece, Statement};
use super::{
    Assertion, CodeError, CodeFailure, MAX_DEPTH, MAX_SIZE, MAX_WORK, Scope, Value, Why, arithmetic, compare,
    format,
};

/// Runs statements; see [`super::Program::run`].
pub(super) fn run(
    text: &str,
    statements: &[Statement],
    scope: &mut Scope,
    names: &dyn Fn(&str) -> Option<Value>,
) -> Result<Vec<String>, CodeFailure> {
    scope.unhide(names);
    let mut run = Run { text, scope, names, printed: Vec::new(), work: 0 };
    match run.statements(statements) {
        Ok(()) => Ok(run.printed),
        Err(why) => Err(CodeFailure { printed: run.printed, why }),
    }
}

struct Run<'a> {
    text: &'a str,
    scope: &'a mut Scope,
    names: &'a dyn Fn(&str) -> Option<Value>,
    printed: Vec<String>,
    /// The sizes of all values that were made.
    work: usize,
}

impl From<CodeError> for Why {
    fn from(error: CodeError) -> Self {
        Self::Evaluation(error)
    }
}

impl Run<'_> {
    fn error(&self, place: usize, message: impl Into<String>) -> CodeError {
        CodeError::at(self.text, place, message)
    }

    fn statements(&mut self, statements: &[Statement]) -> Result<(), Why> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Statement) -> Result<(), Why> {
        match statement {
            Statement::Pass => {}
            Statement::Expression(expression) => {
                self.value(expression)?;
            }
            Statement::Assign { names, value } => {
                let value = self.value(value)?;
                for (place, name) in names {
                    let value = self.admitted(*place, value.clone())?;
                    self.assign(*place, name, value)?;
                }
            }
            Statement::Update { place, name, operator, value } => {
                let old = self.name(*place, name)?;
                if matches!(old, Value::List(_)) {
                    // Python would change the list itself, under all of its names.
                    let mark = operator.mark();
                    let message =
                        format!("`{mark}=` changes a list; expected a new one: {name} = {name} {mark} ...");
                    return Err(self.error(*place, message).into());
                }
                let value = self.value(value)?;
                let new = arithmetic::binary(old, *operator, value).map_err(|e| self.error(*place, e))?;
                let new = self.admitted(*place, new)?;
                self.assign(*place, name, new)?;
            }
            Statement::If { branches, otherwise } => {
                for (condition, block) in branches {
                    if self.value(condition)?.is_true() {
                        return self.statements(block);
                    }
                }
                return self.statements(otherwise);
            }
            Statement::Assert { place, condition, text, message } => {
                if !self.value(condition)?.is_true() {
                    return Err(self.failed(*place, condition, text, message.as_ref()));
                }
            }
        }
        Ok(())
    }

    fn assign(&mut self, place: usize, name: &str, value: Value) -> Result<(), CodeError> {
        self.scope.set(name, value).map_err(|message| self.error(place, message))
    }

    fn failed(
        &mut self,
        place: usize,
        condition: &Expression,
        text: &str,
        message: Option<&Expression>,
    ) -> Why {
        let message = message.map(|message| {
            self.value(message).unwrap_or_else(|error| Value::Str(format!("its message fails: {error}")))
        });
        let mut names = Vec::new();
        names_in(condition, &mut names);
        let values = names.into_iter().filter_map(|name| Some((name.to_owned(), self.lookup(name)?)));
        let values = values.collect();
        let line = self.error(place, "").line;
        Why::Assertion(Box::new(Assertion { line, condition: text.to_owned(), message, values }))
    }

    fn lookup(&self, name: &str) -> Option<Value> {
        self.scope.get(name).cloned().or_else(|| (self.names)(name))
    }

    fn name(&mut self, place: usize, name: &str) -> Result<Value, CodeError> {
        if let Some(value) = self.lookup(name) {
            return self.admitted(place, value);
        }
        let message = if FUNCTIONS.contains(&name) {
            format!("`{name}` is a function; expected a call of it")
        } else {
            self.scope.unknown(name)
        };
        Err(self.error(place, message))
    }

    /// The value, if it and all that this run has made stay within bounds.
    fn admitted(&mut self, place: usize, value: Value) -> Result<Value, CodeError> {
        let size = value.size();
        if size > MAX_SIZE + 1 {
            return Err(self.error(place, format!("the value is larger than {MAX_SIZE} bytes or elements")));
        }
        if value.depth() > MAX_DEPTH {
            return Err(
                self.error(place, format!("the lists are nested more deeply than {MAX_DEPTH} levels"))
            );
        }
        self.work += size;
        if self.work > MAX_WORK {
            let message = format!("the block makes values of more than {MAX_WORK} bytes or elements");
            return Err(self.error(place, message));
        }
        Ok(value)
    }

    fn value(&mut self, expression: &Expression) -> Result<Value, CodeError> {
        let place = expression.place;
        let value = match &expression.node {
            Node::Literal(value) => value.clone(),
            Node::Name(name) => return self.name(place, name),
            Node::List(items) => Value::List(self.values(items)?),
            Node::Tuple(items) => Value::Tuple(self.values(items)?),
            Node::Template(pieces) => self.template(place, pieces)?,
            Node::Unary(operator, operand) => {
                let operand = self.value(operand)?;
                arithmetic::unary(*operator, &operand).map_err(|e| self.error(place, e))?
            }
            Node::Binary(first, rest) => {
                let mut left = self.value(first)?;
                for (operator, place, right) in rest {
                    let right = self.value(right)?;
                    left = arithmetic::binary(left, *operator, right).map_err(|e| self.error(*place, e))?;
                    left = self.admitted(*place, left)?;
                }
                left
            }
            Node::Compare(first, rest) => {
                let mut left = self.value(first)?;
                for (comparison, place, right) in rest {
                    let right = self.value(right)?;
                    let holds = compare::compare(&left, *comparison, &right);
                    if !holds.map_err(|e| self.error(*place, e))? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Value::Bool(true)
            }
            Node::And(operands) => return self.logical(operands, false),
            Node::Or(operands) => return self.logical(operands, true),
            Node::Choice(choice) => {
                let condition = self.value(&choice.condition)?.is_true();
                return self.value(if condition { &choice.yes } else { &choice.no });
            }
            Node::Index(value, indexes) => {
                let mut value = self.value(value)?;
                for index in indexes {
                    let at = self.value(index)?;
                    value = element(&value, &at).map_err(|e| self.error(index.place, e))?;
                }
                value
            }
            Node::Call(name, arguments) => self.call(place, name, arguments)?,
        };
        self.admitted(place, value)
    }

    fn values(&mut self, expressions: &[Expression]) -> Result<Vec<Value>, CodeError> {
        expressions.iter().map(|expression| self.value(expression)).collect()
    }

    /// The first operand that decides `and` (a false one) or `or` (a true one), else the last.
    fn logical(&mut self, operands: &[Expression], decides: bool) -> Result<Value, CodeError> {
        let mut last = Value::None;
        for operand in operands {
            last = self.value(operand)?;
            if last.is_true() == decides {
                break;
            }
        }
        Ok(last)
    }

    fn template(&mut self, place: usize, pieces: &[Piece]) -> Result<Value, CodeError> {
        let mut out = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Field { value: expression, repr, spec } => {
                    let value = self.value(expression)?;
                    let value = if *repr { Value::Str(value.repr()) } else { value };
                    let text = if spec.is_empty() {
                        Ok(value.to_string())
                    } else {
                        format::parse(spec).and_then(|format| format::apply(&format, &value))
                    };
                    out.push_str(&text.map_err(|e| self.error(expression.place, e))?);
                }
            }
            if out.len() > MAX_SIZE {
                return Err(self.error(place, format!("the string is larger than {MAX_SIZE} bytes")));
            }
        }
        Ok(Value::Str(out))
    }

    fn call(&mut self, place: usize, name: &str, arguments: &[Expression]) -> Result<Value, CodeError> {
        if let Some(value) = self.lookup(name) {
            let message = format!("`{name}` is {}; expected a function", shortened(&value.described()));
            return Err(self.error(place, message));
        }
        if !FUNCTIONS.contains(&name) {
            let message =
                format!("`{name}` is not a known function; expected one of {}", FUNCTIONS.join(", "));
            return Err(self.error(place, message));
        }
        let arguments = self.values(arguments)?;
        if name != "print" {
            return call::call(name, &arguments).map_err(|e| self.error(place, e));
        }
        let text = arguments.iter().map(Value::to_string).collect::<Vec<_>>().join(" ");
        let text = self.admitted(place, Value::Str(text))?.to_string();
        self.printed.extend(text.split('\n').map(str::to_owned));
        Ok(Value::None)
    }
}

/// `value[at]`; negative indexes count from the end.
fn element(value: &Value, at: &Value) -> Result<Value, String> {
    let Some(index) = at.int() else {
        return Err(format!("met {} as an index; expected a whole number", at.described()));
    };
    let len = match value {
        Value::Str(s) => s.chars().count(),
        _ => match value.items() {
            Some(items) => items.len(),
            None => return Err(format!("met {} before an index; expected a list", value.described())),
        },
    };
    let index = if index < 0 { index.saturating_add(len as i128) } else { index };
    let found = usize::try_from(index).ok().and_then(|index| match value {
        Value::Str(s) => s.chars().nth(index).map(|c| Value::Str(c.to_string())),
        _ => value.items()?.get(index).cloned(),
    });
    found.ok_or_else(|| match len {
        0 => format!("met the index {}; expected something to index, not {}", at.repr(), value.repr()),
        _ => format!("met the index {}; expected -{len} to {}", at.repr(), len - 1),
    })
}

/// The names in an expression, in order of appearance.
fn names_in<'a>(expression: &'a Expression, out: &mut Vec<&'a str>) {
    let mut all = |expressions: &'a [Expression]| expressions.iter().for_each(|e| names_in(e, out));
    match &expression.node {
        Node::Literal(_) => {}
        Node::Name(name) => {
            if out.len() < MOST_NAMES && !out.contains(&name.as_str()) {
                out.push(name);
            }
        }
        Node::List(items) | Node::Tuple(items) | Node::And(items) | Node::Or(items) => all(items),
        Node::Call(_, arguments) => all(arguments),
        Node::Unary(_, operand) => names_in(operand, out),
        Node::Binary(first, rest) => {
            names_in(first, out);
            rest.iter().for_each(|(_, _, right)| names_in(right, out));
        }
        Node::Compare(first, rest) => {
            names_in(first, out);
            rest.iter().for_each(|(_, _, right)| names_in(right, out));
        }
        Node::Choice(choice) => {
            [&choice.yes, &choice.condition, &choice.no].into_iter().for_each(|e| names_in(e, out));
        }
        Node::Index(value, indexes) => {
            names_in(value, out);
            indexes.iter().for_each(|index| names_in(index, out));
        }
        Node::Template(pieces) => {
            for piece in pieces {
                if let Piece::Field { value, .. } = piece {
                    names_in(value, out);
                }
            }
        }
    }
}

/// How many names of a condition that does not hold have their values reported.
const MOST_NAMES: usize = 20;
