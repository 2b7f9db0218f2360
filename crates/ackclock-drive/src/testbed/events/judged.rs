//! The numbers of flows that the kernel's events give. What the kernel's own counters contradict is unknown.

use std::collections::BTreeMap;

use ackclock_units::Instant;

use super::EndEvents;
use crate::TcpCounts;

/// Columns of the table of flows that need the kernel's events.
pub const COLUMNS: [&str; 4] =
    ["timeouts_by_round", "spurious_timeouts", "tail_loss_probes", "fast_recoveries"];

/// An end of a connection, as far as its events must agree with its counters.
pub(crate) struct Judged<'a> {
    pub(crate) events: &'a EndEvents,
    /// Its host.
    pub(crate) host: usize,
    /// True for the end that was opened to.
    pub(crate) is_server: bool,
    /// Its counters, and when they were read.
    pub(crate) counts: Option<TcpCounts>,
    pub(crate) read_at: Instant,
    /// From when on it counts; `None` if it never did.
    pub(crate) from: Option<Instant>,
    /// True where that is all of it.
    pub(crate) is_whole: bool,
}

/// The numbers of an end; `None` for what is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Numbers {
    pub(crate) timeouts_by_round: Option<[u32; 8]>,
    pub(crate) spurious_timeouts: Option<u32>,
    pub(crate) tail_loss_probes: Option<u32>,
    pub(crate) fast_recoveries: Option<u32>,
    /// Expiries in the whole run, those of SYN-ACKs included, fast recoveries, and probes that repeat data.
    pub(crate) whole: [u64; 3],
}

impl Numbers {
    /// The columns that are unknown.
    pub(crate) fn unknown(self) -> impl Iterator<Item = &'static str> {
        let known = [
            self.timeouts_by_round.is_some(),
            self.spurious_timeouts.is_some(),
            self.tail_loss_probes.is_some(),
            self.fast_recoveries.is_some(),
        ];
        COLUMNS.into_iter().zip(known).filter(|(_, known)| !known).map(|(column, _)| column)
    }
}

/// What the ends of a run have counted, in their order, and why some of it is unknown. `counter` is a counter of a host
/// by its name.
pub(crate) fn judge(
    ends: &[Judged<'_>],
    counter: impl Fn(usize, &str) -> u64,
    name: impl Fn(usize) -> String,
) -> (Vec<Numbers>, Vec<String>) {
    let mut hosts: BTreeMap<usize, Host> = BTreeMap::new();
    for end in ends {
        let host = hosts.entry(end.host).or_default();
        host.ends += 1;
        host.recoveries += end.events.recoveries().count() as u64;
        host.probes += end.events.probes.len() as u64;
    }
    let mut why = Vec::new();
    for (number, host) in &mut hosts {
        let counted = counter(*number, "TCPSackRecovery") + counter(*number, "TCPRenoRecovery");
        if counted != host.recoveries {
            host.recoveries_unknown = true;
            why.push(format!(
                "`fast_recoveries` is missing for {}: its kernel counts {counted} recoveries, its events show {}",
                name(*number),
                host.recoveries
            ));
        }
        let counted = counter(*number, "TCPLossProbes");
        host.new_probes = counted.checked_sub(host.probes);
        if host.new_probes.is_none_or(|new| new > 0 && host.ends > 1) {
            why.push(format!(
                "`tail_loss_probes` is missing for {}: its kernel counts {counted}, of which events show the {} that \
                 repeat data",
                name(*number),
                host.probes
            ));
        }
    }
    let (mut numbers, mut unclear) = (Vec::new(), 0);
    for end in ends {
        let found = numbers_of(end, &hosts[&end.host]);
        unclear += usize::from(found.timeouts_by_round.is_none());
        numbers.push(found);
    }
    if unclear > 0 {
        why.push(format!(
            "`timeouts_by_round` and `spurious_timeouts` are missing for {unclear} ends of connections: events and \
             TCP_INFO differ in their timeouts, or what was sent again did not reach the path"
        ));
    }
    (numbers, why)
}

#[derive(Default)]
struct Host {
    ends: usize,
    recoveries: u64,
    recoveries_unknown: bool,
    /// Probes that repeat data, and the others; `None` where its kernel counts fewer than events show.
    probes: u64,
    new_probes: Option<u64>,
}

fn numbers_of(end: &Judged<'_>, host: &Host) -> Numbers {
    let counts = |at: Instant| end.from.is_some_and(|from| at >= from);
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let expiries = Expiries::of(end);
    let probes = count(end.events.probes.iter().filter(|at| counts(**at)).count());
    let tail_loss_probes = match host.new_probes {
        Some(0) => Some(probes),
        // Probes with new data have no event, and so no time.
        Some(new) if host.ends == 1 && end.is_whole => Some(probes + count(new as usize)),
        _ => None,
    };
    let recoveries = end.events.recoveries().filter(|at| counts(*at)).count();
    // Also what comes after its counters were read, as the host's counters have it.
    let all = expiries.as_ref().map_or(0, |e| e.opening) + end.events.timeouts.len();
    Numbers {
        timeouts_by_round: expiries.as_ref().map(|e| e.by_round(end)),
        spurious_timeouts: expiries.as_ref().and_then(|e| e.spurious(end)),
        tail_loss_probes,
        fast_recoveries: (!host.recoveries_unknown).then_some(count(recoveries)),
        whole: [all as u64, end.events.recoveries().count() as u64, end.events.probes.len() as u64],
    }
}

/// The expiries of an end's timer.
struct Expiries {
    /// Those of SYN-ACKs, which a server times before it has a connection whose state could change.
    opening: usize,
    /// The others: when, in which round, and whether they were spurious.
    later: Vec<(Instant, u32, bool)>,
}

impl Expiries {
    /// `None` where TCP_INFO has another number, or something is unknown of one.
    fn of(end: &Judged<'_>) -> Option<Self> {
        let later = end.events.timeouts.iter().filter(|timeout| timeout.at <= end.read_at);
        let later = later.map(|timeout| timeout.told.map(|(round, spurious)| (timeout.at, round, spurious)));
        let later = later.collect::<Option<Vec<_>>>()?;
        let counted = match end.counts {
            Some(counts) => counts.timeouts? as usize,
            None => 0,
        };
        let opening = counted.checked_sub(later.len())?;
        // A SYN that comes again is another reason to send the SYN-ACK again.
        let plausible = opening == 0 || end.is_server && opening <= end.events.syns().count();
        plausible.then_some(Self { opening, later })
    }

    /// Those that count, by round.
    fn by_round(&self, end: &Judged<'_>) -> [u32; 8] {
        let mut all = [0_u32; 8];
        let place = |round: u32| (round as usize).clamp(1, 8) - 1;
        let opening = if end.is_whole && end.from.is_some() { self.opening } else { 0 };
        (1..).take(opening).for_each(|round| all[place(round)] += 1);
        for (_, round, _) in self.later.iter().filter(|(at, ..)| end.from.is_some_and(|from| *at >= from)) {
            all[place(*round)] += 1;
        }
        all
    }

    /// The spurious ones that count; `None` where it is unknown which SYN-ACK the timer has sent.
    fn spurious(&self, end: &Judged<'_>) -> Option<u32> {
        let counts = |at: &Instant| end.from.is_some_and(|from| *at >= from);
        let later = self.later.iter().filter(|(at, _, spurious)| *spurious && counts(at)).count();
        if self.opening == 0 || !end.is_whole {
            return Some(later as u32);
        }
        let spurious = end.events.syns().filter(|again| again.spurious).count();
        let opening = match end.events.syns().count() {
            all if all == self.opening || spurious == 0 => spurious,
            all if spurious == all => self.opening,
            _ => return None,
        };
        Some((later + opening) as u32)
    }
}
