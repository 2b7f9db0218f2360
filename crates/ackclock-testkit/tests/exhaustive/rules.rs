//! What every run keeps.

macro_rules! rules {
    ($($name:ident: $text:literal;)*) => {
        /// A rule that a run can break.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Rule { $(#[doc = $text] $name,)* }

        /// All of them.
        pub const RULES: &[Rule] = &[$(Rule::$name,)*];

        impl Rule {
            /// The rule in words.
            pub fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

rules! {
    Delivery: "the receiver has read exactly what has arrived without a gap, and in the end everything";
    Close: "both ends close in order, within bounds of time and events";
    WholeSegments: "every segment carries a full payload where only full ones were written";
    TimerRuns: "the retransmission timer runs while data is outstanding, and restarts with an ack of new \
                data (RFC 6298 5.1, 5.3)";
    TimerFloor: "no deadline is nearer than the estimator's timeout, which is not below its floor, and none \
                 fires sooner (RFC 6298 2.4)";
    OneSegment: "a timeout retransmits the first segment alone, at once (RFC 6298 5.4, RFC 5681 3.1)";
    Ssthresh: "ssthresh is at least two segments, and after a reduction no more than what was outstanding \
               (RFC 5681 eq. 4); of a window that measures bandwidth, no more than cwnd was";
    Cwnd: "cwnd is at least one segment";
    CwndGrows: "after a timeout, each ack of new data below ssthresh grows cwnd (RFC 5681 3.1)";
    CwndStep: "after a timeout, no ack grows cwnd by more than a segment (RFC 5681 eq. 2, RFC 3465 2.3)";
    RepairLasts: "without an undo, a repair after a timeout lasts until its recovery point, or until time tells \
                  that a retransmission in it was lost (RFC 6675 5.1, tcp_fastretrans_alert)";
    TimeoutPerLoss: "without delays neither end has more timeouts than packets were lost";
    SpuriousRetransmission: "with SACK and only data lost, nothing is retransmitted that arrived or will \
                             arrive, but for what was under way when the timer of a paced sender without RACK \
                             expired: a timeout takes everything for lost that no SACK reports";
    ThreeSegments: "SACKs begin a recovery when three segments arrived above a hole (RFC 6675 4, IsLost), or \
                    the fourth or a later one did (M-A7)";
    RecoveryAfterUndo: "with nothing lost, the ack that undoes a timeout does not begin a recovery";
    FalseFastRetransmit: "where everything arrives in order, no duplicate acks of retransmitted data begin a \
                          recovery (RFC 6582 3.2)";
}

/// A set of rules.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Rules(u16);

impl Rules {
    /// Adds one.
    pub fn add(&mut self, rule: Rule) {
        self.0 |= 1 << rule as u16;
    }

    /// Those in it.
    pub fn iter(self) -> impl Iterator<Item = Rule> {
        RULES.iter().copied().filter(move |rule| self.0 >> *rule as u16 & 1 == 1)
    }
}
