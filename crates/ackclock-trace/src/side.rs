//! The ends of a connection.

use crate::table::{Cell, CellValue, ColumnKind, cell};

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Side {
    /// The end that opened it.
    Client,
    /// The other end.
    #[default]
    Server,
}

impl Side {
    /// The flow that a connection belongs to, and which end of it: `2 n` is the client of flow `n`, `2 n + 1`
    /// its server.
    pub const fn of_connection(connection: u32) -> (u32, Self) {
        (connection / 2, if connection.is_multiple_of(2) { Self::Client } else { Self::Server })
    }

    /// The word in the table.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

cell!(Side, Text, Text, StringArray, |x| x.word());
