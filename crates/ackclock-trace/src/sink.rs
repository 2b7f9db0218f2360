use std::collections::BTreeMap;

use ackclock_units::{Bytes, Instant};

use crate::{EpisodeRow, Event, EventKind, SampleRow, SegmentRow, SendKind, Side, StateRow};

/// A receiver of events. `Vec<Event>` implements it, and so does every closure over `&Event`.
pub trait Sink {
    /// Takes one event. Those of one connection come in order of time.
    fn record(&mut self, event: &Event);
}

impl Sink for Vec<Event> {
    fn record(&mut self, event: &Event) {
        self.push(*event);
    }
}

impl<F: FnMut(&Event)> Sink for F {
    fn record(&mut self, event: &Event) {
        self(event);
    }
}

impl SendKind {
    /// The word in tables and JSON lines.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Syn { .. } => "syn",
            Self::New => "new",
            Self::Copy => "copy",
            Self::FastRetransmit => "fast-retransmit",
            Self::TimeoutRetransmit => "timeout-retransmit",
            Self::TailLossProbe { .. } => "tail-loss-probe",
            Self::WindowProbe => "window-probe",
            Self::Keepalive => "keepalive",
            Self::Ack => "ack",
            Self::Reset => "reset",
        }
    }

    /// True for a retransmission of data.
    pub const fn is_retransmission(self) -> bool {
        matches!(self, Self::FastRetransmit | Self::TimeoutRetransmit | Self::TailLossProbe { again: true })
    }
}

/// The traced rows of connections.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TracedRows {
    /// The sender's estimates and windows.
    pub samples: Vec<SampleRow>,
    /// Loss episodes.
    pub episodes: Vec<EpisodeRow>,
    /// Segments.
    pub segments: Vec<SegmentRow>,
    /// Private state of policies.
    pub state: Vec<StateRow>,
}

impl TracedRows {
    /// True if there are no rows other than episodes.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty() && self.segments.is_empty() && self.state.is_empty()
    }

    /// Sorts rows by time; rows of the same time are in order of connection, then of recording.
    fn sort(&mut self) {
        self.samples.sort_by_key(|r| (r.time, r.connection));
        self.episodes.sort_by_key(|r| (r.begin, r.connection));
        self.segments.sort_by_key(|r| (r.time, r.connection));
        self.state.sort_by_key(|r| (r.time, r.connection));
    }
}

/// Turns events into rows.
#[derive(Debug, Default)]
pub struct EventTables {
    rows: TracedRows,
    connections: BTreeMap<u32, Connection>,
}

/// The state of one connection between its events.
#[derive(Debug, Default)]
struct Connection {
    last: SampleRow,
    open: Option<EpisodeRow>,
    /// What was recorded at the moment at which an episode began, but before that event.
    before: (Instant, EpisodeRow),
}

impl Connection {
    /// The episode that an event at `at` belongs to: the open one, or one that may begin at this moment.
    fn episode(&mut self, at: Instant) -> &mut EpisodeRow {
        if self.open.is_none() && self.before.0 != at {
            self.before = (at, EpisodeRow::default());
        }
        self.open.as_mut().unwrap_or(&mut self.before.1)
    }
}

impl Sink for EventTables {
    fn record(&mut self, event: &Event) {
        let (at, connection) = (event.at, event.connection);
        let (flow, side) = Side::of_connection(connection);
        let known = self.connections.entry(connection).or_insert_with(|| Connection {
            last: SampleRow { connection, flow, side, ..SampleRow::default() },
            ..Connection::default()
        });
        match event.kind {
            EventKind::Sent { kind, seq, len, ack } => {
                self.rows.segments.push(SegmentRow {
                    time: at,
                    connection,
                    flow,
                    side,
                    sent: true,
                    kind: Some(kind.word()),
                    seq,
                    len,
                    ack,
                });
                if kind.is_retransmission() {
                    known.episode(at).retransmissions += 1;
                }
            }
            EventKind::Received { seq, len, ack } => {
                self.rows.segments.push(SegmentRow {
                    time: at,
                    connection,
                    flow,
                    side,
                    sent: false,
                    kind: None,
                    seq,
                    len,
                    ack,
                });
            }
            EventKind::RttSample { rtt, srtt, rttvar, rto } => {
                known.last = SampleRow {
                    time: at,
                    srtt: Some(srtt),
                    rttvar: Some(rttvar),
                    rto: Some(rto),
                    ..known.last.clone()
                };
                self.rows.samples.push(SampleRow { rtt: Some(rtt), ..known.last.clone() });
            }
            EventKind::Window { cwnd, ssthresh, pipe } => {
                let ssthresh = (ssthresh != Bytes::MAX).then_some(ssthresh);
                known.last = SampleRow {
                    time: at,
                    cwnd: Some(cwnd),
                    ssthresh,
                    pipe: Some(pipe),
                    ..known.last.clone()
                };
                self.rows.samples.push(known.last.clone());
            }
            EventKind::Timeout { round, .. } => {
                let episode = known.episode(at);
                episode.timeouts += 1;
                episode.rounds = episode.rounds.max(round);
            }
            EventKind::Lost { range } => {
                let episode = known.episode(at);
                episode.losses += 1;
                episode.lost_bytes += u64::from(range.len());
            }
            EventKind::EpisodeBegan { class, recovery_point } => match &mut known.open {
                // The episode gets worse and continues.
                Some(open) => (open.class, open.recovery_point) = (class, recovery_point),
                None => {
                    let before = std::mem::take(known.episode(at));
                    known.open = Some(EpisodeRow {
                        connection,
                        flow,
                        side,
                        class,
                        begin: at,
                        recovery_point,
                        ..before
                    });
                }
            },
            EventKind::EpisodeEnded { class, spurious } => {
                if let Some(open) = known.open.take() {
                    self.rows.episodes.push(EpisodeRow { class, spurious, end: Some(at), ..open });
                }
            }
            EventKind::State { policy, name, value } => {
                self.rows.state.push(StateRow { time: at, connection, flow, side, policy, name, value });
            }
            EventKind::Established | EventKind::Closed { .. } => {}
        }
    }
}

impl EventTables {
    /// Removes and returns the rows from before `at`, in the order of [`EventTables::finish`], to free their
    /// memory. Episodes stay.
    pub fn take_before(&mut self, at: Instant) -> TracedRows {
        let rows = &mut self.rows;
        let samples = rows.samples.partition_point(|r| r.time < at);
        let segments = rows.segments.partition_point(|r| r.time < at);
        let state = rows.state.partition_point(|r| r.time < at);
        let mut taken = TracedRows {
            samples: rows.samples.drain(..samples).collect(),
            episodes: Vec::new(),
            segments: rows.segments.drain(..segments).collect(),
            state: rows.state.drain(..state).collect(),
        };
        taken.sort();
        taken
    }

    /// The approximate memory of the tables, in bytes.
    pub fn held_bytes(&self) -> u64 {
        let rows = self.rows.samples.capacity() * size_of::<SampleRow>()
            + self.rows.segments.capacity() * size_of::<SegmentRow>()
            + self.rows.state.capacity() * size_of::<StateRow>();
        let episodes = self.rows.episodes.capacity() * size_of::<EpisodeRow>();
        (rows + episodes + self.connections.len() * 2 * size_of::<Connection>()) as u64
    }

    /// Returns the rows, in order of time; rows of the same time are in order of connection, then of
    /// recording.
    pub fn finish(mut self) -> TracedRows {
        self.rows.episodes.extend(self.connections.into_values().filter_map(|c| c.open));
        self.rows.sort();
        self.rows
    }
}
