//! What is done after a connection's last packet: final verdicts, sums and notes.

use std::net::SocketAddr;

use ackclock_units::Duration;

use super::Flow;
use crate::habits::Habits;
use crate::report::{Connection, Direction, Retransmission, View};
use crate::resolve::resolve;
use crate::thresholds::THRESHOLDS;

impl Flow {
    /// The connection as it is reported. `habits` are those of a host's timers, derived from all of its
    /// connections; `all` are those of all hosts together.
    pub(crate) fn finish(mut self, habits: impl Fn(&SocketAddr) -> Habits, all: Habits) -> Connection {
        let standing = self.standing();
        let mut notes = self.notes();
        // If the capture holds every packet twice, it holds the SYN and the reply twice as well.
        let doubled = self.doubles_packets();
        let syn_acks = if doubled { Default::default() } else { self.take_repeated_syn_acks() };
        let fars = [0, 1].map(|i| self.halves[i].path.far);
        for (i, half) in self.halves.iter_mut().enumerate() {
            half.reach(self.end);
            (half.out.limits, half.out.observed.spans) = std::mem::take(&mut half.limits).finish(self.end);
            half.out.observed.closures.finish(self.end);
            let copies = self.arrivals[i].copies;
            if copies * THRESHOLDS.copies.capture_part > half.out.packets {
                half.out.capture_duplicates += copies;
            } else {
                half.out.network_duplicates += copies;
            }
            half.out.share = match (fars[i], fars[1 - i]) {
                (Some(far), Some(near)) if far + near > Duration::ZERO => {
                    Some(far.as_secs_f64() / (far + near).as_secs_f64())
                }
                _ => None,
            };
        }
        let requested = self.halves[0].following.request.is_some();
        let [a, b] = self.halves;
        let sides = [self.client, 1 - self.client];
        let mut halves =
            [Some(resolve(a, habits(&self.ends[0]), all)), Some(resolve(b, habits(&self.ends[1]), all))];
        let mut directions = sides.map(|i| halves[i].take().expect("two different sides"));
        let left_out = self.listing.as_ref().map_or(0, |l| l.left_out);
        let sent = [&directions[self.client].0, &directions[1 - self.client].0];
        let packets = self.listing.map(|l| l.finish(sent, self.client, !doubled)).unwrap_or_default();
        for (i, syn_acks) in syn_acks.into_iter().enumerate().filter(|(_, syn_acks)| !syn_acks.is_empty()) {
            let d = &mut directions[usize::from(i != self.client)].0;
            d.packets += syn_acks.len() as u64;
            d.retransmitted_packets += syn_acks.len() as u64;
            d.retransmissions.extend(syn_acks);
            d.retransmissions.sort_by_key(|r| r.at);
        }
        for ((d, overrun), way) in directions.iter().zip(["client", "server"]) {
            notes.extend(direction_notes(d, *overrun, way, requested));
        }
        Connection {
            client: self.ends[self.client],
            server: self.ends[1 - self.client],
            start: self.start,
            end: self.end,
            opening_seen: self.handshake.opening_seen(),
            handshake: self.handshake.took,
            standing,
            tls: self.tls,
            directions: directions.map(|d| d.0),
            packets,
            packets_left_out: left_out,
            notes,
        }
    }

    /// Most packets of one end were captured twice.
    fn doubles_packets(&self) -> bool {
        (0..2).any(|i| self.arrivals[i].copies * 2 > self.halves[i].out.packets)
    }

    /// SYN-ACKs in reply to copies of a SYN: they are not copies themselves.
    fn take_repeated_syn_acks(&mut self) -> [Vec<Retransmission>; 2] {
        self.arrivals.each_mut().map(|end| {
            let syn_acks = std::mem::take(&mut end.repeated_syn_acks);
            end.copies -= syn_acks.len() as u64;
            syn_acks
        })
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.handshake.opening_seen() && !self.handshake.syn_ack_seen() {
            notes.push(
                "the capture begins in the middle of the connection: window scales and segment sizes are \
                 unknown"
                    .to_owned(),
            );
        } else if self.handshake.options_cut {
            notes.push(
                "the capture cut the TCP options of its handshake (snap length): window scales, segment \
                 sizes and what else was negotiated are unknown"
                    .to_owned(),
            );
        } else if self.handshake.opening_seen() != self.handshake.syn_ack_seen()
            && self.halves.iter().any(|h| h.out.data_packets > 0)
        {
            notes
                .push("one SYN of its handshake is not in the capture: window scales are unknown".to_owned());
        }
        if self.cut > 0 {
            notes.push(format!(
                "the capture cut the TCP options of {} of its packets (snap length): SACK blocks and \
                 timestamps behind the cut are not seen",
                self.cut
            ));
        }
        for (i, way) in [(self.client, "client"), (1 - self.client, "server")] {
            let half = &self.halves[i];
            let peer = if way == "client" { "server" } else { "client" };
            if half.heard.least_scale > 0 {
                notes.push(format!(
                    "whether the window of the {peer} limited the {way} is unknown: its scale is at least {}, \
                     by what was under way",
                    half.heard.least_scale
                ));
            }
        }
        if let Some(n) = self.reuse.before {
            notes.push(format!("its addresses and ports were used before, by connection {n}"));
        }
        notes
    }
}

/// Notes on one direction; `way` is its sender.
fn direction_notes(d: &Direction, overrun: bool, way: &str, requested: bool) -> Vec<String> {
    let unstamped = d.observed.late.spread.count() == 0;
    let outages = d.episodes.iter().filter(|e| e.outage).count();
    let notes = [
        (d.share.is_none() && d.view == View::Receiver).then(|| {
            format!(
                "the capture lacks what was lost of the {way}'s data, so it was taken nearer to the receiver; \
                 the round trip to the {way} is unknown, and what limited it cannot be told from here"
            )
        }),
        (d.view == View::Receiver && d.share.is_some() && d.data_packets > 0 && unstamped).then(|| {
                format!(
                    "the {way} sends no timestamps: near its receiver, delays on the way cannot be told from \
                     pauses of its application, and only pauses after a segment that was not full count as such"
                )
            }),
        overrun.then(|| {
            format!("the {way} had more outstanding than is kept: the oldest segments were forgotten")
        }),
        (requested && d.view == View::Receiver && d.data_packets > 0).then(|| {
            format!(
                "what-if has no rows for the {way}: what it sent and was lost before the capture is not seen \
                 here"
            )
        }),
        (d.missing_bytes > 0).then(|| {
            format!("{} bytes of the {way} were acknowledged but are not in the capture", d.missing_bytes)
        }),
        (d.capture_duplicates > 0).then(|| {
            format!(
                "the capture holds {} packets of the {way} more than once; copies are left out",
                d.capture_duplicates
            )
        }),
        (d.super_segments > 0).then(|| {
            format!(
                "{} frames of the {way} hold several packets each (segmentation offload)",
                d.super_segments
            )
        }),
        d.massive_reordering().then(|| {
            format!(
                "most retransmissions of the {way} that acks triggered were spurious: packets overtake \
                 each other"
            )
        }),
        (outages > 0).then(|| {
            let times = if outages == 1 { "once".to_owned() } else { format!("{outages} times") };
            format!("a whole window of the {way} was lost {times}")
        }),
    ];
    notes.into_iter().flatten().collect()
}
