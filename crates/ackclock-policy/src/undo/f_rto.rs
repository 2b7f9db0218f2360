use super::response::{ADAPT_TIMER, RESPONSE, Response};
use crate::{
    AckInfo, Entry, Param, Phase, Policy, ScoreboardView, SenderView, SpuriousTimeout, SuspectTimeout,
    TimeoutVerdict, Window,
};

/// The first ack after a timeout is answered with new data instead of old; the second then tells.
#[derive(Debug)]
struct FRto {
    response: Response,
    adapt_timer: bool,
    sack_enhanced: bool,
    /// New data was sent (step 3), or not yet (step 2).
    sent_new: bool,
}

impl FRto {
    /// Step 2: the retransmission is acknowledged.
    fn first(&mut self, a: &AckInfo, t: &SuspectTimeout, sack: bool, v: &SenderView) -> TimeoutVerdict {
        if a.newly_acked == 0 {
            // RFC 5682 §2.1 step 2a; §3.1 step 2 waits for the retransmission's ack, whatever SACKs come
            // before.
            return if a.is_dup && !sack { TimeoutVerdict::Genuine } else { TimeoutVerdict::Unknown };
        }
        // Everything is acknowledged, by whichever transmission.
        if a.ack >= t.recover {
            return TimeoutVerdict::Genuine;
        }
        if a.ack < t.resent_to {
            return if sack { TimeoutVerdict::Unknown } else { TimeoutVerdict::Genuine };
        }
        // Step 2b needs a new segment, and room for it at the receiver.
        let segment = u64::from(v.smss);
        if v.unsent < segment || v.flight_size + segment > v.rwnd {
            return TimeoutVerdict::Genuine;
        }
        self.sent_new = true;
        TimeoutVerdict::SendNew { segments: 2 }
    }

    /// Step 3: the next ack comes from what had been sent before the timeout, if that is still on its way.
    fn second(a: &AckInfo, t: &SuspectTimeout, sack: bool, b: &dyn ScoreboardView) -> TimeoutVerdict {
        // §3.1 step 3a: new data arrived while something older is missing.
        let beyond = a.ack > t.recover || b.sacked().last().is_some_and(|range| range.end > t.recover);
        if sack && beyond {
            return TimeoutVerdict::Genuine;
        }
        match a.newly_acked > 0 || (sack && a.newly_sacked > 0) {
            // §2.1 step 3b, §3.1 step 3b: data that was not resent.
            true => TimeoutVerdict::Spurious,
            // §2.1 step 3a. A DSACK alone reports the retransmission, not a hole.
            false if a.is_dup || (sack && a.dsack.is_none()) => TimeoutVerdict::Genuine,
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
        self.sent_new = false;
        // §2.1 step 1: not while the repair of an earlier timeout goes on, whose retransmissions would be
        // mistaken for originals.
        v.expiries == 0 && v.phase != Phase::Loss
    }

    fn on_ack(
        &mut self,
        a: &AckInfo,
        t: &SuspectTimeout,
        b: &dyn ScoreboardView,
        v: &SenderView,
    ) -> TimeoutVerdict {
        let sack = v.sack && self.sack_enhanced;
        if self.sent_new { Self::second(a, t, sack, b) } else { self.first(a, t, sack, v) }
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
    about: "F-RTO: after a timeout, answers the first ack with two new segments; if the next one \
            acknowledges what was not resent, nothing was lost.",
    source: "RFC 5682 2.1 and 3.1",
    params: &[
        RESPONSE,
        ADAPT_TIMER,
        Param::flag(
            "sack_enhanced",
            true,
            "use SACKs where there are some (3.1) rather than the basic algorithm (2.1)",
        ),
    ],
    build: |p| {
        Box::new(FRto {
            response: Response::new(p),
            adapt_timer: p.flag("adapt_timer"),
            sack_enhanced: p.flag("sack_enhanced"),
            sent_new: false,
        })
    },
};
