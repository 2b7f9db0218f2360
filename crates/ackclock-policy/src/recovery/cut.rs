use ackclock_units::{Bytes, SeqNumber, SeqRange};

use super::halving::Halving;
use super::resent::Resent;
use crate::{AckInfo, Adjustment, Params, Phase, ScoreboardView, SenderView};

/// What recoveries by SACK share beyond telling what is lost: how the window comes down (M-A8), and what
/// becomes of lost retransmissions (M-A10).
#[derive(Debug)]
pub(super) struct Cut {
    /// Set when the rate is halved during a round trip rather than the window at once.
    halving: Option<Halving>,
    resent: Resent,
}

impl Cut {
    /// Reads [`ADJUSTMENT`], [`BOUNDS`], [`WHOLE_SEGS`] and [`lost_retransmissions`].
    ///
    /// [`ADJUSTMENT`]: super::halving::ADJUSTMENT
    /// [`BOUNDS`]: super::halving::BOUNDS
    /// [`WHOLE_SEGS`]: super::halving::WHOLE_SEGS
    /// [`lost_retransmissions`]: super::resent::lost_retransmissions
    pub fn new(p: &Params) -> Self {
        Self {
            halving: (p.choice("adjustment") == "rate-halving").then(|| Halving::new(p)),
            resent: Resent::new(p),
        }
    }

    /// True when a retransmission waits for its turn in the halved rate, the first one too.
    pub fn is_gradual(&self) -> bool {
        self.halving.is_some()
    }

    /// Nothing is suspicious.
    pub fn stop(&mut self) {
        if let Some(halving) = &mut self.halving {
            halving.stop();
        }
    }

    /// An ack came while something is SACKed, up to `fack`, and nothing is known to be lost.
    pub fn suspect(&mut self, a: &AckInfo, fack: SeqNumber, v: &SenderView) {
        if let Some(halving) = &mut self.halving {
            // An ECN echo has halved this window already.
            if v.phase == Phase::Cwr { halving.stop() } else { halving.suspect(a, fack, v) }
        }
    }

    /// An episode begins.
    pub fn open(&mut self, v: &SenderView) {
        self.resent.begin(v);
        if let Some(halving) = &mut self.halving {
            halving.declare(v);
        }
    }

    /// An ack came in the episode.
    pub fn count(&mut self, a: &AckInfo, fack: SeqNumber, v: &SenderView) {
        if let Some(halving) = &mut self.halving {
            halving.count(a, fack, v);
        }
    }

    /// Adds to `lost` the retransmissions that were lost.
    pub fn find(
        &mut self,
        dup_thresh: u32,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) {
        if self.resent.find(dup_thresh, b, v, lost)
            && v.phase == Phase::Recovery
            && let Some(halving) = &mut self.halving
        {
            halving.again(v);
        }
    }

    /// The episode is over.
    pub fn close(&mut self) {
        self.resent.forget();
    }

    /// The timer expired, or what it did was taken back.
    pub fn restart(&mut self, v: &SenderView) {
        self.stop();
        self.resent.begin(v);
    }

    /// `sent` was sent again.
    pub fn note(&mut self, sent: SeqRange, v: &SenderView) {
        self.resent.note(sent, v);
        if let Some(halving) = &mut self.halving {
            halving.resent(sent.len());
        }
    }

    /// What happens to the window, with `in_flight` in the network.
    pub fn adjust(&mut self, in_flight: Bytes, v: &SenderView) -> Adjustment {
        if self.resent.take_signal() {
            return Adjustment::Reduce;
        }
        let repaired = v.phase != Phase::Recovery;
        let window = self
            .halving
            .as_mut()
            .filter(|_| v.phase != Phase::Loss)
            .and_then(|halving| halving.window(in_flight, repaired, v));
        window.map_or(Adjustment::Keep, Adjustment::SetWindow)
    }

    /// Bytes that may be sent before a loss is certain; `None` when the rate is not being halved.
    pub fn quota(&mut self, in_flight: Bytes, v: &SenderView) -> Option<Bytes> {
        self.halving
            .as_mut()
            .filter(|_| v.phase == Phase::Disorder)
            .and_then(|halving| halving.quota(in_flight, v))
    }
}
