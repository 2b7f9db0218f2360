//! Accurate ECN feedback (RFC 9768): the codes of the handshake, the counters of both ends, and their fields
//! on the wire. Independent of the connection.

use ackclock_policy::Ecn;
use ackclock_wire::{AccEcn, Flags};

use super::Mode;
use crate::EcnFeedback;

/// Values of the ACE field: three bits (RFC 9768 §3.2.2).
const ACE_VALUES: u32 = 8;
/// Initial value of the counters of marked packets (RFC 9768 §3.2.1).
const FIRST_CEP: u32 = 5;
/// Initial value of the counters of ECT(0) and ECT(1) bytes (RFC 9768 §3.2.1).
const FIRST_ECT_BYTES: u32 = 1;
/// Values of a counter in the option: 24 bits (RFC 9768 §3.2.3).
const OPTION_VALUES: u32 = 1 << 24;

/// AE, CWR and ECE as one number, AE the highest: the ACE field (RFC 9768 §3.2.2, figure 3).
pub(super) const fn ace_of(flags: Flags) -> u8 {
    (flags.0 >> 6 & 7) as u8
}

/// The flags of an ACE field.
pub(super) const fn ace_flags(ace: u8) -> Flags {
    Flags(((ace & 7) as u16) << 6)
}

/// The code by which a SYN-ACK, and the pure ACK of a SYN-ACK, report the codepoint of the packet that they
/// acknowledge (RFC 9768 §3.1.2 table 2, §3.2.2.1 table 3).
pub(super) const fn handshake_code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The codepoint that a handshake code reports; `None` for other values of the field.
pub(super) const fn handshake_codepoint(code: u8) -> Option<Ecn> {
    match code {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// The mode that an end with `feedback` enters on a SYN with these flags.
pub(super) const fn mode_by_syn(feedback: EcnFeedback, flags: Flags) -> Mode {
    match (feedback, ace_of(flags)) {
        // RFC 9768 §3.1.2 table 2, third block.
        (EcnFeedback::Accurate, 0b000) => Mode::Off,
        (EcnFeedback::Accurate, 0b011) => Mode::Rfc3168,
        // RFC 9768 §3.1.3: unassigned combinations are treated as a request for accurate feedback.
        (EcnFeedback::Accurate, _) => Mode::Accurate,
        // RFC 3168 §6.1.1: ECE and CWR on a SYN request ECN. A request for accurate feedback has both set as
        // well.
        (feedback, 0b011 | 0b111) => classic(feedback),
        _ => Mode::Off,
    }
}

/// The mode that an end with `feedback` enters on the SYN-ACK for its request.
pub(super) const fn mode_by_syn_ack(feedback: EcnFeedback, flags: Flags) -> Mode {
    match (feedback, ace_of(flags)) {
        // RFC 9768 §3.1.2 table 2, second and fourth block: without ECN, and broken servers that reflect the
        // flags.
        (EcnFeedback::Accurate, 0b000 | 0b111) => Mode::Off,
        (EcnFeedback::Accurate, 0b001) => Mode::Rfc3168,
        // The first block; the reserved 101 counts as agreement (RFC 9768 §3.1.3).
        (EcnFeedback::Accurate, _) => Mode::Accurate,
        // RFC 3168 §6.1.1: a SYN-ACK agrees with ECE alone. The former nonce sum bit is ignored.
        (feedback, 0b001 | 0b101) => classic(feedback),
        _ => Mode::Off,
    }
}

const fn classic(feedback: EcnFeedback) -> Mode {
    match feedback {
        EcnFeedback::Dctcp => Mode::Dctcp,
        _ => Mode::Rfc3168,
    }
}

/// A set of counters of the option.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Fields(u8);

impl Fields {
    const NONE: Self = Self(0);
    const E0B: Self = Self(1);
    const CEB: Self = Self(2);
    const E1B: Self = Self(4);
    const ALL: Self = Self(7);

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The order in which the option needs the fewest counters to include these: whether it is order 0, and
    /// the number of counters (RFC 9768 §3.2.3 table 5).
    const fn shortest(self) -> (bool, usize) {
        let middle = if self.has(Self::CEB) { 2 } else { 0 };
        match (self.has(Self::E0B), self.has(Self::E1B)) {
            (true, true) => (true, 3),
            (false, true) => (false, if middle > 0 { 2 } else { 1 }),
            (true, false) => (true, if middle > 0 { 2 } else { 1 }),
            (false, false) => (true, middle),
        }
    }
}

/// What an ack newly acknowledges or SACKs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covered {
    pub(super) packets: u32,
    /// The peer cannot have received anything else since the previous ack.
    pub(super) certain: bool,
    pub(super) smss: u32,
}

/// Marks that an ack newly reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Marks {
    pub(super) packets: u32,
    pub(super) bytes: u32,
}

/// Counters of one end, as receiver and as sender.
#[derive(Debug)]
pub(super) struct Counters {
    // As receiver (RFC 9768 §3.2): r.cep, r.e0b, r.ceb, r.e1b.
    cep: u32,
    e0b: u32,
    ceb: u32,
    e1b: u32,
    /// Counters that have ever changed, and those that have changed since they were last sent.
    ever: Fields,
    unsent: Fields,
    /// Marked packets since a segment was last sent.
    marks: u32,
    /// The last packet was marked.
    marked: bool,

    // As sender: s.cep and s.ceb. Congestion control needs only the marks.
    s_cep: u32,
    s_ceb: u32,
    /// Marked bytes estimated from packets since the option last reported bytes.
    estimated: u32,
    /// Eight times the moving average of the packets that an ack covers.
    covered: u32,
    /// No mangling was detected, so new data is sent as ECN-capable.
    pub(super) capable: bool,
    /// Feedback in the flags, and in options, is trusted.
    pub(super) trusts_ace: bool,
    pub(super) trusts_option: bool,
    /// The option is sent.
    pub(super) option_enabled: bool,
}

impl Counters {
    pub(super) const NEW: Self = Self {
        cep: FIRST_CEP,
        e0b: FIRST_ECT_BYTES,
        ceb: 0,
        e1b: FIRST_ECT_BYTES,
        ever: Fields::NONE,
        unsent: Fields::NONE,
        marks: 0,
        marked: false,
        s_cep: FIRST_CEP,
        s_ceb: 0,
        estimated: 0,
        covered: 0,
        capable: true,
        trusts_ace: true,
        trusts_option: true,
        option_enabled: true,
    };

    /// Counts an acceptable packet (RFC 9768 §3.2). Returns true when an acknowledgment is due because text
    /// is marked and the packet before was not (RFC 9768 §3.2.2.5.1, change-triggered).
    pub(super) fn count(&mut self, ecn: Ecn, len: u32) -> bool {
        let before = std::mem::replace(&mut self.marked, ecn == Ecn::Ce);
        let (counter, field) = match ecn {
            Ecn::NotEct => return false,
            Ecn::Ect0 => (&mut self.e0b, Fields::E0B),
            Ecn::Ect1 => (&mut self.e1b, Fields::E1B),
            Ecn::Ce => (&mut self.ceb, Fields::CEB),
        };
        *counter = counter.wrapping_add(len);
        if len > 0 {
            self.ever.0 |= field.0;
            self.unsent.0 |= field.0;
        }
        if ecn == Ecn::Ce {
            self.count_mark();
        }
        ecn == Ecn::Ce && !before && len > 0
    }

    /// Counts a marked packet.
    pub(super) fn count_mark(&mut self) {
        self.cep = self.cep.wrapping_add(1);
        self.marks += 1;
    }

    /// True when the marks since the last segment sent make an acknowledgment due: two with unacknowledged
    /// text, three without (RFC 9768 §3.2.2.5.1, increment-triggered).
    pub(super) fn is_due(&self, text_unacked: bool) -> bool {
        self.marks >= if text_unacked { 2 } else { 3 }
    }

    /// A segment is sent with `option`. Returns its ACE field (RFC 9768 §3.2.2.2).
    pub(super) fn on_send(&mut self, option: Option<&AccEcn>) -> u8 {
        self.marks = 0;
        if option.is_some_and(|o| o.counters().len() > 0) {
            self.unsent = Fields::NONE;
        }
        self.ace()
    }

    /// The lower three bits of the counter of marked packets.
    pub(super) fn ace(&self) -> u8 {
        (self.cep % ACE_VALUES) as u8
    }

    /// The option of a segment with `room` for it (RFC 9768 §3.2.3.3, the simple scheme: when a counter has
    /// changed, every counter that ever has). `test`: all counters, to test the path (§3.2.3.2.1). If they do
    /// not fit, only those that have changed since the last option; if these do not fit either, `None`.
    pub(super) fn option(&self, room: u32, test: bool) -> Option<AccEcn> {
        if !self.option_enabled || !(test || self.unsent != Fields::NONE) {
            return None;
        }
        let all = if test { Fields::ALL } else { self.ever };
        [all, self.unsent].into_iter().find_map(|fields| {
            let (order_0, n) = fields.shortest();
            let (kind, counters) = if order_0 {
                (AccEcn::ORDER_0, [self.e0b, self.ceb, self.e1b])
            } else {
                (AccEcn::ORDER_1, [self.e1b, self.ceb, self.e0b])
            };
            let option = AccEcn::new(kind, &counters[..n]);
            (option.wire_len() <= room).then_some(option)
        })
    }

    /// The peer's first option: counters that begin with zero were zeroed on the way (RFC 9768 §3.2.3.2.4).
    pub(super) fn check_first_option(&mut self, option: Option<AccEcn>) {
        if option.is_some_and(|o| o.e0b() == Some(0) || o.e1b() == Some(0)) {
            self.trusts_option = false;
        }
    }

    /// What is sent from now on is not ECN-capable, and reported marks are ignored.
    pub(super) fn distrust_marks(&mut self) {
        (self.capable, self.trusts_ace) = (false, false);
    }

    /// The peer reports with which codepoint our SYN or SYN-ACK arrived. It was sent as Not-ECT, so any other
    /// codepoint is an invalid transition (RFC 9768 §3.2.2.3). Returns true when it was marked.
    pub(super) fn check_handshake(&mut self, code: u8) -> bool {
        match handshake_codepoint(code) {
            None | Some(Ecn::NotEct) => false,
            Some(arrived) => {
                self.capable = false;
                arrived == Ecn::Ce
            }
        }
    }

    /// The ACE field of the pure ACK of our SYN-ACK (RFC 9768 §3.2.2.1 table 4). Returns true when the
    /// SYN-ACK was marked. Zero means that the path clears the flags, or that the peer does not use ECN (note
    /// 1); of later packets §3.2.2.4 recommends not to test that.
    pub(super) fn read_handshake_ack(&mut self, ace: u8) -> bool {
        if ace == 0 {
            (self.capable, self.trusts_ace) = (false, false);
        }
        let marked = self.check_handshake(ace);
        self.s_cep += u32::from(marked);
        marked
    }

    /// Reads the feedback of an ack that is not superseded by a later one, and returns the new marks (RFC
    /// 9768 §3.2.2.2, §3.2.3.1).
    pub(super) fn read(&mut self, ace: u8, option: Option<AccEcn>, c: Covered) -> Marks {
        let least = u32::from(ace).wrapping_sub(self.s_cep) % ACE_VALUES;
        let option = option.filter(|_| self.trusts_option);
        let ceb = option.and_then(|o| o.ceb());
        let bytes = ceb.map(|ceb| ceb.wrapping_sub(self.s_ceb) % OPTION_VALUES);
        let packets = self.newly_marked(least, option.is_some(), bytes, c);
        if c.packets > 0 {
            self.covered = self.covered - self.covered / 8 + c.packets.min(1 << 16);
        }
        self.s_cep = self.s_cep.wrapping_add(packets);
        let bytes = match bytes {
            Some(bytes) => {
                // RFC 9768 §3.2.3.2.5: marked bytes without a marked packet.
                if bytes > 0 && packets == 0 && c.packets < ACE_VALUES && c.certain && self.estimated == 0 {
                    self.capable = false;
                }
                self.s_ceb = self.s_ceb.wrapping_add(bytes);
                bytes.saturating_sub(std::mem::take(&mut self.estimated))
            }
            // RFC 9768 §A.3: full-sized segments.
            None => {
                let bytes = packets.saturating_mul(c.smss);
                self.estimated = self.estimated.saturating_add(bytes);
                bytes
            }
        };
        if self.trusts_ace { Marks { packets, bytes } } else { Marks::default() }
    }

    /// How many packets were newly marked when the ACE field has advanced by `least`, possibly after wrapping
    /// (RFC 9768 §3.2.2.5.2, §A.2.1; with marked bytes §A.2.2).
    fn newly_marked(&self, least: u32, option: bool, bytes: Option<u32>, c: Covered) -> u32 {
        if c.packets < ACE_VALUES {
            // Marks in excess of packets are on control packets.
            return least;
        }
        let safer = c.packets - (c.packets - least) % ACE_VALUES;
        match bytes {
            // RFC 9768 §A.2.2, SAFETY_FACTOR 2.
            Some(bytes) if bytes <= c.smss.saturating_mul(least) && bytes / safer.max(1) < c.smss / 2 => {
                least
            }
            // An option leaves out what has not changed (RFC 9768 §3.2.3.3).
            None if option => least,
            // RFC 9768 §A.2.1: acks that cover many packets are common on this connection, so it is likely
            // that no acks were lost.
            None if self.covered >= 8 * ACE_VALUES / 2 => least,
            _ => safer,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/accurate.rs"]
mod tests;
