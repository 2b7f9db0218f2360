//! Blocks as the parser understands them. A place is a byte of the block's text.

use super::Value;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Statement {
    Assert {
        place: usize,
        condition: Expression,
        /// The condition's text, on one line.
        text: String,
        message: Option<Expression>,
    },
    /// `a = b = value`.
    Assign {
        names: Vec<(usize, String)>,
        value: Expression,
    },
    /// `name += value`.
    Update {
        place: usize,
        name: String,
        operator: Binary,
        value: Expression,
    },
    Expression(Expression),
    Pass,
    If {
        branches: Vec<(Expression, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Expression {
    pub place: usize,
    pub node: Node,
}

/// Operators of one level are side by side in a list, so that long sums do not nest.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Node {
    Literal(Value),
    Name(String),
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    /// An f-string.
    Template(Vec<Piece>),
    Unary(Unary, Box<Expression>),
    Binary(Box<Expression>, Vec<Operation>),
    /// `a < b <= c`.
    Compare(Box<Expression>, Vec<(Comparison, usize, Expression)>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    /// `yes if condition else no`.
    Choice(Box<Choice>),
    Index(Box<Expression>, Vec<Expression>),
    Call(String, Vec<Expression>),
}

/// An operator, its place, and what is right of it.
pub(super) type Operation = (Binary, usize, Expression);

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Choice {
    pub condition: Expression,
    pub yes: Expression,
    pub no: Expression,
}

/// A piece of an f-string.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Piece {
    Text(String),
    Field {
        value: Expression,
        /// `!r`.
        repr: bool,
        /// What follows the colon.
        spec: String,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    Plus,
    Minus,
    Invert,
    Not,
}

macro_rules! operators {
    ($(#[doc = $about:literal])+ $name:ident { $($operator:ident $mark:literal)+ }) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum $name {
            $($operator,)+
        }

        impl $name {
            /// The operator with these characters.
            pub fn from_mark(mark: &str) -> Option<Self> {
                match mark {
                    $($mark => Some(Self::$operator),)+
                    _ => None,
                }
            }

            pub fn mark(self) -> &'static str {
                match self {
                    $(Self::$operator => $mark,)+
                }
            }
        }
    };
}

operators! {
    /// Operators that also have an assignment such as `+=`.
    Binary {
        Or "|" Xor "^" And "&" ShiftLeft "<<" ShiftRight ">>" Add "+" Subtract "-" Multiply "*" Divide "/"
        FloorDivide "//" Modulo "%" Power "**"
    }
}

operators! {
    /// Comparisons.
    Comparison {
        Equal "==" NotEqual "!=" Less "<" LessOrEqual "<=" Greater ">" GreaterOrEqual ">=" In "in"
        NotIn "not in" Is "is" IsNot "is not"
    }
}

impl Binary {
    /// The level of precedence; a higher one binds more tightly. `**` is apart: it binds to the right.
    pub fn level(self) -> usize {
        match self {
            Self::Or => 0,
            Self::Xor => 1,
            Self::And => 2,
            Self::ShiftLeft | Self::ShiftRight => 3,
            Self::Add | Self::Subtract => 4,
            Self::Multiply | Self::Divide | Self::FloorDivide | Self::Modulo => 5,
            Self::Power => LEVELS,
        }
    }
}

/// How many levels of operators bind to the left.
pub(super) const LEVELS: usize = 6;
