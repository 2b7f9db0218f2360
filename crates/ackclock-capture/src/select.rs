//! Selecting connections.

use std::net::{IpAddr, SocketAddr};

use crate::Connection;

/// A selection of connections: by number, by an end's address, by its port, or by both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Vec<Choice>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Number(usize),
    Address(IpAddr),
    Port(u16),
    End(SocketAddr),
}

impl Selection {
    /// Reads `0,3` (numbers), `:443` (a port), `192.0.2.1` or `2001:db8::1` (an address), `192.0.2.1:443` or
    /// `[2001:db8::1]:443` (both), separated by commas. A connection is selected if any of them matches.
    ///
    /// # Errors
    /// A sentence that names the part that is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let choice = |part: &str| {
            let number = part.parse().map(Choice::Number).ok();
            let port = || part.strip_prefix(':')?.parse().map(Choice::Port).ok();
            let end = || part.parse().map(Choice::End).ok();
            let address = || part.parse().map(Choice::Address).ok();
            let chosen = number.or_else(port).or_else(end).or_else(address);
            chosen.ok_or_else(|| {
                format!(
                    "`{part}` selects no connection; expected a number such as `0`, a port such as \
                     `:443`, an address, or `192.0.2.1:443`"
                )
            })
        };
        text.split(',').map(str::trim).map(choice).collect::<Result<_, _>>().map(Self)
    }

    /// True if connection number `n` is selected.
    pub fn includes(&self, n: usize, c: &Connection) -> bool {
        self.includes_ends(n, [c.client, c.server])
    }

    /// The same by its two ends, in any order.
    pub fn includes_ends(&self, n: usize, ends: [SocketAddr; 2]) -> bool {
        self.0.iter().any(|choice| match choice {
            Choice::Number(number) => *number == n,
            Choice::Address(ip) => ends.iter().any(|e| e.ip() == *ip),
            Choice::Port(port) => ends.iter().any(|e| e.port() == *port),
            Choice::End(end) => ends.contains(end),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read() {
        let parse = |t: &str| Selection::parse(t).map(|s| s.0);
        assert_eq!(parse("3"), Ok(vec![Choice::Number(3)]));
        assert_eq!(parse(":443, 0"), Ok(vec![Choice::Port(443), Choice::Number(0)]));
        assert_eq!(parse("::1"), Ok(vec![Choice::Address("::1".parse().unwrap())]));
        assert_eq!(parse("192.0.2.1:80"), Ok(vec![Choice::End("192.0.2.1:80".parse().unwrap())]));
        for wrong in ["", "x", ":99999", "1.2.3", "-1"] {
            assert!(parse(wrong).unwrap_err().contains("expected a number such as `0`"), "{wrong}");
        }
    }
}
