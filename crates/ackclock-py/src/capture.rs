//! Captures taken apart.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use ackclock_capture::gaps::{ByTime, GapRule, SENT_AGAIN};
use ackclock_capture::read::{Packets, open};
use ackclock_capture::{
    Analysis, Connection, Direction, MOST_PACKETS, Options, Report, Selection, Spread, Stalled, View, WhatIf,
};
use ackclock_policy::{Registry, Timing};
use ackclock_trace::Row;
use ackclock_units::{Duration, Instant};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::error::{InputError, SimulationError};
use crate::table::Table;

/// Version of the JSON.
const FORMAT: u32 = 1;

/// What a capture holds.
#[pyclass(frozen, module = "ackclock._core")]
pub struct Captured {
    /// Everything that was found, JSON.
    #[pyo3(get)]
    json: String,
    /// Two rows for each connection.
    #[pyo3(get)]
    directions: Py<Table>,
    /// Segments sent again, and probes.
    #[pyo3(get)]
    retransmissions: Py<Table>,
    /// Expiries of retransmission timers.
    #[pyo3(get)]
    timeouts: Py<Table>,
    /// Loss episodes.
    #[pyo3(get)]
    episodes: Py<Table>,
    /// Round-trip times and flights, where they were asked for.
    #[pyo3(get)]
    samples: Py<Table>,
    /// Packets, where they were asked for.
    #[pyo3(get)]
    packets: Py<Table>,
    /// Timers in the place of the senders', where they were asked for.
    #[pyo3(get)]
    what_if: Py<Table>,
    /// Stalls with each of them.
    #[pyo3(get)]
    stalls: Py<Table>,
}

/// Takes apart the capture at `path` (`-` for standard input). `flow` chooses connections
/// (`Selection::parse`); `samples` keeps a row for every ack that moves forward, `packets` one for every
/// packet of these connections; `what_if` names timers to be put in the place of the senders'
/// (`Timing::list`). `progress` gets the bytes read. Raises `InputError`.
#[pyfunction]
#[pyo3(signature = (path, flow = None, samples = false, progress = None, packets = false, what_if = None))]
pub fn read_capture(
    py: Python<'_>,
    path: PathBuf,
    flow: Option<&str>,
    samples: bool,
    progress: Option<Py<PyAny>>,
    packets: bool,
    what_if: Option<&str>,
) -> PyResult<Captured> {
    let what_if = what_if
        .map(|names| Timing::list(&Registry::builtin(), names))
        .transpose()
        .map_err(|e| InputError::new_err(e.to_string()))?;
    let options = Options { samples, what_if: what_if.unwrap_or_default().into() };
    let flow = flow.map(Selection::parse).transpose().map_err(InputError::new_err)?;
    let mut stopped_by = None;
    let told = |bytes: u64| {
        Python::attach(|py| {
            let tell = || progress.as_ref().map_or(Ok(()), |p| p.call1(py, (bytes,)).map(drop));
            match py.check_signals().and_then(|()| tell()) {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    stopped_by = Some(e);
                    ControlFlow::Break(())
                }
            }
        })
    };
    let listed = packets.then(|| flow.clone());
    let report = py.detach(|| catch_unwind(AssertUnwindSafe(|| report(&path, options, listed, told))));
    let report = report.map_err(|_| {
        SimulationError::new_err(
            "the analysis broke one of its own rules (a panic); please report it with the capture",
        )
    })?;
    if let Some(e) = stopped_by {
        return Err(e);
    }
    let mut report = report.map_err(|e| InputError::new_err(format!("{}: {e}", path.display())))?;
    // Packets were listed for the connections wanted alone.
    let packets = report.take_packets();
    let wanted = |n: usize| flow.as_ref().is_none_or(|f| f.includes(n, &report.connections[n]));
    let name = path.display().to_string();
    let tables = report.tables(&name, wanted);
    let table = |batch| Py::new(py, Table::new(batch));
    Ok(Captured {
        json: describe(&report, &name, wanted).to_string(),
        directions: table(Row::record_batch(&tables.directions))?,
        retransmissions: table(Row::record_batch(&tables.retransmissions))?,
        timeouts: table(Row::record_batch(&tables.timeouts))?,
        episodes: table(Row::record_batch(&tables.episodes))?,
        samples: table(Row::record_batch(&tables.samples))?,
        packets: table(Row::record_batch(&packets))?,
        what_if: table(Row::record_batch(&tables.what_if))?,
        stalls: table(Row::record_batch(&tables.stalls))?,
    })
}

/// `listed`: list packets, of the connections that are chosen or of all.
fn report(
    path: &Path,
    options: Options,
    listed: Option<Option<Selection>>,
    told: impl FnMut(u64) -> ControlFlow<()>,
) -> Result<Report, ackclock_capture::CaptureError> {
    let mut packets = Packets::new(open(path)?)?;
    let mut analysis = Analysis::new(options);
    if let Some(wanted) = listed {
        analysis.list_packets(wanted, MOST_PACKETS);
    }
    analysis.read(&mut packets, told)?;
    Ok(analysis.finish())
}

fn seconds(d: Option<Duration>) -> Value {
    json!(d.map(Duration::as_secs_f64))
}

fn moment(at: Instant) -> Value {
    json!(at.as_secs_f64())
}

fn describe(r: &Report, file: &str, wanted: impl Fn(usize) -> bool) -> Value {
    let chosen = r.connections.iter().enumerate().filter(|(n, _)| wanted(*n));
    json!({
        "format": "ackclock-capture",
        "version": FORMAT,
        "file": file,
        "packets": r.packets,
        "segments": r.segments,
        "start": r.span.map(|s| moment(s.0)),
        "end": r.span.map(|s| moment(s.1)),
        "notes": r.notes,
        "connections": Value::from_iter(chosen.map(|(n, c)| connection(n, c))),
    })
}

fn connection(n: usize, c: &Connection) -> Value {
    json!({
        "number": n,
        "client": c.client.to_string(),
        "server": c.server.to_string(),
        "start": moment(c.start),
        "end": moment(c.end),
        "duration": c.end.since(c.start).as_secs_f64(),
        "opening_seen": c.opening_seen,
        "handshake": seconds(c.handshake),
        "state": c.standing.word(),
        "packets_left_out": c.packets_left_out,
        "notes": c.notes,
        "directions": [direction(c, 0), direction(c, 1)],
    })
}

fn direction(c: &Connection, side: usize) -> Value {
    let d = &c.directions[side];
    let ends = [c.client.to_string(), c.server.to_string()];
    let options = d
        .options
        .map(|o| json!({ "mss": o.mss, "window_scale": o.window_scale, "sack_permitted": o.sack_permitted, "timestamps": o.timestamps.is_some() }));
    let mut all = json!({
        "from": ends[side],
        "to": ends[1 - side],
        "view": d.view.word(),
        "share": d.share,
        "options": options,
        "packets": d.packets,
        "data_packets": d.data_packets,
        "super_segments": d.super_segments,
        "bytes": d.bytes,
        "unique_bytes": d.unique_bytes,
        "bytes_acked": d.bytes_acked,
        "packets_acked": d.packets_acked,
        "retransmitted_packets": d.retransmitted_packets,
        "retransmitted_bytes": d.retransmitted_bytes,
        "unneeded_packets": d.unneeded_packets,
        "unlisted": d.unlisted,
        "mss": d.mss,
        "max_flight": d.max_flight,
        "ca_events": d.ca_events,
        "non_ca_events": d.non_ca_events,
        "other_losses": d.other_losses,
        "p": d.p(),
        "p_uncertain": d.p_uncertain(),
        "massive_reordering": d.massive_reordering(),
        "reordered": d.reordered,
        "network_duplicates": d.network_duplicates,
        "capture_duplicates": d.capture_duplicates,
        "missing_bytes": d.missing_bytes,
        "dup_acks": d.dup_acks,
        "rtt": spread(&d.rtt),
        "rtt_timestamps": spread(&d.rtt_timestamps),
    });
    all["limits"] = Value::from_iter(d.limits.parts().map(|(name, time)| (name, time.as_secs_f64())));
    lists(d, &mut all);
    all["what_if"] = Value::from_iter(d.what_if.iter().map(alternative));
    all
}

fn lists(d: &Direction, all: &mut Value) {
    all["retransmissions"] = Value::from_iter(d.retransmissions.iter().map(|r| {
        json!({
            "t": moment(r.at),
            "seq": r.seq.0,
            "offset": r.offset,
            "len": r.len,
            "packets": r.packets,
            "kind": r.cause.word(),
            "needed": r.needed,
            "original_seen": r.original_seen,
            "evidence": r.evidence,
        })
    }));
    all["timeouts_by_rule"] = json!({ SENT_AGAIN: d.timeouts.len() });
    if d.view == View::Receiver {
        for (rule, gaps) in [(GapRule::Time, &d.gaps_by_time), (GapRule::Content, &d.gaps)] {
            all["timeouts_by_rule"][rule.word()] = gaps.len().into();
        }
    }
    // The columns of the table, so that they are the same; which direction it is stands around them.
    all["timeouts"] = Value::from_iter(d.timeout_rows(0).map(|t| {
        json!({
            "t": moment(t.time),
            "seq": t.seq.map(|seq| seq.0),
            "of": t.of,
            "round": t.round,
            "round_certain": t.round_certain,
            "rto": t.rto.as_secs_f64(),
            "eifel_spurious": t.eifel_spurious,
            "eifel_certain": t.eifel_certain,
            "outage": t.outage,
            "remedy": t.remedy,
            "view": t.view,
            "rule": t.rule,
            "counts": t.counts,
        })
    }));
    all["episodes"] = Value::from_iter(d.episodes.iter().filter(|e| !e.nothing_lost).map(|e| {
        json!({
            "t_start": moment(e.began),
            "t_end": e.ended.map(moment),
            "class": e.class.word().replace('-', "_"),
            "retransmissions": e.retransmissions,
            "unneeded": e.unneeded,
            "timeouts": e.timeouts,
            "rounds": e.rounds,
            "outage": e.outage,
            "flight": e.flight,
        })
    }));
}

fn alternative(w: &WhatIf) -> Value {
    json!({
        "timer": w.timer,
        "timeouts": w.timeouts,
        "spurious": w.spurious,
        "early": w.early,
        "rounds": w.rounds,
        "waited": w.waited.as_secs_f64(),
        "waited_least": w.waited_least.as_secs_f64(),
        "waited_most": w.waited_most.as_secs_f64(),
        "episodes": Value::from_iter(w.stalls.iter().map(stalled)),
    })
}

fn stalled(s: &Stalled) -> Value {
    json!({
        "t_start": moment(s.began),
        "t_end": s.ended.map(moment),
        "of": s.of.word(),
        "path": s.path.word(),
        "timeouts": s.timeouts,
        "spurious": s.spurious,
        "early": s.early,
        "waited": s.waited.as_secs_f64(),
        "waited_least": s.waited_least.as_secs_f64(),
        "waited_most": s.waited_most.as_secs_f64(),
        "response": seconds(s.response),
    })
}

fn spread(s: &Spread) -> Value {
    json!({
        "samples": s.count(),
        "min": seconds(s.min()),
        "mean": seconds(s.mean()),
        "p5": seconds(s.quantile(0.05)),
        "p25": seconds(s.quantile(0.25)),
        "p50": seconds(s.quantile(0.5)),
        "p75": seconds(s.quantile(0.75)),
        "p95": seconds(s.quantile(0.95)),
        "p99": seconds(s.quantile(0.99)),
        "max": seconds(s.max()),
    })
}

/// The silences among arrivals (s, in order) that show timeouts (B-U1): where each begins, its length, and
/// whether it is a consecutive one. The rule is that of captures.
#[pyfunction]
#[pyo3(signature = (arrivals, rtt, least, round_trips, ratio))]
pub fn gap_timeouts(
    arrivals: Vec<f64>,
    rtt: f64,
    least: f64,
    round_trips: f64,
    ratio: f64,
) -> PyResult<Vec<(f64, f64, bool)>> {
    let first = arrivals.first().copied().unwrap_or(0.0);
    let span = |s: f64| {
        if s >= 0.0 {
            Ok(Duration::from_secs_f64(s))
        } else {
            Err(InputError::new_err(format!("{s} s is no time; 0 s or more would do")))
        }
    };
    let (least, rtt) = (span(least)?, span(rtt)?);
    let mut rule = ByTime::new(least, round_trips, ratio);
    let mut found = Vec::new();
    for at in arrivals {
        let gap = rule.arrival(Instant::ZERO + span(at - first)?, rtt);
        found.extend(gap.map(|g| (first + g.from.as_secs_f64(), g.length.as_secs_f64(), g.round > 1)));
    }
    Ok(found)
}
