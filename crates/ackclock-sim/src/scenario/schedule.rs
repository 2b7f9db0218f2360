//! The points of a link's schedule, from a list of tables or from a CSV file.

use std::sync::Arc;

use ackclock_policy::{Param, Value};
use ackclock_units::{Duration, Rate};

use super::error::{Place, Result, ScenarioError};
use super::files::Files;
use super::met::met;
use super::reader::{Reader, hint};
use super::tree::{Item, Node};
use crate::link::{LONGEST_SCHEDULE, SCHEDULE, Schedule, SchedulePoint};

/// Largest number of points of a schedule.
const MOST_POINTS: usize = 100_000;

const AT: Param = Param::duration("at", Duration::ZERO, Duration::ZERO..=LONGEST_SCHEDULE, "when");
const RATE: Param = Param::rate(
    "rate",
    Rate::from_bits_per_sec(10_000_000),
    Rate::from_bits_per_sec(0)..=Rate::from_bits_per_sec(1_000_000_000_000_000),
    "rate from then on; 0bit/s for an outage",
);
const DELAY: Param = Param::duration(
    "delay",
    Duration::from_millis(10),
    Duration::ZERO..=Duration::from_secs(86_400),
    "propagation delay from then on",
);
const LOSS: Param = Param::ratio("loss", 0.0, 0.0..=1.0, "probability of loss from then on");

/// Keys of a point.
pub const POINT: &[Param] = &[AT, RATE, DELAY, LOSS];

/// Reads the schedule of a link.
pub(super) fn read(reader: &Reader<'_>, files: &Files) -> Result<Option<Schedule>> {
    let Some(item) = reader.get(SCHEDULE.name) else { return Ok(None) };
    let inner = Reader::new(item, &reader.key(SCHEDULE.name))?;
    let params = inner.params(SCHEDULE.params)?;
    let (points, file) = match (inner.get("points"), inner.text("file")?) {
        (Some(Item { node: Node::List(items), .. }), None) => (from_list(items, &inner.key("points"))?, None),
        (None, Some((name, item))) => {
            let text = files.read(name).map_err(|e| {
                ScenarioError::at(&item.place, format!("`{}` is `{name}`, which {e}", inner.key("file")))
            })?;
            (from_text(&text).map_err(|e| e.in_file(name))?, Some(name))
        }
        (Some(_), Some((_, item))) => {
            return Err(ScenarioError::at(
                &item.place,
                format!(
                    "`{}` and `{}` are both given: give one of them",
                    inner.key("points"),
                    inner.key("file")
                ),
            ));
        }
        (Some(item), None) => {
            return Err(ScenarioError::at(
                &item.place,
                format!("`{}` is {}, which is not a list of tables", inner.key("points"), item.describe()),
            ));
        }
        (None, None) => {
            inner.require(
                "points",
                "a list of tables such as `{ at = \"5s\", rate = \"1Mbit/s\" }`, or a CSV `file`",
            )?;
            (Vec::new(), None)
        }
    };
    inner.finish()?;
    check(&points, params.duration("repeat"), &inner).map_err(|e| match file {
        Some(name) => e.in_file(name),
        None => e,
    })?;
    let points: Arc<[SchedulePoint]> = points.into_iter().map(|(point, _)| point).collect();
    Ok(Some(Schedule { points, params }))
}

type Placed = (SchedulePoint, Place);

/// Fails unless the points are in order of time, and within a period.
fn check(points: &[Placed], repeat: Duration, reader: &Reader<'_>) -> Result<()> {
    let key = reader.key("points");
    let Some((last, place)) = points.last() else {
        return Err(ScenarioError::new(format!("`{key}` is empty: give at least one point")));
    };
    if points.len() > MOST_POINTS {
        let n = points.len();
        return Err(ScenarioError::at(
            place,
            format!("`{key}` has {n} points; at most {MOST_POINTS} are allowed"),
        ));
    }
    for pair in points.windows(2) {
        let ((before, _), (point, place)) = (&pair[0], &pair[1]);
        if point.at < before.at {
            let (at, earlier) = (point.at, before.at);
            let wrong = format!("`at` is `{at}`, which is earlier than `{earlier}` before it");
            return Err(ScenarioError::at(place, format!("`{key}`: {wrong}: give points in order of time")));
        }
    }
    if !repeat.is_zero() && last.at > repeat {
        return Err(ScenarioError::at(
            place,
            format!("`{key}`: the last point lies after the period, `repeat = \"{repeat}\"`"),
        ));
    }
    if points.iter().all(|(p, _)| p.rate.is_none() && p.delay.is_none() && p.loss.is_none()) {
        return Err(ScenarioError::at(
            reader.place(),
            format!("`{key}` changes nothing: give a `rate`, a `delay` or a `loss`"),
        ));
    }
    Ok(())
}

fn set(point: &mut SchedulePoint, name: &str, value: Value) {
    match (name, value) {
        ("at", Value::Duration(at)) => point.at = at,
        ("rate", Value::Rate(rate)) => point.rate = Some(rate),
        ("delay", Value::Duration(delay)) => point.delay = Some(delay),
        ("loss", Value::Ratio(loss)) => point.loss = Some(loss),
        _ => unreachable!("declared so"),
    }
}

fn from_list(items: &[Item], key: &str) -> Result<Vec<Placed>> {
    // One more than allowed, for the error.
    let one = |item: &Item| {
        let reader = Reader::new(item, key)?;
        let mut point = SchedulePoint::default();
        reader.require("at", "a time such as `5s`")?;
        for param in POINT {
            if let Some(value) = reader.param(param)? {
                set(&mut point, param.name, value);
            }
        }
        reader.finish()?;
        Ok((point, item.place.clone()))
    };
    items.iter().take(MOST_POINTS + 1).map(one).collect()
}

/// A column of a CSV file: its parameter, and the unit of its numbers if its name has one.
struct Column {
    param: &'static Param,
    unit: String,
}

/// Reads a CSV file whose first line names the columns: `at` and any of `rate`, `delay` and `loss`, each
/// perhaps with a unit in brackets, `rate [Mbit/s]`. An empty field leaves a value as it was; `#` begins a
/// comment.
fn from_text(text: &str) -> Result<Vec<Placed>> {
    let mut lines = (1..).zip(text.lines()).filter_map(|(n, line)| {
        let line = line.split('#').next().unwrap_or_default().trim();
        (!line.is_empty()).then_some((Place::Line(n), line))
    });
    let such = "`at, rate [Mbit/s], delay [ms], loss`";
    let Some((place, head)) = lines.next() else {
        return Err(ScenarioError::new(format!(
            "the file has no lines: begin it with the names of its columns, {such}"
        )));
    };
    let columns = columns(head, such).map_err(|e| ScenarioError::at(&place, e))?;
    let mut points = Vec::new();
    for (place, line) in lines {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        if fields.len() != columns.len() {
            let (met, wanted) = (fields.len(), columns.len());
            return Err(ScenarioError::at(
                &place,
                format!("this line has {met} fields, but the first has {wanted}"),
            ));
        }
        let mut point = SchedulePoint::default();
        for (at, (Column { param, unit }, field)) in (1..).zip(columns.iter().zip(fields)) {
            if field.is_empty() && param.name != "at" {
                continue;
            }
            let value = param.parse(&format!("{field}{unit}")).map_err(|e| {
                let wanted = match (param.name, unit.as_str()) {
                    _ if e.wanted.starts_with("between") => e.wanted,
                    ("loss", "") => "a share between 0 and 1".to_owned(),
                    ("rate", "") => "a rate such as `10Mbit/s`".to_owned(),
                    (_, "") => "a time such as `15ms`".to_owned(),
                    _ => "a number of the unit in the column's name".to_owned(),
                };
                let message =
                    format!("column {at}: `{}` is {}, which is not {wanted}", param.name, met(field));
                ScenarioError::at(&place, message)
            })?;
            set(&mut point, param.name, value);
        }
        if points.len() == MOST_POINTS {
            return Err(ScenarioError::at(
                &place,
                format!("there are more than {MOST_POINTS} lines, which is the limit"),
            ));
        }
        points.push((point, place));
    }
    Ok(points)
}

fn columns(head: &str, such: &str) -> std::result::Result<Vec<Column>, String> {
    let mut columns: Vec<Column> = Vec::new();
    let known: Vec<&str> = POINT.iter().map(|p| p.name).collect();
    for name in head.split(',') {
        let (name, unit) = match name.trim().split_once('[') {
            Some((name, unit)) => (
                name.trim(),
                unit.trim().strip_suffix(']').ok_or("a column's unit has no closing `]`")?.trim(),
            ),
            None => (name.trim(), ""),
        };
        let Some(param) = POINT.iter().find(|p| p.name == name) else {
            let name: String = name.chars().take(20).collect();
            let known = hint(&name, &known);
            return Err(format!("a column has another name than a schedule's{known}; such as {such}"));
        };
        if columns.iter().any(|c| c.param.name == name) {
            return Err(format!("the column `{name}` is there twice"));
        }
        if !unit.is_empty() && param.parse(&format!("0{unit}")).is_err() {
            return Err(format!("the unit of the column `{name}` is not known: {such} have some"));
        }
        // The longest unit is `Gbit/s`.
        columns.push(Column { param, unit: unit.chars().take(10).collect() });
    }
    if columns.iter().all(|c| c.param.name != "at") {
        return Err(format!("the column `at` is missing: begin the file with names such as {such}"));
    }
    Ok(columns)
}
