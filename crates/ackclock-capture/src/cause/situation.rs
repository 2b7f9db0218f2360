//! What a sender knew when it retransmitted a segment.

use ackclock_units::Duration;

use crate::thresholds::THRESHOLDS;

/// What a sender knew when it retransmitted a segment. Times are the sender's: those of the capture, less the
/// round trip between the two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Situation {
    pub segment: Resent,
    pub elapsed: Elapsed,
    pub acks: AcksReceived,
    pub sender: SenderState,
}

/// The retransmitted segment, and its place in what is outstanding.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Resent {
    pub syn: bool,
    /// It is a SYN-ACK in reply to a retransmitted SYN.
    pub replies_to_syn: bool,
    /// It is a FIN without data.
    pub bare_fin: bool,
    /// It holds at most one byte, and no FIN.
    pub tiny: bool,
    /// It holds the oldest unacknowledged byte.
    pub head: bool,
    /// It holds the newest byte that was sent.
    pub tail: bool,
    /// It is the only segment outstanding.
    pub sole: bool,
    /// All of it had been acknowledged.
    pub below: bool,
    /// It has been retransmitted since the last progress.
    pub repeated: bool,
}

/// Times since events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Elapsed {
    /// Since the latest event that may have set the timer: progress, this segment's last copy, an expiry or a
    /// probe. Without any of them, since the capture began.
    pub set: Duration,
    /// The same without fast retransmissions, after which not every sender restarts its timer.
    pub progress: Duration,
    /// Since the last ack with news: progress, a duplicate or a new SACK.
    pub news: Duration,
    /// Since data was sent; `None` where the capture shows none, or a probe was sent last.
    pub sent: Option<Duration>,
    /// Since the third duplicate ack.
    pub third: Option<Duration>,
    /// Since the oldest segment is known to have been overtaken: something sent later was delivered.
    pub overtaken: Option<Duration>,
    /// Time in which nothing was sent or received; `None` if the capture shows neither before.
    pub quiet: Option<Duration>,
    /// Since the peer's latest data.
    pub data: Option<Duration>,
}

/// What acks have reported so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AcksReceived {
    /// Duplicate acks since progress.
    pub duplicates: u32,
    /// SACK is in use.
    pub sack: bool,
    /// Bytes that SACK covers behind the segment.
    pub sacked_above: u64,
    /// From the segment's first byte to the end of the highest SACK block.
    pub highest_sack: u64,
    /// Something sent later than the segment's last copy was delivered.
    pub overtaken: bool,
    /// The last ack with news was a cumulative one.
    pub advanced: bool,
    /// The receiver offers no room.
    pub window_closed: bool,
}

/// The state of the sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SenderState {
    /// Smoothed round-trip time of the path, deviation.
    pub rtt: Option<(Duration, Duration)>,
    pub mss: u32,
    /// Its packets have identifications, as kernels set them. The timeouts of kernels are not shorter than
    /// usual.
    pub kernel: bool,
    /// What Linux's timeout would be; zero if unknown.
    pub linux_timeout: Duration,
    /// A recovery is under way.
    pub recovering: bool,
    /// The recovery includes a timeout.
    pub after_timeout: bool,
    /// A probe was sent for what is outstanding.
    pub probed: bool,
    /// No system sent tail loss probes when it was captured.
    pub before_probes: bool,
}

impl Situation {
    fn srtt(&self) -> Duration {
        self.sender.rtt.map_or(THRESHOLDS.timer.unknown_rtt, |r| r.0)
    }

    /// The latest time after an ack at which a sender reacts to it.
    pub(super) fn prompt(&self) -> Duration {
        let (srtt, by) = (self.srtt(), THRESHOLDS.reaction);
        (by.busy + srtt / by.rack_part).min((srtt / by.latest_part).max(by.busy))
    }

    /// True if `since` an ack the sender no longer reacts to it.
    pub(super) fn is_late(&self, since: Duration) -> bool {
        since > self.prompt().max(self.srtt() / THRESHOLDS.reaction.latest_part)
    }

    /// The shortest time after which a timer may have fired.
    pub(super) fn least_timeout(&self) -> Duration {
        self.srtt().mul_f64(THRESHOLDS.timer.shortest_rtts).max(THRESHOLDS.timer.shortest)
    }

    /// No ack indicates a loss.
    pub(crate) fn nothing_lost(&self) -> bool {
        self.acks.duplicates == 0 && self.acks.sacked_above == 0
    }

    /// Bytes SACKed above a segment that make it lost.
    pub(super) fn loss_bytes(&self) -> u64 {
        u64::from(THRESHOLDS.segments.dup_thresh) * u64::from(self.sender.mss.max(1))
    }

    /// Acks have indicated a loss by RFC 5681 or RFC 6675.
    pub(crate) fn loss_reported(&self) -> bool {
        self.acks.duplicates >= THRESHOLDS.segments.dup_thresh
            || self.acks.sacked_above
                >= u64::from(THRESHOLDS.segments.dup_thresh) * u64::from(self.sender.mss)
    }

    /// An ack with news had just arrived: it released the segment, since a timer fires at the same moment only
    /// by chance.
    pub(super) fn follows_ack(&self) -> bool {
        self.elapsed.news <= THRESHOLDS.reaction.at_once
    }

    /// Neither an ack nor earlier data can have triggered it: both lie too far back.
    pub(super) fn unprompted(&self) -> bool {
        self.elapsed.news > self.prompt() && self.elapsed.sent.is_none_or(|sent| sent > self.prompt())
    }

    /// A timer may have fired by now.
    ///
    /// RACK waits as well, for reordering, and waits long if a queue fills. What SACKs may have triggered
    /// therefore counts as a timeout only after a kernel's usual timeout, which is added to the round-trip
    /// time.
    pub(super) fn timer_is_due(&self) -> bool {
        let by = THRESHOLDS.timer;
        let due = if self.sender.kernel && self.acks.sack && !self.nothing_lost() {
            let usual = by.usual.max(self.srtt().mul_f64(by.rack_rtts) + by.shortest);
            usual.min(self.srtt() + by.usual).max(self.sender.linux_timeout.mul_f64(by.part_of_linux))
        } else {
            self.least_timeout()
        };
        self.elapsed.set >= due
    }

    /// The elapsed times are consistent with a timer that fired.
    pub(super) fn timer_fits(&self) -> bool {
        !self.segment.below && self.unprompted() && self.timer_is_due()
    }
}
