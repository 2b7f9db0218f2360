//! A run on the testbed, from its hosts to its tables.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::{Arc, PoisonError};

use ackclock_sim::scenario::{Job, RealLink, Resolved, RunInfo};
use ackclock_trace::{Label, Mask};
use ackclock_units::{Duration, Instant};

use super::datagrams::{Span, Stop};
use super::events::{Opened, Recording, ends, trace_rows};
use super::hosts::PORT;
use super::links::{self, Moments as LinkMoments, Recorder};
use super::setup::{Setup, with_ledgers};
use super::tables::Finished;
use super::{EventsReport, KernelReport, TestbedOptions, TestbedRun, check};
use crate::emulator::{Emulator, NetworkOptions};
use crate::flows::{KernelSide, Moments, SackWatch, SideOptions};
use crate::linux::wait::wait;
use crate::sockets::{RunControl, join, raise_descriptor_limit, then_stop};
use crate::{Capture, Clock, DriveError};

/// Time from the end of the set-up to the start of the run.
const LEAD: Duration = Duration::from_millis(100);
/// Interval between calls of `go_on`.
const POLL_INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);
/// The interval at which senders are looked at where the scenario has no `series`.
const SAMPLE_EVERY: Duration = Duration::from_millis(100);

/// Runs a job of a scenario in real time. `go_on` is called about twenty times a second with the share of the
/// time that has passed, and can end the run early.
///
/// # Errors
/// What a kernel cannot honour, a right that is missing (see [`crate::check`]), a system call that failed, a wrong
/// byte, or a machine that was too busy to keep time.
pub fn run_testbed(
    scenario: &Resolved,
    job: Job,
    options: &TestbedOptions,
    go_on: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<TestbedRun, DriveError> {
    check::check(scenario)?;
    raise_descriptor_limit();
    let (opened, mut missing) = match Opened::open(scenario.trace) {
        Ok(opened) => (Some(opened), Vec::new()),
        Err(why) => (None, vec![format!("events of the kernel's TCP are not recorded: {why}")]),
    };
    let port = opened.as_ref().and_then(|opened| opened.port().ok()).unwrap_or(PORT);
    let (setup, mut parts) = Setup::new(scenario, job, port)?;
    let at = |d: Duration| Instant::ZERO + d;
    let (warmup, duration) = (scenario.warmup(), scenario.duration());
    let last = at(duration + scenario.drain());
    let label = Label::from(scenario.label(job).as_str());
    let moments = LinkMoments { warmup: at(warmup), duration: at(duration), last, series: scenario.series() };
    let (recorder, link_rows) = Recorder::new(links::labels(&label, scenario, &parts.links), moments);

    let clock = Clock::starting_in(LEAD);
    let capture = options.capture.as_deref().map(|path| Capture::create(path, clock)).transpose()?;
    if let (Some(capture), Some(port)) = (&capture, parts.ports.get_mut(setup.first_port())) {
        port.record(capture, "client")?;
    }
    let network = NetworkOptions {
        links: parts.links.into_iter().map(|RealLink { spec, .. }| spec).collect(),
        table: setup.hosts.ways(),
        sojourns: scenario.series().is_some(),
        seed: job.seed,
        clock,
        watch: Some(Box::new(recorder)),
    };
    let control = RunControl::new(clock)?;
    let wakers = [control.client_waker.try_clone()?, control.server_waker.try_clone()?];
    let sacks = Arc::new(SackWatch::new(setup.flows.len(), wakers));
    let segments = scenario.trace.any(Mask::PACKETS);
    let emulator = Emulator::start_with_streams(parts.ports, network, Some(sacks.clone()), segments)?;
    let recording = opened.map(|opened| opened.start(clock, setup.hosts.streams())).transpose();
    let recording = recording.unwrap_or_else(|why| {
        missing.push(format!("events of the kernel's TCP are not recorded: {why}"));
        None
    });
    let every = scenario.series().unwrap_or(SAMPLE_EVERY);
    let side_options = || {
        let looks = if warmup.is_zero() { vec![duration] } else { vec![warmup, duration] };
        let moments = Moments { at: looks, every: Some(every) };
        SideOptions { moments, sacks: Some(Arc::clone(&sacks)), ..SideOptions::default() }
    };
    let ([clients, servers], (opens, accepts)) = (with_ledgers(parts.apps), setup.roles());
    let server = KernelSide::new(&control, accepts, servers, setup.places(scenario)?, side_options())?;
    let client_options = SideOptions { barriers: setup.barriers(), ..side_options() };
    let client = KernelSide::new(&control, opens, clients, setup.places(scenario)?, client_options)?;

    let span = Span { from: at(warmup), end: at(duration), every: scenario.series() };
    let (senders, receivers) = (parts.senders, parts.receivers);
    let over = [Stop::new()?, Stop::new()?];
    let (opened, accepted, datagram_samples) = std::thread::scope(|scope| {
        let datagrams = (!senders.is_empty()).then(|| {
            scope.spawn(|| receivers.run(&clock, span.from, &over[1]));
            scope.spawn(|| senders.run(&clock, span, &over[0]))
        });
        let serving = scope.spawn(|| then_stop(&control, server.run(Instant::ZERO, Some(last))));
        let asking = scope.spawn(|| {
            let report = client.run(Instant::ZERO, Some(last));
            if report.is_ok() {
                // Links are observed to the end of `duration`, whether flows are active or not.
                wait_until(&control, at(duration));
            }
            then_stop(&control, report)
        });
        while !asking.is_finished() && !control.is_stopped() {
            std::thread::sleep(POLL_INTERVAL);
            let share = clock.now().as_secs_f64() / last.as_secs_f64().max(1e-9);
            if go_on(share.min(1.0)).is_break() {
                control.stop();
            }
        }
        let (opened, accepted) = (join(asking), join(serving));
        over.iter().for_each(Stop::stop);
        (opened, accepted, datagrams.map(join).unwrap_or_default())
    });
    let stopped_at = clock.now();
    let (path, log) = emulator.stop_with_log();
    capture.map_or(Ok(()), |capture| capture.finish())?;
    let (opened, accepted) = (opened?, accepted?);
    if stopped_at < at(duration) {
        return Err(DriveError::Interrupted);
    }
    check::in_time(&label, &path)?;
    let counters = setup.hosts.counters(scenario)?;
    let recorded = recording.map(Recording::stop);
    check::taken(&label, &path, &counters)?;
    let lost = recorded.as_ref().map_or(0, |events| events.lost);
    if lost > 0 {
        missing.push(format!("{lost} events of the kernel's TCP found no room, so that none of them count"));
    }
    let events = recorded.filter(|_| lost == 0);
    let all = events.as_ref().map_or(&[][..], |events| &events.all);
    let ends = ends(all, &log, 2 * setup.flows.len());
    let links = std::mem::take(&mut *link_rows.lock().unwrap_or_else(PoisonError::into_inner));
    let finished = Finished {
        scenario,
        links: &links,
        label: label.clone(),
        setup: &setup,
        sides: [&opened, &accepted],
        datagram_samples: &datagram_samples,
        events: &ends,
        are_known: events.is_some(),
        counters: &counters,
        every,
        ended_at: stopped_at.min(last),
    };
    finished.check_bytes()?;
    let (numbers, why) = finished.judged();
    missing.extend(why);
    let (mut outcome, unknown) = finished.tables(&numbers);
    let (delivered_end, reports) = (finished.delivered_end(), finished.end_reports(&numbers));
    let trace = events.as_ref().filter(|_| scenario.trace != Mask::NONE);
    let trace = trace.map(|events| {
        let until = (scenario.trace, finished.ended_at);
        trace_rows(until, events, &log, &ends, |stream| finished.mss(stream))
    });
    let events = EventsReport { recorded: all.len() as u64, lost, missing, ends: reports };
    let simulated = finished.ended_at.since(Instant::ZERO);
    (outcome.links, outcome.processed) = (links.counted(warmup.is_zero()), path.delivered);
    outcome.link_series = links.series;
    Ok(TestbedRun {
        info: RunInfo {
            label: label.to_string(),
            run: scenario.runs[job.run].label.clone(),
            seed: job.seed,
            simulated,
            events: path.delivered,
            links_warm: links.warm,
            links_end: links.end,
            delivered_end,
        },
        outcome,
        unknown,
        trace,
        kernel: KernelReport {
            deliveries: path.delivered,
            late: path.late,
            mean_lateness: path.mean_lateness,
            max_lateness: path.max_lateness,
            undelivered: path.undelivered,
            counters,
            options: opened.options.iter().chain(&accepted.options).flatten().copied().collect(),
            events,
        },
    })
}

fn wait_until(control: &RunControl, until: Instant) {
    while control.clock.now() < until && !control.is_stopped() {
        if wait(&control.clock, [control.client_waker.as_fd()], Some(until))[0] {
            control.client_waker.clear();
        }
    }
}
