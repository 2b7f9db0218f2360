//! A script against a host: its events in order, each at its time.

mod calls;
mod ip;
mod listing;
mod messages;
mod numbers;
mod packets;
mod results;
mod settings;
mod time;

use std::collections::BTreeMap;

use ackclock_units::{Duration, Ecn, Instant};

use crate::ast::{self, Action, Body, Event, Script, When};
use crate::code::{Program, Scope, constant, known_names};
use crate::constants::Errno;
use crate::host::{Call, Host, Ports, Returned};
use crate::report::{Failure, Line, Outcome};

pub use settings::SettingsError;
use time::Window;
pub(crate) use time::seconds;

/// By how much times may differ unless a script says otherwise: packetdrill's own.
const TOLERANCE: Duration = Duration::from_micros(4000);

/// By what part of the time since the event before they may differ, where that is more: packetdrill's own, ‰.
const TOLERANCE_PER_MILLE: u64 = 125;

/// Deadlines of the host that one script may run: far more than any needs.
const MAX_STEPS: u32 = 1_000_000;

/// Runs a script against a host. `tolerance`: by how much times may differ, however long something takes; what the
/// script says where there is none.
/// `file` reads a file that a command of the script names, to look for settings in it.
///
/// # Errors
///
/// Names a setting that cannot have its value.
pub fn run(
    script: &Script,
    host: &mut dyn Host,
    tolerance: Option<Duration>,
    file: &dyn Fn(&str) -> Option<String>,
) -> Result<Outcome, SettingsError> {
    let mut world = World::new(script, host);
    for flag in &script.flags {
        world.set_flag(flag);
    }
    if let Some(tolerance) = tolerance {
        world.tolerance = tolerance;
        world.tolerance_per_mille = 0;
    }
    for command in &script.setup {
        if let Err(why) = world.shell(command, file)? {
            world.outcome.failure = Some(Failure { line: command.line, why });
            return Ok(world.outcome);
        }
    }
    for (i, event) in script.events.iter().enumerate() {
        let (line, failed) = world.step(i, event, file)?;
        world.outcome.lines.push(line);
        if let Some(failure) = failed {
            world.outcome.failure = Some(failure);
            break;
        }
    }
    if world.outcome.failure.is_none() {
        world.finish();
    }
    if world.steps == MAX_STEPS {
        world.outcome.notes.push(format!("{MAX_STEPS} timers have run, and no more do"));
    }
    Ok(world.outcome)
}

/// A call that has not returned.
#[derive(Debug)]
struct Blocked {
    event: usize,
    line: u32,
    call: Call,
    /// When it should return.
    window: Window,
    expected: ast::Call,
}

struct World<'a> {
    host: &'a mut dyn Host,
    tolerance: Duration,
    tolerance_per_mille: u64,
    /// When the event before was to happen.
    last: Option<Instant>,
    /// Descriptors by the numbers that the script gives them.
    fds: BTreeMap<i64, i32>,
    blocked: Vec<Blocked>,
    clocks: packets::Clocks,
    numbers: numbers::Numbers,
    labels: ip::FlowLabels,
    scope: Scope,
    outcome: Outcome,
    /// Deadlines that were run.
    steps: u32,
}

type Step = (Line, Option<Failure>);

impl<'a> World<'a> {
    fn new(script: &Script, host: &'a mut dyn Host) -> Self {
        Self {
            host,
            tolerance: TOLERANCE,
            tolerance_per_mille: TOLERANCE_PER_MILLE,
            last: None,
            fds: BTreeMap::new(),
            blocked: Vec::new(),
            clocks: packets::Clocks::default(),
            numbers: numbers::Numbers::default(),
            labels: ip::FlowLabels::default(),
            scope: Scope::with_known(known_names()),
            outcome: Outcome::new(script.events.len()),
            steps: 0,
        }
    }

    fn set_flag(&mut self, flag: &ast::Flag) {
        let percent = flag.value.as_deref().and_then(|v| v.parse::<f64>().ok());
        if let ("tolerance_percent", Some(percent @ 0.0..=100.0)) = (flag.name.as_str(), percent) {
            self.tolerance_per_mille = (percent * 10.0) as u64;
            return;
        }
        let address = flag.value.as_deref().and_then(|v| v.parse().ok());
        let taken = match flag.name.as_str() {
            "local_ip" if address.is_some() => self.host.set_addresses(address, None),
            "remote_ip" if address.is_some() => self.host.set_addresses(None, address),
            _ => false,
        };
        match (flag.name.as_str(), flag.value.as_deref().and_then(|v| v.parse::<u64>().ok())) {
            _ if taken => {}
            ("tolerance_usecs", Some(us)) => self.tolerance = Duration::from_micros(us),
            ("tcp_ts_tick_usecs", Some(us)) => self.clocks.tick = Some(Duration::from_micros(us)),
            ("define" | "ip_version" | "mtu", _) => {}
            _ => self.outcome.notes.push(format!("line {}: --{} has no effect here", flag.line, flag.name)),
        }
    }

    fn step(
        &mut self,
        i: usize,
        event: &Event,
        file: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Step, SettingsError> {
        let base = self.host.now();
        let window = Window::of(event.when, base, self.tolerance);
        let window = window.widened(self.last.unwrap_or(window.begin), self.tolerance_per_mille);
        self.last = Some(window.begin);
        let mut line = Line { line: event.line, expected: event.text.clone(), ..Line::default() };
        if let Some(failure) = self.wait_until(window.begin) {
            line.at = Some(self.host.now());
            return Ok((line, Some(failure)));
        }
        line.at = Some(self.host.now());
        let failed = match &event.action {
            Action::Inject(packet) if packet.leaves_number_open() => {
                Some("a segment that arrives needs its sequence number".to_owned())
            }
            Action::Inject(packet) => self.inject(packet).err(),
            Action::Expect(packet) => self.expect(packet, window, &mut line).err(),
            Action::Call(call) => self.call(i, event.line, event.when, base, call, &mut line).err(),
            Action::Shell(shell) => self.shell(shell, file)?.err(),
            Action::Code(code) => self.code(code).err(),
        };
        let failed = failed.map(|why| Failure { line: event.line, why });
        Ok((line, failed.or_else(|| self.retry())))
    }

    /// Lets time pass until `then`, with whatever is due before. A call that returns may fail.
    fn wait_until(&mut self, then: Instant) -> Option<Failure> {
        loop {
            if !self.run_next(then) {
                self.host.advance(then);
            }
            let failed = self.retry();
            // A real host's wait may end early, with a packet.
            if failed.is_some() || (self.host.now() >= then && self.deadline().is_none_or(|at| at > then)) {
                return failed;
            }
            if self.steps == MAX_STEPS {
                return None;
            }
        }
    }

    /// Runs what is due next. False where nothing is until `then`, and where the script has run too much already.
    fn run_next(&mut self, then: Instant) -> bool {
        let Some(next) = self.deadline().filter(|at| *at <= then && self.steps < MAX_STEPS) else {
            return false;
        };
        self.steps += 1;
        self.host.advance(next);
        true
    }

    /// The earliest deadline of the host or of a call that waits.
    fn deadline(&self) -> Option<Instant> {
        let calls = self.blocked.iter().filter_map(|b| b.call.deadline());
        self.host.deadline().into_iter().chain(calls).min()
    }

    /// Tries blocked calls again.
    fn retry(&mut self) -> Option<Failure> {
        let mut i = 0;
        while i < self.blocked.len() {
            let Some(returned) = self.host.call(&mut self.blocked[i].call) else {
                i += 1;
                continue;
            };
            let blocked = self.blocked.remove(i);
            let now = self.host.now();
            let checked = self.returned(&blocked.call, &blocked.expected, &returned);
            let checked = checked.and_then(|()| blocked.window.check(now, "the call returns"));
            if let Err(why) = checked {
                return Some(Failure { line: blocked.line, why });
            }
            if let Some(line) = self.outcome.lines.get_mut(blocked.event) {
                line.got = Some(format!("returned at {}", time::seconds(now)));
            }
        }
        None
    }

    /// The script is at its end: calls that block must still return.
    fn finish(&mut self) {
        let last = self.blocked.iter().map(|b| b.window.patience(Duration::ZERO)).max();
        // No longer than needed.
        let mut failed = None;
        while let Some(last) = last.filter(|last| !self.blocked.is_empty() && self.host.now() < *last) {
            if !self.run_next(last) {
                self.host.advance(last);
            }
            failed = self.retry();
            if failed.is_some() || self.steps == MAX_STEPS {
                break;
            }
        }
        let left = self.blocked.first().map(|b| Failure {
            line: b.line,
            why: format!("the call has not returned at {}", time::seconds(self.host.now())),
        });
        self.outcome.failure = failed.or(left);
        for packet in self.host.sent().iter().take(4) {
            let text = packets::describe(&packet.tcp, packet.ecn);
            self.outcome.notes.push(format!("sent at {} and not expected: {text}", time::seconds(packet.at)));
        }
        self.outcome.ended = self.host.now();
    }

    fn inject(&mut self, packet: &ast::Packet) -> Result<(), String> {
        let opens = matches!(&packet.body, Body::Tcp(t) if t.flags.bits & 0x12 == 0x02);
        let named = packet.ports.map(|(from, to)| Ports { local: to, remote: from });
        let ports = named.unwrap_or_else(|| self.host.ports(opens));
        match &packet.body {
            Body::Tcp(tcp) => {
                // With the flag and no number, the number is 0; with the number and no flag, the number means
                // nothing (RFC 9293 §3.1).
                let ecn = match packet.ip.tos {
                    Some(ast::Tos::Ect0) => Ecn::Ect0,
                    Some(ast::Tos::Ect1 | ast::Tos::Ect) => Ecn::Ect1,
                    Some(ast::Tos::Ce) => Ecn::Ce,
                    Some(ast::Tos::Byte(byte)) => {
                        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(byte & 3)]
                    }
                    Some(ast::Tos::NotEct) | None => Ecn::NotEct,
                };
                let tcp = self.numbers.in_host_terms(self.clocks.in_host_terms(tcp), ports);
                self.host.inject(ports, &tcp, ecn)
            }
            Body::Icmp(icmp) => self.host.inject_icmp(ports, icmp),
        }
    }

    fn call(
        &mut self,
        event: usize,
        line: u32,
        when: When,
        base: Instant,
        expected: &ast::Call,
        shown: &mut Line,
    ) -> Result<(), String> {
        let mut call = self.prepare(expected)?;
        let begun = self.host.now();
        let fault = calls::has_no_buffer(expected).then_some(Returned::Error(Errno::EFAULT));
        if let Some(returned) = fault.or_else(|| self.host.call(&mut call)) {
            let result = self.returned(&call, expected, &returned);
            if let Some(until) = expected.until {
                let window = Window::until(when, until, base, self.tolerance);
                window.widened(begun, self.tolerance_per_mille).check(begun, "the call returns")?;
            }
            return result;
        }
        if let Some(until) = expected.until {
            let window = Window::until(when, until, base, self.tolerance);
            let window = window.widened(begun, self.tolerance_per_mille);
            self.blocked.push(Blocked { event, line, call, window, expected: expected.clone() });
            return Ok(());
        }
        // It blocks though the script does not say so: nothing else can happen before it returns.
        let patience = begun + self.host.patience();
        loop {
            // The call's own deadline is not among those of calls that the script expects to block.
            let own =
                call.deadline().filter(|at| *at <= patience && self.deadline().is_none_or(|d| *at <= d));
            match own {
                Some(at) => self.host.advance(at),
                None if !self.run_next(patience) => break,
                None => {}
            }
            if let Some(returned) = self.host.call(&mut call) {
                shown.got = Some(format!("returned at {}", time::seconds(self.host.now())));
                self.returned(&call, expected, &returned)?;
                return Window::at(begun, self.tolerance).check(self.host.now(), "the call returns");
            }
        }
        Err("the call blocks, and nothing ends that".to_owned())
    }

    fn code(&mut self, code: &ast::Code) -> Result<(), String> {
        let at = |line: usize| code.line as usize + line - 1;
        let program =
            Program::parse(&code.text).map_err(|e| format!("line {}: {}", at(e.line), e.message))?;
        let info = self.host.info().unwrap_or_default();
        let names = |name: &str| info.get(name).or_else(|| constant(name));
        let mut note = |printed: Vec<String>| {
            self.outcome.notes.extend(printed.into_iter().map(|p| format!("line {}: {p}", code.line)));
        };
        match program.run(&mut self.scope, &names) {
            Ok(printed) => note(printed),
            Err(failure) => {
                let why = failure.to_string();
                note(failure.printed);
                return Err(why);
            }
        }
        Ok(())
    }
}
