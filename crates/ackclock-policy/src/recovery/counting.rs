use ackclock_units::{Bytes, SeqRange};

use super::duplicates::Duplicates;
use super::episode::lost_or_new;
use crate::{AckInfo, LossRecovery, Phase, Policy, ScoreboardView, SenderView};

/// How a recovery that only counts duplicate acks processes an ack; [`Counting`] does the rest.
pub(super) trait AckRule: Send + std::fmt::Debug {
    /// Name in the registry.
    const NAME: &'static str;

    /// As [`LossRecovery::on_ack`].
    fn on_ack(
        &mut self,
        duplicates: &mut Duplicates,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase;
}

/// A loss recovery by duplicate acks. Tahoe, Reno and NewReno differ only in how they process an ack.
#[derive(Debug)]
pub(super) struct Counting<R> {
    pub(super) duplicates: Duplicates,
    pub(super) rule: R,
}

impl<R: AckRule> Policy for Counting<R> {
    fn name(&self) -> &str {
        R::NAME
    }
}

impl<R: AckRule> LossRecovery for Counting<R> {
    fn on_ack(
        &mut self,
        a: &AckInfo,
        b: &dyn ScoreboardView,
        v: &SenderView,
        lost: &mut Vec<SeqRange>,
    ) -> Phase {
        self.duplicates.update(v);
        self.rule.on_ack(&mut self.duplicates, a, b, v, lost)
    }

    fn on_rto(&mut self, _b: &dyn ScoreboardView, v: &SenderView, lost: &mut Vec<SeqRange>) {
        self.duplicates.expired(v);
        lost.push(SeqRange::new(v.snd_una, v.snd_nxt));
    }

    fn next_seg(&mut self, b: &dyn ScoreboardView, v: &SenderView) -> Option<SeqRange> {
        lost_or_new(b, v)
    }

    fn quota(&mut self, v: &SenderView) -> Bytes {
        self.duplicates.quota(v)
    }

    fn on_retransmit(&mut self, _sent: SeqRange, _v: &SenderView) {
        self.duplicates.on_retransmit();
    }

    fn on_undo(&mut self, v: &SenderView) {
        self.duplicates.undo(v);
    }
}
