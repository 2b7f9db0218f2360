//! The coupled dual queue with PI2 (RFC 9332).

mod control;
#[cfg(test)]
mod tests;

use ackclock_units::{Duration, Instant, Rng};

use self::control::{Pi, Recur};
use super::packets::{PacketList, Packets, fits};
use crate::{
    Admit, Backlog, Dequeued, Ecn, Entry, PacketId, PacketScheduler, Param, Params, Policy, PrivateState,
    QueueDiscipline, QueueSize, Queued,
};

#[derive(Debug)]
struct DualPi2 {
    limit: QueueSize,
    mtu: u64,
    /// Coupling factor.
    k: f64,
    min_th: Duration,
    range: Duration,
    th_len: u64,
    weights: Weights,
    packets: Packets,
    l4s: PacketList,
    classic: PacketList,
    pi: Pi,
    l4s_recur: Recur,
    classic_recur: Recur,
}

/// Weighted round robin between the queues, by bytes, as in Linux: the L queue goes first unless its packets
/// have used up the C queue's share.
#[derive(Debug)]
struct Weights {
    /// The C queue's share, in parts of 1000.
    classic: i64,
    credit: i64,
    start: i64,
}

const WHOLE: i64 = 1000;

impl Weights {
    fn new(share: f64, mtu: u64) -> Self {
        let classic = (share * WHOLE as f64 + 0.5) as i64;
        let start = mtu as i64 * (classic - (WHOLE - classic));
        Self { classic, credit: start, start }
    }

    /// Counts a packet sent while the other queue had packets too.
    fn sent(&mut self, bytes: u32, l4s: bool) {
        self.credit += i64::from(bytes) * if l4s { self.classic } else { self.classic - WHOLE };
    }
}

impl DualPi2 {
    fn new(p: &Params) -> Self {
        let (t_update, mtu) = (p.duration("t_update"), p.bytes("mtu"));
        Self {
            limit: p.queue("limit"),
            mtu,
            k: p.ratio("coupling"),
            min_th: p.duration("min_th"),
            range: p.duration("range"),
            th_len: p.count("th_len"),
            weights: Weights::new(p.ratio("classic_share"), mtu),
            packets: Packets::default(),
            l4s: PacketList::default(),
            classic: PacketList::default(),
            pi: Pi {
                target: p.duration("target"),
                t_update,
                alpha: p.ratio("alpha"),
                beta: p.ratio("beta"),
                p: 0.0,
                prevq: Duration::ZERO,
                next_update: Instant::ZERO + t_update,
            },
            l4s_recur: Recur::default(),
            classic_recur: Recur::default(),
        }
    }

    fn advance(&mut self, now: Instant) {
        // The greater of the two queues' delays (RFC 9332 figure 8 line 2a).
        let heads = [&self.l4s, &self.classic].map(|list| self.packets.first(list).map(|p| p.at));
        self.pi.advance(now, heads.into_iter().flatten().min());
    }

    /// The L queue's own marking probability (`laqm` of RFC 9332 figure 5): a ramp, or a step without range.
    fn native(&self, sojourn: Duration) -> f64 {
        // Figure 7 line 5a takes the packet out first and then asks for more than Th_len packets; by its
        // comment and the text of appendix A.2 the packet itself counts.
        if u64::from(self.l4s.backlog().packets) < self.th_len || sojourn < self.min_th {
            return 0.0;
        }
        let above = sojourn.saturating_sub(self.min_th);
        if above >= self.range { 1.0 } else { above.as_secs_f64() / self.range.as_secs_f64() }
    }

    /// The packet that leaves next, whether it is from the L queue, and whether both queues had packets.
    fn pop(&mut self) -> Option<(Queued, bool, bool)> {
        let both = !self.l4s.is_empty() && !self.classic.is_empty();
        let l4s = if both { self.weights.credit <= 0 } else { !self.l4s.is_empty() };
        let list = if l4s { &mut self.l4s } else { &mut self.classic };
        Some((self.packets.pop(list)?, l4s, both))
    }

    /// What happens to a packet that leaves (RFC 9332 figure 7).
    fn verdict(&mut self, packet: &Queued, l4s: bool, now: Instant) -> Verdict {
        // As in Linux: nothing is marked or dropped for the other queue while less than two packets wait.
        let p = if self.packets.backlog().bytes < 2 * self.mtu { 0.0 } else { self.pi.p };
        let (p_c, p_cl) = (p * p, self.k * p);
        // The L queue cannot be marked more than always: then both queues drop (lines 4b, 8b to 8i, 12b).
        let overload = p_cl >= 1.0;
        if !l4s {
            if !self.classic_recur.next(p_c) {
                return Verdict::Pass;
            }
            // p_Cmax is min(1/k^2, 1): with a k below 1 the C queue alone reaches it.
            let drops = overload || p_c >= 1.0 || packet.ecn == Ecn::NotEct;
            return if drops { Verdict::Drop } else { Verdict::Mark };
        }
        if overload {
            // All that remain are marked; to count p_CL as line 8h does would let the count grow without end.
            return if self.l4s_recur.next(p_c) { Verdict::Drop } else { Verdict::Mark };
        }
        let p_l = self.native(now.since(packet.at)).max(p_cl);
        if p_l >= 1.0 || self.l4s_recur.next(p_l) { Verdict::Mark } else { Verdict::Pass }
    }
}

/// What happens to a packet that leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl Policy for DualPi2 {
    fn name(&self) -> &str {
        "dualpi2"
    }

    fn private_state(&self, state: &mut PrivateState) {
        state.number("p", self.pi.p);
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, p: Queued, now: Instant, _: &mut Rng) -> Admit {
        self.advance(now);
        if !fits(self.packets.backlog(), p.bytes, self.limit) {
            return Admit::Drop { early: false };
        }
        // RFC 9331: ECT(1) and CE are L4S.
        let l4s = matches!(p.ecn, Ecn::Ect1 | Ecn::Ce);
        self.packets.push(if l4s { &mut self.l4s } else { &mut self.classic }, p);
        Admit::Take
    }

    fn backlog(&self) -> Backlog {
        self.packets.backlog()
    }

    fn scheduler(&mut self) -> Option<&mut dyn PacketScheduler> {
        Some(self)
    }

    fn held_bytes(&self) -> u64 {
        self.packets.held_bytes()
    }
}

impl PacketScheduler for DualPi2 {
    fn dequeue(&mut self, now: Instant, shed: &mut Vec<PacketId>) -> Option<Dequeued> {
        self.advance(now);
        while let Some((packet, l4s, both)) = self.pop() {
            let marked = match self.verdict(&packet, l4s, now) {
                Verdict::Drop => {
                    shed.push(packet.id);
                    continue;
                }
                verdict => verdict == Verdict::Mark && packet.ecn != Ecn::Ce,
            };
            // A dropped packet costs its queue no turn.
            if both {
                self.weights.sent(packet.bytes, l4s);
            }
            return Some(Dequeued { packet, marked });
        }
        self.weights.credit = self.weights.start;
        None
    }
}

/// The coupled dual queue with PI2.
pub const ENTRY: Entry<dyn QueueDiscipline> = Entry {
    name: "dualpi2",
    about: "A shallow queue for L4S (ECT(1) and CE) beside one for everything else; one controller drops or \
            marks in the second with a squared probability, and marks in the first so that both get about \
            the same rate.",
    source: "RFC 9332 appendices A.1 and A.2, with the gains and the update interval that its text states \
             for the reference implementation (figure 2 derives 15 ms and 3.0 Hz); limit and the weighted \
             round robin as in an undated sch_dualpi2.c of Linux",
    params: &[
        Param::queue(
            "limit",
            QueueSize::Packets(10_000),
            40,
            "capacity of both queues together, not counting the packet being transmitted",
        ),
        Param::duration(
            "target",
            Duration::from_millis(15),
            Duration::ZERO..=Duration::from_secs(3600),
            "queueing delay aimed at for classic traffic (RFC 9332 figure 2)",
        ),
        Param::duration(
            "t_update",
            Duration::from_millis(16),
            Duration::from_millis(1)..=Duration::from_secs(60),
            "time between updates of the probability (Tupdate of RFC 9332 appendix A.1)",
        ),
        Param::ratio("alpha", 0.16, 0.0..=1000.0, "gain of the delay's distance from the target, Hz"),
        Param::ratio("beta", 3.2, 0.0..=1000.0, "gain of the delay's change, Hz"),
        Param::ratio(
            "coupling",
            2.0,
            0.0..=100.0,
            "factor between the probabilities of both queues (k of RFC 9332 section 2.1)",
        ),
        Param::duration(
            "min_th",
            Duration::from_micros(800),
            Duration::ZERO..=Duration::from_secs(3600),
            "sojourn time in the L4S queue above which its packets are marked (minTh of RFC 9332 figure 2)",
        ),
        Param::duration(
            "range",
            Duration::from_micros(400),
            Duration::ZERO..=Duration::from_secs(3600),
            "further sojourn time over which marking grows from none to all; 0s for a step",
        ),
        Param::count(
            "th_len",
            1,
            0..=u64::MAX,
            "with fewer packets behind it in the L4S queue, a packet is not marked for its sojourn time",
        ),
        Param::ratio(
            "classic_share",
            0.1,
            0.0..=1.0,
            "part of the link that the second queue gets at least while both have packets",
        ),
        Param::bytes(
            "mtu",
            1500,
            1..=65_535,
            "largest packet: with less than twice as many bytes waiting, nothing is dropped or marked for \
             the controller",
        ),
    ],
    build: |p| Box::new(DualPi2::new(p)),
};
