//! The evidence for a cause, in words.

use ackclock_units::Duration;

use super::Situation;

pub(super) fn syn_ack(_: &Situation) -> String {
    "the SYN-ACK again, in reply to a retransmitted SYN".to_owned()
}

pub(super) fn syn(s: &Situation) -> String {
    format!("the SYN again, {} after the one before", span(s.elapsed.set))
}

pub(super) fn zero_window_probe(_: &Situation) -> String {
    "one byte while the receiver's window is closed".to_owned()
}

pub(super) fn ack_with_fin(s: &Situation) -> String {
    format!(
        "the FIN again, in the ack of data that came {} before; {} after the one before, which is no timeout",
        span(s.elapsed.data.unwrap_or_default()),
        span(s.elapsed.set)
    )
}

pub(super) fn keepalive(s: &Situation) -> String {
    format!("an acknowledged byte{}", silence(s.elapsed.quiet))
}

/// Of a timeout or a tail loss probe.
pub(super) fn timer(s: &Situation) -> String {
    let what = match (s.segment.head, s.segment.tail) {
        (true, true) => "the only segment outstanding",
        (true, false) => "the oldest segment outstanding",
        (false, true) => "the newest segment, while older ones are outstanding",
        (false, false) => "a segment that was already acknowledged",
    };
    let duplicates = match s.acks.duplicates {
        0 => String::new(),
        n => format!(", {n} duplicate acks"),
    };
    let rtt = s.sender.rtt.map_or_else(|| "unknown".to_owned(), |(srtt, _)| span(srtt));
    format!(
        "{what}, {} after the timer can last have been set, {} after the last news from the \
         peer{duplicates}; round-trip time {rtt}",
        span(s.elapsed.set),
        span(s.elapsed.news)
    )
}

pub(super) fn after_timeout(s: &Situation) -> String {
    format!("{} after an ack, in the recovery from a timeout", span(s.elapsed.news))
}

pub(super) fn duplicate_acks(s: &Situation) -> String {
    format!("{} duplicate acks, the last {} before", s.acks.duplicates, span(s.elapsed.news))
}

pub(super) fn unknown(s: &Situation) -> String {
    format!(
        "no duplicate ack, and {} after the timer can last have been set, which is no timeout",
        span(s.elapsed.set)
    )
}

pub(super) fn partial_ack(s: &Situation) -> String {
    format!("{} after a partial ack in a recovery", span(s.elapsed.news))
}

pub(super) fn sack(s: &Situation) -> String {
    format!("SACK covers {} bytes behind it", s.acks.sacked_above)
}

pub(super) fn highest_sack(s: &Situation) -> String {
    format!("the highest SACK block ends {} bytes after its first byte", s.acks.highest_sack)
}

pub(super) fn overtaken(s: &Situation) -> String {
    format!("something sent after it was delivered; SACK covers {} bytes behind it", s.acks.sacked_above)
}

pub(super) fn overtaken_again(_: &Situation) -> String {
    "something sent after its last copy was delivered: that copy was lost too".to_owned()
}

/// A silence, appended to a description of what ended it.
pub(crate) fn silence(quiet: Option<Duration>) -> String {
    quiet.map_or_else(
        || ", the first packet of its sender in the capture".to_owned(),
        |quiet| format!(" after {} of silence", span(quiet)),
    )
}

/// A duration for human readers: three digits and a unit.
pub(crate) fn span(d: Duration) -> String {
    let s = d.as_secs_f64();
    let (x, unit) = match s {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let digits = if x >= 100.0 { 0 } else { 1 + usize::from(x < 10.0) };
    format!("{x:.digits$} {unit}")
}
