//! A packet-delivery trace, from a file or from a list.

use std::sync::Arc;

use ackclock_policy::Params;
use ackclock_units::Rate;

use super::error::{Place, Result, ScenarioError};
use super::files::Files;
use super::met::met;
use super::reader::Reader;
use super::tree::{Item, Node};
use crate::link::{MAHIMAHI, Opportunities};

/// Largest number of opportunities of all packet-delivery traces of a scenario together.
pub(super) const MOST_OPPORTUNITIES: usize = 4_000_000;

/// A packet-delivery trace.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// Its declared keys.
    pub params: Params,
    /// Its opportunities, milliseconds.
    pub times: Arc<[u32]>,
}

impl Trace {
    pub(super) fn opportunities(&self) -> std::result::Result<Opportunities, String> {
        let p = &self.params;
        let (size, overhead) = (p.bytes("size") as u32, p.bytes("overhead") as u32);
        Opportunities::new(Arc::clone(&self.times), size, overhead, p.flag("repeat"))
    }

    pub(super) fn mean_rate(&self) -> Rate {
        let (size, overhead) = (self.params.bytes("size") as u32, self.params.bytes("overhead") as u32);
        let bytes = Opportunities::mean_rate(&self.times, size, overhead);
        Rate::from_bits_per_sec(((bytes * 8.0).round() as u64).max(1))
    }
}

/// Reads a packet-delivery trace.
pub(super) fn read(reader: &Reader<'_>, files: &Files) -> Result<Option<Trace>> {
    let Some(item) = reader.get(MAHIMAHI.name) else { return Ok(None) };
    let key = reader.key(MAHIMAHI.name);
    let inner = Reader::new(item, &key)?;
    let params = inner.params(MAHIMAHI.params)?;
    let (times, file, place) = match (inner.text("file")?, inner.get("times")) {
        (Some((name, item)), None) => {
            let text = files.read(name).map_err(|e| {
                ScenarioError::at(&item.place, format!("`{}` is `{name}`, which {e}", inner.key("file")))
            })?;
            let times = lines(&text).map_err(|(n, e)| ScenarioError::at(&Place::Line(n), e).in_file(name))?;
            (times, Some(name), Place::Nowhere)
        }
        (None, Some(item)) => (numbers(item, &inner.key("times"))?, None, item.place.clone()),
        (Some(_), Some(item)) => {
            let (file, times) = (inner.key("file"), inner.key("times"));
            return Err(ScenarioError::at(
                &item.place,
                format!("`{file}` and `{times}` are both given: give one of them"),
            ));
        }
        (None, None) => {
            inner.require(
                "file",
                "a packet-delivery trace of Mahimahi, a number of milliseconds on each line",
            )?;
            (Vec::new(), None, item.place.clone())
        }
    };
    inner.finish()?;
    let trace = Trace { params, times: times.into() };
    trace.opportunities().map_err(|e| match file {
        Some(name) => ScenarioError::at(&place, e).in_file(name),
        None => ScenarioError::at(&place, format!("`{key}`: {e}")),
    })?;
    if trace.params.bytes("overhead") >= trace.params.bytes("size") {
        let message = format!(
            "`{key}.overhead` is `{}B`, which is not less than `size`, `{}B`",
            trace.params.bytes("overhead"),
            trace.params.bytes("size")
        );
        return Err(ScenarioError::at(&item.place, message));
    }
    Ok(Some(trace))
}

const MILLISECONDS: &str = "a whole number of milliseconds between 0 and 4294967295";

/// Reads a number on each line. The error has the line.
fn lines(text: &str) -> std::result::Result<Vec<u32>, (usize, String)> {
    let mut times = Vec::new();
    for (n, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let time =
            line.parse().map_err(|_| (n, format!("this is {}, which is not {MILLISECONDS}", met(line))))?;
        if let Some(before) = times.last().filter(|before| time < **before) {
            let message = format!("`{time}` is earlier than `{before}` before it: give times in order");
            return Err((n, message));
        }
        if times.len() == MOST_OPPORTUNITIES {
            return Err((n, format!("there are more than {MOST_OPPORTUNITIES} lines, which is the limit")));
        }
        times.push(time);
    }
    Ok(times)
}

/// Reads numbers from a list, or from a text with blanks between them.
fn numbers(item: &Item, key: &str) -> Result<Vec<u32>> {
    let wrong = |place: &Place, met: &str| {
        ScenarioError::at(place, format!("`{key}` has {met}, which is not {MILLISECONDS}"))
    };
    let list = match &item.node {
        Node::Text(text) => {
            let parse = |word: &str| {
                let short: String = word.chars().take(20).collect();
                word.parse().map_err(|_| wrong(&item.place, &format!("`{short}`")))
            };
            text.split_whitespace().take(MOST_OPPORTUNITIES + 1).map(parse).collect::<Result<Vec<_>>>()?
        }
        Node::List(items) => {
            let parse = |item: &Item| match item.node {
                Node::Integer(n) => u32::try_from(n).map_err(|_| wrong(&item.place, &item.describe())),
                _ => Err(wrong(&item.place, &item.describe())),
            };
            items.iter().take(MOST_OPPORTUNITIES + 1).map(parse).collect::<Result<Vec<_>>>()?
        }
        _ => {
            return Err(ScenarioError::at(
                &item.place,
                format!("`{key}` is {}, which is not a list of milliseconds", item.describe()),
            ));
        }
    };
    Ok(list)
}
