use super::response::{RESPONSE, Response};
use crate::{AckInfo, Entry, Policy, Scoreboard, SenderView, SpuriousTimeout, Timeout, Verdict, Window};

/// The timestamp of the first ack of new data after a timeout tells which transmission it answers.
#[derive(Debug)]
struct Eifel {
    response: Response,
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

    fn on_ack(&mut self, a: &AckInfo, t: &Timeout, _b: &dyn Scoreboard, _v: &SenderView) -> Verdict {
        // RFC 3522 §3.2 steps 3 to 5: the first acceptable ack decides. Acks that acknowledge nothing new may still be of the time before.
        if a.newly_acked == 0 {
            return Verdict::Unknown;
        }
        if t.answers_original == Some(true) { Verdict::Spurious } else { Verdict::Genuine }
    }

    fn resume(&mut self, a: &AckInfo, t: &Timeout, v: &SenderView) -> Window {
        self.response.window(a, t, v)
    }
}

/// The Eifel algorithm.
pub(crate) const ENTRY: Entry<dyn SpuriousTimeout> = Entry {
    name: "eifel",
    about: "Eifel detection by timestamps, which the connection must offer: the first ack after a timeout shows whether the original had arrived.",
    source: "E-A8; RFC 3522, RFC 4015",
    params: &[RESPONSE],
    build: |p| Box::new(Eifel { response: Response::new(p) }),
};
