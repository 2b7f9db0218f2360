//! What shell commands of a script set.

use std::fmt;

use super::World;
use crate::ast::Shell;
use crate::code::{Program, Scope};
use crate::host::Setting;

/// A setting that has a value which it cannot have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SettingsError {
    /// The line of the script.
    pub line: u32,
    /// The setting.
    pub name: String,
    /// What it was to be.
    pub value: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {} cannot be \"{}\"", self.line, self.name, self.value)
    }
}

impl std::error::Error for SettingsError {}

/// How deep files of settings may name others.
const MAX_DEPTH: u32 = 4;

impl World<'_> {
    /// Carries out what a command sets, answers what it asks of connections, and names the rest of it. The
    /// inner error says why such a question fails.
    pub(super) fn shell(
        &mut self,
        shell: &Shell,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Result<(), String>, SettingsError> {
        self.commands(shell.line, &shell.text, file, 0)
    }

    fn commands(
        &mut self,
        line: u32,
        text: &str,
        file: &dyn Fn(&str) -> Option<String>,
        depth: u32,
    ) -> Result<Result<(), String>, SettingsError> {
        // A backslash at the end of a line continues it.
        let text = text.replace("\\\n", " ");
        let lines = text.lines().flat_map(|l| l.split([';', '&'])).map(str::trim);
        for line_of_commands in lines {
            if let Some(answer) = self.looks_at_connections(line_of_commands) {
                if answer.is_err() {
                    return Ok(answer);
                }
                continue;
            }
            for command in line_of_commands.split('|').map(str::trim) {
                if command.is_empty() || command.starts_with('#') {
                    continue;
                }
                if command.starts_with("ip tcp_metrics flush") && self.host.forget_peers() {
                    continue;
                }
                let mut words = command.split_whitespace();
                let program = words.next().unwrap_or_default();
                if program == "sysctl" || program.ends_with("set_sysctls.py") {
                    self.assignments(line, command)?;
                    self.others(line, command)?;
                } else if let Some(text) = (depth < MAX_DEPTH).then(|| file(program)).flatten() {
                    let answer = self.commands(line, &text, file, depth + 1)?;
                    if answer.is_err() {
                        return Ok(answer);
                    }
                } else if depth == 0 {
                    self.outcome.notes.push(format!("line {line}: `{command}` is not run"));
                }
            }
        }
        Ok(Ok(()))
    }

    /// `NAME=VALUE` of other settings than those of `net.ipv4`.
    fn others(&mut self, line: u32, command: &str) -> Result<(), SettingsError> {
        for word in command.split_whitespace() {
            let Some((name, value)) = word.split_once('=') else { continue };
            let first = name.split('.').next().unwrap_or_default();
            if !name.contains('.') || name.contains('/') || name.starts_with("net.ipv4.") || first.is_empty()
            {
                continue;
            }
            match self.host.set_sysctl(name, value.trim_matches('"')) {
                Setting::Done => {}
                Setting::Unknown => {
                    self.outcome.notes.push(format!("line {line}: {name} has no effect here"));
                }
                Setting::Refused => {
                    let (name, value) = (name.to_owned(), value.to_owned());
                    return Err(SettingsError { line, name, value });
                }
            }
        }
        Ok(())
    }

    /// `net.ipv4.NAME=VALUE` and `/proc/sys/net/ipv4/NAME=VALUE`, the value perhaps in quotes.
    fn assignments(&mut self, line: u32, command: &str) -> Result<(), SettingsError> {
        let mut rest = command;
        while let Some(at) = rest.find("net.ipv4.").or_else(|| rest.find("net/ipv4/")) {
            rest = &rest[at + "net.ipv4.".len()..];
            let Some((name, value)) = rest.split_once('=') else { return Ok(()) };
            let (value, after) = match value.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
            };
            self.assign(line, name.trim(), &calculated(value))?;
            rest = after;
        }
        Ok(())
    }

    fn assign(&mut self, line: u32, name: &str, value: &str) -> Result<(), SettingsError> {
        match self.host.set(name, value) {
            Setting::Done => {}
            Setting::Unknown => {
                self.outcome.notes.push(format!("line {line}: net.ipv4.{name} has no effect here"))
            }
            Setting::Refused => {
                let (name, value) = (format!("net.ipv4.{name}"), value.to_owned());
                return Err(SettingsError { line, name, value });
            }
        }
        Ok(())
    }
}

/// A value with `$((15*1024*1024))` replaced by what it is; left as it is where it is nothing.
fn calculated(value: &str) -> String {
    let Some((before, rest)) = value.split_once("$((") else { return value.to_owned() };
    let Some((sum, after)) = rest.split_once("))") else { return value.to_owned() };
    let printed = Program::parse(&format!("print({sum})"))
        .ok()
        .and_then(|program| program.run(&mut Scope::new(), &|_| None).ok())
        .and_then(|lines| lines.into_iter().next());
    match printed {
        Some(number) => format!("{before}{number}{}", calculated(after)),
        None => value.to_owned(),
    }
}
