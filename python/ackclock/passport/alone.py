"""The criteria for flows that are alone on a path. Sections are those of RFC 9743."""

from __future__ import annotations

from ackclock.passport.criterion import THIRD_MORE, Criterion, at_least, at_most
from ackclock.passport.measure import (
    drops,
    jain,
    queueing,
    response_of,
    sent,
    sent_per_round_trip,
    smallest_share,
    utilisation,
)
from ackclock.passport.scene import TESTED, bulk, outage, over, short, words

ALONE = (
    Criterion(
        "utilisation",
        "Link used, buffers of 0.5 to 10 bdp",
        "6.1",
        "One flow over a drop-tail queue of 0.5 to 10 bdp: how much of the time the bottleneck sends.",
        tuple(
            over(f"{rate}, {rtt}, {words(buffer)}", bulk(), rate=rate, rtt=rtt, buffer=buffer)
            for rate, rtt in (("10Mbit/s", "20ms"), ("50Mbit/s", "100ms"))
            for buffer in ("0.5bdp", "1bdp", "2bdp", "5bdp", "10bdp")
        ),
        utilisation,
        "share",
        at_least(0.9),
        "It leaves more of the link unused than the standards do.",
        harms=False,
    ),
    Criterion(
        "queue",
        "Queue kept in a buffer of 10 bdp",
        "5.1.2",
        "One flow over a drop-tail queue of 10 bdp: the mean queueing delay, in round trips without queues.",
        (over("10 bdp", bulk(), buffer="10bdp", duration=60.0, warmup=20.0),),
        queueing,
        "round trips",
        at_most(1.1, aim=1.0),
        "It keeps a longer queue than the standards do.",
        harms=True,
        missed="It fills large buffers, as Reno and CUBIC do; 5.1.2 invites new windows to do better.",
    ),
    Criterion(
        "loss",
        "Loss that 8 flows cause",
        "5.1.3",
        "Eight flows over a drop-tail queue of 0.5 or 1 bdp: the share of packets that the queue drops.",
        tuple(
            over(words(b), bulk(TESTED, 8), rtt="100ms", buffer=b, duration=30.0) for b in ("0.5bdp", "1bdp")
        ),
        drops,
        "share",
        at_most(1 / THIRD_MORE),
        "It causes more loss than the standards do.",
        harms=True,
    ),
    Criterion(
        "overload",
        "Loss with 64 flows in 42 packets",
        "5.1.1",
        "64 flows on a path that holds 42 packets, so that none can have a window of one: the share of "
        "packets that the queue drops.",
        (over("64 flows", bulk(TESTED, 64), rate="5Mbit/s", rtt="100ms", buffer="1bdp"),),
        drops,
        "share",
        at_most(1 / THIRD_MORE),
        "It does not slow down enough under persistent congestion.",
        harms=True,
    ),
    Criterion(
        "heavy-loss",
        "Sent each round trip at 40 % loss",
        "5.1.1",
        "One flow that loses 40 % of its packets from the tenth second on: packets sent in each round trip.",
        (over("40 % loss", bulk(), faults=outage(10, 40, 0.4), duration=40.0, warmup=12.0, steady=False),),
        sent_per_round_trip,
        "packets",
        at_most(1 / THIRD_MORE, enough=2.0),
        "It does not reduce its rate to about a packet each round trip, as full backoff does.",
        harms=True,
        source="RFC 8961",
    ),
    Criterion(
        "backoff",
        "Sent in 28 s into a dead path",
        "5.1.1",
        "A path that loses everything from the tenth second on: packets sent between 2 and 30 s later.",
        (over("dead path", bulk(), faults=outage(10, 40), duration=40.0, warmup=12.0, steady=False),),
        sent,
        "packets",
        at_most(1.0, enough=8.0),
        "Without feedback it does not back off exponentially (5.2).",
        harms=True,
        source="RFC 6298 5.5",
    ),
    Criterion(
        "fairness",
        "Jain's index of 4 flows",
        "5.1.4",
        "Four flows that start 2 s after each other, over a drop-tail queue of 0.5 to 4 bdp: Jain's fairness "
        "index of their goodputs.",
        tuple(
            over(
                words(b),
                bulk(TESTED, 4, stagger="2s"),
                buffer=b,
                duration=50.0,
                warmup=20.0,
            )
            for b in ("0.5bdp", "1bdp", "4bdp")
        ),
        jain,
        "index",
        at_least(0.85, aim=0.7),
        "Flows that use it share less evenly than those of the standards.",
        harms=False,
        missed="Its flows share unevenly, as those of the standards do.",
    ),
    Criterion(
        "round-trips",
        "Share of the slowest of 20 to 160 ms",
        "5.1.4",
        "Four flows with round trips of 20, 40, 80 and 160 ms: the goodput of the slowest, over their mean.",
        (
            over(
                "2 bdp",
                bulk(TESTED, 4),
                rtt=["20ms", "40ms", "80ms", "160ms"],
                buffer="2bdp",
                duration=60.0,
                warmup=20.0,
            ),
        ),
        smallest_share,
        "share",
        at_least(0.5),
        "It puts flows with another round trip at a greater disadvantage than the standards do.",
        harms=False,
    ),
    Criterion(
        "short-flows",
        "Time of its short flows beside long ones",
        "5.1.5",
        "Flows of 30 kB beside a long one, all with the window under test: the mean time of the short ones.",
        tuple(
            over(words(b), bulk(), short(TESTED, 0.1), buffer=b, duration=30.0, drain=5.0)
            for b in ("1bdp", "4bdp")
        ),
        response_of("short"),
        "time",
        at_most(1 / THIRD_MORE),
        "Its short flows take longer than those of the standards.",
        harms=False,
    ),
)
