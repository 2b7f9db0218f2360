//! The lines of the timeline of a run.

use ackclock_engine::{Connection, Transmit};
use ackclock_units::Instant;
use ackclock_wire::{Flags, Segment};

use crate::pipe::Fate;
use crate::stacks::{SEGMENT, iss};

/// A packet is sent. `index` is the number of its segment, from 0; `numbers` are those of the transmission
/// and of the copy.
pub fn sent(
    now: Instant,
    side: usize,
    t: &Transmit,
    index: Option<u8>,
    numbers: (u8, u8),
    fate: &Fate,
    held: Option<Instant>,
) -> String {
    let s = &t.segment;
    let what = match index {
        Some(i) if s.len > 0 => {
            format!("data {} (transmission {}, copy {}, {:?})", i + 1, numbers.0, numbers.1, t.kind)
        }
        _ => format!(
            "{:?} ack {}{}",
            s.flags,
            in_segments(s.ack.bytes_since(iss(1 - side as u32) + 1)),
            sacks(s)
        ),
    };
    let who = ["sender", "receiver"][side];
    let fin = if s.flags.has(Flags::FIN) && s.len > 0 { " FIN" } else { "" };
    let (lost, twice) = (if fate.lost { ", lost" } else { "" }, if fate.twice { ", twice" } else { "" });
    let late = if fate.late.is_zero() { String::new() } else { format!(", {} late", fate.late) };
    let held = held.map_or_else(String::new, |until| format!(", held until {until:?}"));
    format!("{:>9.4} {who} sends {what}{fin}{lost}{late}{held}{twice}", now.as_secs_f64())
}

/// The sender has received a packet.
pub fn received(now: Instant, s: &Segment, sender: &Connection) -> String {
    let ack = in_segments(s.ack.bytes_since(iss(0) + 1));
    format!(
        "{:>9.4} sender gets {:?} ack {ack}{}{}",
        now.as_secs_f64(),
        s.flags,
        sacks(s),
        standing(sender, now)
    )
}

/// A deadline of the sender has fired.
pub fn expired(now: Instant, sender: &Connection) -> String {
    format!("{:>9.4} sender's timer{}", now.as_secs_f64(), standing(sender, now))
}

/// A number of bytes as whole segments and the remaining bytes.
fn in_segments(bytes: u32) -> String {
    let (whole, rest) = (u64::from(bytes) / SEGMENT, u64::from(bytes) % SEGMENT);
    if rest == 0 { format!("{whole}") } else { format!("{whole}+{rest}") }
}

/// SACK blocks as segments from 1, both ends included; the FIN counts as one.
fn sacks(s: &Segment) -> String {
    let size = SEGMENT as u32;
    let blocks = s
        .options
        .sack
        .as_slice()
        .iter()
        .map(|b| (b.start.bytes_since(iss(0) + 1), b.end.bytes_since(iss(0) + 1)));
    blocks.map(|(start, end)| format!(" sack {}-{}", start / size + 1, end.div_ceil(size))).collect()
}

/// The state of the sender.
fn standing(sender: &Connection, now: Instant) -> String {
    let (v, stats) = (sender.view(now), sender.stats());
    let window = |bytes: u64| {
        if bytes >= 1 << 39 { "-".to_owned() } else { format!("{:.2}", bytes as f64 / SEGMENT as f64) }
    };
    format!(
        "  [{:?} cwnd {} ssthresh {} pipe {} timer {:?} timeouts {} spurious {}]",
        v.phase,
        window(v.window.cwnd),
        window(v.window.ssthresh),
        window(v.pipe),
        v.rto_deadline,
        stats.timeouts,
        stats.spurious_timeouts
    )
}
