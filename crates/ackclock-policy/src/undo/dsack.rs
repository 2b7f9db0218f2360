use ackclock_units::SeqRange;

use crate::{
    AckInfo, Entry, EpisodeVerdict, Phase, Policy, ScoreboardView, SenderView, SpuriousTimeout,
    SuspectEpisode,
};

/// When the receiver has reported every retransmission of an episode as a duplicate, nothing was lost.
#[derive(Debug, Default)]
struct Dsack(Option<Box<Reports>>);

/// What was retransmitted and reported, from the first retransmission on.
#[derive(Debug, Default)]
struct Reports {
    /// What was retransmitted, the latest last.
    retransmitted: Vec<Retransmitted>,
    /// The network has duplicated a segment: reports of duplicates prove nothing on this connection.
    network_duplicates: bool,
}

/// A segment that was retransmitted.
#[derive(Clone, Copy, Debug)]
struct Retransmitted {
    range: SeqRange,
    /// In this episode, and not before it or as a probe.
    in_episode: bool,
    repeatedly: bool,
    duplicate: bool,
}

/// Retransmissions that are remembered; an episode with more is not undone.
const MOST: usize = 1024;

impl Reports {
    fn add(&mut self, range: SeqRange, in_episode: bool) {
        let mine = |r: &&mut Retransmitted| range.is_inside(r.range) && r.in_episode;
        if let Some(known) = self.retransmitted.iter_mut().find(mine) {
            known.repeatedly = true;
            return;
        }
        if self.retransmitted.len() == MOST {
            self.retransmitted.remove(0);
        }
        self.retransmitted.push(Retransmitted { range, in_episode, repeatedly: false, duplicate: false });
    }

    fn verdict(&mut self, a: &AckInfo, b: &dyn ScoreboardView) -> EpisodeVerdict {
        if self.network_duplicates || self.retransmitted.len() == MOST {
            return EpisodeVerdict::Genuine;
        }
        let nothing_sacked = b.sacked().is_empty() && !a.has_sack;
        if let Some(verdict) = a.dsack.and_then(|range| self.take(range, nothing_sacked, a)) {
            return verdict;
        }
        if self.all_were_duplicates() { EpisodeVerdict::Spurious } else { EpisodeVerdict::Unknown }
    }

    /// RFC 3708 §3 (A): what the report of the duplicate `range` shows. `None` when it is not to be used.
    fn take(&mut self, range: SeqRange, nothing_sacked: bool, a: &AckInfo) -> Option<EpisodeVerdict> {
        let snd_una = a.ack - a.newly_acked as u32;
        // (A.1): a whole window of acks was dropped.
        if nothing_sacked && range.start == snd_una {
            return Some(EpisodeVerdict::Genuine);
        }
        let Some(found) = self.retransmitted.iter_mut().rev().find(|r| range.is_inside(r.range)) else {
            // (A.4)
            self.network_duplicates = true;
            return Some(EpisodeVerdict::Genuine);
        };
        // (A.3), (A.2)
        if found.repeatedly && found.in_episode {
            return Some(EpisodeVerdict::Genuine);
        }
        found.duplicate = true;
        None
    }

    /// (B): all retransmissions of the episode were duplicates.
    fn all_were_duplicates(&self) -> bool {
        let mut mine = self.retransmitted.iter().filter(|r| r.in_episode).peekable();
        mine.peek().is_some() && mine.all(|r| r.duplicate)
    }
}

impl Policy for Dsack {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SpuriousTimeout for Dsack {
    fn examines_episodes(&self) -> bool {
        true
    }

    fn on_episode(&mut self, _b: &dyn ScoreboardView, _v: &SenderView) {
        if let Some(reports) = &mut self.0 {
            reports.retransmitted.iter_mut().for_each(|r| r.in_episode = false);
        }
    }

    fn on_retransmit(&mut self, sent: SeqRange, v: &SenderView) {
        let in_episode = matches!(v.phase, Phase::Recovery | Phase::Loss);
        self.0.get_or_insert_default().add(sent, in_episode);
    }

    fn on_episode_ack(
        &mut self,
        a: &AckInfo,
        _e: &SuspectEpisode,
        b: &dyn ScoreboardView,
        _v: &SenderView,
    ) -> EpisodeVerdict {
        self.0.as_mut().map_or(EpisodeVerdict::Unknown, |reports| reports.verdict(a, b))
    }
}

/// RFC 3708.
pub(crate) const ENTRY: Entry<dyn SpuriousTimeout> = Entry {
    name: "dsack",
    about: "Detection by DSACK: when the receiver has reported every retransmission of an episode as a \
            duplicate, none was necessary, and the window from before the episode is restored; on a \
            connection whose network duplicates segments, never.",
    source: "RFC 3708 3",
    params: &[],
    build: |_| Box::new(Dsack::default()),
};
