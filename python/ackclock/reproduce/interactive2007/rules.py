"""The rules of the paper, driven over a path that loses chosen packets."""

from __future__ import annotations

from typing import Any

import numpy as np

import ackclock as ac
from ackclock.reproduce import driven
from ackclock.reproduce.item import Check, at_least, at_most, between, exactly, six_digits
from ackclock.results.gain import Experience, gain
from ackclock.results.responses import Responses, mean

BYTES = driven.MSS
THINK = 10.0
"""Seconds, on average: longer than any repair."""
WINDOW = {"kind": "reno", "initial_window": "segments", "initial_segs": 4}


def tcp(preset: str = "sack", **more: Any) -> ac.Stack:
    """A stack with a window of four and an ack for each packet."""
    given = {"window": WINDOW, "ack": "every", "nagle": False, "timestamps": False, **more}
    return ac.Stack(preset, **given)


def typed(packets: int, **more: Any) -> Any:
    """A telnet source with one packet at a time."""
    return ac.Telnet(packets=packets, think=f"{THINK}s", bytes=f"{BYTES}B", **more)


def wait(found: driven.Driven, number: int) -> float:
    """Seconds from the first copy of a packet to its second."""
    times = [s.time for s in found.sent if s.number == number]
    return round(times[1] - times[0], 3)


def telnet() -> list[Check]:
    """I-A1: exponential pauses, a round trip for each packet, and a second where it is lost."""
    source = ac.Telnet(packets=2000, think="1s", bytes="500B")
    found = driven.transfer(tcp(), 0, workload=source, seconds=6000, size=500)
    gaps = np.diff([s.time for s in found.sent])
    lost = driven.transfer(tcp(), 0, workload=typed(4), lost=[2], seconds=600)
    first = {"kind": "rfc6298", "initial_rto": "3s"}
    syn = driven.transfer(tcp(estimator=first), 1, lost=[1], of="syns", seconds=60).flow
    wide = 4 * 1.0 / np.sqrt(gaps.size)
    return [
        between("mean pause (s), of 2000", gaps.mean(), 1 - wide, 1 + wide),
        between(
            "standard deviation over the mean, 1 of an exponential", gaps.std() / gaps.mean(), 0.88, 1.12
        ),
        six_digits("a lost packet is sent again after (s)", wait(lost, 1), 1.0),
        exactly("fast retransmissions of it", lost.flow["fast_recoveries"], 0),
        six_digits(
            "established (s) when the SYN is lost: 3 s and a round trip", round(syn["established"], 3), 3.1
        ),
    ]


def backlogged() -> list[Check]:
    """I-A2: dummies stay within the window, and a packet's loss is found by those that follow it."""
    source = ac.Backlogged(packets=20, think="1s", bytes=f"{BYTES}B", dummy_bytes=f"{BYTES}B")
    stack = tcp(rcv_buf=f"{20 * BYTES}B")
    run = driven.transfer(stack, 0, workload=source, seconds=100)
    lost = driven.transfer(stack, 0, workload=source, lost=[60], seconds=100)
    flight = []
    for n, s in enumerate(run.sent):
        known = max((a for t, a in run.acks if t <= s.time), default=0)
        window = max((w for t, w, _ in run.windows if t <= s.time), default=4.0)
        flight.append((s.number + 1 - known) / min(window, 20))
        if n > 400:
            break
    return [
        at_most("segments on the way over the window", max(flight), 1.001, "at most"),
        at_least("and where it is used", max(flight), 0.9, "at least"),
        exactly("a lost packet: copies, timeouts", [len(lost.again), lost.flow["timeouts"]], [1, 0]),
    ]


def marks() -> list[Check]:
    """I-A3: a mark counts the packet that is sent next, from then to its ack."""
    run = ac.simulate(
        {"kind": "single", "link": {"rate": "100Gbit/s", "delay": "50ms"}, "rtt": "links"},
        ac.Bulk(),
        {"tcp": tcp(rcv_buf=f"{20 * BYTES}B", mss=f"{BYTES}B")},
        duration="20s",
        trace=["packets"],
    )
    responses = max(Responses.every(run.traces["segments"]).values(), key=lambda r: r.time.size)
    at = np.arange(2.0, 18.0, 1.0)
    marked = responses.marked(at)
    return [
        exactly("packets marked, one a second", marked.time.size, at.size),
        six_digits("their mean response time (s)", round(mean(marked.time), 4), driven.RTT),
    ]


def thin() -> list[Check]:
    """I-A5: 500 ms for one packet in a window of four, a second for a window in use."""
    alone = driven.transfer(tcp("sack+thin-min-rto(500ms)"), 0, workload=typed(4), lost=[2], seconds=600)
    usual = driven.transfer(tcp(), 0, workload=typed(4), lost=[2], seconds=600)
    full = driven.transfer(tcp("sack+thin-min-rto(500ms)", recovery="timeout-only"), 40, lost=[20])
    return [
        six_digits("timeout (s) of a packet alone", wait(alone, 1), 0.5),
        six_digits("without the approach", wait(usual, 1), 1.0),
        at_least("of one in a window that is used", wait(full, 19), 1.0, "at least"),
    ]


def padded() -> list[Check]:
    """I-A6: three dummies of 20 bytes behind a packet make its loss a matter of duplicate acks."""
    source = ac.Padded(packets=4, think=f"{THINK}s", bytes=f"{BYTES}B")
    found = driven.transfer(tcp(), 0, workload=source, seconds=600)
    lost = driven.transfer(tcp(), 0, workload=source, lost=[5], seconds=600)
    return [
        exactly("segments for four packets", len(found.sent), 16),
        exactly("a lost packet: copies, timeouts", [len(lost.again), lost.flow["timeouts"]], [1, 0]),
        exactly("fast retransmissions", lost.flow["fast_recoveries"], 1),
    ]


def copies() -> list[Check]:
    """I-A7: two copies of a packet alone; one lost costs window and no time, both a timeout."""
    stack = tcp("sack+diversity(2)")
    found = driven.transfer(stack, 0, workload=typed(4), seconds=600)
    one = driven.transfer(stack, 0, workload=typed(4), lost=[3], seconds=600)
    both = driven.transfer(stack, 0, workload=typed(4), lost=[3, 4], seconds=600)
    times = [s.time for s in both.sent if s.number == 1]
    return [
        exactly("segments for four packets", len(found.sent), 8),
        exactly("one copy lost: timeouts, cuts", [one.flow["timeouts"], one.flow["window_cuts"]], [0, 1]),
        exactly("both lost: timeouts, copies at once then", [both.flow["timeouts"], len(times) - 2], [1, 1]),
    ]


def framing() -> list[Check]:
    """I-A8: one packet becomes four, and large segments come back with the window."""
    stack = tcp("sack+smart-framing")
    found = driven.transfer(stack, 0, workload=typed(4), seconds=600)
    lost = driven.transfer(stack, 0, workload=typed(4), lost=[5], seconds=600)
    wide = driven.transfer(stack, 200)
    return [
        exactly("segments for four packets", len(found.sent), 16),
        exactly("the first of four lost: copies, timeouts", [len(lost.again), lost.flow["timeouts"]], [1, 0]),
        at_most("segments of 200 packets of a bulk flow", len(wide.sent), 230, "at most"),
    ]


def queues() -> list[Check]:
    """I-A10: drop-tail queues count bytes or packets; bytes let small packets in."""
    drops = {}
    for limit in ("5200B", "10packets"):
        for size in (460, 960):
            link = {"rate": "1Mbit/s", "queue": {"kind": "drop-tail", "limit": limit}}
            stack = tcp(window={**WINDOW, "initial_segs": 16})
            found = driven.transfer(stack, 16, link=link, size=size)
            drops[limit, size + 40] = found.link["dropped_full"]
    return [
        exactly("16 at once, 5200 bytes of queue: lost of 500 bytes, one in service", drops["5200B", 500], 5),
        exactly("lost of 1000 bytes", drops["5200B", 1000], 10),
        exactly(
            "10 packets of queue: of 500 and of 1000", [drops["10packets", n] for n in (500, 1000)], [5, 5]
        ),
    ]


def logger() -> list[Check]:
    """I-U1: from the first copy to the ack that covers a packet."""
    run = ac.simulate(
        {
            "kind": "single",
            "link": {"rate": "100Gbit/s", "delay": "50ms", "faults": [ac.fault.NthLoss(number=2, of="data")]},
            "rtt": "links",
        },
        typed(4),
        {"tcp": tcp(mss=f"{BYTES}B")},
        duration="600s",
        trace=["packets"],
    )
    found = max(Responses.every(run.traces["segments"]).values(), key=lambda r: r.time.size)
    return [
        six_digits(
            "response times (s) of four packets, the second lost",
            np.round(found.time, 4),
            [0.1, 1.1, 0.1, 0.1],
        ),
        six_digits("loss ratio: one of five", found.loss, 0.2),
    ]


def aggregator() -> list[Check]:
    """I-U2: ratios of means by packets, bin by bin."""
    interactive = Experience.of([0.01, 0.01, 0.03], [2.0, 4.0, 6.0], [1, 3, 1])
    backlogged = Experience.of([0.01, 0.03, 0.05], [1.75, 2.0, 9.0])
    made = gain(interactive, backlogged, [0, 0.02, 0.04, 0.06])
    return [six_digits("gain of two bins that both have", made["gain"].to_pylist(), [2.0, 3.0])]
