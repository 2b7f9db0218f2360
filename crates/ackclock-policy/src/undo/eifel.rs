use super::response::{ADAPT_TIMER, RESPONSE, Response};
use crate::{
    AckInfo, Entry, Policy, ScoreboardView, SenderView, SpuriousTimeout, SuspectTimeout, TimeoutVerdict,
    Window,
};

/// The timestamp of the first ack of new data after a timeout shows which transmission elicited it.
#[derive(Debug)]
struct Eifel {
    response: Response,
    adapt_timer: bool,
}

impl Policy for Eifel {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SpuriousTimeout for Eifel {
    fn on_rto(&mut self, v: &SenderView) -> bool {
        v.timestamps
    }

    fn on_ack(
        &mut self,
        a: &AckInfo,
        t: &SuspectTimeout,
        _b: &dyn ScoreboardView,
        _v: &SenderView,
    ) -> TimeoutVerdict {
        // RFC 3522 §3.2, step 3: the first acceptable ack decides. Acks that acknowledge nothing new may have
        // been sent before the timeout.
        if a.newly_acked == 0 {
            return TimeoutVerdict::Unknown;
        }
        // Step 5: when every ack of a window was lost, a segment that arrives twice elicits an ack with the
        // old timestamp too. A receiver with DSACK then reports the duplicate; from one that has never sent a
        // DSACK, an ack of everything outstanding proves nothing (§3.3).
        if a.dsack.is_some() || (a.ack >= t.recover && !t.dsack_seen) {
            return TimeoutVerdict::Genuine;
        }
        // Step 4.
        if t.acks_original == Some(true) { TimeoutVerdict::Spurious } else { TimeoutVerdict::Genuine }
    }

    fn resume(&mut self, a: &AckInfo, t: &SuspectTimeout, v: &SenderView) -> Window {
        self.response.window(a, t, v)
    }

    fn adapts_timer(&self) -> bool {
        self.adapt_timer
    }
}

/// The Eifel algorithm.
pub(crate) const ENTRY: Entry<dyn SpuriousTimeout> = Entry {
    name: "eifel",
    about: "Eifel detection by timestamps, which the connection must offer: the first ack of new data after \
            a timeout shows whether the original segment elicited it.",
    source: "Ludwig & Sklower 2000 (E-A8); RFC 3522, RFC 4015",
    params: &[RESPONSE, ADAPT_TIMER],
    build: |p| Box::new(Eifel { response: Response::new(p), adapt_timer: p.flag("adapt_timer") }),
};
