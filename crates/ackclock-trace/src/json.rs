//! Events and rows as JSON lines.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::{CellValue, Event, EventKind, Row, Sink};

/// Writes one JSON object per line.
#[derive(Debug)]
pub struct JsonLines<W: Write> {
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> JsonLines<W> {
    /// Writes to `out`, which should be buffered.
    pub const fn new(out: W) -> Self {
        Self { out, failed: None }
    }

    /// Writes one row; missing values are `null`.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn row(&mut self, row: &impl Row) -> io::Result<()> {
        self.line(&RowObject(row))
    }

    /// Writes one event.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.line(&EventObject(event))
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// The first error met while recording as a [`Sink`], or one of the flush.
    pub fn finish(mut self) -> io::Result<W> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn line(&mut self, object: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, object)?;
        self.out.write_all(b"\n")
    }
}

/// The first error is kept for [`JsonLines::finish`], and nothing more is written.
impl<W: Write> Sink for JsonLines<W> {
    fn record(&mut self, event: &Event) {
        if self.failed.is_none() {
            self.failed = self.event(event).err();
        }
    }
}

struct RowObject<'a, R>(&'a R);

impl<R: Row> Serialize for RowObject<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(R::TABLE.columns.len()))?;
        let mut result = Ok(());
        self.0.for_each_cell(&mut |column, value| {
            if result.is_ok() {
                result = map.serialize_entry(column.name, &ValueObject(value));
            }
        });
        result?;
        map.end()
    }
}

struct ValueObject<'a>(CellValue<'a>);

impl Serialize for ValueObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            CellValue::Missing => serializer.serialize_none(),
            CellValue::UInt(n) => serializer.serialize_u64(n),
            CellValue::Float(x) => serializer.serialize_f64(x),
            CellValue::Bool(b) => serializer.serialize_bool(b),
            CellValue::Text(s) => serializer.serialize_str(s),
            CellValue::UInt32List(list) => list.serialize(serializer),
            CellValue::UInt64List(list) => list.serialize(serializer),
        }
    }
}

struct EventObject<'a>(&'a Event);

impl Serialize for EventObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("time", &self.0.at.as_secs_f64())?;
        map.serialize_entry("connection", &self.0.connection)?;
        let mut result = Ok(());
        self.0.kind.for_each_field(&mut |name, value| {
            if result.is_ok() {
                result = map.serialize_entry(name, &ValueObject(value));
            }
        });
        result?;
        map.end()
    }
}

impl EventKind {
    /// Passes the event as named values, its own name first (`event`). Times are in seconds.
    pub fn for_each_field(&self, f: &mut dyn FnMut(&'static str, CellValue<'_>)) {
        use CellValue::{Bool, Float, Text, UInt};
        let segment = |f: &mut dyn FnMut(&'static str, CellValue<'_>), seq: u32, len: u32, ack: u32| {
            f("seq", UInt(seq.into()));
            f("len", UInt(len.into()));
            f("ack", UInt(ack.into()));
        };
        match *self {
            Self::Sent { kind, seq, len, ack } => {
                f("event", Text("sent"));
                f("kind", Text(kind.word()));
                segment(f, seq.0, len, ack.0);
            }
            Self::Received { seq, len, ack } => {
                f("event", Text("received"));
                segment(f, seq.0, len, ack.0);
            }
            Self::RttSample { rtt, srtt, rttvar, rto } => {
                f("event", Text("rtt-sample"));
                for (name, d) in [("rtt", rtt), ("srtt", srtt), ("rttvar", rttvar), ("rto", rto)] {
                    f(name, Float(d.as_secs_f64()));
                }
            }
            Self::Window { cwnd, ssthresh, pipe } => {
                f("event", Text("window"));
                for (name, n) in [("cwnd", cwnd), ("ssthresh", ssthresh), ("pipe", pipe)] {
                    f(name, UInt(n));
                }
            }
            Self::Timeout { seq, round, rto } => {
                f("event", Text("timeout"));
                f("seq", UInt(seq.0.into()));
                f("round", UInt(round.into()));
                f("rto", Float(rto.as_secs_f64()));
            }
            Self::Lost { range } => {
                f("event", Text("lost"));
                f("start", UInt(range.start.0.into()));
                f("end", UInt(range.end.0.into()));
            }
            Self::EpisodeBegan { class, recovery_point } => {
                f("event", Text("episode-began"));
                f("class", Text(class.word()));
                f("recovery_point", UInt(recovery_point.0.into()));
            }
            Self::EpisodeEnded { class, spurious } => {
                f("event", Text("episode-ended"));
                f("class", Text(class.word()));
                f("spurious", Bool(spurious));
            }
            Self::State { policy, name, value } => {
                f("event", Text("state"));
                f("policy", Text(policy));
                f("name", Text(name));
                f("value", Float(value));
            }
            Self::Established => f("event", Text("established")),
            Self::Closed { orderly } => {
                f("event", Text("closed"));
                f("orderly", Bool(orderly));
            }
        }
    }
}
