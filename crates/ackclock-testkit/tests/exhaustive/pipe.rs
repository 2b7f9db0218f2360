//! Two connections and the path between them in virtual time. Payload is counted, not carried.

use std::collections::VecDeque;

use ackclock_engine::{AbortReason, Connection, ConnectionEvent, Transmit};
use ackclock_units::{Duration, Ecn, Instant};
use ackclock_wire::{Flags, Segment};

use crate::checks::{Ending, Judge};
use crate::patterns::{Fault, Pattern};
use crate::rules::{Rule, Rules};
use crate::stacks::{SEGMENT, Stack, iss};
use crate::timeline;
use crate::transfer::Transfer;

/// One-way delay.
const DELAY: Duration = Duration::from_millis(50);

/// A run that is longer than this is stuck. The longest one loses fifteen copies of one segment, with
/// backoff.
const LONGEST: Instant = Instant::from_nanos(3_600_000_000_000);

/// A run with more events than this is in a loop.
const MOST_EVENTS: u32 = 20_000;

/// A packet in flight.
#[derive(Debug)]
struct Flying {
    at: Instant,
    number: u32,
    /// Which segment of the transfer, for data and a FIN that is alone; from 0.
    index: Option<u8>,
    segment: Segment,
}

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// When the receiver had everything; `None` when that never happened.
    pub done: Option<Instant>,
    /// Every fault of the pattern happened, and no end aborted.
    pub complete: bool,
    /// Rules that were broken.
    pub broken: Rules,
}

/// Queues reused by one run after another.
#[derive(Debug, Default)]
pub struct Room {
    /// To the sender, to the receiver.
    queues: [VecDeque<Flying>; 2],
    /// The timeline, if it is recorded.
    pub log: Option<Vec<String>>,
}

impl Room {
    /// A room that records the timeline of a run.
    pub fn recording() -> Self {
        Self { log: Some(Vec::new()), ..Self::default() }
    }
}

struct Run<'a> {
    transfer: &'a Transfer,
    pattern: &'a Pattern,
    room: &'a mut Room,
    now: Instant,
    /// Sender and receiver.
    ends: [Connection; 2],
    judge: Judge,
    number: u32,
    /// Faults that have happened, a bit each.
    happened: u8,
    counts: Counts,
    copies: [u8; 128],
    /// Until when packets of a side are held.
    held_until: [Instant; 2],
    free_at: Instant,
    /// What the sending application does next.
    stage: u8,
    finished: [bool; 2],
    aborted: Option<AbortReason>,
    given_up: bool,
    syn_retries: u32,
    read: u64,
    done: Option<Instant>,
}

/// Packets of each kind sent so far.
#[derive(Clone, Copy, Default)]
struct Counts {
    data: u8,
    acks: [u8; 2],
    syns: [u8; 2],
    fins: [u8; 2],
}

/// Runs one transfer.
pub fn play(room: &mut Room, stack: &Stack, transfer: &Transfer, pattern: &Pattern) -> Outcome {
    room.queues.iter_mut().for_each(VecDeque::clear);
    let mut run = Run {
        transfer,
        pattern,
        room,
        now: Instant::ZERO,
        ends: [stack.connection(0), stack.connection(1)],
        judge: Judge::new(stack, transfer, pattern.class()),
        number: 0,
        happened: 0,
        counts: Counts::default(),
        copies: [0; 128],
        held_until: [Instant::ZERO; 2],
        free_at: Instant::ZERO,
        stage: 0,
        finished: [false; 2],
        aborted: None,
        given_up: false,
        syn_retries: stack.syn_retries(),
        read: 0,
        done: None,
    };
    run.go();
    let complete = run.happened.count_ones() as usize == run.pattern.len() && !run.given_up;
    Outcome { done: run.done, complete, broken: run.judge.broken }
}

impl Run<'_> {
    fn go(&mut self) {
        self.ends[1].listen();
        self.ends[0].connect(self.now);
        self.serve(0);
        for _ in 0..MOST_EVENTS {
            let Some(next) = self.next().filter(|at| *at <= LONGEST) else { break };
            self.now = self.now.max(next);
            self.step();
            if self.finished == [true; 2] || self.aborted.is_some() {
                break;
            }
        }
        let whole = self.read == self.transfer.total() as u64 * SEGMENT;
        let ending = match (self.finished, self.aborted) {
            (_, Some(AbortReason::SynTimeout))
                if self.ends.iter().any(|end| end.stats().syn_retransmissions == self.syn_retries) =>
            {
                Ending::GivenUp
            }
            ([true, true], None) if whole => Ending::Whole,
            ([true, true], None) => Ending::Short,
            _ => Ending::Stuck,
        };
        self.given_up = ending == Ending::GivenUp;
        let timeouts = [0, 1].map(|side| self.ends[side].stats().timeouts);
        self.judge.end(self.now, ending, timeouts, &mut self.room.log);
    }

    fn next(&self) -> Option<Instant> {
        let arrivals = self.room.queues.iter().filter_map(|queue| queue.front().map(|f| f.at));
        arrivals.chain(self.ends.iter().filter_map(Connection::poll_timeout)).min()
    }

    /// The next arrival or, when none is due, the deadlines that are.
    fn step(&mut self) {
        let due = |side: usize| {
            self.room.queues[side].front().filter(|f| f.at <= self.now).map(|f| (f.at, f.number))
        };
        let side = match (due(0), due(1)) {
            (Some(a), Some(b)) => Some(usize::from(b < a)),
            (Some(_), None) => Some(0),
            (None, Some(_)) => Some(1),
            (None, None) => None,
        };
        if let Some(side) = side
            && let Some(flying) = self.room.queues[side].pop_front()
        {
            self.arrive(side, &flying);
            return;
        }
        for side in 0..2 {
            if self.ends[side].poll_timeout().is_some_and(|at| at <= self.now) {
                self.ends[side].handle_timeout(self.now);
                if side == 0 {
                    if let Some(log) = &mut self.room.log {
                        log.push(timeline::expired(self.now, &self.ends[0]));
                    }
                    self.judge.after_deadline(self.now, &self.ends[0], &mut self.room.log);
                }
            }
            self.serve(side);
        }
    }

    fn arrive(&mut self, side: usize, flying: &Flying) {
        let Flying { index, segment, .. } = flying;
        self.ends[side].handle_segment(self.now, segment, &[], Ecn::NotEct);
        if side == 1 {
            self.judge.arrived(segment, index.map(usize::from));
        } else {
            if let Some(log) = &mut self.room.log {
                log.push(timeline::received(self.now, segment, &self.ends[0]));
            }
            self.judge.after_ack(self.now, &self.ends[0], &mut self.room.log);
        }
        self.serve(side);
    }

    /// Lets the application act, and sends every packet that is due.
    fn serve(&mut self, side: usize) {
        self.act(side);
        let mut sent = false;
        while let Some(t) = self.ends[side].poll_transmit(self.now) {
            sent = true;
            self.launch(side, &t);
            self.act(side);
        }
        if side == 0 {
            self.judge.after_sending(self.now, sent, &self.ends[0], &mut self.room.log);
        } else {
            self.judge.after_reading(self.now, self.read, &mut self.room.log);
        }
    }

    fn act(&mut self, side: usize) {
        while let Some(event) = self.ends[side].poll_event() {
            match event {
                ConnectionEvent::Finished => self.finished[side] = true,
                ConnectionEvent::Aborted(reason) => self.aborted = Some(reason),
                _ if side == 0 => self.send(event),
                ConnectionEvent::Readable => self.receive(),
                _ => {}
            }
        }
    }

    /// The sending application: writes, once that is acknowledged writes the rest, and closes.
    fn send(&mut self, event: ConnectionEvent) {
        let (first, second) = self.transfer.writes();
        let write = match (self.stage, event) {
            (0, ConnectionEvent::Established) => first,
            (1, ConnectionEvent::Flushed) => second,
            (2, ConnectionEvent::Flushed) => 0,
            _ => return,
        };
        self.ends[0].write_counted(self.now, write);
        // Without a second write this stage ends with the first.
        self.stage += if self.stage == 0 && second == 0 { 2 } else { 1 };
        if self.stage == 3 || (self.stage == 2 && !self.transfer.fin_apart) {
            self.ends[0].close(self.now);
        }
    }

    fn receive(&mut self) {
        let readable = self.ends[1].readable();
        self.read += self.ends[1].read_counted(self.now, readable);
        if self.done.is_none() && self.read == self.transfer.total() as u64 * SEGMENT {
            self.done = Some(self.now);
        }
        if self.ends[1].at_end() {
            self.ends[1].close(self.now);
        }
    }

    /// Puts a packet on the path.
    fn launch(&mut self, side: usize, t: &Transmit) {
        let segment = &t.segment;
        let index = if side == 0 { self.index(segment) } else { None };
        if side == 1 {
            self.judge.on_receiver_sends(segment);
        }
        if let Some(index) = index {
            self.judge.sending(self.now, usize::from(index), t, &self.ends[0], &mut self.room.log);
        }
        let fate = self.fate(side, index, segment);
        if let Some(log) = &mut self.room.log {
            let copy = index.map_or(0, |index| self.copies[usize::from(index)]);
            let held = Some(self.held_until[side]).filter(|until| *until > self.now);
            log.push(timeline::sent(self.now, side, t, index, (self.counts.data, copy), &fate, held));
        }
        if fate.lost {
            self.judge.lost += 1;
            return;
        }
        let data = side == 0 && segment.len > 0;
        let departs = if data { self.now.max(self.free_at) } else { self.now };
        if data {
            self.free_at = departs + Duration::from_millis(u64::from(self.transfer.gap_ms));
        }
        let at = departs.max(self.held_until[side]) + DELAY + fate.late;
        for _ in 0..if fate.twice { 2 } else { 1 } {
            self.number += 1;
            let flying = Flying { at, number: self.number, index, segment: *segment };
            let queue = &mut self.room.queues[1 - side];
            let place = queue.iter().rposition(|f| f.at <= at).map_or(0, |i| i + 1);
            if place == queue.len() {
                queue.push_back(flying)
            } else {
                queue.insert(place, flying)
            }
            if let Some(index) = index {
                self.judge.in_flight[usize::from(index)] += 1;
            }
        }
    }

    /// Which segment of the transfer this is; the FIN alone comes after the last one.
    fn index(&mut self, segment: &Segment) -> Option<u8> {
        if segment.len == 0 {
            return segment.flags.has(Flags::FIN).then_some(self.transfer.total() as u8);
        }
        let offset = u64::from(segment.seq.bytes_since(iss(0) + 1));
        if !offset.is_multiple_of(SEGMENT) || u64::from(segment.len) != SEGMENT {
            self.judge.record_broken(Rule::WholeSegments, self.now, &mut self.room.log);
        }
        Some((offset / SEGMENT) as u8)
    }

    /// What the pattern does to this packet.
    fn fate(&mut self, side: usize, index: Option<u8>, segment: &Segment) -> Fate {
        let (flags, counts) = (segment.flags, &mut self.counts);
        let (syn, fin, data) = (flags.has(Flags::SYN), flags.has(Flags::FIN), side == 0 && segment.len > 0);
        let ack = !syn && !fin && segment.len == 0;
        let mut copy = 0;
        if data {
            counts.data = counts.data.saturating_add(1);
        }
        if let Some(index) = index {
            let copies = &mut self.copies[usize::from(index)];
            *copies = copies.saturating_add(1);
            copy = *copies;
        }
        for (is, count) in
            [(ack, &mut counts.acks[side]), (syn, &mut counts.syns[side]), (fin, &mut counts.fins[side])]
        {
            *count = count.saturating_add(u8::from(is));
        }
        let mut fate = Fate::default();
        for (i, fault) in self.pattern.faults().enumerate() {
            let within = |n: u8, first: u8, count: u8| n >= first && n - first < count;
            let back = side == 1 && ack;
            let hit = match fault {
                Fault::Lose(k) => data && counts.data == k,
                Fault::LoseRun(k, count) => data && within(counts.data, k, count),
                Fault::LoseCopy(s, c) => data && index == Some(s - 1) && copy == c,
                Fault::LoseAck(k) => back && counts.acks[1] == k,
                Fault::LoseOwnAck(k) => side == 0 && ack && counts.acks[0] == k,
                Fault::LoseSyn(k) => side == 0 && syn && counts.syns[0] == k,
                Fault::LoseSynAck(k) => side == 1 && syn && counts.syns[1] == k,
                Fault::LoseFin(k) => side == 0 && fin && counts.fins[0] == k,
                Fault::LosePeerFin(k) => side == 1 && fin && counts.fins[1] == k,
                Fault::Hold(k, count, _) => data && within(counts.data, k, count),
                Fault::HoldAck(k, count, _) => back && within(counts.acks[1], k, count),
                Fault::Spike(k, _) => data && counts.data == k,
                Fault::SpikeAck(k, _) => back && counts.acks[1] == k,
                Fault::Double(k) => data && counts.data == k,
                Fault::DoubleAck(k) => back && counts.acks[1] == k,
            };
            if !hit {
                continue;
            }
            self.happened |= 1 << i;
            match fault {
                Fault::Hold(.., ms) | Fault::HoldAck(.., ms) => {
                    fate.late += Duration::from_millis(u64::from(ms))
                }
                Fault::Spike(_, ms) | Fault::SpikeAck(_, ms) => {
                    self.held_until[side] =
                        self.held_until[side].max(self.now + Duration::from_millis(u64::from(ms)));
                }
                Fault::Double(_) | Fault::DoubleAck(_) => fate.twice = true,
                _ => fate.lost = true,
            }
        }
        fate
    }
}

/// What the path does to a packet.
#[derive(Clone, Copy, Default)]
pub struct Fate {
    /// It is lost.
    pub lost: bool,
    /// It is duplicated.
    pub twice: bool,
    /// Additional delay.
    pub late: Duration,
}
