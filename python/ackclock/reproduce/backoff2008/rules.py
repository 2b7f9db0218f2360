"""The rules of the paper, driven over a path and through the register's values."""

from __future__ import annotations

from typing import Any

import numpy as np

import ackclock as ac
from ackclock.models import Timer
from ackclock.reproduce import driven
from ackclock.reproduce.backoff2008 import hot, testbed
from ackclock.reproduce.item import Check, at_least, between, exactly, six_digits
from ackclock.results import gaps

SECOND = 10**9
WINDOW = {"kind": "reno", "initial_window": "segments", "initial_segs": 4, "phases": "avoidance"}
TRIES = {"syn_retries(2)": 3, "syn_retries(4)": 5}


def tcp(preset: str = "sack", **more: Any) -> ac.Stack:
    """A stack with an ack for each packet."""
    return ac.Stack(preset, **{"window": WINDOW, "ack": "every", "timestamps": False, **more})


def timeout() -> list[Check]:
    """B-A1: SRTT and four deviations, not below the minimum, 3 s at first; no sample of what was sent
    twice.
    """
    samples = {"time": np.array([1.0, 2.0, 3.0]), "rtt": np.array([0.5, 1.5, 0.5])}
    short = {"time": np.array([1.0, 2.0]), "rtt": np.full(2, 0.01)}
    made = Timer("rfc6298", (("min_rto", "1s"),)).rows(samples)["rto"]
    floors = [Timer("rfc6298", (("min_rto", f),)).rows(short)["rto"][-1] for f in ("1s", "200ms")]
    one_by_one = tcp(recovery="timeout-only", rcv_buf=f"{driven.MSS}B")
    lost = driven.transfer(one_by_one, 6, lost=[2])
    first = {"kind": "rfc6298", "initial_rto": "3s"}
    syn = driven.transfer(tcp(estimator=first), 1, lost=[1], of="syns").flow
    return [
        # By hand from RFC 6298 2.2 and 2.3.
        six_digits("timeouts (s) after samples of 0.5, 1.5 and 0.5", made, [1.5, 2.375, 2.046875]),
        six_digits("of short round trips, minima of 1 and 0.2 s", floors, [1.0, 0.2]),
        six_digits(
            "established (s) when the SYN is lost: 3 s and a round trip", round(syn["established"], 3), 3.1
        ),
        exactly("samples: handshake, end, and five of six packets, one sent twice", len(lost.rto), 7),
    ]


def freebsd() -> list[Check]:
    """B-A3: the first five SYNs wait alike; data backs off as usual."""
    run = ac.simulate(
        {"kind": "single", "link": {"rate": "1Mbit/s", "faults": [{"kind": "loss", "p": 1}]}, "rtt": "100ms"},
        ac.Fixed(size="1kB"),
        {"tcp": ac.Stack("sack+freebsd-syn", syn_retries=7)},
        duration="600s",
        trace=["packets"],
    )
    syns = [s["time"] for s in run.traces["segments"].to_pylist() if s["sent"] and s["kind"] == "syn"]
    lost = driven.transfer(tcp("sack+freebsd-syn", recovery="timeout-only"), 1, lost=range(1, 5))
    data = np.diff([s.time for s in lost.sent if s.number == 0])
    return [
        six_digits(
            "timeouts of SYNs over the first", np.diff(syns) / np.diff(syns)[0], [1, 1, 1, 1, 1, 2, 4]
        ),
        six_digits("timeouts of data over the first", data / data[0], [1, 2, 4, 8]),
    ]


def conservation() -> list[Check]:
    """B-A4: a copy of what a link dropped is none; a copy of what arrives late is one."""
    lost = driven.transfer(tcp(recovery="timeout-only"), 40, lost=[20]).flow
    stall = ac.fault.Stall(from_="1s", until="4s")
    late = driven.transfer(tcp(recovery="newreno"), 400, faults=[stall]).flow
    return [
        exactly(
            "a dropped packet: violations, spurious timeouts",
            [lost["unneeded_retransmissions"], lost["spurious_timeouts"]],
            [0, 0],
        ),
        exactly("a stall of 3 s: timeouts that were spurious", late["spurious_timeouts"], late["timeouts"]),
        at_least("violations", late["unneeded_retransmissions"], 1, "at least"),
    ]


def admission() -> list[Check]:
    """B-A6: a connection is given up after N SYNs."""
    sent = {}
    for option, n in TRIES.items():
        run = ac.simulate(
            {
                "kind": "single",
                "link": {"rate": "1Mbit/s", "faults": [{"kind": "loss", "p": 1}]},
                "rtt": "100ms",
            },
            ac.Fixed(size="1kB"),
            {"tcp": ac.Stack("sack", syn_retries=n - 1)},
            duration="600s",
        )
        (flow,) = run.flows.to_pylist()
        sent[option] = [1 + flow["syn_retransmissions"], flow["outcome"]]
    return [
        exactly("SYNs sent and outcome, N = 3 and 5", list(sent.values()), [[3, "failed"], [5, "failed"]])
    ]


def bursts() -> list[Check]:
    """B-A9: connections arrive while ON alone, twice as fast, so that the average stays."""
    on_off = ac.arrivals.OnOff(on="500ms", off="500ms", periods="constant")
    starts, rate = {}, 0.0
    for name, arrivals in (("poisson", None), ("bursts", on_off)):
        web = ac.Web(trace="I", load=0.2, arrivals=arrivals, stop="100s")
        scenario = ac.Scenario.of(testbed.dumbbell(10), web, {"tcp": "sack"}, duration="100s")
        rate = scenario.expected_arrivals()[0].rate
        starts[name] = np.array(scenario.simulate().flows["start"].to_pylist())
    expected, wide = 100 * rate, 4 * np.sqrt(100 * rate)
    return [
        exactly("arrivals in the second halves of the seconds", int((starts["bursts"] % 1.0 > 0.5).sum()), 0),
        between(
            "arrivals over those expected",
            starts["bursts"].size / expected,
            1 - wide / expected,
            1 + wide / expected,
        ),
        between(
            "of Poisson arrivals, the share in the second halves",
            (starts["poisson"] % 1.0 > 0.5).mean(),
            0.5 - 2 / np.sqrt(starts["poisson"].size),
            0.5 + 2 / np.sqrt(starts["poisson"].size),
        ),
    ]


def crowd() -> list[Check]:
    """B-A10: 300 sources that are ON for 16 s and OFF for 8 s on average send for two thirds of the time."""
    source = ac.UdpOnOff(
        rate="800bit/s", bytes="100B", on="16s", off="8s", periods="pareto", shape=1.5, flows=300
    )
    run = ac.simulate(
        {"kind": "single", "link": {"rate": "100Mbit/s"}, "rtt": "10ms"},
        source,
        {"tcp": "sack"},
        duration="2400s",
    )
    sent = sum(f["bytes_sent"] for f in run.flows.to_pylist())
    # The mean of n Pareto periods of shape 1.5 is off by about n^(-1/3): 3 % of 30 000.
    return [between("share of the time in which they send", 8 * sent / (300 * 800 * 2400), 0.6, 0.73)]


def peers() -> list[Check]:
    """B-A11: every client fetches from five others."""
    t = hot.network()
    run = ac.simulate(hot.path(t), hot.p2p(t, spread="100ms"), {"tcp": "sack"}, duration="200ms")
    fetched: dict[str, list[str]] = {}
    for f in run.flows.to_pylist():
        fetched.setdefault(f["server"], []).append(f["client"])
    return [
        exactly("clients", len(fetched), len(t.clients)),
        exactly("peers of each", sorted({len(set(others)) for others in fetched.values()}), [5]),
        exactly("clients that fetch from themselves", sum(c in others for c, others in fetched.items()), 0),
    ]


def inferred() -> list[Check]:
    """B-U1: a gap above 200 ms and 1.2 round trips is a timeout, one at least 1.5 times as long after it is
    backoff.
    """

    def found(pauses: list[float], rtt: float = 0.1) -> list[int]:
        seen = gaps.infer(np.cumsum([0.0, *pauses]), rtt)
        return [seen.length.size, int(seen.consecutive.sum())]

    return [
        exactly("gaps of 190 and 210 ms: timeouts, backoffs", found([0.05, 0.19, 0.05, 0.21, 0.05]), [1, 0]),
        exactly("of 350 ms, round trips of 300 ms", found([0.05, 0.35, 0.05], 0.3), [0, 0]),
        exactly("of 1 s and then 2 s", found([0.05, 1.0, 2.0, 0.05]), [2, 1]),
        exactly("of 1 s and then 1.4 s", found([0.05, 1.0, 1.4, 0.05]), [2, 0]),
    ]


def recorder() -> list[Check]:
    """B-U2: a response takes the handshake, the data, and what a loss costs."""
    clean = driven.transfer(tcp(), 4).flow
    lost = driven.transfer(tcp(), 4, lost=[4])
    return [
        six_digits(
            "four packets of a window of four: two round trips (s)", round(clean["response_time"], 3), 0.2
        ),
        # The timer begins anew with the ack of the third; the copy takes a round trip.
        six_digits("the last one lost (s)", round(lost.flow["response_time"], 3), 0.2 + 1.0 + 0.1),
        exactly("payload sent for the first time (bytes)", lost.link["unique_bytes"], 4 * driven.MSS),
    ]
