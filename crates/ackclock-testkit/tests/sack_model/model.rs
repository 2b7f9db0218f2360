//! A simple model of RFC 6675's sender.

use ackclock_policy::{Phase, SenderView};

/// Bytes of every segment.
pub const SMSS: u64 = 1000;
/// DupThresh (RFC 6675 §2).
const DUP_THRESH: usize = 3;

/// Why a segment is sent: the rule of NextSeg() (RFC 6675 §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    Lost,
    New,
    Hole,
    Rescue,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    Calm,
    Recovery,
    /// After a timeout, where §5.1 leaves the choice to the sender, until what was outstanding then is
    /// acknowledged. While a segment is missing that a finished episode retransmitted: step 4.3 would
    /// retransmit it in the next episode, the engine waits for the copy in flight. And where an episode ends
    /// with the next segment lost already: the engine begins another on the next ack with SACKs, new or not.
    Unfollowed,
}

/// The state of a sender in RFC 6675. Segments are numbered from 0; each bound is one past the last segment.
pub struct Model {
    /// HighACK.
    pub una: usize,
    /// HighData.
    pub nxt: usize,
    pub written: usize,
    /// For every segment that will ever be sent.
    pub sacked: Vec<bool>,
    pub high_rxt: usize,
    pub rescue_rxt: Option<usize>,
    pub recovery_point: usize,
    pub dup_acks: usize,
    pub state: State,
    /// The rule by which a segment was last retransmitted.
    pub resent: Vec<Option<Rule>>,
    pub rwnd: u64,
}

impl Model {
    pub fn new(total: usize, rwnd: u64) -> Self {
        let (sacked, resent) = (vec![false; total], vec![None; total]);
        Self {
            una: 0,
            nxt: 0,
            written: 0,
            sacked,
            high_rxt: 0,
            rescue_rxt: None,
            recovery_point: 0,
            dup_acks: 0,
            state: State::Calm,
            resent,
            rwnd,
        }
    }

    /// Update() of §4, and the part of §5 before its steps. True for a duplicate acknowledgment (§2: one with
    /// new SACK information, with or without new data).
    pub fn update(&mut self, ack: usize, blocks: &[(usize, usize)]) -> bool {
        if ack > self.una {
            (self.una, self.dup_acks) = (ack, 0);
        }
        let mut news = false;
        for i in blocks.iter().flat_map(|(start, end)| *start..*end).filter(|i| *i >= self.una) {
            news |= !self.sacked[i];
            self.sacked[i] = true;
        }
        news
    }

    /// §4 IsLost().
    pub fn is_lost(&self, i: usize) -> bool {
        let above = || (i + 1..self.nxt).filter(|j| self.sacked[*j]);
        let sequences = above().filter(|j| !self.sacked[j - 1]).count();
        sequences >= DUP_THRESH || above().count() > DUP_THRESH - 1
    }

    fn missing(&self) -> impl Iterator<Item = usize> + '_ {
        (self.una..self.nxt).filter(|i| !self.sacked[*i])
    }

    /// §4 SetPipe(), in bytes.
    fn set_pipe(&self) -> u64 {
        SMSS * self.missing().map(|i| u64::from(!self.is_lost(i)) + u64::from(i < self.high_rxt)).sum::<u64>()
    }

    /// What the engine counts: in addition one for each segment retransmitted by rule 4, which does not move
    /// HighRxt, until IsLost() holds for it, and one for each segment retransmitted by rule 3 for which
    /// IsLost() holds by now.
    pub fn pipe(&self) -> u64 {
        let besides = |i: usize| match self.resent[i] {
            Some(Rule::Rescue) => !self.is_lost(i),
            Some(Rule::Hole) => self.is_lost(i),
            _ => false,
        };
        self.set_pipe() + SMSS * self.missing().filter(|i| besides(*i)).count() as u64
    }

    /// There is new data and the receiver has room for it.
    fn has_new(&self) -> bool {
        self.nxt < self.written && (self.nxt + 1 - self.una) as u64 * SMSS <= self.rwnd
    }

    /// §4 NextSeg(). Rule 4 does not say whether it may send what was retransmitted in this episode; the
    /// engine does not.
    fn next_seg(&self) -> Option<(usize, Rule)> {
        let covered = (self.una..self.nxt).rfind(|i| self.sacked[*i]);
        let hole = |i: &usize| *i >= self.high_rxt && covered.is_some_and(|top| *i < top);
        if let Some(i) = self.missing().find(|i| hole(i) && self.is_lost(*i)) {
            return Some((i, Rule::Lost));
        }
        if self.has_new() {
            return Some((self.nxt, Rule::New));
        }
        if let Some(i) = self.missing().find(hole) {
            return Some((i, Rule::Hole));
        }
        let spent = self.rescue_rxt.is_some_and(|rescue_rxt| self.una <= rescue_rxt);
        self.missing().last().filter(|i| !spent && *i >= self.high_rxt).map(|i| (i, Rule::Rescue))
    }

    /// §5 steps C.2 to C.4.
    fn sent(&mut self, i: usize, rule: Rule) {
        if rule != Rule::New {
            self.resent[i] = Some(rule);
        }
        match rule {
            Rule::New => self.nxt += 1,
            Rule::Rescue => self.rescue_rxt = Some(self.recovery_point),
            Rule::Lost | Rule::Hole => self.high_rxt = i + 1,
        }
    }

    /// §5 step C: the segments that may be sent now, within `cwnd`.
    pub fn repair(&mut self, cwnd: u64, out: &mut Vec<(usize, Rule)>) {
        let mut pipe = self.pipe();
        while cwnd >= pipe + SMSS
            && let Some((i, rule)) = self.next_seg()
        {
            out.push((i, rule));
            self.sent(i, rule);
            pipe += SMSS;
        }
    }

    /// Step 3.3, with the same measure for any other ack: RFC 5681 uses FlightSize there, which SACKs do not
    /// reduce.
    pub fn send_new(&mut self, cwnd: u64, out: &mut Vec<(usize, Rule)>) {
        while cwnd >= self.pipe() + SMSS && self.has_new() {
            out.push((self.nxt, Rule::New));
            self.nxt += 1;
        }
    }

    /// §5 steps 1 and 2, on a duplicate acknowledgment.
    pub fn begins(&mut self) -> bool {
        self.high_rxt = self.una;
        self.dup_acks += 1;
        self.dup_acks >= DUP_THRESH || self.is_lost(self.una)
    }

    /// §5 steps 4.1 and 4.3.
    pub fn enter(&mut self, out: &mut Vec<(usize, Rule)>) {
        (self.state, self.recovery_point) = (State::Recovery, self.nxt);
        out.push((self.una, Rule::Lost));
        self.sent(self.una, Rule::Lost);
        self.rescue_rxt = Some(self.high_rxt);
    }

    /// The timer has expired: RecoveryPoint is HighData (§5.1).
    pub fn expired(&mut self) {
        (self.state, self.recovery_point) = (State::Unfollowed, self.nxt);
    }

    pub fn follow(&mut self, sent: &[usize]) {
        self.nxt = sent.iter().fold(self.nxt, |nxt, i| nxt.max(i + 1));
    }

    /// An episode has ended while data that it retransmitted is missing.
    pub fn suspend(&mut self) {
        if self.state == State::Calm {
            self.high_rxt = self.una;
            if self.missing().any(|i| self.resent[i].is_some()) {
                (self.state, self.recovery_point) = (State::Unfollowed, self.una);
            }
        }
    }

    /// Everything outstanding was sent once, after the last episode.
    pub fn resume(&mut self, v: &SenderView) {
        let calm = matches!(v.phase, Phase::Open | Phase::Disorder) && !self.is_lost(self.una);
        if calm && v.pipe == (self.missing().count() as u64) * SMSS {
            self.resent.fill(None);
            (self.state, self.high_rxt, self.dup_acks) = (State::Calm, self.una, v.dup_acks as usize);
        }
    }
}
