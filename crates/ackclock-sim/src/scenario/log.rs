//! Transfers from a log: their times and sizes, in a file of comma-separated values or in the scenario.

use std::sync::Arc;

use ackclock_policy::{Params, Value};
use ackclock_units::{Bytes, Duration, parse_duration};

use super::error::{Place, Result, ScenarioError};
use super::files::Files;
use super::met::met;
use super::reader::{LONGEST_NAME, Reader};
use super::tree::{Item, Node};
use crate::workload::declare::{LARGEST_TRANSFER, LOG, LONGEST};

/// Most transfers of a log: a resolved scenario, which lists them, must fit its own limit.
const MOST_ROWS: usize = 100_000;
/// Most classes and stacks of a log together: each pair is a workload of its own.
const MOST_CLASSES: usize = 100;
const HEADINGS: &str = "`time`, `bytes`, `class` and `stack`, of which the last two may be missing";

/// A transfer of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LogRow {
    /// When the client opens the connection, since the run began.
    pub at: Duration,
    /// Bytes of the response.
    pub bytes: Bytes,
}

/// The transfers of one class of a log.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogPlan {
    /// Its declared keys.
    pub params: Params,
    /// In the order of their times.
    pub rows: Arc<[LogRow]>,
}

/// The transfers of a log that have the same class and stack.
pub(super) struct LogClass {
    /// `None` for those without a class.
    pub(super) class: Option<String>,
    /// `None` for those without a stack.
    pub(super) stack: Option<String>,
    pub(super) plan: LogPlan,
    /// Line of the file at which it first appears, and the column of its stack.
    pub(super) place: (u64, usize),
    /// Name of the file.
    pub(super) file: Option<String>,
}

/// Reads a workload of kind `log`: its transfers by class and stack, in the order of their first appearance.
pub(super) fn read(reader: &Reader<'_>, files: &Files) -> Result<Vec<LogClass>> {
    let mut params = reader.params(LOG.params)?;
    let start = params.duration("start");
    // Times include it from here on, in the resolved scenario too.
    params.set("start", Value::Duration(Duration::ZERO));
    let Some((name, item)) = reader.text("file")? else {
        let rows = listed(reader, start)?;
        let plan = LogPlan { params, rows: rows.into() };
        return Ok(vec![LogClass { class: None, stack: None, plan, place: (0, 0), file: None }]);
    };
    if reader.get("transfers").is_some() {
        let message = format!(
            "`{}` and `{}` are both given: give one of them",
            reader.key("file"),
            reader.key("transfers")
        );
        return Err(ScenarioError::at(reader.place(), message));
    }
    let key = reader.key("file");
    let text = files
        .read(name)
        .map_err(|e| ScenarioError::at(&item.place, format!("`{key}` is `{name}`, which {e}")))?;
    parse(&text, &params, start).map_err(|e| e.in_file(name)).map(|mut classes| {
        classes.iter_mut().for_each(|class| class.file = Some(name.to_owned()));
        classes
    })
}

/// An error in a file. It quotes numbers of the file alone, which an untrusted scenario may have named.
fn wrong(line: u64, message: impl Into<String>) -> ScenarioError {
    ScenarioError::at(&Place::Line(line as usize), message)
}

/// The columns of a log, by their position in a line.
#[derive(Default)]
struct Columns {
    time: Option<usize>,
    bytes: Option<usize>,
    class: Option<usize>,
    stack: Option<usize>,
}

impl Columns {
    fn read(headings: &csv::StringRecord) -> Result<(usize, usize, Self)> {
        let mut found = Self::default();
        for (at, heading) in headings.iter().enumerate() {
            let place = match heading {
                "time" => &mut found.time,
                "bytes" => &mut found.bytes,
                "class" => &mut found.class,
                "stack" => &mut found.stack,
                _ => {
                    let n = at + 1;
                    let message = format!("the heading of column {n} is not known; expected {HEADINGS}");
                    return Err(wrong(1, message));
                }
            };
            if place.replace(at).is_some() {
                return Err(wrong(1, format!("column {} has the heading of a column before it", at + 1)));
            }
        }
        let (Some(time), Some(bytes)) = (found.time, found.bytes) else {
            return Err(wrong(1, format!("the first line lacks a heading; it has to name {HEADINGS}")));
        };
        Ok((time, bytes, found))
    }
}

/// A row of the file, its time still as in the file.
struct FileRow {
    time_ns: u128,
    bytes: Bytes,
    /// Position among the classes.
    class: usize,
}

fn parse(text: &str, params: &Params, start: Duration) -> Result<Vec<LogClass>> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let bad = |e: csv::Error| {
        let line = e.position().map_or(1, csv::Position::line);
        wrong(
            line,
            match e.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!("the line has {len} columns and the headings have {expected_len}: give as many")
                }
                _ => "this is not a line of comma-separated values".to_owned(),
            },
        )
    };
    let (time_at, bytes_at, columns) = Columns::read(reader.headers().map_err(bad)?)?;
    let (mut rows, mut classes): (Vec<FileRow>, Vec<LogClass>) = (Vec::new(), Vec::new());
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(bad)? {
        let line = record.position().map_or(0, csv::Position::line);
        let cell = |at: Option<usize>| at.and_then(|at| record.get(at)).filter(|text| !text.is_empty());
        let refused = |at: usize, name: &str, wanted: &str| {
            let value = met(record.get(at).unwrap_or_default());
            wrong(line, format!("column {}: `{name}` is {value}, which is not {wanted}", at + 1))
        };
        let time_ns = cell(Some(time_at))
            .and_then(seconds)
            .ok_or_else(|| refused(time_at, "time", "a time in seconds such as `12.25`"))?;
        let bytes = cell(Some(bytes_at)).and_then(|text| text.parse().ok());
        let bytes = bytes.filter(|n| (1..=LARGEST_TRANSFER).contains(n)).ok_or_else(|| {
            refused(bytes_at, "bytes", &format!("a whole number from 1 to {LARGEST_TRANSFER}"))
        })?;
        let (class, stack) = (cell(columns.class), cell(columns.stack));
        let known = classes.iter().position(|c| (c.class.as_deref(), c.stack.as_deref()) == (class, stack));
        let number = match known {
            Some(number) => number,
            None => {
                if classes.len() == MOST_CLASSES {
                    let message = format!(
                        "the file has more than {MOST_CLASSES} pairs of `class` and `stack`; each is a \
                         workload, and so many are allowed"
                    );
                    return Err(wrong(line, message));
                }
                for (at, name, value) in [(columns.class, "class", class), (columns.stack, "stack", stack)] {
                    if let (Some(at), Some(_)) = (at, value.filter(|text| text.len() > LONGEST_NAME)) {
                        let wanted = format!("a name of at most {LONGEST_NAME} bytes");
                        return Err(refused(at, name, &wanted));
                    }
                }
                classes.push(LogClass {
                    class: class.map(ToOwned::to_owned),
                    stack: stack.map(ToOwned::to_owned),
                    plan: LogPlan { params: params.clone(), rows: Arc::from([]) },
                    place: (line, columns.stack.map_or(0, |at| at + 1)),
                    file: None,
                });
                classes.len() - 1
            }
        };
        if rows.len() == MOST_ROWS {
            return Err(wrong(
                line,
                format!("the file has more than {MOST_ROWS} transfers, which is the limit"),
            ));
        }
        rows.push(FileRow { time_ns, bytes, class: number });
    }
    // A log has its lines in the order in which transfers ended, perhaps; those at the same time keep theirs.
    rows.sort_by_key(|row| row.time_ns);
    let first =
        rows.first().ok_or_else(|| wrong(1, "the file has no transfers: give a line for each"))?.time_ns;
    let origin = if params.choice("origin") == "first" { first } else { 0 };
    let start = u128::from(start.as_nanos());
    let mut of_class: Vec<Vec<LogRow>> = classes.iter().map(|_| Vec::new()).collect();
    for row in rows {
        let at = u64::try_from(row.time_ns - origin + start).ok().map(Duration::from_nanos);
        let at = at.filter(|at| *at <= LONGEST).ok_or_else(|| {
            ScenarioError::new(format!(
                "the file spans more than `{LONGEST}`, which is the limit; `origin` has to be `first` unless \
                 times count from the start of the run"
            ))
        })?;
        of_class[row.class].push(LogRow { at, bytes: row.bytes });
    }
    for (class, rows) in classes.iter_mut().zip(of_class) {
        class.plan.rows = rows.into();
    }
    Ok(classes)
}

/// Nanoseconds of a decimal number of seconds, without rounding up to a nanosecond. Binary fractions would
/// lose digits of times since 1970.
fn seconds(text: &str) -> Option<u128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || whole.len() + fraction.len() == 0 || whole.len() > 15 {
        return None;
    }
    let kept = &fraction[..fraction.len().min(9)];
    let number = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<u128>().ok() };
    Some(number(whole)? * 1_000_000_000 + number(kept)? * 10_u128.pow(9 - kept.len() as u32))
}

/// Reads `transfers`, the list that a resolved scenario has in place of the file.
fn listed(reader: &Reader<'_>, start: Duration) -> Result<Vec<LogRow>> {
    let item = reader.require("transfers", "a list of `[time, bytes]`, or a `file` with these columns")?;
    let key = reader.key("transfers");
    let wrong = |place: &_| {
        ScenarioError::at(
            place,
            format!("`{key}` is not a list of `[time, bytes]` such as `[\"1.5s\", 4000]`"),
        )
    };
    let Node::List(items) = &item.node else { return Err(wrong(&item.place)) };
    if items.is_empty() || items.len() > MOST_ROWS {
        let message = format!("`{key}` is a list of {}; 1 to {MOST_ROWS} are allowed", items.len());
        return Err(ScenarioError::at(&item.place, message));
    }
    let mut before = Duration::ZERO;
    let mut row = |item: &Item| {
        let Node::List(pair) = &item.node else { return Err(wrong(&item.place)) };
        let [Item { node: Node::Text(at), .. }, Item { node: Node::Integer(bytes), .. }] = pair.as_slice()
        else {
            return Err(wrong(&item.place));
        };
        let at = parse_duration(at).ok().filter(|at| *at <= LONGEST).ok_or_else(|| wrong(&item.place))?;
        let bytes = u64::try_from(*bytes).ok().filter(|n| (1..=LARGEST_TRANSFER).contains(n));
        let bytes = bytes.ok_or_else(|| {
            let message = format!("`{key}` has a size that is not between 1 and {LARGEST_TRANSFER}");
            ScenarioError::at(&item.place, message)
        })?;
        if at < before {
            return Err(ScenarioError::at(
                &item.place,
                format!("`{key}` has a time before the one above it"),
            ));
        }
        before = at;
        Ok(LogRow { at: at + start, bytes })
    };
    items.iter().map(&mut row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(text: &str) -> Result<Vec<LogClass>> {
        parse(text, &Params::defaults(LOG.params), Duration::ZERO)
    }

    fn message(text: &str) -> String {
        classes(text).err().map_or("no error".to_owned(), |e| e.to_string())
    }

    #[test]
    fn times_of_a_log_are_exact_and_sorted() {
        let text = "\u{feff}time, bytes\n1700000000.000000003,10\r\n1700000000,20\n1700000001.5 , 30\n";
        let read = classes(text).unwrap();
        let rows: Vec<_> = read[0].plan.rows.iter().map(|r| (r.at.as_nanos(), r.bytes)).collect();
        assert_eq!(rows, [(0, 20), (3, 10), (1_500_000_000, 30)]);
    }

    #[test]
    fn classes_and_stacks_come_in_the_order_of_the_file() {
        let text = "class,bytes,time,stack\n\"a, b\",1,0,x\nc,2,1,\n\"a, b\",3,2,x\n,4,3,y\n";
        let read = classes(text).unwrap();
        let found: Vec<_> = read
            .iter()
            .map(|c| (c.class.as_deref(), c.stack.as_deref(), c.plan.rows.len(), c.place))
            .collect();
        let expected = [
            (Some("a, b"), Some("x"), 2, (2, 4)),
            (Some("c"), None, 1, (3, 4)),
            (None, Some("y"), 1, (5, 4)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_wrong_cell_has_its_line_and_column() {
        let cases = [
            (
                "",
                "line 1: the first line lacks a heading; it has to name `time`, `bytes`, `class` and `stack`, of which the last two may be missing",
            ),
            ("time,bytes\n", "line 1: the file has no transfers: give a line for each"),
            (
                "1,2\n3,4\n",
                "line 1: the heading of column 1 is not known; expected `time`, `bytes`, `class` and `stack`, of which the last two may be missing",
            ),
            ("time,bytes,time\n", "line 1: column 3 has the heading of a column before it"),
            ("time,bytes\n1,2\n3\n", "line 3: the line has 1 columns and the headings have 2: give as many"),
            (
                "time,bytes\n1,2\n-3,4\n",
                "line 3: column 1: `time` is `-3`, which is not a time in seconds such as `12.25`",
            ),
            (
                "time,bytes\nnan,4\n",
                "line 2: column 1: `time` is `nan`, which is not a time in seconds such as `12.25`",
            ),
            (
                "time,bytes\n1e9,4\n",
                "line 2: column 1: `time` is `1e9`, which is not a time in seconds such as `12.25`",
            ),
            (
                "time,bytes\n,4\n",
                "line 2: column 1: `time` is empty, which is not a time in seconds such as `12.25`",
            ),
            (
                "bytes,time\n0,4\n",
                "line 2: column 1: `bytes` is `0`, which is not a whole number from 1 to 1125899906842624",
            ),
            (
                "bytes,time\n99999999999999999999,4\n",
                "line 2: column 1: `bytes` is `99999999999999999999`, which is not a whole number from 1 to 1125899906842624",
            ),
            (
                "bytes,time\n1.5,4\n",
                "line 2: column 1: `bytes` is `1.5`, which is not a whole number from 1 to 1125899906842624",
            ),
            (
                "time,bytes\nhunter2,1\n",
                "line 2: column 1: `time` is text of 7 characters, which is not a time in seconds such as `12.25`",
            ),
            (
                "time,bytes\n0,1\n999999999999999,1\n",
                "the file spans more than `100000000s`, which is the limit; `origin` has to be `first` unless times count from the start of the run",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(message(text), expected, "{text:?}");
        }
        let long = format!("time,bytes\n{}", "1,2\n".repeat(MOST_ROWS + 1));
        assert_eq!(
            message(&long),
            "line 100002: the file has more than 100000 transfers, which is the limit"
        );
        let many: String = (0..101).map(|n| format!("{n},1,c{n}\n")).collect();
        assert!(
            message(&format!("time,bytes,class\n{many}")).starts_with("line 102: the file has more than 100")
        );
    }
}
