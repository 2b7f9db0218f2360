use ackclock_units::Bytes;

use crate::{AckInfo, Entry, Param, Policy, PrivateState, Reduction, SenderView, Window};

/// Proportional rate reduction (RFC 9937): the flight falls to the threshold in proportion to what is
/// delivered, and grows to it where the losses have made it smaller.
#[derive(Debug)]
struct Prr {
    /// What is delivered in the whole recovery (RecoverFS); 0 until the ack that begins it was seen.
    recover_fs: Bytes,
    /// Delivered in this recovery so far.
    prr_delivered: Bytes,
    /// Sent in it so far.
    prr_out: Bytes,
    /// The congestion window of §6.2, which an ack that delivers nothing leaves as it is. No receiver's window is larger
    /// than 1 GiB (RFC 7323 §2.3).
    cwnd: u32,
    whole_segs: bool,
    from_window: bool,
}

impl Prr {
    /// Bytes that may be sent after `delivered` bytes were. `safe`: the ack made progress and found no loss.
    fn send_count(&mut self, delivered: Bytes, safe: bool, v: &SenderView) -> Bytes {
        let smss = u64::from(v.smss.max(1));
        let unit = if self.whole_segs { smss } else { 1 };
        if delivered == 0 {
            // §6.2: nothing else is done. What the window holds may leave, where less is found to be in the network.
            return u64::from(self.cwnd).saturating_sub(v.pipe);
        }
        let delivered = delivered.div_ceil(unit);
        let (ssthresh, in_flight) = (v.window.ssthresh / unit, v.pipe.div_ceil(unit));
        self.prr_delivered += delivered;
        // A recovery without a measure of its flight, as after an undone timeout, reduces nothing.
        let recover_fs = self.recover_fs.div_ceil(unit).max(1);
        let count = if in_flight > ssthresh {
            // §6.2: the proportional part.
            let allowed = u128::from(self.prr_delivered) * u128::from(ssthresh);
            let allowed = allowed.div_ceil(u128::from(recover_fs));
            u64::try_from(allowed).unwrap_or(u64::MAX).saturating_sub(self.prr_out)
        } else {
            // §6.2: no more than was delivered (PRR-CRB), or while the repair goes well a segment more
            // (PRR-SSRB).
            let conservative = self.prr_delivered.saturating_sub(self.prr_out).max(delivered);
            let bound = conservative + if safe { smss / unit } else { 0 };
            bound.min(ssthresh - in_flight)
        };
        // §6.2: the fast retransmit is sent in any case.
        let count = if self.prr_out == 0 && count < smss / unit { smss / unit } else { count };
        self.cwnd = window(in_flight.saturating_add(count).saturating_mul(unit));
        count.saturating_mul(unit)
    }
}

fn window(bytes: Bytes) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Policy for Prr {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("recover_fs", self.recover_fs as f64);
        state.number("prr_delivered", self.prr_delivered as f64);
        state.number("prr_out", self.prr_out as f64);
        state.number("cwnd", f64::from(self.cwnd));
    }
}

impl Reduction for Prr {
    fn begin(&mut self, before: Window, _v: &SenderView) {
        (self.prr_delivered, self.prr_out, self.cwnd) = (0, 0, window(before.cwnd));
        self.recover_fs = if self.from_window { before.cwnd } else { 0 };
    }

    fn on_ack(&mut self, a: &AckInfo, v: &SenderView) -> Bytes {
        if self.recover_fs == 0 {
            // §6.1: what was outstanding without what had been SACKed before, and with what this ack reports.
            // That is what is still in the network, what is lost, and what this ack has delivered.
            self.recover_fs = v.pipe + a.newly_lost + a.delivered;
        }
        // safeACK of §6.2.
        self.send_count(a.delivered, a.newly_acked > 0 && a.newly_lost == 0, v)
    }

    fn on_timer(&mut self, newly_lost: Bytes, v: &SenderView) -> Bytes {
        if self.recover_fs == 0 {
            self.recover_fs = v.pipe + newly_lost;
        }
        self.send_count(v.smss.into(), false, v)
    }

    fn on_sent(&mut self, bytes: u32, smss: u32) {
        let unit = if self.whole_segs { smss.max(1) } else { 1 };
        // §6.3
        self.prr_out += u64::from(bytes.div_ceil(unit));
    }
}

/// Proportional rate reduction.
pub(crate) const ENTRY: Entry<dyn Reduction> = Entry {
    name: "prr",
    about: "Proportional rate reduction: while a loss is repaired, sends in proportion to what is delivered, \
            so that the flight ends at the threshold.",
    source: "RFC 9937",
    params: &[
        Param::flag(
            "whole_segs",
            false,
            "count in whole segments, rounded up, as Linux does; otherwise in bytes (RFC 9937 6.2)",
        ),
        Param::flag(
            "from_window",
            false,
            "begin with the congestion window, as Linux does (`prior_cwnd`), instead of with the flight \
             (RecoverFS, RFC 9937 6.1)",
        ),
    ],
    build: |p| {
        Box::new(Prr {
            recover_fs: 0,
            prr_delivered: 0,
            prr_out: 0,
            cwnd: 0,
            whole_segs: p.flag("whole_segs"),
            from_window: p.flag("from_window"),
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{ack, view};
    use crate::{Params, Phase, Registry};

    /// A recovery from `flight` segments with a threshold of half of it. Each of `lost` segments is marked
    /// lost with the first ack, and every ack delivers one segment. Returns how many segments are sent on
    /// each ack.
    fn sent_per_ack(settings: &[(&str, &str)], flight: u64, lost: u64, acks: u64) -> Vec<u64> {
        let mut chosen = Registry::builtin().choose::<dyn Reduction>("prr").expect("built in");
        for (name, value) in settings {
            chosen.set(name, value).expect("declared");
        }
        let mut prr = chosen.build();
        let window = Window { cwnd: 1000 * flight / 2, ssthresh: 1000 * flight / 2 };
        let before = Window { cwnd: 1000 * flight, ssthresh: u64::MAX };
        let mut v = SenderView { window, pipe: 1000 * flight, phase: Phase::Recovery, sack: true, ..view() };
        prr.begin(before, &v);
        (0..acks)
            .map(|i| {
                let newly_lost = if i == 0 { 1000 * lost } else { 0 };
                v.pipe -= 1000 + newly_lost;
                let a = AckInfo { newly_sacked: 1000, delivered: 1000, newly_lost, ..ack(1, 0) };
                let segments = prr.on_ack(&a, &v) / 1000;
                for _ in 0..segments {
                    prr.on_sent(1000, 1000);
                    v.pipe += 1000;
                }
                segments
            })
            .collect()
    }

    #[test]
    fn one_loss_sends_on_every_second_ack() {
        // A flight of 20 segments, one of them lost, falls to ten.
        let sent = sent_per_ack(&[], 20, 1, 19);
        assert_eq!(sent[..6], [1, 0, 0, 1, 0, 1], "the retransmission is ahead of the first half");
        assert_eq!(sent.iter().sum::<u64>(), 10, "the flight ends at the threshold");
    }

    #[test]
    fn a_burst_of_losses_is_repaired_one_for_each_delivery() {
        // With 15 of 20 lost the flight is below the threshold, and each ack lets one go (PRR-CRB).
        assert_eq!(sent_per_ack(&[], 20, 15, 4), [1, 1, 1, 1]);
    }

    #[test]
    fn segments_round_up() {
        let whole = [("whole_segs", "true"), ("from_window", "true")];
        assert_eq!(sent_per_ack(&whole, 20, 1, 6), [1, 0, 1, 0, 1, 0]);
    }

    #[test]
    fn an_ack_that_goes_well_lets_one_more_go() {
        let mut prr = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let window = Window { cwnd: 10_000, ssthresh: 10_000 };
        let v = SenderView { window, pipe: 4000, phase: Phase::Recovery, ..view() };
        prr.begin(Window { cwnd: 20_000, ssthresh: u64::MAX }, &v);
        prr.on_sent(1000, 1000);
        let a = AckInfo { delivered: 1000, ..ack(1001, 1000) };
        assert_eq!(prr.on_ack(&a, &v), 2000);
        let lossy = AckInfo { newly_lost: 1000, ..a };
        assert_eq!(prr.on_ack(&lossy, &v), 1000);
    }

    #[test]
    fn an_ack_that_delivers_nothing_leaves_the_window() {
        let mut prr = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let window = Window { cwnd: 8000, ssthresh: 8000 };
        let mut v = SenderView { window, pipe: 0, phase: Phase::Recovery, ..view() };
        prr.begin(Window { cwnd: 12_000, ssthresh: u64::MAX }, &v);
        let nothing = AckInfo { delivered: 0, ..ack(1001, 0) };
        assert_eq!(prr.on_ack(&nothing, &v), 12_000, "with the window as it was before");
        v.pipe = 6000;
        (0..6).for_each(|_| prr.on_sent(1000, 1000));
        assert_eq!(prr.on_ack(&AckInfo { delivered: 1000, ..ack(1001, 0) }, &v), 1000, "PRR-CRB");
        assert_eq!(prr.on_ack(&nothing, &v), 1000, "it was not sent yet");
        v.pipe = 7000;
        assert_eq!(prr.on_ack(&nothing, &v), 0);
    }
}
