//! What a sender knew when it retransmitted a segment.

use ackclock_units::Duration;

use crate::thresholds::THRESHOLDS;

/// What a sender knew when it retransmitted a segment. Times are the sender's: the capture's, less the round
/// trip between the two.
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
    /// It is a SYN-ACK, and answers a SYN that was retransmitted.
    pub replies_to_syn: bool,
    /// It holds one byte at the most, and no FIN.
    pub tiny: bool,
    /// It holds the oldest byte that was not acknowledged.
    pub head: bool,
    /// It holds the newest byte that was sent.
    pub tail: bool,
    /// Nothing but one segment is outstanding.
    pub sole: bool,
    /// All of it had been acknowledged.
    pub below: bool,
    /// It was retransmitted before, since progress.
    pub repeated: bool,
}

/// Times since events.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Elapsed {
    /// Since the timer was set at the latest: progress, this segment's last copy, the last expiry or probe;
    /// the beginning of the capture at the latest.
    pub set: Duration,
    /// The same without copies by fast retransmission, which not every sender sets its timer anew for.
    pub progress: Duration,
    /// Since an ack told the sender something.
    pub news: Duration,
    /// Since data was sent; `None` where the capture shows none, or a probe was sent last.
    pub sent: Option<Duration>,
    /// Since the third duplicate ack.
    pub third: Option<Duration>,
    /// Since the oldest segment is known to have been overtaken: something sent later was delivered.
    pub overtaken: Option<Duration>,
    /// In which nothing was sent and nothing heard; `None` where the capture shows nothing of either.
    pub quiet: Option<Duration>,
}

/// What acks have told.
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
    /// The last ack moved forward.
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
    /// It numbers its packets, as kernels do, whose timeouts are not shorter than usual.
    pub kernel: bool,
    /// What Linux's timeout would be; zero where nothing tells.
    pub linux_timeout: Duration,
    /// A recovery is under way.
    pub recovering: bool,
    /// A timeout is in it.
    pub after_timeout: bool,
    /// A probe was sent for what is outstanding.
    pub probed: bool,
}

impl Situation {
    fn srtt(&self) -> Duration {
        self.sender.rtt.map_or(THRESHOLDS.timer.unknown_rtt, |r| r.0)
    }

    /// How soon after an ack a sender reacts to it at the latest.
    pub(super) fn prompt(&self) -> Duration {
        let (srtt, by) = (self.srtt(), THRESHOLDS.reaction);
        (by.busy + srtt / by.rack_part).min((srtt / by.latest_part).max(by.busy))
    }

    /// So long after an ack the sender does not react to it any more.
    pub(super) fn is_late(&self, since: Duration) -> bool {
        since > self.prompt().max(self.srtt() / THRESHOLDS.reaction.latest_part)
    }

    /// The shortest time since it was set after which a timer may have fired.
    pub(super) fn least_timeout(&self) -> Duration {
        self.srtt().mul_f64(THRESHOLDS.timer.shortest_rtts).max(THRESHOLDS.timer.shortest)
    }

    /// No ack has told of a loss.
    pub(crate) fn nothing_lost(&self) -> bool {
        self.acks.duplicates == 0 && self.acks.sacked_above == 0
    }

    /// So many segments' worth of bytes make a loss.
    pub(super) fn loss_bytes(&self) -> u64 {
        u64::from(THRESHOLDS.segments.dup_thresh) * u64::from(self.sender.mss.max(1))
    }

    /// Acks have told of a loss, as RFC 5681 and RFC 6675 have it.
    pub(crate) fn loss_reported(&self) -> bool {
        self.acks.duplicates >= THRESHOLDS.segments.dup_thresh
            || self.acks.sacked_above
                >= u64::from(THRESHOLDS.segments.dup_thresh) * u64::from(self.sender.mss)
    }

    /// Neither an ack nor room in the window can have let it out: both lie too far back.
    pub(super) fn unprompted(&self) -> bool {
        self.elapsed.news > self.prompt() && self.elapsed.sent.is_none_or(|sent| sent > self.prompt())
    }

    /// A timer may have fired by now.
    ///
    /// RACK waits too, for reordering, and on a filling queue for long: what SACKs may have called for needs
    /// a kernel's usual timeout, which is added to the round-trip time.
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

    /// A timer fired for all that the times tell.
    pub(super) fn timer_fits(&self) -> bool {
        !self.segment.below && self.unprompted() && self.timer_is_due()
    }
}
