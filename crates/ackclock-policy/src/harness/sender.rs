use ackclock_units::{Bytes, Duration, Instant, SeqNumber, SeqRange};

use super::scoreboard::ReferenceScoreboard;
use super::{ack, view};
use crate::{
    AckInfo, Adjustment, Congestion, DeadlineAction, Deliveries, LossRecovery, Phase, Rtt, ScoreboardView,
    SenderView, Transition, Window,
};

/// A sender reduced to what a loss recovery deals with: sequence numbers, marks and phases, following the
/// contract of [`LossRecovery`]. It checks every decision of the recovery.
#[derive(Debug)]
pub(crate) struct Sender {
    pub recovery: Box<dyn LossRecovery>,
    pub board: ReferenceScoreboard,
    pub v: SenderView,
    /// What the last call marked as lost.
    pub marked: Vec<SeqRange>,
    /// What the next ack reports besides SACKs: a duplicate, and the moment that its timestamp echoes.
    pub dsack: Option<SeqRange>,
    pub echoed: Option<Instant>,
    /// What was outstanding when a probe was sent that repaired a loss.
    pub repaired: Option<Bytes>,
}

/// Bytes of each segment.
const LEN: u32 = 1000;

impl Sender {
    /// `n` segments from `start` on are outstanding, and the window is full.
    pub fn with(recovery: Box<dyn LossRecovery>, sack: bool, start: SeqNumber, n: u32) -> Self {
        let end = start + n * LEN;
        let mut v =
            SenderView { snd_una: start, snd_nxt: end, recovery_point: start, sack, smss: LEN, ..view() };
        v.window.cwnd = u64::from(n * LEN);
        let mut sender = Self {
            recovery,
            board: ReferenceScoreboard::of(start, n, LEN),
            v,
            marked: vec![],
            dsack: None,
            echoed: None,
            repaired: None,
        };
        sender.refresh();
        sender
    }

    /// The number of the first byte of segment `i`, counted from the first outstanding one.
    pub fn seq(&self, i: u32) -> SeqNumber {
        self.v.snd_una + i * LEN
    }

    /// Makes `n` segments outstanding, sent once each, neither SACKed nor lost.
    #[cfg(test)]
    pub fn outstanding(&mut self, n: u32) {
        self.board = ReferenceScoreboard::of(self.v.snd_una, n, LEN);
        self.v.snd_nxt = self.v.snd_una + n * LEN;
        self.refresh();
    }

    /// Advances the time; round trips take `rtt`.
    pub fn wait(&mut self, time: Duration, rtt: Duration) {
        self.v.now += time;
        self.v.rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: rtt / 2, min_rtt: rtt });
    }

    /// Computes the sizes of the view from the scoreboard.
    fn refresh(&mut self) {
        let v = &mut self.v;
        v.data_end = v.snd_nxt;
        v.flight_size = u64::from(v.snd_nxt.bytes_since(v.snd_una));
        let in_network = |s: &&crate::SentSegment| !s.sacked && !s.lost;
        v.pipe = self.board.outstanding().iter().filter(in_network).map(|s| u64::from(s.range.len())).sum();
        if !v.sack {
            v.pipe = v.pipe.saturating_sub(u64::from(v.dup_acks) * u64::from(LEN));
        }
    }

    /// An ack up to `to` that SACKs `blocks`.
    pub fn ack(&mut self, to: SeqNumber, blocks: &[SeqRange]) -> Phase {
        let newly_acked = u64::from(to.bytes_since(self.v.snd_una));
        let outstanding = self.v.flight_size > 0;
        let segments_acked = self.board.acknowledge(to);
        let newly_sacked = blocks.iter().map(|b| self.board.sack(*b)).sum();
        let is_dup = newly_acked == 0 && outstanding && (newly_sacked > 0 || !self.v.sack);
        self.v.snd_una = self.v.snd_una.max(to);
        self.v.dup_acks = if newly_acked > 0 { 0 } else { self.v.dup_acks + u32::from(is_dup) };
        self.refresh();
        let delivered = newly_acked + newly_sacked;
        let (dsack, deliveries) = (
            self.dsack.take(),
            Deliveries {
                echoed: self.echoed.take(),
                repeats: newly_acked == 0,
                ..self.board.take_deliveries()
            },
        );
        let original =
            |d: &Deliveries| d.retransmitted.zip(d.echoed).is_some_and(|(t, echoed)| echoed < t.xmit_ts);
        let acks_original = self.v.phase == Phase::Recovery
            && newly_acked > 0
            && to < self.v.recovery_point
            && original(&deliveries);
        let rtt = deliveries.sent_once.filter(|_| newly_acked > 0).map(|t| self.v.now.since(t.xmit_ts));
        let deliveries = self.recovery.is_time_based().then_some(deliveries);
        let has_sack = !blocks.is_empty() || dsack.is_some();
        let info = AckInfo {
            segments_acked,
            newly_sacked,
            delivered,
            is_dup,
            has_sack,
            dsack,
            acks_original,
            rtt,
            deliveries,
            ..ack(to.0, newly_acked)
        };
        self.marked.clear();
        let phase = self.recovery.on_ack(&info, &self.board, &self.v, &mut self.marked);
        self.take_marks();
        let before = self.v.phase;
        self.enter(phase);
        let phase = if before == Phase::Recovery && phase != before && self.recovery.begins_another() {
            self.enter(Phase::Recovery);
            Phase::Recovery
        } else {
            phase
        };
        if before != Phase::Open || phase != Phase::Open || self.recovery.is_time_based() {
            self.adjust();
        }
        if newly_acked > 0 && self.recovery.is_time_based() {
            self.recovery.update_deadline(&self.board, &self.v, None);
        }
        phase
    }

    /// Advances to the recovery's deadline, if there is one, and carries out what it decides. Returns the
    /// numbers of the segments sent.
    pub fn reach_deadline(&mut self) -> Option<Vec<SeqNumber>> {
        self.v.now = self.recovery.deadline()?.max(self.v.now);
        self.marked.clear();
        let DeadlineAction { phase, probe, .. } =
            self.recovery.on_deadline(&self.board, &self.v, &mut self.marked);
        self.take_marks();
        self.enter(phase);
        assert!(
            self.recovery.deadline().is_none_or(|at| at > self.v.now),
            "a deadline that was reached is still set"
        );
        let mut sent: Vec<SeqNumber> = probe.map(|range| self.transmit(range)).into_iter().collect();
        sent.extend(self.send());
        Some(sent)
    }

    /// Sends a segment, new or old.
    fn transmit(&mut self, range: SeqRange) -> SeqNumber {
        assert!(
            range.start >= self.v.snd_una && range.start <= self.v.snd_nxt,
            "{range:?} is outside {:?}",
            self.v
        );
        if range.start == self.v.snd_nxt {
            self.board.push(SeqRange::new(range.start, range.start + LEN), self.v.now);
            self.v.snd_nxt = range.start + LEN;
            self.v.unsent -= u64::from(LEN);
            self.refresh();
            if self.recovery.is_time_based() {
                self.recovery.update_deadline(&self.board, &self.v, Some(Duration::from_secs(1)));
            }
        } else {
            let segment = self.board.segment(range.start).expect("next_seg returns outstanding segments");
            assert!(
                !segment.sacked && segment.range == range,
                "{range:?} is not a segment to retransmit: {segment:?}"
            );
            self.board.retransmit(range.start, self.v.now);
            self.refresh();
            self.recovery.on_retransmit(range, &self.v);
        }
        range.start
    }

    fn adjust(&mut self) {
        match self.recovery.adjust(&self.v) {
            Adjustment::Keep => {}
            Adjustment::Reduce => {
                let half = (self.v.flight_size.min(self.v.window.cwnd) / 2).max(u64::from(2 * LEN));
                self.v.window = Window { cwnd: half, ssthresh: half };
            }
            Adjustment::RepairedByProbe { flight_size } => self.repaired = Some(flight_size),
            Adjustment::SetWindow(window) => {
                assert!(window.cwnd >= u64::from(LEN) && window.ssthresh >= u64::from(2 * LEN), "{window:?}");
                self.v.window = window;
            }
        }
    }

    /// The timer expires.
    pub fn expire(&mut self) {
        self.marked.clear();
        self.recovery.on_rto(&self.board, &self.v, &mut self.marked);
        self.take_marks();
        self.v.dup_acks = 0;
        self.change(Transition::expiry(false));
        self.refresh();
    }

    fn take_marks(&mut self) {
        let all = SeqRange::new(self.v.snd_una, self.v.snd_nxt);
        for range in &self.marked {
            assert!(all.covers(*range) && !range.is_empty(), "{range:?} is not within {all:?}");
            self.board.mark_lost(*range);
        }
    }

    fn enter(&mut self, phase: Phase) {
        let covered = self.v.snd_una >= self.v.recovery_point;
        if let Some(t) = Transition::of(self.v.phase, phase, covered) {
            self.change(t);
        }
        self.refresh();
    }

    fn change(&mut self, t: Transition) {
        self.v.phase = t.phase;
        if t.begins_episode {
            self.v.recovery_point = self.v.snd_nxt;
        }
        let half = (self.v.flight_size / 2).max(u64::from(2 * LEN));
        match t.reduces {
            None => {}
            Some(Congestion::Rto { repeated: true }) => self.v.window.cwnd = u64::from(LEN),
            Some(Congestion::Rto { repeated: false }) => {
                self.v.window = Window { cwnd: u64::from(LEN), ssthresh: half };
            }
            Some(_) => self.v.window = Window { cwnd: half, ssthresh: half },
        }
    }

    /// Sends what `next_seg` returns until that is nothing or the quota is used up. Returns the numbers of
    /// the segments sent.
    pub fn send(&mut self) -> Vec<SeqNumber> {
        let mut quota = self.recovery.quota(&self.v);
        let mut sent = vec![];
        while quota >= u64::from(LEN) {
            let Some(range) = self.recovery.next_seg(&self.board, &self.v) else { break };
            if range.start == self.v.snd_nxt
                && (self.v.unsent < u64::from(LEN) || self.v.flight_size + u64::from(LEN) > self.v.rwnd)
            {
                break;
            }
            sent.push(self.transmit(range));
            quota -= u64::from(LEN);
            assert!(sent.len() < 100_000, "it never stops");
        }
        sent
    }
}
