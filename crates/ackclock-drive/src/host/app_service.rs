//! Starts applications on connections, and collects their results.

use std::net::SocketAddr;

use ackclock_units::Instant;

use super::apps::{AppFactory, AppReport, HostedApp};
use super::backlog::Listening;
use super::core::{ConnEntry, Core};
use super::run::HostShared;
use crate::Port;

impl Core {
    /// Detaches an application that is over. Its connection continues without it, like one released by a
    /// program.
    pub(super) fn detach_app(&mut self, entry: &mut ConnEntry) {
        if let Some(running) = entry.app.take_if(|s| s.is_over(&entry.connection)) {
            self.app_reports.push(running.report(&entry.connection));
            self.apps -= 1;
            entry.held = false;
        }
    }

    fn collect_reports(&mut self, now: Instant, port: &Port) -> Vec<AppReport> {
        for id in 0..self.entries.len() as u32 {
            let Some(entry) = &mut self.entries[id as usize] else { continue };
            if let Some(running) = entry.app.take() {
                self.app_reports.push(running.report(&entry.connection));
                self.apps -= 1;
                self.release(now, port, id);
            }
        }
        std::mem::take(&mut self.app_reports)
    }
}

impl HostShared {
    /// Opens a connection to `to` and runs an application on it. False without an address of that family or a
    /// free port.
    pub(super) fn launch(&self, to: SocketAddr, app: HostedApp) -> bool {
        let mut core = self.lock();
        let opened =
            core.ended.is_none() && core.connect(self.clock.now(), &self.port, to, Some(app)).is_some();
        self.wake_if_needed(&mut core);
        opened
    }

    /// Listens at `port` on every address and runs an application on each connection.
    pub(super) fn serve(&self, port: u16, backlog: usize, service: AppFactory) {
        self.lock().listeners.insert(port, Listening::new(backlog, Some(service)));
    }

    /// Number of running applications.
    pub(super) fn running_apps(&self) -> usize {
        self.lock().apps
    }

    /// The results of all applications; those still running are stopped.
    pub(super) fn collect_reports(&self) -> Vec<AppReport> {
        let mut core = self.lock();
        let reports = core.collect_reports(self.clock.now(), &self.port);
        self.wake_if_needed(&mut core);
        reports
    }
}
