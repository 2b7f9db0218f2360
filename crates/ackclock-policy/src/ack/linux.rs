use std::sync::Arc;

use ackclock_units::{Bytes, Duration, Instant, seldom};

use crate::{
    AckAction, AckPending, AckPolicy, ArrivedSegment, Entry, Param, Params, Policy, PrivateState,
    ReceiverEvent, ReceiverView,
};

/// Linux's receiver: quick acks at the start and after a pause, delays that follow the spacing of arrivals,
/// acks that wait for the application's replies in an interactive session, and fewer acks for what waits
/// above a gap.
#[derive(Debug)]
struct Linux {
    rules: Arc<Rules>,
    last_arrival: Instant,
    /// The delay of an ack (`ato`), µs; 0 before the first arrival.
    ato: u32,
    /// Estimate of the peer's segment size (`rcv_mss`), and the size of the last segment if it was smaller;
    /// 0 for none.
    rcv_mss: u16,
    last_size: u16,
    /// Acks still to be sent at once (`quick`).
    quick: u8,
    /// Replies in a row that were sent within `ato` of what they reply to (`pingpong`).
    replies: u8,
    /// Something arrived that is to be acknowledged (`ICSK_ACK_SCHED`).
    due: bool,
    /// Ends of writes among it: pushed or small segments, of which two count (`ICSK_ACK_PUSHED`,
    /// `ICSK_ACK_PUSHED2`).
    pushed: u8,
    /// Duplicate acks sent at once since the acknowledgment number advanced, and segments since then whose
    /// acks are held back.
    dup_acks: u8,
    compressed: u8,
    /// The ack that was held back was sent ahead of the text that is being placed.
    sent_ahead: bool,
}

/// The parameters.
#[derive(Debug)]
struct Rules {
    quick_acks: u8,
    pingpong_thresh: u8,
    /// µs.
    ato_min: u32,
    delack_max: Duration,
    comp_sack_delay: Duration,
    comp_sack_segs: u8,
}

/// A segment size that is assumed before any is known (`TCP_MSS_DEFAULT`), and the smallest (`TCP_MIN_MSS`).
const MSS_DEFAULT: u16 = 536;
const MIN_MSS: u16 = 88;

/// Quick acks after a marked packet (`tcp_data_ecn_check`).
const QUICK_AFTER_MARK: u8 = 2;

/// Duplicate acks that are sent at once (`TCP_FASTRETRANS_THRESH`).
const DUP_ACKS: u8 = 3;

/// SACK blocks that an ack is expected to have room for (`TCP_SACK_BLOCKS_EXPECTED`).
const SURE_BLOCKS: u8 = 2;

/// Held back for no more than this fraction of the round-trip time: 5 %.
const COMP_SACK_PART: u64 = 20;

/// The timeout where none is known (`TCP_RTO_MIN`).
const RTO: Duration = Duration::from_millis(200);

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_nanos() / 1000).unwrap_or(u32::MAX)
}

impl Rules {
    fn new(p: &Params) -> Self {
        Self {
            quick_acks: p.count("quick_acks") as u8,
            pingpong_thresh: p.count("pingpong_thresh") as u8,
            ato_min: micros(p.duration("ato_min")),
            delack_max: p.duration("delack_max"),
            comp_sack_delay: p.duration("comp_sack_delay"),
            comp_sack_segs: p.count("comp_sack_segs") as u8,
        }
    }
}

impl Linux {
    fn is_interactive(&self) -> bool {
        self.replies >= self.rules.pingpong_thresh
    }

    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_interactive()
    }

    /// Acknowledges the next segments at once: as many as half a window has, two at least, `most` at most
    /// (`tcp_incr_quickack`).
    fn add_quick(&mut self, rcv_wnd: Bytes, most: u8) {
        let halves = match rcv_wnd / (2 * u64::from(self.rcv_mss.max(1))) {
            0 => 2,
            n => n,
        };
        self.quick = self.quick.max(halves.min(most.into()) as u8);
    }

    /// `tcp_enter_quickack_mode`.
    fn enter_quick(&mut self, p: &AckPending, most: u8) {
        self.expect_size(p.rcv_wnd);
        self.add_quick(p.rcv_wnd, most);
        self.replies = 0;
        self.ato = self.rules.ato_min;
    }

    /// `tcp_initialize_rcv_mss`.
    fn expect_size(&mut self, rcv_wnd: Bytes) {
        if seldom(self.rcv_mss == 0) {
            self.rcv_mss = (rcv_wnd / 2).clamp(MIN_MSS.into(), MSS_DEFAULT.into()) as u16;
        }
    }

    /// Adapts the estimate of the peer's segment size (`tcp_measure_rcv_mss`).
    fn measure_size(&mut self, s: &ArrivedSegment, v: &ReceiverView) {
        let before = std::mem::take(&mut self.last_size);
        let size = s.bytes.min(u16::MAX.into()) as u16;
        if size >= self.rcv_mss {
            self.rcv_mss = size.min(v.mss.min(u16::MAX.into()) as u16);
            if s.push {
                self.pushed = self.pushed.max(1);
            }
            return;
        }
        // Without PSH it should be full-sized, so that two of one size show a smaller segment size.
        if size >= MSS_DEFAULT || (size >= MIN_MSS && !s.push) {
            self.last_size = size;
            if size == before {
                self.rcv_mss = size;
                return;
            }
        }
        self.pushed = (self.pushed + 1).min(2);
    }

    /// Adapts the delay to the time since the last arrival (`tcp_event_data_recv`).
    fn measure_spacing(&mut self, p: &AckPending, v: &ReceiverView) {
        let (least, rto) = (self.rules.ato_min, micros(v.rto.unwrap_or(RTO)));
        let gap = micros(v.now.since(self.last_arrival));
        if seldom(self.ato == 0) {
            self.add_quick(p.rcv_wnd, self.rules.quick_acks);
            self.ato = least;
        } else if gap <= least / 2 {
            self.ato = self.ato / 2 + least / 2;
        } else if gap < self.ato {
            self.ato = (self.ato / 2 + gap).min(rto);
        } else if gap > rto {
            // The sender has probably restarted from a small window.
            self.add_quick(p.rcv_wnd, self.rules.quick_acks);
        }
        self.last_arrival = v.now;
    }

    /// The peer gets to know at once of a window that opens (`tcp_grow_window`).
    fn announce(&mut self, v: &ReceiverView) {
        self.quick |= u8::from(v.window_opens);
    }

    /// When what is pending, `bytes`, is acknowledged (`__tcp_ack_snd_check`).
    fn decide(&mut self, bytes: Bytes, p: &AckPending, v: &ReceiverView) -> AckAction {
        if (bytes > u64::from(self.rcv_mss) && !v.window_shrinks) || self.is_quick() {
            AckAction::Now
        } else if v.gap {
            self.compress(p, v)
        } else {
            self.delay(p, v)
        }
    }

    /// `tcp_send_delayed_ack`.
    fn delay(&self, p: &AckPending, v: &ReceiverView) -> AckAction {
        let now = v.now;
        let least = self.rules.ato_min;
        let mut ato = self.ato;
        if let Some(srtt) = v.srtt.filter(|_| ato > least) {
            ato = ato.min(micros(srtt).max(least));
        }
        let ato = Duration::from_micros(ato.into()).min(self.rules.delack_max);
        match p.deadline {
            // It would be sent soon anyway.
            Some(at) if at <= now + ato / 4 => AckAction::Now,
            Some(at) => AckAction::By(at.min(now + ato)),
            None => AckAction::By(now + ato),
        }
    }

    /// Something arrived above a gap: three duplicate acks are sent at once, the next ones are held back for
    /// a small part of the round-trip time, unless many have been (`tcp_comp_sack_delay_ns`,
    /// `tcp_comp_sack_nr`).
    fn compress(&mut self, p: &AckPending, v: &ReceiverView) -> AckAction {
        if self.compressed >= self.rules.comp_sack_segs {
            return AckAction::Now;
        }
        if self.dup_acks < DUP_ACKS {
            self.dup_acks += 1;
            return AckAction::Now;
        }
        let part = v.srtt.unwrap_or(Duration::ZERO) / COMP_SACK_PART;
        let by = v.now + part.min(self.rules.comp_sack_delay);
        self.compressed += 1;
        AckAction::By(p.deadline.map_or(by, |at| at.min(by)))
    }

    /// The delayed ack is sent because nothing else happened (`tcp_delack_timer_handler`).
    fn missed(&mut self, v: &ReceiverView) {
        if self.compressed > 0 || !self.due {
            return;
        }
        if self.is_interactive() {
            (self.replies, self.ato) = (0, self.rules.ato_min);
        } else {
            self.ato = self.ato.saturating_mul(2).min(micros(v.rto.unwrap_or(RTO)));
        }
    }

    /// `tcp_event_ack_sent`.
    fn acked(&mut self) {
        if self.due && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = self.rules.ato_min;
            }
        }
        (self.due, self.pushed, self.compressed) = (false, 0, 0);
    }

    /// The application has read something (`__tcp_cleanup_rbuf`).
    fn read(&self, p: &AckPending, v: &ReceiverView) -> AckAction {
        let write_ended = self.pushed > 1 || (self.pushed > 0 && !self.is_interactive());
        if self.due && (p.bytes > u64::from(self.rcv_mss) || (v.unread == 0 && write_ended)) {
            AckAction::Now
        } else {
            AckAction::Hold
        }
    }
}

impl Policy for Linux {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("ato_ms", f64::from(self.ato) / 1e3);
        state.number("quick", self.quick.into());
        state.number("interactive", u32::from(self.is_interactive()).into());
        state.number("rcv_mss", self.rcv_mss.into());
    }
}

impl AckPolicy for Linux {
    fn on_arrival(&mut self, s: &ArrivedSegment, p: &AckPending) -> AckAction {
        let v = ReceiverView {
            now: s.now,
            srtt: None,
            rto: None,
            mss: s.bytes,
            window_shrinks: false,
            window_opens: false,
            gap: false,
            unread: 0,
        };
        self.on_event(ReceiverEvent::Arrived(*s), p, &v)
    }

    fn follows_events(&self) -> bool {
        true
    }

    fn on_event(&mut self, e: ReceiverEvent, p: &AckPending, v: &ReceiverView) -> AckAction {
        match e {
            ReceiverEvent::Arrived(s) => {
                self.due = true;
                (self.dup_acks, self.compressed) = (0, 0);
                self.expect_size(p.rcv_wnd);
                self.measure_size(&s, v);
                self.measure_spacing(p, v);
                self.announce(v);
                return self.decide(p.bytes, p, v);
            }
            ReceiverEvent::OutOfOrder(s) => {
                self.expect_size(p.rcv_wnd);
                self.measure_size(&s, v);
                // That ack unscheduled the one of this text (`tcp_event_ack_sent`).
                self.due = !std::mem::take(&mut self.sent_ahead);
                if !self.due {
                    return AckAction::Hold;
                }
                self.announce(v);
                return self.decide(p.bytes, p, v);
            }
            // `tcp_sack_new_ofo_skb`: each block is in a place that an ack surely has room for once.
            ReceiverEvent::Displaced(blocks) => {
                self.sent_ahead = self.compressed > 0 && blocks >= SURE_BLOCKS;
                return if self.sent_ahead { AckAction::Now } else { AckAction::Hold };
            }
            ReceiverEvent::Repeated => {
                self.enter_quick(p, self.rules.quick_acks);
                self.due = true;
            }
            ReceiverEvent::Marked => {
                if self.ato == 0 {
                    self.expect_size(p.rcv_wnd);
                    self.add_quick(p.rcv_wnd, self.rules.quick_acks);
                }
                self.enter_quick(p, QUICK_AFTER_MARK);
            }
            ReceiverEvent::Fin => {
                // The application will probably close too, and its FIN can carry the ack.
                self.due = true;
                self.replies = self.rules.pingpong_thresh;
                self.expect_size(p.rcv_wnd);
                return self.decide(p.bytes + 1, p, v);
            }
            ReceiverEvent::SynAck => {
                self.last_arrival = v.now;
                if self.is_interactive() {
                    // The application will have something to send in a moment.
                    self.due = true;
                    self.enter_quick(p, self.rules.quick_acks);
                    return AckAction::By(v.now + self.rules.delack_max);
                }
            }
            ReceiverEvent::Read => return self.read(p, v),
            ReceiverEvent::Sent => {
                if micros(v.now.since(self.last_arrival)) < self.ato {
                    self.replies = self.replies.saturating_add(1);
                }
            }
            ReceiverEvent::Acked => self.acked(),
            ReceiverEvent::Deadline => self.missed(v),
            ReceiverEvent::Quick(false) => self.replies = self.rules.pingpong_thresh,
            ReceiverEvent::Quick(true) => {
                self.replies = 0;
                let all_read = v.unread == 0;
                return if self.due && all_read { AckAction::Now } else { AckAction::Hold };
            }
        }
        AckAction::Hold
    }
}

/// The receiver of Linux.
pub(crate) const ENTRY: Entry<dyn AckPolicy> = Entry {
    name: "linux",
    about: "Acknowledges as Linux does: at once at the start and after a pause, then every second segment, \
            others after a delay that follows their spacing, and with replies in an interactive session.",
    source: "Linux 6.18 (tcp_event_data_recv, __tcp_ack_snd_check, tcp_send_delayed_ack); RFC 1122 4.2.3.2, \
             RFC 5681 4.2",
    params: &[
        Param::count(
            "quick_acks",
            16,
            0..=255,
            "acks at the start, after a pause and after repeated data that are sent at once \
             (TCP_MAX_QUICKACKS)",
        ),
        Param::count(
            "pingpong_thresh",
            1,
            1..=255,
            "prompt replies that make a session interactive (net.ipv4.tcp_pingpong_thresh)",
        ),
        Param::duration(
            "ato_min",
            Duration::from_millis(40),
            Duration::from_millis(1)..=Duration::from_millis(500),
            "shortest delay of an ack (TCP_ATO_MIN)",
        ),
        Param::duration(
            "delack_max",
            Duration::from_millis(200),
            Duration::from_millis(1)..=Duration::from_millis(500),
            "longest delay of an ack (TCP_DELACK_MAX)",
        ),
        Param::duration(
            "comp_sack_delay",
            Duration::from_millis(1),
            Duration::ZERO..=Duration::from_millis(500),
            "longest delay of an ack of what arrived above a gap, beyond the third \
             (net.ipv4.tcp_comp_sack_delay_ns); 5 % of the round-trip time if that is shorter",
        ),
        Param::count(
            "comp_sack_segs",
            44,
            0..=255,
            "acks that this may hold back (net.ipv4.tcp_comp_sack_nr)",
        ),
    ],
    build: |p| {
        Box::new(Linux {
            rules: p.shared(Rules::new),
            rcv_mss: 0,
            last_size: 0,
            ato: 0,
            last_arrival: Instant::ZERO,
            quick: 0,
            replies: 0,
            due: false,
            pushed: 0,
            dup_acks: 0,
            compressed: 0,
            sent_ahead: false,
        })
    },
};
