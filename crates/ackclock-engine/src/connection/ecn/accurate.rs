//! Accurate ECN feedback (RFC 9768): the codes of the handshake, the counters of both ends, and their fields
//! on the wire. It knows no connection.

use ackclock_policy::Ecn;
use ackclock_wire::{AccEcn, Flags};

use super::Mode;
use crate::EcnFeedback;

/// Values of the ACE field: three bits (RFC 9768 §3.2.2).
const ACE_VALUES: u32 = 8;
/// Where both ends begin to count marked packets (RFC 9768 §3.2.1).
const FIRST_CEP: u32 = 5;
/// Where both ends begin to count bytes of ECT(0) and ECT(1) (RFC 9768 §3.2.1).
const FIRST_ECT_BYTES: u32 = 1;
/// Counters of the option have so many values (RFC 9768 §3.2.3).
const OPTION_VALUES: u32 = 1 << 24;

/// AE, CWR and ECE as one number, AE the highest: the ACE field (RFC 9768 §3.2.2, figure 3).
pub(super) const fn ace_of(flags: Flags) -> u8 {
    (flags.0 >> 6 & 7) as u8
}

/// The flags of an ACE field.
pub(super) const fn ace_flags(ace: u8) -> Flags {
    Flags(((ace & 7) as u16) << 6)
}

/// How a SYN-ACK and the pure ACK of a SYN-ACK say with which codepoint the packet arrived that they answer
/// (RFC 9768 §3.1.2 table 2, §3.2.2.1 table 3).
pub(super) const fn handshake_code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The codepoint that such a code stands for, if it is one.
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
        // RFC 9768 §3.1.3: what nobody sends yet stands for a request of accurate feedback.
        (EcnFeedback::Accurate, _) => Mode::Accurate,
        // RFC 3168 §6.1.1: a SYN asks with ECE and CWR. A request of accurate feedback has both.
        (feedback, 0b011 | 0b111) => classic(feedback),
        _ => Mode::Off,
    }
}

/// The mode that an end with `feedback` enters on the SYN-ACK that answers its request.
pub(super) const fn mode_by_syn_ack(feedback: EcnFeedback, flags: Flags) -> Mode {
    match (feedback, ace_of(flags)) {
        // RFC 9768 §3.1.2 table 2, second and fourth block: without ECN, and broken servers that reflect the
        // flags.
        (EcnFeedback::Accurate, 0b000 | 0b111) => Mode::Off,
        (EcnFeedback::Accurate, 0b001) => Mode::Rfc3168,
        // The first block; 101 is reserved, and agrees (RFC 9768 §3.1.3).
        (EcnFeedback::Accurate, _) => Mode::Accurate,
        // RFC 3168 §6.1.1: a SYN-ACK agrees with ECE alone; what was the nonce sum is not looked at.
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

/// Some of the counters of the option.
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

    /// The order that says them with fewest counters, and how many it takes (RFC 9768 §3.2.3 table 5).
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

/// What an ack newly acknowledges, by its number and its SACK blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Covered {
    pub(super) packets: u32,
    /// Nothing else can have been received since the ack before.
    pub(super) certain: bool,
    pub(super) smss: u32,
}

/// What is new of an ack's feedback.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Marks {
    pub(super) packets: u32,
    pub(super) bytes: u32,
}

/// Counters of an end in its two roles.
#[derive(Debug)]
pub(super) struct Counters {
    // As receiver (RFC 9768 §3.2): r.cep, r.e0b, r.ceb, r.e1b.
    cep: u32,
    e0b: u32,
    ceb: u32,
    e1b: u32,
    /// What has ever changed, and what has since it was last sent.
    ever: Fields,
    unsent: Fields,
    /// Marked packets since a segment last left.
    marks: u32,
    /// The last packet was marked.
    marked: bool,

    // As sender: s.cep and s.ceb; what a window's rule needs are marks alone.
    s_cep: u32,
    s_ceb: u32,
    /// Marked bytes that were made up from packets since the option last said how many there were.
    estimated: u32,
    /// Eight times the mean number of packets that an ack covers.
    covered: u32,
    /// Nothing was believed mangled: new data leaves as capable.
    pub(super) capable: bool,
    /// Feedback is answered, options are believed.
    pub(super) believes_ace: bool,
    pub(super) believes_option: bool,
    /// Options are sent.
    pub(super) sends_option: bool,
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
        believes_ace: true,
        believes_option: true,
        sends_option: true,
    };

    /// Counts an acceptable packet (RFC 9768 §3.2). Returns true when an acknowledgment is due because text
    /// is marked and what came before was not (RFC 9768 §3.2.2.5.1, change-triggered).
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

    /// True when so many marks have come since a segment last left that one is due: two with text that waits
    /// for its acknowledgment, three without (RFC 9768 §3.2.2.5.1, increment-triggered).
    pub(super) fn is_due(&self, text_waits: bool) -> bool {
        self.marks >= if text_waits { 2 } else { 3 }
    }

    /// The ACE field of a segment that leaves now with `option` (RFC 9768 §3.2.2.2).
    pub(super) fn leave(&mut self, option: Option<&AccEcn>) -> u8 {
        self.marks = 0;
        if option.is_some_and(|o| o.counters().len() > 0) {
            self.unsent = Fields::NONE;
        }
        self.ace()
    }

    /// The lower bits of the counter of packets.
    pub(super) fn ace(&self) -> u8 {
        (self.cep % ACE_VALUES) as u8
    }

    /// The option of a segment with `room` for it (RFC 9768 §3.2.3.3, the simple scheme: when a counter has
    /// changed, every counter that ever has). `test`: all of them, to try the path (§3.2.3.2.1). With less
    /// room at least what has changed since the last one, or none.
    pub(super) fn option(&self, room: u32, test: bool) -> Option<AccEcn> {
        if !self.sends_option || !(test || self.unsent != Fields::NONE) {
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
            self.believes_option = false;
        }
    }

    /// The ACE field of the first packet after the handshake: a zero says that flags are zeroed on the way,
    /// or that the peer does without ECN (RFC 9768 §3.2.2.4; on the ACK of a SYN-ACK §3.2.2.1 note 1).
    pub(super) fn check_first_ace(&mut self, ace: u8) {
        if ace == 0 {
            (self.capable, self.believes_ace) = (false, false);
        }
    }

    /// The peer says with which codepoint our SYN or SYN-ACK arrived, which left as not capable: any other is
    /// an invalid transition (RFC 9768 §3.2.2.3). Returns true when it was marked.
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
    /// SYN-ACK was marked.
    pub(super) fn read_handshake_ack(&mut self, ace: u8) -> bool {
        self.check_first_ace(ace);
        let marked = self.check_handshake(ace);
        self.s_cep += u32::from(marked);
        marked
    }

    /// Reads the feedback of an ack that no other has superseded (RFC 9768 §3.2.2.2, §3.2.3.1): what is new.
    pub(super) fn read(&mut self, ace: u8, option: Option<AccEcn>, c: Covered) -> Marks {
        let least = u32::from(ace).wrapping_sub(self.s_cep) % ACE_VALUES;
        let option = option.filter(|_| self.believes_option);
        let ceb = option.and_then(|o| o.ceb());
        let bytes = ceb.map(|ceb| ceb.wrapping_sub(self.s_ceb) % OPTION_VALUES);
        let packets = self.cycled(least, option.is_some(), bytes, c);
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
        if self.believes_ace { Marks { packets, bytes } } else { Marks::default() }
    }

    /// How many packets were newly marked when the ACE field says `least` and may have gone round (RFC 9768
    /// §3.2.2.5.2, §A.2.1; with marked bytes §A.2.2).
    fn cycled(&self, least: u32, option: bool, bytes: Option<u32>, c: Covered) -> u32 {
        if c.packets < ACE_VALUES {
            // More marks than packets are control packets.
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
            // RFC 9768 §A.2.1: acks that cover many packets are common here, so none are missing.
            None if self.covered >= 8 * ACE_VALUES / 2 => least,
            _ => safer,
        }
    }
}

#[cfg(test)]
#[path = "../../tests/accurate.rs"]
mod tests;
