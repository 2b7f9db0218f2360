//! What of a scenario a kernel and the emulator cannot honour. It is refused, never ignored.

use ackclock_sim::MeasuredSpan;
use ackclock_sim::scenario::{Body, Limits, Resolved, WorkloadPlan};
use ackclock_trace::Mask;
use ackclock_units::Duration;

use super::KernelCounters;
use super::datagrams::LEAST_NUMBERED;
use super::setup::stack_of_datagrams;
use super::{events, hosts};
use crate::sockets::TcpOption;
use crate::{DriveError, EmulatorReport};

/// The longest run: a day.
const LONGEST: Duration = Duration::from_secs(86_400);
/// What Linux takes as `net.ipv4.tcp_syn_retries` (`MAX_TCP_SYNCNT`).
const SYN_RETRIES: std::ops::RangeInclusive<u32> = 1..=127;

pub(super) fn check(scenario: &Resolved) -> Result<(), DriveError> {
    let refused = |sentence: String| Err(DriveError::Input(sentence));
    let time = scenario.duration() + scenario.drain();
    if time > LONGEST {
        return refused(format!(
            "`duration` and `drain` are {time} together, which pass in real time: expected at most {LONGEST}"
        ));
    }
    if matches!(scenario.measured(), MeasuredSpan::AfterEpisodes(_)) {
        return refused(
            "`measure_after` counts from the end of a loss episode, which a kernel does not report: expected \
             `measure_from`, a time"
                .into(),
        );
    }
    if scenario.trace != Mask::NONE {
        trace(scenario)?;
    }
    for stack in &scenario.stacks {
        let Some(kernel) = stack.kernel() else {
            return refused(format!(
                "`stacks.{}` has policies of ackclock's own TCP, which a kernel does not have: expected a table \
                 `kernel`, such as `{{ kernel = {{ cc = \"cubic\" }} }}`, or the preset linux, linux-reno or \
                 linux-bbr without changes",
                stack.label
            ));
        };
        for (name, _) in &kernel.options {
            TcpOption::named(name)?;
        }
        if let Some(retries) = stack.syn_retries().filter(|n| !SYN_RETRIES.contains(n)) {
            return refused(format!(
                "`syn_retries` of stack `{}` is {retries}, which a kernel does not take: expected {} to {}",
                stack.label,
                SYN_RETRIES.start(),
                SYN_RETRIES.end()
            ));
        }
    }
    scenario.workloads.iter().try_for_each(|workload| datagrams(scenario, workload))
}

/// Whether its `trace` can be recorded.
fn trace(scenario: &Resolved) -> Result<(), DriveError> {
    let (most, expected) = (Limits::default().traced_events, scenario.expected_events());
    if expected > most as f64 {
        return Err(DriveError::Input(format!(
            "`trace` would record about {expected:.0} events, which the testbed keeps in memory: expected at most \
             {most}; lower `duration` or the load, or leave `packets` out"
        )));
    }
    events::available(scenario.trace).map_err(|why| {
        DriveError::Input(format!(
            "`trace` needs events inside the kernel's TCP, which cannot be recorded: {why}; expected `none` here \
             (`series` and a capture need no more rights than the run)"
        ))
    })
}

/// The sizes of datagrams.
fn datagrams(scenario: &Resolved, workload: &WorkloadPlan) -> Result<(), DriveError> {
    let Body::Udp { params, control, .. } = &workload.body else { return Ok(()) };
    let stacks = (0..scenario.runs.len()).map(|run| &scenario.stacks[stack_of_datagrams(scenario, run)]);
    let Some(smallest) = stacks.min_by_key(|stack| stack.mss()) else { return Ok(()) };
    let (least, most) = (if control.is_some() { LEAST_NUMBERED } else { 0 }, smallest.mss() + hosts::HEADERS);
    let keys = ["bytes", "report_bytes"].into_iter().take(1 + usize::from(control.is_some()));
    for (key, size) in keys.map(|key| (key, params.bytes(key))) {
        let name = &workload.name;
        if size < least {
            return Err(DriveError::Input(format!(
                "`{key}` of workload `{name}` is {size}B, without room for the number of a datagram on a real \
                 path: expected at least {least}B"
            )));
        }
        if size > most {
            return Err(DriveError::Input(format!(
                "`{key}` of workload `{name}` is {size}B, which hosts would send in fragments: expected at most \
                 {most}B, the `mss` of stack `{}` and its headers",
                smallest.label
            )));
        }
    }
    Ok(())
}

/// The largest share of deliveries that may be more than a millisecond late.
const LATE_SHARE: f64 = 0.01;
/// The largest lateness of a delivery.
const LATEST: Duration = Duration::from_millis(50);
/// The largest share of packets that the emulator may fail to deliver.
const UNDELIVERED_SHARE: f64 = 0.0001;

/// Fails for a run in which the machine was too busy for the emulator to keep time.
pub(super) fn in_time(run: &str, r: &EmulatorReport) -> Result<(), DriveError> {
    let all = (r.delivered + r.undelivered).max(1) as f64;
    let late = r.late as f64 / all;
    let what = if late > LATE_SHARE {
        format!("{:.1} % of its packets were more than 1 ms late", 100.0 * late)
    } else if r.max_lateness > LATEST {
        format!("a packet was {} late", r.max_lateness)
    } else if r.undelivered as f64 / all > UNDELIVERED_SHARE {
        format!("{} packets could not be delivered", r.undelivered)
    } else {
        return Ok(());
    };
    Err(void(run, &what))
}

/// Fails for a run in which the receivers of datagrams were too slow to take what arrived.
pub(super) fn taken(run: &str, r: &EmulatorReport, hosts: &[KernelCounters]) -> Result<(), DriveError> {
    let all = hosts.iter().flat_map(|host| &host.counters);
    let lost: u64 = all.filter(|(name, _)| name == "UdpRcvbufErrors").map(|(_, value)| value).sum();
    if lost as f64 <= UNDELIVERED_SHARE * r.delivered as f64 {
        return Ok(());
    }
    Err(void(run, &format!("{lost} datagrams had no room at their receivers")))
}

fn void(run: &str, what: &str) -> DriveError {
    DriveError::Void(format!(
        "run `{run}` is void: {what} because the machine was busy, so that it was not the path of the scenario; \
         expected at most {:.0} % more than 1 ms late and none later than {LATEST}; run it again with less beside \
         it, or with fewer packets per second",
        100.0 * LATE_SHARE
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_whose_packets_were_late_is_void() {
        let fine = EmulatorReport {
            delivered: 100_000,
            late: 1000,
            max_lateness: LATEST,
            undelivered: 10,
            ..EmulatorReport::default()
        };
        in_time("x", &fine).unwrap();
        let later = LATEST + Duration::from_millis(1);
        for (wrong, expected) in [
            (EmulatorReport { late: 1002, ..fine }, "1.0 % of its packets"),
            (EmulatorReport { max_lateness: later, ..fine }, "a packet was 51ms late"),
            (EmulatorReport { undelivered: 11, ..fine }, "11 packets could not be delivered"),
        ] {
            let sentence = in_time("x", &wrong).unwrap_err().to_string();
            assert!(sentence.contains("run `x` is void") && sentence.contains(expected), "{sentence}");
        }
        in_time("x", &EmulatorReport::default()).unwrap();
        let host = |lost| KernelCounters {
            host: "h".into(),
            stack: "s".into(),
            counters: vec![("UdpInDatagrams".into(), 90_000), ("UdpRcvbufErrors".into(), lost)],
        };
        taken("x", &fine, &[host(0), host(10)]).unwrap();
        let sentence = taken("x", &fine, &[host(5), host(6)]).unwrap_err().to_string();
        assert!(sentence.contains("11 datagrams had no room at their receivers"), "{sentence}");
    }
}
