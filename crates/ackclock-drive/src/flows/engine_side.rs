//! One end of all connections of a run, on the engine.

use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;

use ackclock_engine::User;
use ackclock_sim::StackFactory;
use ackclock_trace::Outcome;
use ackclock_units::{Duration, Instant};

use super::conn::App;
use super::report::FlowEnd;
use super::side::{PATIENCE, SideReport, SideRole};
use crate::host::{AppReport, HostedApp};
use crate::ledger::Ledger;
use crate::linux::wait::{be_punctual, wait};
use crate::sockets::RunControl;
use crate::{DriveError, Host, Kernels};

/// Interval at which it checks whether all connections are over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Largest number of half-open connections.
const BACKLOG: usize = 16_384;

/// Launches the applications of one end and waits for them. They run on the host's thread.
pub(super) struct EngineSide<'a> {
    control: &'a RunControl,
    host: &'a Host,
    role: SideRole,
    /// Applications to launch; none for an end that accepts.
    waiting: Vec<Option<HostedApp>>,
    seen: SideReport,
}

impl<'a> EngineSide<'a> {
    pub(super) fn new(
        control: &'a RunControl,
        host: &'a Host,
        role: SideRole,
        apps: Vec<(App, Arc<dyn StackFactory>, Ledger)>,
    ) -> Self {
        let seen = SideReport::unopened(apps.len());
        let app = |(number, ((app, rng), stack, ledger)): (usize, (App, Arc<dyn StackFactory>, Ledger))| {
            Some(HostedApp {
                number,
                config: stack.config(),
                policies: stack.policies(),
                user: User::new(app, ledger),
                rng,
            })
        };
        let mut waiting: Vec<_> = apps.into_iter().enumerate().map(app).collect();
        if let SideRole::Accepts { at, .. } = &role {
            let port = at.first().map_or(0, |(at, _)| at.port());
            let mut apps = std::mem::take(&mut waiting);
            let service = move |local: SocketAddr| apps.get_mut(Kernels::host_number(local.ip())?)?.take();
            host.serve(port, BACKLOG, Box::new(service));
        }
        Self { control, host, role, waiting, seen }
    }

    /// Runs until `end`, until all connections are over, or until the run is stopped. An end that accepts
    /// then waits a short time for closing connections.
    ///
    /// # Errors
    /// When the host has ended: why.
    pub(super) fn run(mut self, zero: Instant, end: Option<Instant>) -> Result<SideReport, DriveError> {
        be_punctual();
        let (clock, mut next, mut leave_at) = (self.control.clock, 0, end);
        loop {
            self.host.check()?;
            let now = clock.now();
            let over = self.control.is_stopped();
            let opens = matches!(self.role, SideRole::Opens { .. });
            if over && opens {
                break;
            }
            if over {
                leave_at = leave_at.or(Some(now + PATIENCE));
            }
            while let Some(start) = self.role.start(next, zero).filter(|start| *start <= now) {
                self.launch(next, start.since(zero));
                next += 1;
            }
            let coming = self.role.start(next, zero);
            let idle = coming.is_none() && (opens || over) && self.host.running_apps() == 0;
            if idle || leave_at.is_some_and(|at| now >= at) {
                break;
            }
            let until = [coming, leave_at, Some(now + POLL_INTERVAL)].into_iter().flatten().min();
            let waker = self.role.waker(self.control);
            if wait(&clock, [waker.as_fd()], until)[0] {
                waker.clear();
            }
        }
        for left in self.host.collect_reports() {
            let n = left.number;
            if let SideRole::Opens { .. } = self.role {
                self.seen.opened[n].1 = left.established.map(|at| at.since(left.opened));
            }
            self.seen.ends[n] = end_of(left, zero);
        }
        Ok(self.seen)
    }

    fn launch(&mut self, n: usize, at: Duration) {
        let (SideRole::Opens { openings, .. }, Some(app)) = (&self.role, self.waiting[n].take()) else {
            return;
        };
        if self.host.launch(openings[n].to, app) {
            self.seen.opened[n].0 = Some(at);
        }
    }
}

fn end_of(left: AppReport, zero: Instant) -> FlowEnd {
    let (outcome, reason) = match left.failed {
        Some(reason) => (Outcome::Failed, Some(reason.word())),
        None if left.finished => (Outcome::Finished, None),
        None => (Outcome::Unfinished, None),
    };
    let acked = left.stats.bytes_acked;
    FlowEnd { acked, outcome, reason, stats: Some(Box::new(left.stats)), ..FlowEnd::of(left.ledger, zero) }
}
