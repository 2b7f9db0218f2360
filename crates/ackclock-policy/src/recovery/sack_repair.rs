use ackclock_units::{Bytes, SeqNumber, SeqRange};

use super::halving::Halving;
use super::lost_retransmissions::LostRetransmissions;
use crate::{AckInfo, Adjustment, Params, Phase, ScoreboardView, SenderView};

/// What SACK-based recoveries share besides loss detection: how the window is reduced (M-A8), and how lost
/// retransmissions are found (M-A10).
#[derive(Debug)]
pub(super) struct SackRepair {
    /// Set when the rate is halved during a round trip, rather than the window at once.
    halving: Option<Halving>,
    lost_retransmissions: LostRetransmissions,
}

impl SackRepair {
    /// Reads [`ADJUSTMENT`], [`BOUNDS`], [`WHOLE_SEGS`] and [`lost_retransmissions`].
    ///
    /// [`ADJUSTMENT`]: super::halving::ADJUSTMENT
    /// [`BOUNDS`]: super::halving::BOUNDS
    /// [`WHOLE_SEGS`]: super::halving::WHOLE_SEGS
    /// [`lost_retransmissions`]: super::lost_retransmissions::lost_retransmissions
    pub fn new(p: &Params) -> Self {
        Self {
            halving: (p.choice("adjustment") == "rate-halving").then(|| Halving::new(p)),
            lost_retransmissions: LostRetransmissions::new(p),
        }
    }

    /// True when retransmissions, the first one included, wait for their turn in the halved rate.
    pub fn is_gradual(&self) -> bool {
        self.halving.is_some()
    }

    /// Nothing indicates a loss.
    pub fn stop(&mut self) {
        if let Some(halving) = &mut self.halving {
            halving.stop();
        }
    }

    /// An ack arrived while data up to `fack` is SACKed and nothing is known to be lost.
    pub fn suspect(&mut self, a: &AckInfo, fack: SeqNumber, v: &SenderView) {
        if let Some(halving) = &mut self.halving {
            // An ECN echo has halved this window already.
            if v.phase == Phase::Cwr { halving.stop() } else { halving.suspect(a, fack, v) }
        }
    }

    /// An episode begins.
    pub fn open(&mut self, v: &SenderView) {
        self.lost_retransmissions.begin(v);
        if let Some(halving) = &mut self.halving {
            halving.loss_detected(v);
        }
    }

    /// An ack arrived during the episode.
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
        if self.lost_retransmissions.find(dup_thresh, b, v, lost)
            && v.phase == Phase::Recovery
            && let Some(halving) = &mut self.halving
        {
            halving.restart(v);
        }
    }

    /// The episode is over.
    pub fn close(&mut self) {
        self.lost_retransmissions.forget();
    }

    /// The timer expired, or its expiry was undone.
    pub fn restart(&mut self, v: &SenderView) {
        self.stop();
        self.lost_retransmissions.begin(v);
    }

    /// `sent` was retransmitted.
    pub fn note(&mut self, sent: SeqRange, v: &SenderView) {
        self.lost_retransmissions.note(sent, v);
        if let Some(halving) = &mut self.halving {
            halving.on_retransmit(sent.len());
        }
    }

    /// The change of the window, with `in_flight` in the network.
    pub fn adjust(&mut self, in_flight: Bytes, v: &SenderView) -> Adjustment {
        if self.lost_retransmissions.take_signal() {
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
