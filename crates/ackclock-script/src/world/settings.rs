//! What shell commands of a script set.

use std::fmt;

use ackclock_engine::StackError;

use super::World;
use crate::ast::Shell;
use crate::code::{Program, Scope};

/// Why a script cannot be run as it is set up.
#[derive(Debug)]
pub enum SettingsError {
    /// The stack is not known.
    Stack(StackError),
    /// A setting has a value that it cannot have.
    Value {
        /// The line of the script.
        line: u32,
        /// The setting.
        name: String,
        /// What it was to be.
        value: String,
    },
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stack(e) => e.fmt(f),
            Self::Value { line, name, value } => write!(f, "line {line}: {name} cannot be \"{value}\""),
        }
    }
}

impl std::error::Error for SettingsError {}

/// What a setting of Linux's `net.ipv4` becomes in a stack.
enum Meaning {
    /// A flag of the stack: on where the value is not 0.
    Flag(&'static str),
    /// The number at that place, or the last.
    Number(&'static str, usize),
    /// Bytes, at that place among its numbers.
    Bytes(&'static str, usize),
    /// Seconds.
    Seconds(&'static str),
    /// The receive buffer, and the shift that lets it grow to its largest size.
    ReceiveBuffer,
    /// A word.
    Word(&'static str),
    /// Settled by what is built: no value changes anything.
    Fixed,
}

const SETTINGS: &[(&str, Meaning)] = &[
    ("tcp_timestamps", Meaning::Flag("timestamps")),
    ("tcp_sack", Meaning::Flag("sack")),
    ("tcp_window_scaling", Meaning::Flag("window_scaling")),
    ("tcp_ecn", Meaning::Flag("ecn")),
    ("tcp_slow_start_after_idle", Meaning::Flag("idle_restart")),
    ("tcp_syn_retries", Meaning::Number("syn_retries", 0)),
    ("tcp_synack_retries", Meaning::Number("syn_retries", 0)),
    ("tcp_rmem", Meaning::ReceiveBuffer),
    ("tcp_wmem", Meaning::Bytes("snd_buf", 1)),
    ("tcp_congestion_control", Meaning::Word("window")),
    ("tcp_keepalive_time", Meaning::Seconds("keepalive")),
    ("tcp_keepalive_intvl", Meaning::Seconds("keepalive_interval")),
    ("tcp_keepalive_probes", Meaning::Number("keepalive_probes", 0)),
    ("tcp_no_metrics_save", Meaning::Fixed),
    ("tcp_moderate_rcvbuf", Meaning::Fixed),
    ("tcp_dsack", Meaning::Fixed),
    ("tcp_fack", Meaning::Fixed),
    ("tcp_tso_win_divisor", Meaning::Fixed),
    ("tcp_min_tso_segs", Meaning::Fixed),
    ("tcp_pacing_ss_ratio", Meaning::Fixed),
    ("tcp_pacing_ca_ratio", Meaning::Fixed),
    ("tcp_fastopen", Meaning::Fixed),
    ("tcp_fastopen_key", Meaning::Fixed),
    ("tcp_syncookies", Meaning::Fixed),
];

/// How deep files of settings may name others.
const MAX_DEPTH: u32 = 4;

impl World {
    /// Carries out what a command sets, and names the rest of it.
    pub(super) fn shell(
        &mut self,
        shell: &Shell,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), SettingsError> {
        self.commands(shell.line, &shell.text, file, 0)
    }

    fn commands(
        &mut self,
        line: u32,
        text: &str,
        file: &dyn Fn(&str) -> Option<String>,
        depth: u32,
    ) -> Result<(), SettingsError> {
        for command in text.lines().flat_map(|l| l.split([';', '&', '|'])).map(str::trim) {
            if command.is_empty() || command.starts_with('#') {
                continue;
            }
            let mut words = command.split_whitespace();
            let program = words.next().unwrap_or_default();
            if program == "sysctl" || program.ends_with("set_sysctls.py") {
                self.assignments(line, command)?;
            } else if let Some(text) = (depth < MAX_DEPTH).then(|| file(program)).flatten() {
                self.commands(line, &text, file, depth + 1)?;
            } else if depth == 0 {
                self.outcome.notes.push(format!("line {line}: `{command}` is not run"));
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
        let Some((_, meaning)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
            self.outcome.notes.push(format!("line {line}: net.ipv4.{name} has no effect here"));
            return Ok(());
        };
        let bad =
            |_| SettingsError::Value { line, name: format!("net.ipv4.{name}"), value: value.to_owned() };
        let number = |at: usize| value.split_whitespace().nth(at).or(value.split_whitespace().last());
        let (key, value_of) = match meaning {
            Meaning::Flag(key) => (*key, (number(0) != Some("0")).to_string()),
            Meaning::Number(key, at) => (*key, number(*at).unwrap_or_default().to_owned()),
            Meaning::Bytes(key, at) => (*key, format!("{}B", number(*at).unwrap_or_default())),
            Meaning::Seconds(key) => (*key, format!("{value}s")),
            Meaning::Word(key) => (*key, value.to_owned()),
            Meaning::ReceiveBuffer => {
                let most: u64 = number(2).and_then(|n| n.parse().ok()).unwrap_or(0);
                let shift = (0..14).find(|s| most >> s <= 65_535).unwrap_or(14);
                self.host.stack.set("window_shift", &shift.to_string()).map_err(bad)?;
                ("rcv_buf", format!("{}B", number(1).unwrap_or_default()))
            }
            Meaning::Fixed => return Ok(()),
        };
        self.host.stack.set(key, &value_of).map_err(bad)
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
