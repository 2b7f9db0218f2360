use ackclock_units::{SeqNumber, SeqRange};

use super::f_rto::FRto;
use crate::{
    AckInfo, Entry, EpisodeVerdict, Param, Phase, Policy, ScoreboardView, SenderView, SpuriousTimeout,
    SuspectEpisode, SuspectTimeout, TimeoutVerdict, Window,
};

/// F-RTO, timestamps and DSACK together, as Linux has them.
#[derive(Debug)]
struct Linux {
    f_rto: Option<FRto>,
    /// From the first retransmission on.
    counts: Option<Box<Counts>>,
}

/// What was retransmitted and reported.
#[derive(Debug, Default)]
struct Counts {
    /// Retransmitted segments of the episode that were not reported as duplicates; `None` before the first
    /// (`undo_retrans`).
    unreported: Option<u32>,
    /// The end of what was outstanding when a tail loss probe repeated a segment.
    probed_until: Option<SeqNumber>,
    /// No episode has begun since.
    probe_is_out: bool,
    /// Segments retransmitted, and those reported as duplicates, on the whole connection.
    retransmitted: u32,
    reported: u32,
}

impl Counts {
    /// Counts a DSACK (`tcp_check_dsack`, `tcp_sacktag_one`).
    fn count_duplicates(&mut self, range: SeqRange, a: &AckInfo, e: &SuspectEpisode, v: &SenderView) {
        let segs = range.len().div_ceil(v.smss.max(1));
        self.reported = self.reported.saturating_add(segs);
        // More than was retransmitted: the network duplicates.
        if self.reported > self.retransmitted || range.end <= e.start {
            return;
        }
        // Of what was outstanding until this ack, only what was retransmitted counts; of what was acknowledged
        // before, nobody remembers that any more.
        let forgotten = range.end <= a.ack - a.newly_acked as u32;
        let segs = if forgotten { segs } else { a.dsack_sent_again };
        self.unreported = self.unreported.map(|n| n.saturating_sub(segs));
    }
}

/// The outstanding segments that were retransmitted and are in the network (`retrans_out`). What only a tail loss probe
/// has repeated is not among them.
fn retransmissions_out(b: &dyn ScoreboardView, v: &SenderView, probed: Option<SeqNumber>) -> u32 {
    let (mut at, mut found): (SeqNumber, u32) = (v.snd_una, 0);
    while let Some(s) = b.next_unsacked(at).and_then(|range| b.segment(range.start)) {
        let by_probe = s.transmissions == 2 && Some(s.range.end) == probed;
        found += u32::from(s.transmissions > 1 && !s.lost && !by_probe);
        at = s.range.end;
    }
    found
}

impl Policy for Linux {
    fn name(&self) -> &str {
        ENTRY.name
    }
}

impl SpuriousTimeout for Linux {
    fn on_rto(&mut self, v: &SenderView) -> bool {
        // tcp_enter_loss: at a timeout outside of a repair, and at all that follow another without an ack of
        // new data between them, whether that was examined or not.
        let outside = !matches!(v.phase, Phase::Recovery | Phase::Loss);
        if let Some(f_rto) = &mut self.f_rto {
            f_rto.begin();
        }
        self.f_rto.is_some() && (outside || v.expiries > 0)
    }

    fn on_ack(
        &mut self,
        a: &AckInfo,
        t: &SuspectTimeout,
        b: &dyn ScoreboardView,
        v: &SenderView,
    ) -> TimeoutVerdict {
        // Without SACK an ack of the retransmission and of what follows it says nothing of when that arrived
        // (tcp_clean_rtx_queue; RFC 5682 §2.1 step 2b tests it by new data).
        let ambiguous = !v.sack && a.ack - (a.newly_acked as u32) < t.retransmitted_to;
        match &mut self.f_rto {
            // RFC 5682 §3.1 step 3b, at any ack (FLAG_ORIG_SACK_ACKED).
            _ if t.sent_once_arrived && !ambiguous => TimeoutVerdict::Spurious,
            Some(f_rto) => f_rto.on_ack(a, t, b, v),
            None => TimeoutVerdict::Genuine,
        }
    }

    fn resume(&mut self, a: &AckInfo, t: &SuspectTimeout, v: &SenderView) -> Window {
        // An ECN echo prohibits it (tcp_fastretrans_alert).
        if a.ece {
            return v.window;
        }
        // tcp_undo_cwnd_reduction
        Window { cwnd: t.window.cwnd.max(v.window.cwnd), ssthresh: t.window.ssthresh.max(v.window.ssthresh) }
    }

    fn examines_episodes(&self) -> bool {
        true
    }

    fn on_episode(&mut self, b: &dyn ScoreboardView, v: &SenderView) {
        // tcp_init_undo: a probe in the network may be reported too, also where it or what it repeats has
        // arrived, and where what it repeats was marked lost.
        if let Some(counts) = &mut self.counts {
            let out = retransmissions_out(b, v, counts.probed_until);
            let probe = counts.probe_is_out && counts.probed_until.is_some_and(|end| v.snd_una < end);
            counts.probe_is_out = false;
            counts.unreported = Some(out + u32::from(probe)).filter(|n| *n > 0);
        }
    }

    fn on_retransmit(&mut self, sent: SeqRange, v: &SenderView) {
        let (segs, counts) = (sent.len().div_ceil(v.smss.max(1)), self.counts.get_or_insert_default());
        counts.retransmitted = counts.retransmitted.saturating_add(segs);
        if matches!(v.phase, Phase::Recovery | Phase::Loss) {
            counts.unreported = Some(counts.unreported.unwrap_or(0).saturating_add(segs));
        } else {
            (counts.probed_until, counts.probe_is_out) = (Some(sent.end), true);
        }
    }

    fn on_episode_ack(
        &mut self,
        a: &AckInfo,
        e: &SuspectEpisode,
        b: &dyn ScoreboardView,
        v: &SenderView,
    ) -> EpisodeVerdict {
        let Some(counts) = &mut self.counts else { return EpisodeVerdict::Unknown };
        if let Some(range) = a.dsack {
            counts.count_duplicates(range, a, e, v);
        }
        let (all_reported, delayed) = (counts.unreported == Some(0), e.acks_original == Some(true));
        let spurious = match v.phase {
            // tcp_try_undo_recovery
            Phase::Recovery if a.ack >= e.recover => all_reported || delayed,
            // tcp_try_undo_partial
            Phase::Recovery
                if delayed && a.newly_acked > 0 && retransmissions_out(b, v, counts.probed_until) == 0 =>
            {
                return EpisodeVerdict::AllLate;
            }
            // tcp_try_undo_dsack
            Phase::Recovery if all_reported => return EpisodeVerdict::Reported,
            Phase::Recovery => false,
            // tcp_try_undo_loss
            Phase::Loss => a.newly_acked > 0 && (all_reported || delayed),
            // tcp_try_undo_dsack
            Phase::Open | Phase::Disorder => all_reported,
            Phase::Cwr => false,
        };
        if spurious { EpisodeVerdict::Spurious } else { EpisodeVerdict::Unknown }
    }
}

/// Linux's undo.
pub(crate) const ENTRY: Entry<dyn SpuriousTimeout> = Entry {
    name: "linux",
    about: "Linux's undo of timeouts and recoveries: F-RTO, timestamps of acks that only the original can \
            have elicited, and DSACKs of every retransmission; the window and threshold from before are \
            restored if they were larger.",
    source: "Linux 6.18, net/ipv4/tcp_input.c (tcp_try_undo_recovery, tcp_try_undo_partial, \
             tcp_try_undo_dsack, tcp_try_undo_loss, tcp_process_loss); RFC 5682, RFC 3522, RFC 3708",
    params: &[Param::flag("f_rto", true, "examine timeouts by F-RTO (tcp_frto)")],
    build: |p| Box::new(Linux { f_rto: p.flag("f_rto").then(FRto::of_linux), counts: None }),
};
