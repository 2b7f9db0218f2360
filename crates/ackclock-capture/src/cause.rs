//! Why a segment was sent again, from what its sender knew at that moment.

use std::fmt::Write as _;

use ackclock_units::Duration;

use crate::thresholds::THRESHOLDS;

/// Why a segment was sent again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Cause {
    /// The retransmission timer expired.
    #[default]
    Timeout,
    /// Acks that followed a timeout released it.
    AfterTimeout,
    /// The third duplicate ack, or a partial ack in the recovery that followed.
    Fast,
    /// SACK blocks cover enough behind it (RFC 6675).
    Sack,
    /// The highest SACK block lies more than three segments behind it (FACK).
    Fack,
    /// Something sent later was delivered (RACK, RFC 8985).
    Rack,
    /// A tail loss probe (RFC 8985 §7).
    TailLossProbe,
    /// A SYN or SYN-ACK again.
    Syn,
    /// A probe of a closed window (RFC 9293 §3.8.6.1).
    ZeroWindowProbe,
    /// A keepalive (RFC 9293 §3.8.4).
    Keepalive,
    /// A copy sent right behind its original, so that one of them may be lost (I-A7).
    Copy,
}

impl Cause {
    /// The word in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::AfterTimeout => "after-timeout",
            Self::Fast => "fast-retransmit",
            Self::Sack => "sack-retransmit",
            Self::Fack => "fack-retransmit",
            Self::Rack => "rack-retransmit",
            Self::TailLossProbe => "tail-loss-probe",
            Self::Syn => "syn",
            Self::ZeroWindowProbe => "zero-window-probe",
            Self::Keepalive => "keepalive",
            Self::Copy => "copy",
        }
    }

    /// True for what repeats data, SYN or FIN, as the kernel's counters have it: probes of a closed window
    /// and keepalives do not, and copies were sent before anything could be known to be lost.
    pub const fn counts(self) -> bool {
        !matches!(self, Self::ZeroWindowProbe | Self::Keepalive | Self::Copy)
    }
}

/// What a sender knew when it sent a segment again. Times are the sender's: the capture's, less the round
/// trip between the two.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Situation {
    /// It holds the oldest byte that was not acknowledged.
    pub head: bool,
    /// It holds the newest byte that was sent.
    pub tail: bool,
    /// Nothing but one segment is outstanding.
    pub sole: bool,
    /// All of it had been acknowledged.
    pub below: bool,
    /// Smoothed round-trip time of the path, deviation.
    pub rtt: Option<(Duration, Duration)>,
    /// Since an ack told the sender something.
    pub since_news: Duration,
    /// Since data was sent; `None` where the capture shows none, or a probe was sent last.
    pub since_sent: Option<Duration>,
    /// Since the timer was set at the latest: progress, this segment's last copy, the last expiry or probe;
    /// the beginning of the capture at the latest.
    pub since_set: Duration,
    /// The same without copies by fast retransmission, which not every sender sets its timer anew for.
    pub since_progress: Duration,
    /// Duplicate acks since progress, and the time since the third.
    pub dup_acks: u32,
    pub since_third: Option<Duration>,
    /// SACK is in use; bytes covered behind it; distance of the highest block's end from it.
    pub sack: bool,
    pub sacked_above: u64,
    pub highest_sack: u64,
    /// Something sent later than its last copy was delivered, and how long that is known of the oldest
    /// segment.
    pub overtaken: bool,
    pub since_overtaken: Option<Duration>,
    /// It was sent again before, since progress.
    pub again: bool,
    /// A recovery is under way, and whether a timeout is in it.
    pub recovering: bool,
    pub after_timeout: bool,
    /// The last ack moved forward.
    pub partial: bool,
    /// A probe was sent for what is outstanding.
    pub probed: bool,
    /// It numbers its packets, as kernels do, whose timeouts are not shorter than usual.
    pub kernel: bool,
    /// What Linux's timeout would be; zero where nothing tells.
    pub timeout: Duration,
    /// Segment size.
    pub mss: u32,
}

/// What it was, and whether a probe and a timeout cannot be told apart yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Judged {
    pub cause: Cause,
    pub probe_or_timeout: bool,
}

impl Situation {
    fn srtt(&self) -> Duration {
        self.rtt.map_or(THRESHOLDS.timer.unknown_rtt, |r| r.0)
    }

    /// How soon after an ack a sender reacts to it at the latest: a busy machine and RACK's wait (RFC 8985
    /// §6.2: a quarter of the round-trip time).
    fn prompt(&self) -> Duration {
        let (srtt, by) = (self.srtt(), THRESHOLDS.reaction);
        (by.busy + srtt / by.rack_part).min((srtt / by.latest_part).max(by.busy))
    }

    /// The shortest time since it was set after which a timer may have expired: no timeout is shorter than a
    /// round trip.
    fn least_timeout(&self) -> Duration {
        self.srtt().mul_f64(THRESHOLDS.timer.shortest_rtts).max(THRESHOLDS.timer.shortest)
    }

    pub(crate) fn judge(&self) -> Judged {
        let sure = |cause| Judged { cause, probe_or_timeout: false };
        if self.below {
            // Its ack was lost behind the capture, or was on its way to the sender.
            let silent = self
                .since_sent
                .is_none_or(|sent| sent.min(self.since_news.max(self.since_set)) >= self.least_timeout());
            return sure(match (silent, self.after_timeout) {
                (true, _) => Cause::Timeout,
                (false, true) => Cause::AfterTimeout,
                (false, false) => self.by_acks(),
            });
        }
        let quiet = self.dup_acks == 0 && self.sacked_above == 0;
        // RACK waits too, for reordering, and on a filling queue for long: what SACKs may have called for
        // needs a kernel's usual timeout, which is added to the round-trip time. RACK's timer is a quarter of
        // that after a round trip at the latest (RFC 8985 §6.2).
        let by = THRESHOLDS.timer;
        let usual = by.usual.max(self.srtt().mul_f64(by.rack_rtts) + by.shortest).min(self.srtt() + by.usual);
        let called = self.kernel && self.sack && !quiet;
        let expired = self.since_set
            >= if called { usual.max(self.timeout.mul_f64(by.part_of_linux)) } else { self.least_timeout() };
        let sent_long_ago = self.since_sent.is_none_or(|sent| sent > self.prompt());
        if self.since_news > self.prompt() && sent_long_ago && expired {
            if self.tail && !self.head {
                return sure(Cause::TailLossProbe);
            }
            // Short of a kernel's usual timeout it is RACK's timer: something sent later was acknowledged
            // before.
            if self.head && !(self.kernel && self.sack && self.overtaken && self.since_set < by.usual) {
                // With SACK, a duplicate ack without a block tells nothing: it was overtaken by the one
                // before.
                let open = self.sack
                    && self.sacked_above == 0
                    && !self.probed
                    && !self.again
                    && self.sole
                    && !self.recovering;
                return Judged { cause: Cause::Timeout, probe_or_timeout: open };
            }
        }
        let slow = |since: Duration| since > self.prompt().max(self.srtt() / THRESHOLDS.reaction.latest_part);
        // Sent again once, and nothing shows that this copy was lost too; or that was known for long, and
        // nothing came of it.
        let ignored = self.since_overtaken.is_some_and(slow) && self.since_set >= by.usual;
        if !expired
            && self.tail
            && quiet
            && !self.recovering
            && self.since_news > self.prompt()
            && sent_long_ago
        {
            // No ack called for it and no timer is that short: a probe on a path of microseconds (its wait is
            // two ticks then), or one that comes when the timer would have expired, which would have sent the
            // oldest segment.
            return sure(if !self.head || self.sack && !self.probed {
                Cause::TailLossProbe
            } else {
                Cause::Timeout
            });
        }
        // While SACKs flow, senders know more than we do (PRR, RACK's own clock): only a usual timeout's time
        // is taken for one.
        let long = if self.sack && !quiet { self.since_set >= by.usual } else { expired };
        if self.head && self.again && long && (!self.overtaken || ignored) {
            return sure(Cause::Timeout);
        }
        if self.head
            && !self.after_timeout
            && self.sacked_above == 0
            && !(self.partial && self.recovering)
            && self.since_progress
                >= if self.kernel { by.usual.max(self.least_timeout()) } else { self.least_timeout() }
        {
            // Three duplicate acks and no answer to the third nor to the last, or fewer: the timer.
            let third = |since| slow(since) && self.since_news > THRESHOLDS.reaction.at_once;
            let unanswered =
                self.since_third.map_or(self.dup_acks == 0 || !self.sole && self.dup_acks < 2, third);
            if unanswered {
                return sure(Cause::Timeout);
            }
        }
        sure(if self.after_timeout { Cause::AfterTimeout } else { self.by_acks() })
    }

    fn by_acks(&self) -> Cause {
        let three = u64::from(THRESHOLDS.segments.dup_thresh) * u64::from(self.mss.max(1));
        match () {
            () if !self.recovering && self.dup_acks >= THRESHOLDS.segments.dup_thresh => Cause::Fast,
            () if self.again && self.overtaken => Cause::Rack,
            () if self.sacked_above >= three => Cause::Sack,
            () if self.highest_sack > three => Cause::Fack,
            () if self.sacked_above > 0 || self.overtaken && self.sack => Cause::Rack,
            () => Cause::Fast,
        }
    }

    /// The evidence in words.
    pub(crate) fn evidence(&self, cause: Cause) -> String {
        let mut s = String::new();
        // Writing to a String cannot fail.
        let _ = match cause {
            Cause::Timeout | Cause::TailLossProbe => {
                let what = match (self.head, self.tail) {
                    (true, true) => "the only segment outstanding",
                    (true, false) => "the oldest segment outstanding",
                    (false, true) => "the newest segment, while older ones are outstanding",
                    (false, false) => "a segment that was acknowledged already",
                };
                write!(
                    s,
                    "{what}, {} after the timer was set at the latest, {} after the last news from the peer",
                    span(self.since_set),
                    span(self.since_news)
                )
                .and_then(|()| {
                    if self.dup_acks > 0 { write!(s, ", {} duplicate acks", self.dup_acks) } else { Ok(()) }
                })
                .and_then(|()| match self.rtt {
                    Some((srtt, _)) => write!(s, "; round-trip time {}", span(srtt)),
                    None => write!(s, "; round-trip time unknown"),
                })
            }
            Cause::AfterTimeout => {
                write!(s, "{} after an ack, in the recovery from a timeout", span(self.since_news))
            }
            Cause::Fast if self.recovering && self.partial => {
                write!(s, "{} after a partial ack in a recovery", span(self.since_news))
            }
            Cause::Fast => {
                write!(s, "{} duplicate acks, the last {} before", self.dup_acks, span(self.since_news))
            }
            Cause::Sack => write!(s, "SACK covers {} bytes behind it", self.sacked_above),
            Cause::Fack => {
                write!(s, "the highest SACK block ends {} bytes behind its beginning", self.highest_sack)
            }
            Cause::Rack if self.again => {
                write!(s, "something sent after its last copy was delivered: that copy was lost too")
            }
            Cause::Rack => write!(
                s,
                "something sent after it was delivered; SACK covers {} bytes behind it",
                self.sacked_above
            ),
            Cause::Syn | Cause::ZeroWindowProbe | Cause::Keepalive | Cause::Copy => Ok(()),
        };
        s
    }
}

/// A time for reading: three digits and a unit.
pub(crate) fn span(d: Duration) -> String {
    let s = d.as_secs_f64();
    let (x, unit) = match s {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s => (s * 1e6, "us"),
    };
    let digits = if x >= 100.0 { 0 } else { 1 + usize::from(x < 10.0) };
    format!("{x:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_segment_is_not_the_timers_while_an_older_one_is_outstanding() {
        let ms = Duration::from_millis;
        let soon = Situation {
            tail: true,
            rtt: Some((ms(80), ms(10))),
            since_news: ms(600),
            since_sent: Some(ms(50)),
            since_set: ms(50),
            since_progress: ms(50),
            sack: true,
            kernel: true,
            timeout: ms(300),
            ..Situation::default()
        };
        for (probed, head, cause) in [
            (false, false, Cause::TailLossProbe),
            (true, false, Cause::TailLossProbe),
            (false, true, Cause::TailLossProbe),
            (true, true, Cause::Timeout),
        ] {
            assert_eq!(
                Situation { probed, head, ..soon }.judge().cause,
                cause,
                "probed before: {probed}, the oldest too: {head}"
            );
        }
    }
}
