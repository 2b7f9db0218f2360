//! Scores the analysis of captures against the kernels' events.

use std::collections::BTreeMap;
use std::path::Path;

use ackclock_capture::read::{Packets, open};
use ackclock_capture::{Analysis, CapturedSegment, Cause, Direction, Options, Report};
use ackclock_wire::Flags;
use serde_json::Value;

use crate::cases::{self, Case};
use crate::hidden::{self, Expiry};
use crate::tally::{SAME, Tally, pair};
use crate::timeouts::{Ends, kernel_timeouts};
use crate::{arrived, tcptrace};

/// In a plan: the kernel sends no tail loss probes.
const NO_PROBES: &str = "(\"net.ipv4.tcp_early_retrans\", \"0\")";

fn segments(path: &Path) -> Result<Vec<CapturedSegment>, Box<dyn std::error::Error>> {
    let mut packets = Packets::new(open(path)?)?;
    let mut seen = Vec::new();
    while let Ok(Some(p)) = packets.next_packet() {
        seen.extend(CapturedSegment::in_packet(&p));
    }
    Ok(seen)
}

fn analysed(seen: &[CapturedSegment]) -> Report {
    let mut analysis = Analysis::new(Options::default());
    seen.iter().for_each(|s| analysis.packet(s.at, Ok(*s)));
    analysis.finish()
}

/// An analysed direction with the kernel's events: times and causes of retransmissions.
type OneWay = (Ends, Direction, Vec<(u64, String)>);

#[derive(Default)]
struct Sums {
    retransmitted: (u32, u32),
    /// Directions of which a receiver's capture has packets that were retransmitted: all, those whose number
    /// is exact; packets that came, and found.
    arrived: [u64; 4],
    timeouts: Tally,
    probes: Tally,
    rounds: Tally,
    spurious: Tally,
    /// The same, for verdicts marked as certain.
    certain_rounds: Tally,
    certain_spurious: Tally,
    far_timeouts: Tally,
    /// Senders' directions that tcptrace saw too, those of them where it finds as many packets retransmitted,
    /// and both sums.
    tcptrace: [u64; 4],
    /// Verdicts marked as uncertain.
    uncertain_spurious: u32,
    /// For both rules: gaps, gaps with a timeout, timeouts of data, timeouts in a gap.
    gaps: [[u32; 4]; 2],
    /// By why nothing can be known of them at the receiver: timeouts of data, and those of them in a gap.
    hidden: [[u32; 2]; 2],
}

pub fn score(folder: &Path, only: Option<&str>) -> Result<(), Box<dyn std::error::Error>> {
    let mut sums = Sums::default();
    for case in cases::in_folder(folder, only)? {
        one(&case, only.is_some(), &mut sums)?;
    }
    println!("retransmissions exact in {} of {} sums", sums.retransmitted.0, sums.retransmitted.1);
    let [all, same, came, found] = sums.arrived;
    println!(
        "retransmissions recognisable at the receiver: {came}, found {found}; exact in {same} of {all} \
         directions"
    );
    match sums.tcptrace {
        [0, ..] => println!("tcptrace is not installed: its counts are not compared"),
        [all, same, ours, theirs] => {
            println!("packets retransmitted: {ours}, by tcptrace {theirs}; as many in {same} of {all} sums")
        }
    }
    for (what, t) in [
        ("timeouts at the sender", sums.timeouts),
        ("probes at the sender", sums.probes),
        ("timeouts with their round", sums.rounds),
        ("timeouts whose round is marked as certain", sums.certain_rounds),
        ("Eifel-spurious among those found", sums.spurious),
        ("Eifel-spurious among those marked as certain", sums.certain_spurious),
        ("timeouts at the receiver", sums.far_timeouts),
    ] {
        println!("{what}: {}", t.words());
    }
    println!(
        "not certain: {} rounds of {}, {} verdicts on whether a timeout was Eifel-spurious",
        sums.rounds.found - sums.certain_rounds.found,
        sums.rounds.found,
        sums.uncertain_spurious
    );
    for (rule, [gaps, right, expiries, covered]) in ["by time", "by content"].into_iter().zip(sums.gaps) {
        let part = |n: u32, of: u32| f64::from(n) / f64::from(of.max(1));
        println!(
            "gaps {rule} at the receiver: {gaps}, {expiries} expiries: precision {:.3} recall {:.3}",
            part(right, gaps),
            part(covered, expiries)
        );
    }
    let [_, _, mut expiries, mut covered] = sums.gaps[1];
    for (of, [hidden, anyhow]) in
        ["of which something can be known there", "that no probe would have come for at the same time"]
            .into_iter()
            .zip(sums.hidden)
    {
        (expiries, covered) = (expiries - hidden, covered - anyhow);
        let part = f64::from(covered) / f64::from(expiries.max(1));
        println!("of {expiries} expiries {of}, {covered} are found by content: recall {part:.3}");
    }
    Ok(())
}

fn one(case: &Case, verbose: bool, sums: &mut Sums) -> Result<(), Box<dyn std::error::Error>> {
    let Case { name, folder, truth } = case;
    let behind = folder.join("behind.pcapng");
    let (near, far) = (segments(&folder.join("near.pcapng"))?, segments(&folder.join("far.pcapng"))?);
    let words = |e: (u64, &Value)| (e.0, e.1[1].as_str().unwrap_or_default().to_owned());
    let events: BTreeMap<Ends, Vec<(u64, String)>> =
        case.events().into_iter().map(|(ends, of)| (ends, of.into_iter().map(words).collect())).collect();
    let (at_near, at_far) = (analysed(&near), analysed(&far));
    let client: std::net::IpAddr = near.first().map_or([0, 0, 0, 0].into(), |s| s.src.ip());
    // With offload, the packets on the wire were captured too; they show what happened to each.
    let wire = if behind.exists() { segments(&behind)? } else { near.clone() };
    let mut said = Vec::new();
    let shift = truth["rtt_ms"].as_u64().unwrap_or(0) * 500_000;
    for (side, sender, receiver, sent, got) in
        [(0, &at_near, &at_far, &wire, &far), (1, &at_far, &at_near, &far, &wire)]
    {
        let ours = |ends: &Ends| (ends.0.ip() == client) == (side == 0);
        // Ports may be reused: the kernels' events of a pair of ports belong to the connection of that time.
        let directions = |r: &Report| -> Vec<OneWay> {
            let both = |c: &ackclock_capture::Connection| {
                let [a, b] = c.directions.clone();
                let next = r
                    .connections
                    .iter()
                    .filter(|o| (o.client, o.server) == (c.client, c.server) && o.start > c.start)
                    .map(|o| o.start)
                    .min();
                let first = !r
                    .connections
                    .iter()
                    .any(|o| (o.client, o.server) == (c.client, c.server) && o.start < c.start);
                let its = |at: u64| {
                    (first || at + shift >= c.start.as_nanos())
                        && next.is_none_or(|n| at + shift < n.as_nanos())
                };
                let known = |ends: Ends| {
                    events.get(&ends).into_iter().flatten().filter(|e| its(e.0)).cloned().collect()
                };
                let (forth, back) = ((c.client, c.server), (c.server, c.client));
                [(forth, a, known(forth)), (back, b, known(back))]
            };
            r.connections.iter().flat_map(both).filter(|(ends, ..)| ours(ends)).collect()
        };
        let mine = directions(sender);
        let found: u64 = mine.iter().map(|(_, d, _)| d.retransmitted_packets).sum();
        let real = truth["counters"][side]["RetransSegs"].as_u64().unwrap_or(0);
        sums.retransmitted.1 += 1;
        sums.retransmitted.0 += u32::from(found == real);
        if found != real {
            said.push(format!("side {side}: RetransSegs {real}, found {found}"));
        }
        let file = folder.join(if side == 0 {
            if behind.exists() { "behind.pcapng" } else { "near.pcapng" }
        } else {
            "far.pcapng"
        });
        if let Some(counts) = tcptrace::retransmitted(&file)? {
            let on_wire =
                if side == 0 && behind.exists() { directions(&analysed(&wire)) } else { mine.clone() };
            let ours: u64 = on_wire.iter().map(|(_, d, _)| d.retransmitted_packets).sum();
            let theirs: u64 =
                counts.iter().filter(|(end, _)| (end.ip() == client) == (side == 0)).map(|t| t.1).sum();
            let sums = &mut sums.tcptrace;
            *sums = [sums[0] + 1, sums[1] + u64::from(ours == theirs), sums[2] + ours, sums[3] + theirs];
            if ours != theirs {
                said.push(format!(
                    "side {side}: tcptrace reports {theirs} retransmitted packets, found {ours}"
                ));
            }
        }
        let (mut timeouts, mut probes, mut rounds, mut spurious, mut seen) =
            (Tally::default(), Tally::default(), Tally::default(), Tally::default(), Tally::default());
        for (ends, d, known) in &mine {
            let of = |kinds: &[&str]| -> Vec<u64> {
                known.iter().filter(|e| kinds.contains(&&*e.1)).map(|e| e.0).collect()
            };
            let real = kernel_timeouts(&of(&["rto", "synack-rto"]), *ends, sent, got);
            let moments: Vec<u64> = real.iter().map(|e| e.at).collect();
            let unknown = of(&["unknown"]);
            // Events with an unknown cause in the kernel's record are left out.
            let known = |at: &u64| !unknown.iter().any(|u| u.abs_diff(*at) < SAME / 10);
            let found: Vec<u64> = d.timeouts.iter().map(|t| t.at.as_nanos()).filter(known).collect();
            let (tally, extra, missed) = pair(&found, &moments, SAME);
            timeouts.add(tally);
            let ports = format!("{} > {}", ends.0.port(), ends.1.port());
            let start = sent.first().map_or(0, |s| s.at.as_nanos());
            let list = |moments: &[u64]| {
                moments
                    .iter()
                    .map(|m| format!("{:.3}", (m - start.min(*m)) as f64 / 1e9))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            if !extra.is_empty() || !missed.is_empty() {
                said.push(format!(
                    "{ports}: timeouts invented at {}; missed at {}",
                    list(&extra),
                    list(&missed)
                ));
            }
            for e in &real {
                let near = d.timeouts.iter().min_by_key(|t| t.at.as_nanos().abs_diff(e.at));
                let Some(t) = near.filter(|t| t.at.as_nanos().abs_diff(e.at) <= SAME) else { continue };
                let round = Tally { found: 1, real: 1, both: u32::from(t.round == e.round) };
                rounds.add(round);
                let word = |certain| if certain { "" } else { " (uncertain)" };
                if t.round_certain {
                    sums.certain_rounds.add(round);
                }
                if t.round != e.round {
                    said.push(format!(
                        "{ports}: the timeout at {} is round {}, not {}{}",
                        list(&[e.at]),
                        e.round,
                        t.round,
                        word(t.round_certain)
                    ));
                }
                if let Some(truth) = e.spurious {
                    let judged = t.eifel_spurious == Some(true);
                    let verdict = Tally {
                        found: u32::from(judged),
                        real: u32::from(truth),
                        both: u32::from(judged && truth),
                    };
                    spurious.add(verdict);
                    if t.eifel_certain {
                        sums.certain_spurious.add(verdict);
                    } else {
                        sums.uncertain_spurious += 1;
                    }
                    if judged != truth {
                        let verdict = t.eifel_spurious;
                        said.push(format!(
                            "{ports}: the timeout at {} is Eifel-spurious {truth}, not {verdict:?}{}",
                            list(&[e.at]),
                            word(t.eifel_certain)
                        ));
                    }
                }
            }
            let found: Vec<u64> = d.of(Cause::TailLossProbe).map(|r| r.at.as_nanos()).filter(known).collect();
            let (tally, extra, missed) = pair(&found, &of(&["tlp"]), SAME);
            probes.add(tally);
            if !extra.is_empty() || !missed.is_empty() {
                said.push(format!(
                    "{ports}: probes invented at {}; missed at {}",
                    list(&extra),
                    list(&missed)
                ));
            }
        }
        for (ends, d, known) in directions(receiver) {
            let (all, came) = arrived::sent_again(ends, sent, got);
            // Window probes repeat sequence numbers too, and reused ports have several directions.
            let plain = mine.iter().filter(|m| m.0 == ends).map(|m| m.1.retransmitted_packets).eq([all]);
            if plain && came + d.retransmitted_packets > 0 {
                let sums = &mut sums.arrived;
                *sums = [
                    sums[0] + 1,
                    sums[1] + u64::from(came == d.retransmitted_packets),
                    sums[2] + came,
                    sums[3] + d.retransmitted_packets,
                ];
                if came != d.retransmitted_packets {
                    let found = d.retransmitted_packets;
                    said.push(format!(
                        "{} > {}: {came} recognisable retransmissions, found {found}",
                        ends.0.port(),
                        ends.1.port()
                    ));
                }
            }
            let real: Vec<u64> = known.iter().filter(|e| e.1.contains("rto")).map(|e| e.0 + shift).collect();
            let found: Vec<u64> = d.timeouts.iter().map(|t| t.at.as_nanos()).collect();
            seen.add(pair(&found, &real, SAME + shift).0);
            // A gap is correct if a timeout of data is in it; a timeout is found if it is in a gap.
            let data: Vec<u64> = known.iter().filter(|e| e.1 == "rto").map(|e| e.0).collect();
            let syns: Vec<u64> = got
                .iter()
                .chain(sent)
                .filter(|s| (s.src, s.dst) == ends && s.segment.flags.has(Flags::SYN))
                .map(|s| s.at.as_nanos())
                .collect();
            let data: Vec<u64> = data
                .into_iter()
                // A timeout after which no data arrives is invisible to a receiver.
                .filter(|d| {
                    got.iter().any(|s| {
                        (s.src, s.dst) == ends
                            && s.segment.seq_len() > 0
                            && s.at.as_nanos() + SAME / 2 > d + shift
                    })
                })
                .filter(|d| !syns.iter().any(|s| s.abs_diff(*d) < SAME))
                .collect();
            let probes = !truth["plan"].as_str().unwrap_or_default().contains(NO_PROBES);
            let unknown = |at: u64| hidden::why(&Expiry { at, shift, ends, probes }, sent, got);
            for (rule, gaps) in [&d.gaps_by_time, &d.gaps].into_iter().enumerate() {
                // Within half a round trip and the wait of the emulator's thread.
                let holds = |g: &ackclock_capture::gaps::Gap, at: u64| {
                    (g.from.as_nanos().saturating_sub(SAME / 2)..(g.from + g.length).as_nanos() + SAME / 2)
                        .contains(&at)
                };
                let right = gaps.iter().filter(|g| data.iter().any(|d| holds(g, d + shift))).count() as u32;
                let covered =
                    data.iter().filter(|d| gaps.iter().any(|g| holds(g, **d + shift))).count() as u32;
                let t = &mut sums.gaps[rule];
                t[0] += gaps.len() as u32;
                t[1] += right;
                t[2] += data.len() as u32;
                t[3] += covered;
                if rule == 1 {
                    for (d, why) in data.iter().filter_map(|d| Some((d, unknown(*d)?))) {
                        let [all, found] = &mut sums.hidden[why as usize];
                        *all += 1;
                        *found += u32::from(gaps.iter().any(|g| holds(g, *d + shift)));
                    }
                    let start = sent.first().map_or(0, |s| s.at.as_nanos());
                    let time = |at: u64| format!("{:.3}", (at - start.min(at)) as f64 / 1e9);
                    for g in gaps.iter().filter(|g| !data.iter().any(|d| holds(g, d + shift))) {
                        said.push(format!(
                            "{} > {}: gap of {:.3} invented at {}",
                            ends.0.port(),
                            ends.1.port(),
                            g.length.as_secs_f64(),
                            time(g.from.as_nanos())
                        ));
                    }
                    for d in data.iter().filter(|d| !gaps.iter().any(|g| holds(g, **d + shift))) {
                        said.push(format!(
                            "{} > {}: gap missed at {}{}",
                            ends.0.port(),
                            ends.1.port(),
                            time(*d + shift),
                            if unknown(*d).is_some() { ", of which nothing can be known" } else { "" }
                        ));
                    }
                }
            }
        }
        sums.timeouts.add(timeouts);
        sums.probes.add(probes);
        sums.rounds.add(rounds);
        sums.spurious.add(spurious);
        sums.far_timeouts.add(seen);
        if verbose {
            for (_, d, _) in &mine {
                let start = sent.first().map_or(0, |s| s.at.as_nanos());
                for r in &d.retransmissions {
                    let at = (r.at.as_nanos() - start) as f64 / 1e9;
                    said.push(format!(
                        "    {at:.6} {} +{} {} {:?}: {}",
                        r.offset,
                        r.len,
                        r.cause.word(),
                        r.needed,
                        r.evidence
                    ));
                }
            }
        }
        if !timeouts.exact() || !probes.exact() {
            said.push(format!("side {side}: timeouts {}; probes {}", timeouts.words(), probes.words()));
        }
    }
    if !said.is_empty() {
        println!(
            "{name}: {} late {} undelivered {}",
            truth["plan"].as_str().unwrap_or_default(),
            truth["late"],
            truth["undelivered"]
        );
        said.iter().for_each(|s| println!("  {s}"));
    }
    Ok(())
}
