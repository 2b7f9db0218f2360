//! A run of a command behind a link.

use std::ffi::CString;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration as StdDuration, Instant as StdInstant};
use std::{fs, io};

use super::setup::Setup;
use super::watch::{LinkProgress, LinkSample};
use super::{LinkOptions, LinkReport};
use crate::linux::sys::descriptor_limit;
use crate::linux::wait::{Waker, wait};
use crate::linux::{Ended, Program, ProgramOptions, Signals};
use crate::sockets::raise_descriptor_limit;
use crate::{Clock, DriveError, Means, Namespace, check, enter_user_namespace_only};

/// How long a server may take until it listens.
const SERVER_STARTS: StdDuration = StdDuration::from_secs(10);
/// How long what the command has sent may take to arrive, once it has ended.
const REST: StdDuration = StdDuration::from_secs(10);
/// Interval at which these are looked at.
const LOOK: StdDuration = StdDuration::from_millis(5);

/// Runs a command behind a link until it ends. `progress` is told how far it has come. The process must
/// have a single thread, and may be moved into a user namespace. Signals of the terminal are the command's
/// meanwhile; one that a process sends here is passed on to it.
///
/// # Errors
/// A right that is missing, a command or a server that cannot be started, or a system call that failed.
pub fn run_link(
    options: LinkOptions,
    progress: &mut dyn FnMut(LinkProgress) -> ControlFlow<()>,
) -> Result<LinkReport, DriveError> {
    let user = match check()? {
        Means::Direct => None,
        Means::UserNamespace => {
            let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
            enter_user_namespace_only()?;
            Some(user)
        }
    };
    let signals = Signals::catch()?;
    let descriptors = descriptor_limit();
    raise_descriptor_limit();
    let waker = Arc::new(Waker::new()?);
    let LinkOptions { command: arguments, environment, server, .. } = &options;
    let (arguments, environment, server) = (arguments.clone(), environment.clone(), server.clone());
    let setup = Setup::new(options, &waker)?;

    let environment = with_far(environment, setup.addresses.far);
    let program = |namespace, arguments, apart, resolver| {
        let options = ProgramOptions {
            namespace,
            arguments,
            environment: &environment,
            signals: &signals,
            apart,
            user,
            resolver,
            descriptors,
        };
        Program::start(&options, Arc::clone(&waker))
    };
    let server = match (&server, &setup.far) {
        (Some(server), Some(namespace)) => {
            let started = program(namespace, server, true, None)?;
            listening(&started, namespace, &signals)?;
            Some(started)
        }
        _ => None,
    };
    let mut wanted = progress(LinkProgress::Begins).is_continue();
    let command = program(&setup.near, &arguments, false, setup.resolver.clone())?;
    let ended = until_end(&command, &signals, (&waker, &setup.samples), |sample| {
        wanted = wanted && progress(LinkProgress::Second(Box::new(sample))).is_continue();
    });
    let status = status(ended, &arguments)?;
    drop(command);
    let unsent = !has_arrived(&setup, &signals);
    drop(server);
    setup.finish(status, unsent)
}

/// The environment of the command.
fn with_far(mut given: Vec<CString>, far: Ipv4Addr) -> Vec<CString> {
    const NAME: &str = "ACKCLOCK_FAR=";
    given.retain(|variable| !variable.as_bytes().starts_with(NAME.as_bytes()));
    given.push(CString::new(format!("{NAME}{far}")).expect("an address has no zero byte"));
    given
}

/// Waits for the end of the command, and passes samples and signals on meanwhile.
fn until_end(
    command: &Program,
    signals: &Signals,
    (waker, samples): (&Waker, &Receiver<LinkSample>),
    mut show: impl FnMut(LinkSample),
) -> Ended {
    let clock = Clock::start();
    loop {
        let [_, woken] = wait(&clock, [signals.as_fd(), waker.as_fd()], None);
        if woken {
            waker.clear();
        }
        while let Some(caught) = signals.next() {
            // One of the terminal reaches the command by itself.
            if caught.by_process {
                command.signal(caught.number);
            }
        }
        samples.try_iter().for_each(&mut show);
        if let Some(ended) = command.ended() {
            return ended;
        }
    }
}

fn status(ended: Ended, command: &[CString]) -> Result<i32, DriveError> {
    let name = command.first().map(|name| name.to_string_lossy()).unwrap_or_default();
    match ended {
        Ended::Status(status) => Ok(status),
        Ended::NotFound(e) => Err(DriveError::Input(format!("`{name}` cannot be run: {e}"))),
        Ended::Failed(e) => Err(e),
    }
}

/// Waits until a server listens.
fn listening(server: &Program, namespace: &Namespace, signals: &Signals) -> Result<(), DriveError> {
    let began = StdInstant::now();
    while began.elapsed() < SERVER_STARTS {
        match server.ended() {
            None => {}
            Some(Ended::Status(status)) => {
                return Err(DriveError::Input(format!(
                    "the server has ended with exit status {status} before it listened"
                )));
            }
            Some(other) => return status(other, &[c"--server".to_owned()]).map(drop),
        }
        if signals.next().is_some() {
            return Err(DriveError::Interrupted);
        }
        let listens = namespace.run(|| {
            let table = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}"));
            has_state(&table("tcp")?, &["0A"])
                .then_some(())
                .or(has_state(&table("udp")?, &["07"]).then_some(()))
                .ok_or(io::ErrorKind::NotFound.into())
        })?;
        if matches!(listens, Ok::<(), io::Error>(())) {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    Err(DriveError::Input(format!(
        "the server does not listen at any port of IPv4 after {} s: give one that does, by TCP or UDP",
        SERVER_STARTS.as_secs()
    )))
}

/// Waits until all that the command has sent has arrived; false when that takes too long, or a signal ends it.
fn has_arrived(setup: &Setup, signals: &Signals) -> bool {
    /// Closed with bytes that are not acknowledged: FIN-WAIT-1, CLOSING and LAST-ACK.
    const SENDING: &[&str] = &["04", "0B", "09"];
    let began = StdInstant::now();
    while began.elapsed() < REST {
        let sends = setup.near.run(|| fs::read_to_string("/proc/thread-self/net/tcp").unwrap_or_default());
        let sends = sends.is_ok_and(|table| has_state(&table, SENDING));
        if !sends && !setup.is_carrying() {
            return true;
        }
        if signals.next().is_some() {
            break;
        }
        std::thread::sleep(LOOK);
    }
    false
}

/// True if a socket in a table such as `/proc/net/tcp` has one of these states.
fn has_state(table: &str, states: &[&str]) -> bool {
    let of_line =
        |line: &str| line.split_ascii_whitespace().nth(3).is_some_and(|state| states.contains(&state));
    table.lines().skip(1).any(of_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_sockets_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue\n   0: 00000000:1F40 00000000:0000 0A 00000000:0\n";
        assert!(has_state(table, &["0A"]) && !has_state(table, &["04", "09"]));
        assert!(!has_state("", &["0A"]));
    }

    #[test]
    fn the_far_end_is_in_the_environment_once() {
        let given = vec![c"A=1".to_owned(), c"ACKCLOCK_FAR=100.64.0.2".to_owned()];
        let found = with_far(given, Ipv4Addr::new(100, 64, 1, 2));
        assert_eq!(found, [c"A=1".to_owned(), c"ACKCLOCK_FAR=100.64.1.2".to_owned()]);
    }
}
