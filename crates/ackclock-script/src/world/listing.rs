//! Commands of scripts that look at connections: FreeBSD's `sockstat` with `grep` behind it, and `tcpdrop`. They
//! are answered from what the host says of its connections.

use super::World;
use crate::host::Listed;

/// The user and the command of a socket as `sockstat` writes them, which cuts the name of the command.
const OWNER: &str = "root packetdril";
/// The same of a connection that no descriptor has.
const NO_OWNER: &str = "? ?";

impl World<'_> {
    /// Answers a line of commands joined by `|`, if its first one lists or drops connections. Returns whether it
    /// does, and why the last command fails, if it does.
    pub(super) fn looks_at_connections(&mut self, line: &str) -> Option<Result<(), String>> {
        let mut stages = line.split('|').map(str::trim);
        let mut first = stages.next()?.split_whitespace();
        match first.next()? {
            "sockstat" => {
                let connections = self.host.connections()?;
                let words: Vec<&str> = first.collect();
                let listed = listing(&connections, &words)?;
                Some(filtered(listed, stages))
            }
            "tcpdrop" => {
                let ["-s", state] = first.collect::<Vec<_>>()[..] else { return None };
                self.host.drop_connections(&state.replace('_', "-")).then_some(Ok(()))
            }
            _ => None,
        }
    }
}

/// The lines of `sockstat`; `None` where it has options that are not known here.
fn listing(connections: &[Listed], words: &[&str]) -> Option<Vec<String>> {
    let (mut port, mut with_states) = (None, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            // There is one version of IP.
            "-4" | "-6" => {}
            "-s" => with_states = true,
            "-P" if *words.next()? == "tcp" => {}
            "-p" => port = Some(words.next()?.parse::<u16>().ok()?),
            _ => return None,
        }
    }
    let wanted = |c: &&Listed| port.is_none_or(|port| c.ports.local == port || c.ports.remote == port);
    let line = |c: &Listed| {
        let owner = if c.owned { OWNER } else { NO_OWNER };
        let state = if with_states { sockstat_name(c.state) } else { String::new() };
        format!("{owner} tcp {} {} {state}", c.ports.local, c.ports.remote)
    };
    Some(connections.iter().filter(wanted).map(line).collect())
}

/// A state by FreeBSD's name (`tcpstates` of `netinet/tcp_fsm.h`) of that of RFC 9293 §3.3.2.
fn sockstat_name(state: &str) -> String {
    match state {
        "SYN-RECEIVED" => "SYN_RCVD".to_owned(),
        other => other.replace('-', "_"),
    }
}

/// What the last of some `grep` commands says of lines.
fn filtered<'a>(mut lines: Vec<String>, stages: impl Iterator<Item = &'a str>) -> Result<(), String> {
    for stage in stages {
        let words: Vec<&str> = stage.split_whitespace().collect();
        let (counts, pattern) = match words[..] {
            ["grep", "-c", pattern] => (true, pattern),
            ["grep", pattern] => (false, pattern),
            _ => return Err(format!("`{stage}` is no `grep WORD` and no `grep -c WORD`")),
        };
        let before = lines.join("; ");
        lines.retain(|line| line.contains(pattern));
        if counts {
            // A number is printed in any case, and only the next command asks for it.
            lines = vec![lines.len().to_string()];
        } else if lines.is_empty() {
            return Err(format!("`{stage}` finds nothing in \"{before}\""));
        }
    }
    Ok(())
}
