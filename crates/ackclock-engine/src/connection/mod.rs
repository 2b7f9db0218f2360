//! One endpoint: its state, and the calls by which a world and an application drive it. Each part of its life
//! (opening, sending, receiving, recovery, closing) has a file of its own.

mod ack;
mod assemble;
mod blocks;
mod close;
mod copies;
mod counted;
mod duplicates;
mod ecn;
mod fast_open;
mod forge;
mod handshake;
mod icmp;
mod new_data;
mod pacing;
mod packets;
mod pending_events;
mod phase;
mod probes;
mod rare;
mod receive;
mod receiver_events;
mod reconfigure;
mod records;
mod repair;
mod report;
mod right_sizing;
mod segment;
mod send;
mod send_room;
mod sender;
mod shadow;
mod skip_test;
mod state;
mod stateless;
mod timeout;
mod timing;
mod trace;
mod undo;
mod undo_episode;
mod urgent;
mod usage;
mod user;

use std::sync::Arc;

use ackclock_policy::{AckPolicy, Ecn, Phase, RttEstimator, SenderView};
use ackclock_trace::{EventKind, Mask, SendKind};
use ackclock_units::{Bytes, Duration, Instant, Rng, SeqNumber, SeqRange, seldom};
use ackclock_wire::Segment;

use self::pending_events::PendingEvents;
use self::rare::LazyRareState;
pub use self::report::Outstanding;
use self::right_sizing::RightSizing;
use self::send_room::SendMemory;
use self::sender::Sender;
pub use self::shadow::Allowed;
pub use self::state::State;
use self::trace::Tracer;
use crate::buffer::{ReceiveBuffer, SendBuffer};
use crate::timer::{Timer, Timers};
use crate::{AbortReason, Config, ConnectionEvent, Lazy, MinDuration, Policies, Stats};

/// A segment to send, and where its payload lies in the stream.
#[derive(Clone, Copy, Debug)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// Position of the first payload byte in the stream of everything the application wrote (for
    /// [`Connection::copy_payload`], and for worlds that check delivery). Meaningless without payload.
    pub offset: u64,
    /// Why it is sent.
    pub kind: SendKind,
    /// True when some of its payload was sent before.
    pub retransmission: bool,
    /// ECN field for the IP header.
    pub ecn: Ecn,
}

/// Segments to send that carry no new data.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    syn: bool,
    /// An acknowledgment must be sent at once.
    ack: bool,
    keepalive: bool,
    window_probe: bool,
}

/// What was received in order and is not acknowledged yet.
#[derive(Clone, Copy, Debug, Default)]
struct Unacked {
    bytes: u32,
    segments: u32,
    full_segments: u32,
}

/// One TCP endpoint.
///
/// Payload comes in two kinds, chosen at construction: [`Connection::counted`] connections hold no bytes at
/// all ([`Connection::write_counted`], [`Connection::read_counted`]; payload slices are empty and
/// [`Segment::len`] alone counts), [`Connection::new`] ones hold real bytes.
#[derive(Debug)]
pub struct Connection {
    state: State,
    phase: Phase,
    pending: Pending,
    events: PendingEvents,
    counted: bool,
    passive: bool,
    corked: bool,
    /// The application has closed its side: a FIN follows the last byte.
    closing: bool,
    /// A write was cut short: notify the application when there is room.
    write_blocked: bool,
    timers: Timers,
    estimator: Box<dyn RttEstimator>,
    ack: Lazy<dyn AckPolicy>,
    config: Arc<Config>,
    rng: Rng,

    // BuiltSender (RFC 9293 §3.3.1).
    iss: SeqNumber,
    snd_una: SeqNumber,
    snd_nxt: SeqNumber,
    snd_wl1: SeqNumber,
    snd_wl2: SeqNumber,
    snd_wnd: u32,
    max_snd_wnd: u32,
    snd_wnd_shift: u8,
    /// The peer's SYN carried a window scale option.
    peer_scales: bool,
    smss: u32,
    fin_sent: bool,
    send: SendBuffer,

    /// Congestion control and loss recovery.
    sender: Sender,

    // Timing.
    /// The retransmission timeout in force, backoff included.
    timeout: Duration,
    /// Expiries of the retransmission timer since new data was last acknowledged.
    expiries: u32,
    /// Level of the backoff. By Karn's rule it stays until an acknowledgment is unambiguous.
    backoff_level: u32,
    /// When the oldest outstanding data began to wait for its acknowledgment.
    waiting_since: Instant,
    last_sent_at: Instant,
    last_received_at: Instant,
    probe_outstanding: bool,

    // Receiving.
    irs: SeqNumber,
    rcv_nxt: SeqNumber,
    /// Right edge of the window last advertised. It never moves left.
    rcv_adv: SeqNumber,
    rcv_wnd_shift: u8,
    rmss: u32,
    fin_received: bool,
    receive: ReceiveBuffer,
    unacked: Unacked,
    /// Nothing has arrived and nothing was read since the last acknowledgment was sent, so a new one would
    /// repeat it.
    ack_is_current: bool,
    dsack: Option<SeqRange>,
    sack_on: bool,

    stats: Stats,
    /// State that few connections need.
    rare: LazyRareState,
    tracer: Option<Box<Tracer>>,
}

impl Connection {
    /// A closed connection that holds real bytes. `iss` is the initial send sequence number, `rng` the
    /// connection's own random stream.
    pub fn new(config: Arc<Config>, policies: Policies, iss: SeqNumber, rng: Rng) -> Self {
        Self::build(config, policies, iss, rng, false)
    }

    /// A closed connection that counts bytes without holding them.
    pub fn counted(config: Arc<Config>, policies: Policies, iss: SeqNumber, rng: Rng) -> Self {
        Self::build(config, policies, iss, rng, true)
    }

    fn build(config: Arc<Config>, policies: Policies, iss: SeqNumber, rng: Rng, counted: bool) -> Self {
        let shift = stateless::window_shift(&config);
        let mut rare = LazyRareState::default();
        if matches!(&policies.ack, Lazy::Built(ack) if ack.follows_events()) {
            rare.make_mut().ack_events = true;
        }
        if config.rcv_autotune {
            rare.make_mut().right_sizing = Some(Box::new(RightSizing::new(&config)));
        }
        if config.snd_autotune {
            rare.make_mut().send_memory = Some(Box::new(SendMemory::new(&config)));
        }
        Self {
            state: State::Closed,
            phase: Phase::Open,
            pending: Pending::default(),
            events: PendingEvents::default(),
            counted,
            passive: false,
            corked: false,
            closing: false,
            write_blocked: false,
            timers: Timers::new(),
            timeout: policies.estimator.initial_rto(),
            estimator: policies.estimator,
            ack: policies.ack,
            sender: Sender::new(policies.sender),
            rng,
            iss,
            snd_una: iss,
            snd_nxt: iss,
            snd_wl1: SeqNumber(0),
            snd_wl2: SeqNumber(0),
            snd_wnd: 0,
            max_snd_wnd: 0,
            snd_wnd_shift: 0,
            peer_scales: false,
            // RFC 9293 §3.7.1: without an MSS option the peer's is 536 (IPv4); the handshake sets it.
            smss: config.mss.min(536),
            fin_sent: false,
            send: SendBuffer::new(counted),
            expiries: 0,
            backoff_level: 0,
            waiting_since: Instant::ZERO,
            last_sent_at: Instant::ZERO,
            last_received_at: Instant::ZERO,
            probe_outstanding: false,
            irs: SeqNumber(0),
            rcv_nxt: SeqNumber(0),
            rcv_adv: SeqNumber(0),
            rcv_wnd_shift: if config.window_scaling { shift } else { 0 },
            rmss: 0,
            fin_received: false,
            receive: ReceiveBuffer::new(counted),
            unacked: Unacked::default(),
            ack_is_current: false,
            dsack: None,
            sack_on: false,
            stats: Stats::default(),
            rare,
            tracer: None,
            config,
        }
    }

    /// The earliest deadline; `None` when nothing is pending.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// The next event for the application.
    #[inline]
    pub fn poll_event(&mut self) -> Option<ConnectionEvent> {
        if seldom(self.write_blocked) && self.rare.is_some_and(|r| r.send_memory.is_some()) {
            self.look_for_room();
        }
        self.events.pop()
    }

    /// True when what may leave is sent before the application is called ([`Config::eager_send`]).
    #[inline]
    pub fn sends_eagerly(&self) -> bool {
        self.config.eager_send
    }

    /// True when [`Connection::poll_event`] has an event.
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The state of RFC 9293 §3.3.2.
    pub fn state(&self) -> State {
        self.state
    }

    /// The counters of this connection.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Number of loss episodes that have ended (M-U1).
    pub fn ended_episodes(&self) -> u32 {
        self.stats.ca_events + self.stats.non_ca_events - u32::from(self.sender.episode.is_some())
    }

    /// Restarts the smallest and the largest round-trip time from the next sample on, for counting from a
    /// given moment ([`Stats::since`]).
    pub fn reset_rtt_extremes(&mut self) {
        (self.stats.rtt_min, self.stats.rtt_max) = (MinDuration::default(), Duration::ZERO);
    }

    /// Largest segment that is sent, options not counted (SMSS).
    pub fn smss(&self) -> u32 {
        self.smss
    }

    /// The round-trip time estimator.
    pub fn estimator(&self) -> &dyn RttEstimator {
        &*self.estimator
    }

    /// The view of the sender that policies get.
    #[inline(never)]
    pub fn view(&self, now: Instant) -> SenderView {
        // Called first: a value read before a call must be saved across it.
        let rtt = self.estimator.rtt();
        let (sender, flight_size) = (&*self.sender, self.flight_size());
        let pipe = self.pipe();
        SenderView {
            now,
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            data_end: if seldom(self.fin_sent) { self.snd_nxt - 1 } else { self.snd_nxt },
            window: sender.window,
            initial_window: u64::from(sender.initial_window),
            flight_size: u64::from(flight_size),
            pipe: u64::from(pipe),
            rwnd: u64::from(self.snd_wnd),
            smss: self.smss,
            unsent: self.unsent(),
            holds_small: (self.config.nagle || self.corked) && !self.closing,
            phase: self.phase,
            recovery_point: sender.recovery_point,
            dup_acks: sender.dup_acks.count,
            expiries: self.expiries,
            rto_deadline: self.timers.deadline(Timer::Retransmission),
            oldest_sent_at: sender.sent.oldest_sent_at(),
            rtt,
            sack: self.sack_on,
            timestamps: self.rare.is_some_and(|r| r.timestamps.on),
            counts_marks: false,
        }
    }

    /// Bytes sent and not cumulatively acknowledged (RFC 5681 §2).
    fn flight_size(&self) -> u32 {
        self.snd_nxt.bytes_since(self.snd_una)
    }

    /// The same, as a range.
    fn flight(&self) -> SeqRange {
        SeqRange::new(self.snd_una, self.snd_nxt)
    }

    /// Estimate of the data in the network (RFC 6675 §2). A FIN's sequence number is not data (RFC 5681 §2).
    #[inline(always)]
    fn pipe(&self) -> u32 {
        let pipe = self.sender.pipe(self.flight_size());
        if seldom(self.fin_sent | self.config.count_segments) { self.counted_pipe(pipe) } else { pipe }
    }

    /// Sequence number of the oldest unacknowledged byte of the stream. The state, not a comparison with
    /// `iss`, decides whether the SYN comes first: after 2^32 bytes the oldest byte has the SYN's own number.
    fn first_unacked(&self) -> SeqNumber {
        if seldom(matches!(self.state, State::SynSent | State::SynReceived)) {
            self.iss + 1
        } else {
            self.snd_una
        }
    }

    /// Stream position of sequence number `seq`, which must not be below `snd_una`.
    fn position(&self, seq: SeqNumber) -> u64 {
        self.send.start() + u64::from(seq.bytes_since(self.first_unacked()))
    }

    /// Bytes written and not sent.
    fn unsent(&self) -> Bytes {
        let in_flight = u64::from(self.snd_nxt.bytes_since(self.first_unacked()));
        if self.fin_sent { 0 } else { self.send.len().saturating_sub(in_flight) }
    }

    /// Ends the connection without an orderly close.
    fn abandon(&mut self, reason: AbortReason, now: Instant) {
        self.events.add(PendingEvents::ABORTED);
        self.events.reason = Some(reason);
        self.end(false, now);
    }

    /// Closes the connection for good.
    fn end(&mut self, orderly: bool, now: Instant) {
        self.state = State::Closed;
        self.timers.disarm_all();
        self.pending = Pending::default();
        self.stats.closed_at.set_once(now);
        self.trace(Mask::EPISODES, now, || EventKind::Closed { orderly });
    }
}
