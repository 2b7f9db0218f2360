"""The criteria for difficult paths. Sections are those of RFC 9743."""

from __future__ import annotations

from ackclock.passport.criterion import THIRD_MORE, Criterion, at_least, at_most
from ackclock.passport.measure import drops, lost_of, share_of, smallest_share, utilisation
from ackclock.passport.scene import (
    TESTED,
    bulk,
    bursts,
    detour,
    jittered,
    loss,
    outage,
    over,
    red,
    stream,
    words,
)

ARUN = "Arun, Alizadeh & Balakrishnan 2022"
UNDERUSES = "It leaves more of the link unused than the standards do."
JITTERS = ("1ms", "10ms", "40ms", "80ms")
"""Non-congestive delays, up to two round trips."""
WITH_ECN = {"ecn": "true"}
COUNTS_MARKS = {"ecn_feedback": "accurate"}
"""Windows that count marks need accurate feedback (RFC 9768); others treat it as an echo."""


DIFFICULT = (
    Criterion(
        "random-loss",
        "Link used at 0.1 % and 1 % random loss",
        "6.4",
        "One flow that loses packets at random, as over radio: how much of the time the bottleneck sends.",
        tuple(
            over(f"{p:.1%} loss", bulk(), faults=loss(p), duration=40.0, warmup=10.0) for p in (0.001, 0.01)
        ),
        utilisation,
        "share",
        at_least(0.85),
        "Random loss slows it down more than the standards.",
        harms=False,
    ),
    Criterion(
        "red",
        "Link used with RED",
        "7.1",
        "Two flows over RED, which drops: how much of the time the bottleneck sends.",
        (over("RED", bulk(TESTED, 2), queue=red(ecn=False), duration=30.0),),
        utilisation,
        "share",
        at_least(0.9),
        UNDERUSES,
        harms=False,
    ),
    Criterion(
        "ecn",
        "What Reno keeps where RED marks (ECN)",
        "7.1",
        "Two flows under test and two of Reno, all with ECN, over RED, which marks: Reno's goodput over its "
        "equal share.",
        (
            over(
                "RED with ECN",
                bulk(TESTED, 2),
                bulk("reno", 2),
                queue=red(ecn=True),
                duration=40.0,
                warmup=10.0,
                options=WITH_ECN,
                tested=COUNTS_MARKS,
            ),
        ),
        share_of("reno"),
        "share",
        at_least(THIRD_MORE),
        "Where both get marks, it takes more from Reno than the standards do.",
        harms=True,
        source="RFC 3168 5",
    ),
    Criterion(
        "shallow-buffer",
        "Loss at a buffer of 8 packets",
        "7.2",
        "Two flows over a queue of 8 packets, an eighth of a bdp: the share of packets that it drops. What a "
        "network circuit breaker would do about it (RFC 8084) is not simulated.",
        (over("8 packets", bulk(TESTED, 2), buffer="8packets", duration=30.0),),
        drops,
        "share",
        at_most(1 / THIRD_MORE, enough=0.01),
        "It causes more loss at a shallow buffer than the standards do.",
        harms=True,
    ),
    Criterion(
        "longer-path",
        "Link used after the delay tripled",
        "7.9",
        "The round trip without queues rises from 40 to 120 ms in the tenth second: how much of the time the "
        "bottleneck sends in the 30 s after that.",
        (
            over(
                "40 to 120 ms", bulk(), faults=detour("80ms", "10s"), duration=42.0, warmup=12.0, steady=False
            ),
        ),
        utilisation,
        "share",
        at_least(0.85),
        "It leaves more of the longer path unused than the standards do.",
        harms=False,
    ),
    Criterion(
        "shorter-path",
        "Link used after the delay fell",
        "7.9",
        "It falls from 120 to 40 ms in the tenth second: the same.",
        (
            over(
                "120 to 40 ms",
                bulk(),
                faults=detour("80ms", end="10s"),
                duration=42.0,
                warmup=12.0,
                steady=False,
            ),
        ),
        utilisation,
        "share",
        at_least(0.85),
        UNDERUSES,
        harms=False,
    ),
    Criterion(
        "jitter",
        "Link used, jitter of 1 ms to 2 RTT",
        "7.3",
        "One flow on a path where other traffic delays its packets by 0 to 80 ms before the bottleneck, in "
        "order: how much of the time the bottleneck sends.",
        tuple(
            jittered(
                f"{words(on)} of jitter",
                None,
                bulk(client="a", server="d"),
                bursts("400Mbit/s", on, f"{9 * int(on.removesuffix('ms'))}ms", client="a", server="g"),
                rate="200Mbit/s",
            )
            for on in JITTERS
        ),
        utilisation,
        "share",
        at_least(0.85),
        "Jitter makes it leave more of the link unused than the standards do.",
        harms=False,
        source=ARUN,
    ),
    Criterion(
        "starvation",
        "Share of the slower where one has jitter",
        "5.2",
        "Two flows under test with the same bottleneck; the first packets of one take 1 to 80 ms less than "
        "all later ones: the goodput of the slower, over their mean.",
        tuple(
            jittered(
                f"{words(extra)} of jitter",
                detour(extra, "60ms"),
                bulk(client="a", server="d", spread="0ms"),
                bulk(name="later", client="b", server="d", start="1s"),
            )
            for extra in JITTERS
        ),
        smallest_share,
        "share",
        at_least(0.5, enough=0.5),
        "Of two flows one starves, more than with the standards.",
        harms=True,
        source=ARUN,
    ),
    Criterion(
        "slow-link",
        "Link used at 100 kbit/s, 536 B segments",
        "7.4",
        "One flow over 100 kbit/s with a round trip of 500 ms and a queue of 10 packets, as to constrained "
        "nodes: how much of the time the bottleneck sends.",
        (
            over(
                "100 kbit/s",
                bulk(),
                rate="100kbit/s",
                rtt="500ms",
                buffer="10packets",
                duration=60.0,
                warmup=10.0,
                options={"mss": "536B"},
            ),
        ),
        utilisation,
        "share",
        at_least(0.85),
        UNDERUSES,
        harms=False,
    ),
    Criterion(
        "satellite",
        "Link used at a round trip of 600 ms",
        "7.5",
        "One flow over 20 Mbit/s with a round trip of 600 ms and a queue of 1 bdp: how much of the time the "
        "bottleneck sends, from the start on.",
        (over("600 ms", bulk(), rtt="600ms", buffer="1bdp", duration=60.0, warmup=0.0),),
        utilisation,
        "share",
        at_least(0.85),
        UNDERUSES,
        harms=False,
    ),
    Criterion(
        "split-acks",
        "What Reno keeps if acks are split",
        "7.6",
        "A flow whose receiver sends ten acks for each segment, beside one of Reno with an honest receiver, "
        "over RED, since a queue that drops its tail favours one of two flows by when acks come: "
        "Reno's goodput over its equal share.",
        (
            over(
                "10 acks a segment",
                bulk(),
                bulk("reno"),
                duration=40.0,
                warmup=10.0,
                tested={"ack": {"kind": "misbehaving", "divide": "10"}},
                queue=red(ecn=False),
            ),
        ),
        share_of("reno"),
        "share",
        at_least(THIRD_MORE),
        "With split acks it takes more from Reno than the standards do.",
        harms=True,
        source="RFC 3465 2.1",
    ),
    Criterion(
        "reordering",
        "Link used, 5 % reordered by a round trip",
        "7.7",
        "One flow of whose packets 5 % take a round trip longer, so that later ones overtake them: how much "
        "of the time the bottleneck sends.",
        (
            over(
                "by 40 ms",
                bulk(),
                faults={"kind": "reorder", "p": 0.05, "delay": "40ms", "distance": 0},
                duration=30.0,
            ),
        ),
        utilisation,
        "share",
        at_least(0.85),
        "Reordering slows it down more than the standards.",
        harms=False,
    ),
    Criterion(
        "bursts",
        "Loss of bursts of other traffic",
        "7.8",
        "Beside one flow, bursts of 0.1 s at twice the link's rate, once a second, over a queue of 2 bdp: "
        "the share of their datagrams that is lost.",
        (over("0.1 s a second", bulk(), bursts("40Mbit/s", "100ms", "900ms"), duration=30.0),),
        lost_of("stream"),
        "share",
        at_most(1 / THIRD_MORE),
        "Bursts of others lose more beside it than beside the standards.",
        harms=True,
    ),
    Criterion(
        "onset",
        "Loss as others take 3/4 of the link",
        "7.8",
        "Beside one flow, 15 Mbit/s of datagrams begin in the tenth second: the share of them that is lost "
        "within 5 s.",
        (
            over(
                "first 5 s",
                bulk(),
                stream("15Mbit/s", "1000B", start="10s"),
                duration=15.0,
                warmup=10.0,
                steady=False,
            ),
        ),
        lost_of("stream"),
        "share",
        at_most(1 / THIRD_MORE, enough=0.01),
        "It makes room more slowly than the standards do.",
        harms=True,
    ),
    Criterion(
        "recovery",
        "Link used after 5 s of no path",
        "7.8",
        "A path that loses everything from the tenth to the fifteenth second: how much of the time the "
        "bottleneck sends from the twentieth to the thirtieth.",
        (over("15 s later", bulk(), faults=outage(10, 15), duration=30.0, warmup=20.0, steady=False),),
        utilisation,
        "share",
        at_least(0.85),
        "It takes longer than the standards to use the path again.",
        harms=False,
    ),
    Criterion(
        "stall",
        "Link used around a stall of 1 s",
        "7.8",
        "All packets are held back for a second, none is lost: how much of the time the bottleneck sends in "
        "the 10 s from there on.",
        (
            over(
                "10 s from there",
                bulk(),
                faults={"kind": "stall", "from": "10s", "until": "11s"},
                duration=20.0,
                warmup=10.0,
                steady=False,
            ),
        ),
        utilisation,
        "share",
        at_least(0.85),
        "A delay without loss slows it down more than the standards.",
        harms=False,
    ),
    Criterion(
        "data-centre",
        "Link used by 16 flows at 1 ms",
        "7.11",
        "16 flows that start together, over 200 Mbit/s with a round trip of 1 ms and a queue of 50 packets: "
        "how much of the time the bottleneck sends.",
        (
            over(
                "16 flows",
                bulk(TESTED, 16, spread="1ms"),
                rate="200Mbit/s",
                rtt="1ms",
                buffer="50packets",
                duration=3.0,
                warmup=0.5,
            ),
        ),
        utilisation,
        "share",
        at_least(0.85),
        UNDERUSES,
        harms=False,
    ),
)
