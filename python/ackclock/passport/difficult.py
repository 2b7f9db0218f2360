"""The criteria for difficult paths. Sections are those of RFC 9743."""

from __future__ import annotations

from ackclock.passport.criterion import THIRD_MORE, UNDERUSES, Criterion, at_least
from ackclock.passport.measure import share_of, smallest_share, utilisation
from ackclock.passport.scene import (
    TESTED,
    bulk,
    burst_loss,
    bursts,
    detour,
    jittered,
    loss,
    over,
    red,
    unphased,
    words,
)

ARUN = "Arun, Alizadeh & Balakrishnan 2022"
JITTERS = ("1ms", "10ms", "40ms", "80ms")
"""Non-congestive delays, up to two round trips."""
LOSSES = {
    "0.1 % loss": loss(0.001),
    "1 % loss": loss(0.01),
    "1 % loss in bursts": burst_loss(0.01, 10),
}

DIFFICULT = (
    Criterion(
        "random-loss",
        "Link used at random loss of 0.1 and 1 %",
        "6.4",
        "One flow that loses packets at random, as over radio, each for itself or ten in a row on average "
        "(Gilbert's model): how much of the time the bottleneck sends.",
        tuple(
            over(where, bulk(), faults=faults, duration=40.0, warmup=10.0) for where, faults in LOSSES.items()
        ),
        utilisation,
        "share",
        at_least(0.85),
        "Random loss slows it down more than the standards.",
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
        "all later ones, or each of its packets takes up to so much longer, at random and in order: the "
        "goodput of the slower, over their mean.",
        tuple(
            jittered(
                f"{words(extra)} of jitter",
                detour(extra, "60ms"),
                bulk(client="a", server="d", spread="0ms"),
                bulk(name="later", client="b", server="d", start="1s"),
            )
            for extra in JITTERS
        )
        + tuple(
            jittered(
                f"{words(most)} of random jitter",
                None,
                bulk(client="a", server="d"),
                bulk(name="steady", client="b", server="d"),
                random=most,
            )
            for most in JITTERS
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
        "Four flows whose receivers send ten acks for each segment, beside four of Reno: Reno's goodput over "
        "what it has beside receivers that send one.",
        tuple(
            over(
                where,
                bulk(TESTED, 4, spread="2s"),
                bulk("reno", 4, spread="2s"),
                rtt=["34ms", "38ms", "42ms", "46ms"],
                queue=queue,
                elements=unphased(),
                duration=40.0,
                warmup=10.0,
                tested={"ack": {"kind": "misbehaving", "divide": "10"}},
                without={"ack": {"kind": "misbehaving"}},
            )
            for where, queue in (("drop-tail", None), ("RED", red(ecn=False)))
        ),
        share_of("reno"),
        "share",
        at_least(THIRD_MORE),
        "Receivers that split acks gain more from Reno than with the standards.",
        harms=True,
        source="RFC 3465 2.1, Savage et al. 1999",
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
