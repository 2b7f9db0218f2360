//! The report as rows of the shared tables.

use ackclock_trace::{
    DirectionRow, EpisodeRow, Label, PacketRow, RetransmissionRow, SampleRow, Side, StallRow, TimeoutRow,
    WhatIfRow,
};

use crate::{Direction, Remedy, Report};

/// The tables of a capture.
#[derive(Debug, Default)]
pub struct Tables {
    /// Two for each connection.
    pub directions: Vec<DirectionRow>,
    /// In order of connection, then of time, as the other tables.
    pub retransmissions: Vec<RetransmissionRow>,
    /// Expiries.
    pub timeouts: Vec<TimeoutRow>,
    /// Loss episodes.
    pub episodes: Vec<EpisodeRow>,
    /// Samples, if requested.
    pub samples: Vec<SampleRow>,
    /// Timers simulated in place of the senders', if requested.
    pub what_if: Vec<WhatIfRow>,
    /// Stalls with each of these timers.
    pub stalls: Vec<StallRow>,
}

impl Report {
    /// The rows of the connections that `wanted` selects by number.
    pub fn tables(&self, file: &str, wanted: impl Fn(usize) -> bool) -> Tables {
        let mut tables = Tables::default();
        let file = Label::from(file);
        for (n, c) in self.connections.iter().enumerate().filter(|(n, _)| wanted(*n)) {
            let ends = [c.client, c.server].map(|a| Label::from(a.to_string()));
            for (side, d) in c.directions.iter().enumerate() {
                let connection = (2 * n + side) as u32;
                let places = Place {
                    file: file.clone(),
                    connection,
                    sender: ends[side].clone(),
                    receiver: ends[1 - side].clone(),
                };
                tables.directions.push(DirectionRow {
                    client: side == 0,
                    start: c.start,
                    end: c.end,
                    handshake: c.handshake,
                    standing: c.standing.word(),
                    ..direction(d, places)
                });
                tables.add(d, connection);
            }
        }
        tables
    }

    /// Takes the listed packets out of the report, since they are many.
    pub fn take_packets(&mut self) -> Vec<PacketRow> {
        self.connections.iter_mut().flat_map(|c| std::mem::take(&mut c.packets)).collect()
    }
}

struct Place {
    file: Label,
    connection: u32,
    sender: Label,
    receiver: Label,
}

fn direction(d: &Direction, place: Place) -> DirectionRow {
    let Place { file, connection, sender, receiver } = place;
    DirectionRow {
        file,
        connection,
        sender,
        receiver,
        view: d.view.word(),
        share: d.share,
        packets: d.packets,
        data_packets: d.data_packets,
        super_segments: d.super_segments,
        bytes: d.bytes,
        unique_bytes: d.unique_bytes,
        bytes_acked: d.bytes_acked,
        packets_acked: d.packets_acked,
        retransmitted_packets: d.retransmitted_packets,
        retransmitted_bytes: d.retransmitted_bytes,
        unneeded_packets: d.spurious_packets,
        timeouts: d.counted().count() as u32,
        rounds: d.counted().map(|t| t.round).max().unwrap_or(0),
        stalled: d.stalled(),
        ca_events: d.ca_events,
        non_ca_events: d.non_ca_events,
        other_losses: d.other_losses,
        p: d.p(),
        p_uncertain: d.p_uncertain(),
        max_flight: d.max_flight,
        mss: d.mss,
        rtt_samples: d.rtt.count(),
        rtt_min: d.rtt.min(),
        rtt_mean: d.rtt.mean(),
        rtt_p50: d.rtt.quantile(0.5),
        rtt_p95: d.rtt.quantile(0.95),
        rtt_p99: d.rtt.quantile(0.99),
        rtt_max: d.rtt.max(),
        rtt_timestamps_samples: d.rtt_timestamps.count(),
        rtt_timestamps_mean: d.rtt_timestamps.mean(),
        reordered: d.reordered,
        network_duplicates: d.network_duplicates,
        capture_duplicates: d.capture_duplicates,
        missing_bytes: d.missing_bytes,
        dup_acks: d.dup_acks,
        handshake_time: d.limits.handshake,
        slow_start_time: d.limits.slow_start,
        congestion_window_time: d.limits.congestion_window,
        receiver_window_time: d.limits.receiver_window,
        application_time: d.limits.application,
        timeout_time: d.limits.timeouts,
        ..DirectionRow::default()
    }
}

impl Direction {
    /// Rows of its timeouts, by every rule.
    pub fn timeout_rows(&self, connection: u32) -> impl Iterator<Item = TimeoutRow> {
        self.timeouts_by_rule().map(move |t| TimeoutRow {
            time: t.at,
            connection,
            frame: t.frame,
            seq: t.seq,
            of: t.of.word(),
            round: t.round,
            round_certain: t.timeout.map(|t| t.round_certain),
            rto: t.rto,
            eifel_spurious: t.timeout.and_then(|t| t.eifel_spurious),
            eifel_certain: t.timeout.map(|t| t.eifel_certain),
            outage: t.timeout.map(|t| t.outage),
            remedy: t.timeout.and_then(|t| t.remedy).map(Remedy::word),
            view: self.view.word(),
            rule: t.rule,
            counts: t.counts,
        })
    }
}

impl Tables {
    fn alternatives(&mut self, d: &Direction, connection: u32) {
        for w in &d.what_if {
            let timer = Label::from(w.timer.as_str());
            self.stalls.extend(w.stalls.iter().map(|s| StallRow {
                connection,
                timer: timer.clone(),
                begin: s.began,
                end: s.ended,
                of: s.of.word(),
                path: s.path.word(),
                timeouts: s.timeouts,
                spurious: s.spurious,
                early: s.early,
                waited: s.waited,
                waited_least: s.waited_least,
                waited_most: s.waited_most,
                response: s.response,
            }));
            self.what_if.push(WhatIfRow {
                connection,
                timer,
                timeouts: w.timeouts,
                spurious: w.spurious,
                early: w.early,
                rounds: w.rounds,
                waited: w.waited,
                waited_least: w.waited_least,
                waited_most: w.waited_most,
                rerun_least: w.rerun_least,
                rerun_most: w.rerun_most,
                view: d.view.word(),
            });
        }
    }

    fn add(&mut self, d: &Direction, connection: u32) {
        let (flow, side) = Side::of_connection(connection);
        self.retransmissions.extend(d.retransmissions.iter().map(|r| RetransmissionRow {
            time: r.at,
            connection,
            frame: r.frame,
            seq: r.seq,
            offset: r.offset,
            len: r.len,
            packets: r.packets,
            kind: r.cause.word(),
            needed: r.needed,
            original_seen: r.original_seen,
            evidence: r.evidence.as_str().into(),
        }));
        self.timeouts.extend(d.timeout_rows(connection));
        self.alternatives(d, connection);
        self.episodes.extend(d.episodes.iter().filter(|e| !e.nothing_lost).map(|e| EpisodeRow {
            connection,
            flow,
            side,
            class: e.class,
            begin: e.began,
            end: e.ended,
            recovery_point: e.recovery_point,
            timeouts: e.timeouts,
            rounds: e.rounds,
            losses: e.losses,
            lost_bytes: e.lost_bytes,
            retransmissions: e.retransmissions,
            spurious: e.losses == 0,
        }));
        self.samples.extend(d.samples.iter().map(|s| SampleRow {
            time: s.at,
            connection,
            flow,
            side,
            rtt: s.rtt,
            srtt: s.srtt,
            rttvar: s.rttvar,
            cwnd: Some(s.cwnd),
            pipe: Some(s.flight),
            ..SampleRow::default()
        }));
    }
}
