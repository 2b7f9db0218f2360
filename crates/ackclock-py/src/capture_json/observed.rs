//! What is observed of a direction, as JSON: it is in no table.

use ackclock_capture::{Closures, Connection, Direction, HeldBack, Place, Spans, Throughput, Tls};
use ackclock_units::Duration;
use serde_json::{Map, Value, json};

fn place(place: Place) -> Value {
    json!({ "t": place.at.as_secs_f64(), "frame": place.frame })
}

fn seconds(d: Option<Duration>) -> Value {
    json!(d.map(Duration::as_secs_f64))
}

pub(super) fn round_trips(c: &Connection, d: &Direction) -> Value {
    let Some(r) = d.round_trips(c) else { return Value::Null };
    json!({
        "low": seconds(Some(r.low)),
        "median": seconds(r.median),
        "high": seconds(r.high),
        "most": seconds(r.most),
        "by": r.by,
        "under_way": r.under_way,
        "queue_there": seconds(r.there),
        "queue_back": seconds(r.back),
    })
}

pub(super) fn throughput(t: &Throughput) -> Value {
    t.start.map_or(
        Value::Null,
        |start| json!({ "start": start.as_secs_f64(), "interval": t.width.as_secs_f64(), "bytes": t.bytes }),
    )
}

pub(super) fn zero_windows(c: &Closures) -> Value {
    json!({
        "count": c.count,
        "total": c.total.as_secs_f64(),
        "longest": c.longest.as_secs_f64(),
        "longest_at": place(c.longest_from),
        "first": c.first.map(place),
    })
}

pub(super) fn held_back(h: &HeldBack) -> Value {
    json!({
        "count": h.count,
        "total": h.total.as_secs_f64(),
        "longest": h.longest.as_secs_f64(),
        "longest_at": place(h.longest_at),
        "first": h.first.map(place),
    })
}

pub(super) fn limits_at(spans: &Spans) -> Value {
    let mut object = Map::new();
    for (part, span) in spans.parts() {
        if let Some(first) = span.first {
            let value = json!({
                "total": span.total.as_secs_f64(),
                "first": place(first),
                "longest": span.longest.as_secs_f64(),
                "longest_at": place(span.longest_from),
            });
            object.insert(part.word().to_owned(), value);
        }
    }
    Value::Object(object)
}

pub(super) fn tls(t: &Tls) -> Value {
    if !t.is_seen() {
        return Value::Null;
    }
    json!({ "hello": t.hello.map(place), "handshake": seconds(t.handshake) })
}
