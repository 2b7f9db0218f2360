use super::response::{ADAPT_TIMER, RESPONSE, Response};
use crate::{
    AckInfo, Entry, Param, Phase, Policy, ScoreboardView, SenderView, SpuriousTimeout, SuspectTimeout,
    TimeoutVerdict, Window,
};

/// New data is sent on the first ack after a timeout, and the second ack shows whether the timeout was
/// spurious.
#[derive(Debug)]
pub(super) struct FRto {
    response: Response,
    adapt_timer: bool,
    sack_enhanced: bool,
    /// As Linux has it: a duplicate ack decides nothing before step 2b without SACK, any ack of new data is that of
    /// the retransmission, and the window lets new data go.
    as_linux: bool,
    /// New data was sent (step 3), or not yet (step 2).
    sent_new: bool,
    /// The last timeout is examined, and no ack has decided or begun step 3.
    waiting: bool,
}

impl FRto {
    /// Linux's form, for a policy that has a response of its own: the SACK-enhanced algorithm, and without
    /// SACK the basic one, which a duplicate ack does not end before step 2b (RFC 5682 §2.1 step 2a has it end
    /// there). An ack of a part of the retransmission begins step 2b (there it ends the examination, and §3.1 waits for
    /// the rest), for which any data will do, and in which the congestion window counts (`tcp_process_loss`).
    pub fn of_linux() -> Self {
        Self {
            response: Response::Restore,
            adapt_timer: false,
            sack_enhanced: true,
            as_linux: true,
            sent_new: false,
            waiting: false,
        }
    }

    /// Step 1.
    pub fn begin(&mut self) {
        self.sent_new = false;
    }

    /// Step 2: the retransmission is acknowledged.
    fn first(&mut self, a: &AckInfo, t: &SuspectTimeout, sack: bool, v: &SenderView) -> TimeoutVerdict {
        if a.newly_acked == 0 {
            // RFC 5682 §2.1 step 2a; §3.1 step 2 waits for the ack of the retransmission, whatever is SACKed
            // before.
            let ends = a.is_dup && !sack && !self.as_linux;
            return if ends { TimeoutVerdict::Genuine } else { TimeoutVerdict::Unknown };
        }
        // Everything is acknowledged, which does not distinguish the transmissions.
        if a.ack >= t.recover {
            return TimeoutVerdict::Genuine;
        }
        if a.ack < t.retransmitted_to && !self.as_linux {
            return if sack { TimeoutVerdict::Unknown } else { TimeoutVerdict::Genuine };
        }
        // Step 2b needs a new segment, and room for it at the receiver. In Linux that may be short, and where there is no
        // room for it whole, lost ones are sent again (`tcp_xmit_recovery`).
        let smss = u64::from(v.smss);
        let segment = if self.as_linux { v.unsent.clamp(1, smss) } else { smss };
        if v.unsent < segment || v.flight_size + segment > v.rwnd {
            return TimeoutVerdict::Genuine;
        }
        self.sent_new = true;
        TimeoutVerdict::SendNew { segments: if self.as_linux { u32::MAX } else { 2 } }
    }

    /// Step 3: the next ack was elicited by data sent before the timeout, if that was still on its way.
    fn second(&self, a: &AckInfo, t: &SuspectTimeout, sack: bool, b: &dyn ScoreboardView) -> TimeoutVerdict {
        // §3.1 step 3a: new data arrived while something older is missing.
        let beyond = a.ack > t.recover || b.sacked().last().is_some_and(|range| range.end > t.recover);
        if sack && beyond {
            return TimeoutVerdict::Genuine;
        }
        match a.newly_acked > 0 || (sack && a.newly_sacked > 0) {
            // The policy knows what was sent once, also by a probe before the timeout. What is SACKed else ends the test,
            // and what is acknowledged else lets the repair go on (`tcp_process_loss`).
            true if self.as_linux && (a.ack >= t.recover || a.newly_sacked > 0) => TimeoutVerdict::Genuine,
            true if self.as_linux => TimeoutVerdict::Repair,
            // §2.1 step 3b, §3.1 step 3b: data that was not retransmitted.
            true => TimeoutVerdict::Spurious,
            // §2.1 step 3a. A DSACK alone reports the retransmission, not a hole.
            false if a.is_dup || (sack && a.dsack.is_none()) => TimeoutVerdict::Genuine,
            // What tells nothing lets Linux's repair go on.
            false if self.as_linux => TimeoutVerdict::Repair,
            false => TimeoutVerdict::Unknown,
        }
    }
}

impl Policy for FRto {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SpuriousTimeout for FRto {
    fn on_rto(&mut self, v: &SenderView) -> bool {
        self.begin();
        // §2.1 step 1: not during the repair of an earlier timeout, whose retransmissions could be mistaken
        // for originals; but again when the same segment's timeout expires once more (§2.2, §3.2). Nor during
        // the fast recovery of a sender with SACK (§2.1, §3.1).
        self.waiting = match v.phase {
            Phase::Loss => v.expiries > 0 && self.waiting,
            Phase::Recovery => !v.sack,
            _ => true,
        };
        self.waiting
    }

    fn on_ack(
        &mut self,
        a: &AckInfo,
        t: &SuspectTimeout,
        b: &dyn ScoreboardView,
        v: &SenderView,
    ) -> TimeoutVerdict {
        let sack = v.sack && self.sack_enhanced;
        let verdict = if self.sent_new { self.second(a, t, sack, b) } else { self.first(a, t, sack, v) };
        self.waiting &= matches!(verdict, TimeoutVerdict::Unknown | TimeoutVerdict::Repair);
        verdict
    }

    fn resume(&mut self, a: &AckInfo, t: &SuspectTimeout, v: &SenderView) -> Window {
        self.response.window(a, t, v)
    }

    fn adapts_timer(&self) -> bool {
        self.adapt_timer
    }
}

/// Forward RTO-recovery.
pub(crate) const ENTRY: Entry<dyn SpuriousTimeout> = Entry {
    name: "f-rto",
    about: "F-RTO: after a timeout, sends two new segments on the first ack; if the next ack acknowledges \
            data that was not retransmitted, the timeout was spurious.",
    source: "RFC 5682 2.1 and 3.1",
    params: &[
        RESPONSE,
        ADAPT_TIMER,
        Param::flag(
            "sack_enhanced",
            true,
            "use the SACK-enhanced algorithm (3.1) on connections with SACK, rather than the basic one (2.1)",
        ),
    ],
    build: |p| {
        Box::new(FRto {
            response: Response::new(p),
            adapt_timer: p.flag("adapt_timer"),
            sack_enhanced: p.flag("sack_enhanced"),
            as_linux: false,
            sent_new: false,
            waiting: false,
        })
    },
};
