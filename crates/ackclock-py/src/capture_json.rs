//! The report of a capture as JSON, built from the rows of its tables. A column appears under its own name
//! unless [`Keys`] renames it. Only what is in no table is added by hand.

use ackclock_capture::gaps::{GapRule, SENT_AGAIN};
use ackclock_capture::{Connection, Direction, Report, Spread, Tables, View, WhatIf};
use ackclock_shadow::ByStack;
use ackclock_trace::{
    CellValue, DirectionRow, EpisodeRow, RetransmissionRow, Row, StallRow, TimeoutRow, WhatIfRow,
};
use ackclock_units::Duration;
use serde_json::{Map, Value, json};

use observed::{held_back, limits_at, round_trips, throughput, zero_windows};

mod observed;

/// Version of the JSON: raised when a key is removed or changes its meaning (`docs/captures.md`).
const FORMAT: u32 = 2;

/// What the columns of a table are called in JSON.
struct Keys {
    /// Column, and its key where that differs.
    renamed: &'static [(&'static str, &'static str)],
    left_out: &'static [&'static str],
}

/// The first column of all tables but `directions` is the number of a row's direction; in JSON a row is
/// inside the object of its direction.
const RETRANSMISSION: Keys = Keys { renamed: &[("time", "t")], left_out: &["connection"] };
const TIMEOUT: Keys = Keys { renamed: &[("time", "t")], left_out: &["connection"] };
const EPISODE: Keys = Keys {
    renamed: &[("begin", "t_start"), ("end", "t_end")],
    left_out: &["connection", "recovery_point", "losses", "lost_bytes", "spurious"],
};
const WHAT_IF: Keys = Keys { renamed: &[], left_out: &["connection", "view"] };
const STALL: Keys =
    Keys { renamed: &[("begin", "t_start"), ("end", "t_end")], left_out: &["connection", "timer"] };
/// The columns of the client's direction that describe the connection.
const CONNECTION: &[(&str, &str)] = &[
    ("sender", "client"),
    ("receiver", "server"),
    ("start", "start"),
    ("end", "end"),
    ("handshake", "handshake"),
    ("standing", "state"),
];
/// The columns of a direction that are its `limits`.
const LIMITS: &[(&str, &str)] = &[
    ("handshake_time", "handshake"),
    ("slow_start_time", "slow_start"),
    ("congestion_window_time", "congestion_window"),
    ("receiver_window_time", "receiver_window"),
    ("application_time", "application"),
    ("timeout_time", "timeouts"),
];
/// The columns of a direction that are elsewhere in JSON: in its connection, in `limits`, or in the objects
/// and lists that they summarise.
const DIRECTION: Keys = Keys {
    renamed: &[("sender", "from"), ("receiver", "to")],
    left_out: &[
        "file",
        "connection",
        "client",
        "start",
        "end",
        "handshake",
        "standing",
        "timeouts",
        "rounds",
        "stalled",
        "rtt_samples",
        "rtt_min",
        "rtt_mean",
        "rtt_p50",
        "rtt_p95",
        "rtt_p99",
        "rtt_max",
        "rtt_timestamps_samples",
        "rtt_timestamps_mean",
        "handshake_time",
        "slow_start_time",
        "congestion_window_time",
        "receiver_window_time",
        "application_time",
        "timeout_time",
    ],
};

impl Keys {
    /// All columns of a row that are not left out.
    fn object(&self, row: &impl Row) -> Map<String, Value> {
        let mut object = Map::new();
        row.for_each_cell(&mut |column, value| {
            if !self.left_out.contains(&column.name) {
                let renamed = self.renamed.iter().find(|(name, _)| *name == column.name);
                object.insert(renamed.map_or(column.name, |(_, key)| key).to_owned(), json_value(value));
            }
        });
        object
    }
}

/// Only the columns in `chosen`, under the keys given there.
fn part(row: &impl Row, chosen: &[(&str, &str)]) -> Map<String, Value> {
    let mut object = Map::new();
    row.for_each_cell(&mut |column, value| {
        if let Some((_, key)) = chosen.iter().find(|(name, _)| *name == column.name) {
            object.insert((*key).to_owned(), json_value(value));
        }
    });
    object
}

fn json_value(value: CellValue<'_>) -> Value {
    match value {
        CellValue::Missing => Value::Null,
        CellValue::UInt(n) => json!(n),
        CellValue::Float(x) => json!(x),
        CellValue::Bool(b) => json!(b),
        CellValue::Text(s) => json!(s),
        CellValue::UInt32List(list) => json!(list),
        CellValue::UInt64List(list) => json!(list),
    }
}

/// The object with the entries of `more`.
fn with(mut object: Map<String, Value>, more: Value) -> Value {
    if let Value::Object(more) = more {
        object.extend(more);
    }
    Value::Object(object)
}

/// The report in JSON. `tables` are those of the connections that `wanted` selects by number.
pub fn describe(
    r: &Report,
    tables: &Tables,
    file: &str,
    wanted: impl Fn(usize) -> bool,
    said: &[ByStack],
) -> Value {
    let mut rows = Rows::new(tables);
    let chosen = r.connections.iter().enumerate().filter(|(n, _)| wanted(*n));
    json!({
        "format": "ackclock-capture",
        "version": FORMAT,
        "file": file,
        "packets": r.packets,
        "segments": r.segments,
        "start": r.span.map(|s| s.0.as_secs_f64()),
        "end": r.span.map(|s| s.1.as_secs_f64()),
        "notes": r.notes,
        "connections": Value::from_iter(chosen.map(|(n, c)| with_stacks(rows.connection(n, c), n, said))),
    })
}

/// A connection with what stacks say of its directions: null where none was asked.
fn with_stacks(mut connection: Value, number: usize, said: &[ByStack]) -> Value {
    for (side, direction) in connection["directions"].as_array_mut().into_iter().flatten().enumerate() {
        let of = said.iter().find(|s| (s.connection, s.side) == (number, side));
        direction["by_stack"] = of.map_or(Value::Null, |s| {
            let changed = s.changed.iter().map(
                |(frame, rules, stack)| json!({"frame": frame, "rules": rules.word(), "stack": stack.word()}),
            );
            json!({
                "stack": s.found.as_ref().ok().map(|f| &f.stack),
                "fit": s.found.as_ref().ok().map(|f| f.fit),
                "why_not": s.found.as_ref().err().map(ToString::to_string),
                "retransmissions": s.retransmissions,
                "explained": s.explained,
                "changed": Value::from_iter(changed),
            })
        });
    }
    connection
}

/// The rows of each table not yet taken, in order of their direction.
struct Rows<'a> {
    directions: &'a [DirectionRow],
    retransmissions: &'a [RetransmissionRow],
    timeouts: &'a [TimeoutRow],
    episodes: &'a [EpisodeRow],
    what_if: &'a [WhatIfRow],
    stalls: &'a [StallRow],
}

impl<'a> Rows<'a> {
    fn new(tables: &'a Tables) -> Self {
        Self {
            directions: &tables.directions,
            retransmissions: &tables.retransmissions,
            timeouts: &tables.timeouts,
            episodes: &tables.episodes,
            what_if: &tables.what_if,
            stalls: &tables.stalls,
        }
    }

    fn connection(&mut self, n: usize, c: &Connection) -> Value {
        let object = self.directions.first().map(|client| part(client, CONNECTION)).unwrap_or_default();
        let directions = c.directions.each_ref().map(|d| self.direction(c, d));
        with(
            object,
            json!({
                "number": n,
                "duration": c.end.since(c.start).as_secs_f64(),
                "opening_seen": c.opening_seen,
                "tls": observed::tls(&c.tls),
                "packets_left_out": c.packets_left_out,
                "notes": c.notes,
                "directions": directions,
            }),
        )
    }

    fn direction(&mut self, c: &Connection, d: &Direction) -> Value {
        let Some((row, rest)) = self.directions.split_first() else { return Value::Null };
        self.directions = rest;
        let own = row.connection;
        let options = d.options.map(|o| {
            json!({
                "mss": o.mss,
                "window_scale": o.window_scale,
                "sack_permitted": o.sack_permitted,
                "timestamps": o.timestamps.is_some(),
            })
        });
        let timeouts = take_while(&mut self.timeouts, |t| t.connection == own);
        let retransmissions = take_while(&mut self.retransmissions, |r| r.connection == own);
        let episodes = take_while(&mut self.episodes, |e| e.connection == own);
        // These three values of an episode are in no table.
        let of_episodes = d.episodes.iter().filter(|e| !e.nothing_lost);
        let episodes = episodes.iter().zip(of_episodes).map(|(row, e)| {
            let class = row.class.word().replace('-', "_");
            with(
                EPISODE.object(row),
                json!({ "class": class, "unneeded": e.spurious, "outage": e.outage, "flight": e.flight }),
            )
        });
        let what_if = d.what_if.iter().map(|w| self.what_if(w));
        with(
            DIRECTION.object(row),
            json!({
                "options": options,
                "unlisted": d.unlisted,
                "massive_reordering": d.massive_reordering(),
                "round_trips": round_trips(c, d),
                "throughput": throughput(&d.observed.throughput),
                "zero_windows": zero_windows(&d.observed.closures),
                "nagle": held_back(&d.observed.held_back),
                "limits_at": limits_at(&d.observed.spans),
                "rtt": spread(&d.rtt),
                "rtt_timestamps": spread(&d.rtt_timestamps),
                "limits": part(row, LIMITS),
                "retransmissions": Value::from_iter(retransmissions.iter().map(|r| RETRANSMISSION.object(r))),
                "timeouts_by_rule": by_rule(timeouts, d.view),
                "timeouts": Value::from_iter(timeouts.iter().map(|t| TIMEOUT.object(t))),
                "episodes": Value::from_iter(episodes),
                "what_if": Value::from_iter(what_if),
            }),
        )
    }

    fn what_if(&mut self, w: &WhatIf) -> Value {
        let Some((row, rest)) = self.what_if.split_first() else { return Value::Null };
        self.what_if = rest;
        let (stalls, rest) = self.stalls.split_at(w.stalls.len().min(self.stalls.len()));
        self.stalls = rest;
        let stalls = Value::from_iter(stalls.iter().map(|s| STALL.object(s)));
        with(WHAT_IF.object(row), json!({ "episodes": stalls }))
    }
}

/// Takes the first rows for as long as `holds` is true.
fn take_while<'a, R>(rows: &mut &'a [R], holds: impl Fn(&R) -> bool) -> &'a [R] {
    let (taken, rest) = rows.split_at(rows.iter().take_while(|row| holds(row)).count());
    *rows = rest;
    taken
}

/// How many timeouts each rule finds; silences are looked at near the receiver alone.
fn by_rule(timeouts: &[TimeoutRow], view: View) -> Value {
    let all = [SENT_AGAIN, GapRule::Time.word(), GapRule::Content.word()];
    let rules = if view == View::Receiver { &all[..] } else { &all[..1] };
    let count = |rule: &str| timeouts.iter().filter(|t| t.rule == rule).count();
    Value::from_iter(rules.iter().map(|rule| (*rule, count(rule))))
}

fn spread(s: &Spread) -> Value {
    let seconds = |d: Option<Duration>| json!(d.map(Duration::as_secs_f64));
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
