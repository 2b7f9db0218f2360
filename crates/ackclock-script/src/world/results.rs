//! What system calls return beside what is expected of them.

use super::calls::{epoll_data, int, option_value};
use super::{World, messages};
use crate::ast::{self, Expr};
use crate::constants::constant;
use crate::host::{Call, OptionValue, Returned};

impl World<'_> {
    /// Compares what a call returned with what the script expects, and remembers descriptors.
    pub(super) fn returned(
        &mut self,
        call: &Call,
        expected: &ast::Call,
        got: &Returned,
    ) -> Result<(), String> {
        let opens =
            matches!(call, Call::Socket { .. } | Call::Accept { .. } | Call::Open { .. } | Call::EpollCreate);
        if let (true, Returned::Value(fd)) = (opens, got) {
            return self.opened(expected, *fd);
        }
        let value = match got {
            Returned::Error(errno) => {
                return match expected.errno.as_deref() {
                    Some(name) if name == errno.0 => Ok(()),
                    // Two names of one number.
                    Some("EWOULDBLOCK") if errno.0 == "EAGAIN" => Ok(()),
                    Some(name) => Err(format!("the call fails with {} instead of {name}", errno.0)),
                    // Whatever it returns.
                    None if expected.result == Expr::Any => Ok(()),
                    // Whatever the error is.
                    None if expected.result == Expr::Int(-1) => Ok(()),
                    None => Err(format!("the call fails with {}", errno.0)),
                };
            }
            Returned::Value(n) => *n,
            Returned::Option(value) => {
                option(expected, value)?;
                0
            }
            Returned::Number(n) => {
                let wanted = expected.arguments.get(2).map(int).transpose()?;
                if let Some(wanted) = wanted.filter(|w| w != n) {
                    return Err(format!("the call gives {n} instead of {wanted}"));
                }
                0
            }
            Returned::Events(found) => events(expected, found)?,
            Returned::Ready(found) => ready(expected, found)?,
            Returned::Message(message) => {
                messages::compare(expected, message, self.tolerance)?;
                i64::try_from(message.len).unwrap_or(i64::MAX)
            }
            Returned::Pair(read, write) => {
                self.pair(expected, *read, *write)?;
                0
            }
        };
        if let Some(name) = &expected.errno {
            return Err(format!("the call returns {value} instead of failing with {name}"));
        }
        match &expected.result {
            Expr::Any => Ok(()),
            result => match int(result)? {
                wanted if wanted == value => Ok(()),
                wanted => Err(format!("the call returns {value} instead of {wanted}")),
            },
        }
    }

    /// The two descriptors of a pipe have the numbers that the script gives them.
    fn pair(&mut self, expected: &ast::Call, read: i64, write: i64) -> Result<(), String> {
        let Some(Expr::Array(names)) = expected.arguments.first() else {
            return Err("pipe needs [read, write]".to_owned());
        };
        for (name, fd) in names.iter().zip([read, write]) {
            self.fds.insert(int(name)?, i32::try_from(fd).unwrap_or(-1));
        }
        Ok(())
    }

    /// A descriptor has the number that the script gives it.
    fn opened(&mut self, expected: &ast::Call, fd: i64) -> Result<(), String> {
        let name = match &expected.result {
            Expr::Any => fd,
            result => int(result)?,
        };
        if name < 0 {
            return Err("the call returns a descriptor where it should fail".to_owned());
        }
        self.fds.insert(name, i32::try_from(fd).unwrap_or(-1));
        Ok(())
    }
}

fn option(expected: &ast::Call, got: &OptionValue) -> Result<(), String> {
    let Some(wanted) = expected.arguments.get(3) else { return Ok(()) };
    if matches!(wanted, Expr::Any) {
        return Ok(());
    }
    // An error number by its name: SO_ERROR.
    if let (OptionValue::Text(errno), Expr::Array(all)) = (got, wanted)
        && let [Expr::Word(word)] = all.as_slice()
        && constant(word).is_none()
    {
        return if errno == word { Ok(()) } else { Err(format!("the option is {errno} instead of {word}")) };
    }
    let wanted = option_value(wanted)?;
    // Both are 32 bits, with a sign or without.
    let same_int = |a: &OptionValue, b: &OptionValue| match (a, b) {
        (OptionValue::Int(a), OptionValue::Int(b)) => *a as u32 == *b as u32,
        _ => false,
    };
    if wanted == *got || same_int(&wanted, got) {
        Ok(())
    } else {
        Err(format!("the option is {} instead of {}", show(got), show(&wanted)))
    }
}

fn show(value: &OptionValue) -> String {
    match value {
        OptionValue::Int(n) => n.to_string(),
        OptionValue::Linger(on, seconds) => format!("{{{on}, {seconds}}}"),
        OptionValue::Text(text) => format!("\"{text}\""),
    }
}

/// Compares the events of each descriptor; returns how many have any.
fn events(expected: &ast::Call, found: &[i64]) -> Result<i64, String> {
    if let Some(Expr::Array(all)) = expected.arguments.first() {
        for (expr, met) in all.iter().zip(found) {
            let Expr::Struct(fields) = expr else { continue };
            let wanted = fields.iter().find(|(name, _)| name.as_deref() == Some("revents"));
            let Some((_, wanted)) = wanted else { continue };
            let wanted = int(wanted)?;
            if wanted != *met {
                return Err(format!("the events are {met:#x} instead of {wanted:#x}"));
            }
        }
    }
    Ok(found.iter().filter(|e| **e != 0).count() as i64)
}

/// Compares what `epoll_wait` found, in order; returns how much that is.
fn ready(expected: &ast::Call, found: &[(i64, u64)]) -> Result<i64, String> {
    let one;
    let wanted = match expected.arguments.get(1) {
        Some(Expr::Array(all)) => all.as_slice(),
        Some(event) => {
            one = [event.clone()];
            &one
        }
        None => &[],
    };
    for (expr, (events, data)) in wanted.iter().zip(found) {
        let Expr::Struct(fields) = expr else { continue };
        if let Some((_, wanted)) = fields.iter().find(|(name, _)| name.as_deref() == Some("events")) {
            let wanted = int(wanted)?;
            if wanted != *events {
                return Err(format!("the events are {events:#x} instead of {wanted:#x}"));
            }
        }
        let wanted = epoll_data(expr)?;
        if wanted != *data {
            return Err(format!("the events are those of {data} instead of {wanted}"));
        }
    }
    Ok(found.len() as i64)
}
