"""The criteria for paths that change. Sections are those of RFC 9743."""

from __future__ import annotations

from ackclock.passport.criterion import THIRD_MORE, UNDERUSES, Criterion, at_least, at_most
from ackclock.passport.measure import carried, drops, lost_of, sojourn, utilisation
from ackclock.passport.scene import bulk, bursts, detour, outage, over, steps, stream

BUFFER = "134packets"
"""2 bdp at 20 Mbit/s and 40 ms, whatever the rate becomes."""
RATES = (20, 6, 12, 3, 16, 8, 24, 4)
"""Mbit/s of a link that varies, for a second each."""
MEAN = 1e6 * sum(RATES) / len(RATES)
HANDOVERS = (
    {"at": "0s", "rate": "20Mbit/s", "delay": "5ms"},
    {"at": "4.94s", "rate": "0bit/s"},
    {"at": "5s", "rate": "12Mbit/s", "delay": "30ms"},
    {"at": "9.94s", "rate": "0bit/s"},
)
"""A path by two stations in turn, and none for 60 ms between them."""
HANDED = 4.94 * (20e6 + 12e6) / 10
"""The mean rate of that path, bit/s."""

_SLOWER = (
    over(
        "20 to 5 Mbit/s",
        bulk(),
        buffer=BUFFER,
        elements=steps({"at": "10s", "rate": "5Mbit/s"}),
        duration=20.0,
        warmup=10.0,
        steady=False,
        series=1.0,
    ),
)
_VARYING = (
    over(
        "3 to 24 Mbit/s",
        bulk(),
        rate=f"{MEAN:.0f}bit/s",
        buffer=BUFFER,
        elements=steps(
            *({"at": f"{i}s", "rate": f"{rate}Mbit/s"} for i, rate in enumerate(RATES)), repeat="8s"
        ),
        duration=40.0,
        warmup=8.0,
        series=1.0,
    ),
)

CHANGING = (
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
        "slower-link",
        "Queue after the rate fell to a quarter",
        "7.9",
        "The rate of the link falls from 20 to 5 Mbit/s in the tenth second, over a queue of 134 packets: "
        "the mean time in the queue in the 10 s after that.",
        _SLOWER,
        sojourn,
        "time",
        at_most(1.15),
        "It adapts to less capacity more slowly than the standards do.",
        harms=True,
    ),
    Criterion(
        "faster-link",
        "Link used after the rate rose fourfold",
        "7.9",
        "The rate rises from 5 to 20 Mbit/s in the tenth second: how much of the time the bottleneck sends "
        "in the 10 s after that.",
        (
            over(
                "5 to 20 Mbit/s",
                bulk(),
                rate="5Mbit/s",
                buffer=BUFFER,
                elements=steps({"at": "10s", "rate": "20Mbit/s"}),
                duration=20.0,
                warmup=10.0,
                steady=False,
            ),
        ),
        utilisation,
        "share",
        at_least(0.85),
        "It takes longer than the standards to use more capacity.",
        harms=False,
    ),
    Criterion(
        "varying-rate",
        "Capacity used where the rate varies",
        "6.4",
        "One flow over a link whose rate changes each second, between 3 and 24 Mbit/s, as over radio, with a "
        "queue of 134 packets: what it carries of what it could.",
        _VARYING,
        carried(MEAN),
        "share",
        at_least(0.85),
        UNDERUSES,
        harms=False,
    ),
    Criterion(
        "varying-rate-loss",
        "Loss where the rate varies",
        "5.1.3",
        "The same: the share of packets that the queue drops in 32 s and as many changes of the rate.",
        _VARYING,
        drops,
        "share",
        at_most(1 / THIRD_MORE, enough=0.01),
        "As capacity falls it causes more loss than the standards do.",
        harms=True,
    ),
    Criterion(
        "varying-delay",
        "Queue kept where the rate varies",
        "6.4",
        "The same: the mean time in the queue.",
        _VARYING,
        sojourn,
        "time",
        at_most(1.15),
        "Where capacity varies it keeps a longer queue than the standards do.",
        harms=True,
    ),
    Criterion(
        "handover",
        "Capacity used with handovers each 5 s",
        "7.8",
        "Each 5 s the path changes between 20 Mbit/s with a delay of 5 ms and 12 Mbit/s with 30 ms, and "
        "carries nothing for 60 ms: what it carries of what it could.",
        (
            over(
                "20 and 12 Mbit/s",
                bulk(),
                rate=f"{HANDED:.0f}bit/s",
                buffer=BUFFER,
                elements={"delay": "5ms", **steps(*HANDOVERS, repeat="10s")},
                duration=50.0,
                warmup=10.0,
            ),
        ),
        carried(HANDED),
        "share",
        at_least(0.85),
        UNDERUSES,
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
        "All packets are held back for a second, none is lost: how much of the time the bottleneck sends "
        "in the 10 s from there on.",
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
)
