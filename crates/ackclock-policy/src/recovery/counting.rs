use ackclock_units::{Bytes, SeqRange};

use super::course::lost_or_new;
use super::duplicates::Duplicates;
use crate::{AckInfo, LossRecovery, Phase, Policy, ScoreboardView, SenderView};

/// What a rule makes of an ack that counts duplicate acks and looks at nothing else; [`Counting`] does the
/// rest.
pub(super) trait AckRule: Send + std::fmt::Debug {
    /// Its name in the registry.
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

/// A loss recovery by duplicate acks. Tahoe, Reno and NewReno differ in nothing but what they make of an ack.
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
        self.duplicates.follow(v);
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
        self.duplicates.resent();
    }

    fn on_undo(&mut self, v: &SenderView) {
        self.duplicates.undo(v);
    }
}
