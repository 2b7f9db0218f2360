//! Pacing of a window that is not paced itself, as Linux's TCP does it.

use ackclock_units::Rate;

use crate::offload::{packet_segs, window_rate};
use crate::{
    CongestionControl, Control, Family, Feedback, Needs, Pacing, Param, Params, Policy, PrivateState,
    SenderView, Window,
};

/// Whether it is paced.
pub(super) const PACED: Param = Param::flag(
    "paced",
    false,
    "pace at the window per round-trip time, times 2 in slow start and 1.2 after, as Linux does where pacing \
     is on (tcp_pacing_ss_ratio, tcp_pacing_ca_ratio)",
);

/// `window`, paced if [`PACED`] asks for it. A window that is not paced does not pay for it.
pub(super) fn paced(p: &Params, window: Box<dyn CongestionControl>) -> Box<dyn CongestionControl> {
    if p.flag("paced") { Box::new(Paced { window, begun: false }) } else { window }
}

/// Paces another window.
#[derive(Debug)]
struct Paced {
    window: Box<dyn CongestionControl>,
    /// Something was acknowledged.
    begun: bool,
}

/// Fewest segments of a quantum (`net.ipv4.tcp_min_tso_segs`).
const LEAST_SEGS: u64 = 2;

/// The pace of a window, once the round-trip time is known.
fn pace(window: Window, v: &SenderView) -> Option<Pacing> {
    let now = SenderView { window, ..*v };
    let bytes_per_sec = window_rate(window.cwnd, &now)?;
    let segs = packet_segs(bytes_per_sec, v.rtt?.min_rtt, v.smss, LEAST_SEGS);
    let quantum = u32::try_from(segs * u64::from(v.smss)).unwrap_or(u32::MAX);
    Some(Pacing { rate: Rate::from_bits_per_sec(bytes_per_sec.saturating_mul(8)), quantum })
}

impl Policy for Paced {
    fn name(&self) -> &str {
        self.window.name()
    }

    fn private_state(&self, state: &mut PrivateState) {
        self.window.private_state(state);
    }
}

impl CongestionControl for Paced {
    fn family(&self) -> Family {
        self.window.family()
    }

    fn needs(&self) -> Needs {
        self.window.needs()
    }

    fn seed(&mut self, rng: ackclock_units::Rng) {
        self.window.seed(rng);
    }

    /// The initial window is not paced (`tcp_update_skb_after_send`: the first ten segments).
    fn start(&mut self, v: &SenderView) -> Control {
        self.window.start(v)
    }

    fn on(&mut self, f: Feedback<'_>, v: &SenderView) -> Control {
        self.begun |= !matches!(f, Feedback::Sent { .. });
        let window = self.window.on(f, v).window;
        Control { window, pacing: if self.begun { pace(window, v) } else { None } }
    }
}

#[cfg(test)]
mod tests {
    use ackclock_units::Duration;

    use super::*;
    use crate::harness::view;
    use crate::{EpisodeEnd, Registry, Rtt};

    fn at(cwnd: u64, ssthresh: u64, rtt_us: u64) -> SenderView {
        let rtt = Duration::from_micros(rtt_us);
        let rtt = Some(Rtt { latest: rtt, srtt: rtt, rttvar: rtt / 4, min_rtt: rtt });
        SenderView { window: Window { cwnd, ssthresh }, rtt, ..view() }
    }

    fn pacing(v: &SenderView) -> (u64, u32) {
        let mut chosen = Registry::builtin().choose::<dyn CongestionControl>("reno").expect("built in");
        chosen.set("paced", "true").expect("declared");
        let control = chosen.build().on(Feedback::EpisodeEnded(EpisodeEnd::Completed), v);
        let pacing = control.pacing.expect("paced");
        (pacing.rate.bits_per_sec(), pacing.quantum)
    }

    #[test]
    fn the_rate_is_twice_the_window_in_slow_start_and_six_fifths_after() {
        // 100,000 bytes in 100 ms are 8 Mbit/s.
        assert_eq!(pacing(&at(100_000, u64::MAX, 100_000)).0, 16_000_000);
        assert_eq!(pacing(&at(100_000, 200_002, 100_000)).0, 16_000_000);
        assert_eq!(pacing(&at(100_000, 200_000, 100_000)).0, 9_600_000);
        assert_eq!(pacing(&at(100_000, 50_000, 100_000)).0, 9_600_000);
    }

    #[test]
    fn a_quantum_is_a_millisecond_two_segments_at_least_and_64_kib_at_most() {
        let quantum = |cwnd, rtt_us| pacing(&at(cwnd, 0, rtt_us)).1;
        // 1.2 Mbyte/s: 1171 bytes in the 1024th part of a second.
        assert_eq!(quantum(100_000, 100_000), 2000);
        // 12 Mbyte/s: 11,718 bytes.
        assert_eq!(quantum(1_000_000, 100_000), 11_000);
        assert_eq!(quantum(100_000_000, 100_000), 65_000);
        // 1 ms away: 64 KiB halved once, and 117 bytes of the rate.
        assert_eq!(quantum(100, 1000), 32_000);
    }
}
