//! Code blocks of scripts, `%{ assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd }%`: a small part of Python.
//!
//! Statements are `assert`, assignments to names, expressions such as `print(...)`, `pass` and
//! `if`/`elif`/`else`. Expressions have Python's operators and precedence, and give what CPython gives or an
//! error. There are no loops, imports, attributes or definitions, and whole numbers have 128 bits at most. A
//! block may be anything: it is refused with its place, or runs in bounded time and memory.
//!
//! ```
//! use ackclock_script::code::{Program, Scope, TcpInfo, constant};
//!
//! let info = TcpInfo { snd_cwnd: 10, ..TcpInfo::default() };
//! let names = |name: &str| info.get(name).or_else(|| constant(name));
//! let mut scope = Scope::new();
//! let block = Program::parse("print('cwnd=%d' % tcpi_snd_cwnd); assert tcpi_snd_cwnd == 7")?;
//! let failure = block.run(&mut scope, &names).unwrap_err();
//! assert_eq!(failure.printed, ["cwnd=10"]);
//! assert_eq!(failure.to_string(), "line 1: tcpi_snd_cwnd == 7 does not hold: tcpi_snd_cwnd is 10");
//! # Ok::<(), ackclock_script::code::CodeError>(())
//! ```

mod arithmetic;
mod call;
mod compare;
mod error;
mod expression;
mod format;
mod fuzz;
mod info;
mod literal;
mod number;
mod parse;
mod percent;
mod run;
mod scope;
mod syntax;
mod template;
#[cfg(test)]
mod tests;
mod token;
mod value;

pub use error::{Assertion, CodeError, CodeFailure, Why};
#[doc(hidden)]
pub use fuzz::fuzz_code;
pub use info::{CONSTANTS, TcpInfo, constant, known_names};
pub use scope::Scope;
pub use value::Value;

use syntax::Statement;

/// A block that was understood.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// The block's text, for the places of errors.
    text: String,
    statements: Vec<Statement>,
}

impl Program {
    /// Parses a block: the text between `%{` and `}%`.
    ///
    /// Text on the line of `%{` is not indented, however many blanks are before it. Otherwise the first
    /// statement's indentation is that of the block.
    pub fn parse(text: &str) -> Result<Self, CodeError> {
        Ok(Self { text: text.to_owned(), statements: parse::statements(text)? })
    }

    /// Runs the block and returns the lines that it printed.
    ///
    /// `names` gives the fields of `TCP_INFO` and the constants. The scope's variables hide them, but only
    /// until the end of the block in which they were assigned: as with packetdrill, each block begins with
    /// what was measured. Other variables keep their values from one block to the next.
    pub fn run(
        &self,
        scope: &mut Scope,
        names: &dyn Fn(&str) -> Option<Value>,
    ) -> Result<Vec<String>, CodeFailure> {
        run::run(&self.text, &self.statements, scope, names)
    }
}

/// Longest text of a block, in bytes.
const MAX_TEXT: usize = 1 << 16;

/// Deepest nesting of brackets, operators, blocks and lists.
const MAX_DEPTH: usize = 64;

/// Largest value: a string's bytes, or a list's elements with theirs.
const MAX_SIZE: usize = 1 << 16;

/// Largest sum of the values that the variables of a scope have.
const MAX_SCOPE: usize = 1 << 18;

/// Largest sum of the values that one run makes: no block runs for long, nor takes much memory.
const MAX_WORK: usize = 1 << 20;
