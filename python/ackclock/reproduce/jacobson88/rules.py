"""The rules of the paper, driven over a path that loses chosen packets: what its algorithms do there."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

import ackclock as ac
from ackclock.reproduce import driven
from ackclock.reproduce.item import Check, at_most, between, exactly, six_digits, stated

ONE = {"kind": "reno", "initial_window": "segments", "initial_segs": 1, "byte_counting": False}
"""A window that begins with one segment and counts acks."""
TIMEOUTS = {"recovery": "timeout-only", "ack": "every"}
"""No fast retransmit, which would hide what a timeout does."""
LARGE = {"rcv_buf": "1MiB", "snd_buf": "1MiB"}


def tcp(window: dict[str, Any], **more: Any) -> ac.Stack:
    """A stack with that window and an ack for each packet."""
    return ac.Stack("tahoe", window=window, **{"ack": "every", **LARGE, **more})


def slow_start() -> list[Check]:
    """J-A2: the window doubles each round trip, from one packet and again after a timeout."""
    found = driven.transfer(tcp(ONE), 63)
    after = driven.transfer(tcp(ONE, **TIMEOUTS), 40, lost=[31])
    restart = next(w for t, w, _ in after.windows if t >= after.sent[-1].time - 60 and w == 1 and t > 0)
    return [
        exactly("packets of each round trip", found.by_round(), [1, 2, 4, 8, 16, 32]),
        exactly("window (segments) after a timeout", restart, 1.0),
    ]


def karn() -> list[Check]:
    """J-A8, one packet at a time: the second is lost, and so is the first copy of the third. The backed-off
    timeout of the second stays for the third, whose predecessor gave no sample.
    """
    gaps = {}
    for name, kept in (("kept", True), ("not kept", False)):
        stack = tcp(ONE, karn_backoff=kept, rcv_buf=f"{driven.MSS}B", timestamps=False, **TIMEOUTS)
        found = driven.transfer(stack, 6, lost=[2, 4])
        times = {n: [s.time for s in found.sent if s.number == n] for n in (1, 2)}
        gaps[name] = round((times[2][1] - times[2][0]) / (times[1][1] - times[1][0]), 6)
        samples = len(found.rto)
    return [
        exactly("timeout of the third packet over that of the second, with Karn's rule", gaps["kept"], 2.0),
        exactly("and if a new ack ends the backoff", gaps["not kept"], 1.0),
        exactly("samples: handshake, end, and four of six packets, since two were sent twice", samples, 6),
    ]


def avoidance_alone() -> list[Check]:
    """J-A9: 1/W for each ack, which is at most a packet each round trip; half at a timeout."""
    window = {**ONE, "phases": "avoidance", "initial_segs": 8}
    found = driven.transfer(tcp(window), 80)
    outstanding, after, _ = driven.transfer(tcp(window, **TIMEOUTS), 40, lost=[8]).cut()
    return [
        at_most("largest difference from W += 1/W (segments)", _off(found, 1), 0.001, "a byte"),
        between("packets more in each round trip", np.diff(found.by_round()[:6]), 0, 1),
        six_digits("window after a timeout over what was in use", after / outstanding, 0.5),
    ]


def _off(found: driven.Driven, u: float) -> float:
    """The largest difference of the growth at an ack from u/W, segments."""
    return max(abs(more - u / w) for w, more in found.growth())


def combined() -> list[Check]:
    """J-A10: a timeout halves the threshold and leaves one packet; slow-start up to it, then a packet a round
    trip.
    """
    found = driven.transfer(tcp(ONE, **TIMEOUTS), 120, lost=[32])
    outstanding, window, threshold = found.cut()
    assert threshold, "a timeout sets it"
    first = next(n for n, (w, _) in enumerate(found.growth()) if n and w == 1)
    rest = found.growth()[first:]
    return [
        exactly("window (segments) after a timeout", window, 1.0),
        six_digits("threshold over half of what was outstanding", threshold / (outstanding / 2), 1),
        exactly(
            "growth for each ack below the threshold",
            sorted({more for w, more in rest if w + 1 <= threshold}),
            [1.0],
        ),
        at_most(
            "above it, largest difference from 1/W (segments)",
            max(abs(more - 1 / w) for w, more in rest if w >= threshold),
            0.001,
            "a byte",
        ),
    ]


def increments() -> list[Check]:
    """J-A11: a window in whole packets stalls; in bytes it grows by at most a packet a round trip."""
    window = {**ONE, "phases": "avoidance", "initial_segs": 8}
    whole = driven.transfer(tcp({**window, "whole_segs": True}), 40)
    found = driven.transfer(tcp({**window, "whole_segs": False}), 80)
    short = sum(b != a + 1 for a, b in pairwise(s.number for s in found.sent))
    return [
        exactly(
            "windows (segments) of the form in whole packets", sorted({w for _, w, _ in whole.windows}), [8.0]
        ),
        between("growth of the form in bytes in a round trip", np.diff(found.by_round()[:6]), 0, 1),
        exactly("segments that are not whole ones", short, 0),
    ]


def idle() -> list[Check]:
    """J-A12: 20 packets, a pause far longer than the timeout, 20 more."""
    counts = {}
    typed = ac.Telnet(packets=2, think="60s", bytes=f"{20 * driven.MSS}B")
    for name, restart in (("with", True), ("without", False)):
        found = driven.transfer(tcp(ONE, idle_restart=restart), 0, workload=typed, seconds=900)
        times = np.array([s.time for s in found.sent])
        pause = int(np.argmax(np.diff(times))) + 1
        counts[name] = int((times[pause:] < times[pause] + driven.RTT / 2).sum())
    return [
        exactly("packets at once after the pause, with the restart", counts["with"], 1),
        exactly("without it", counts["without"], 20),
    ]


def receivers() -> list[Check]:
    """J-A13: packets for each ack of 32 that arrive at once, and on the paper's test path."""
    slow = {"rate": "230400bit/s", "delay": "10ms", "queue": {"kind": "drop-tail", "limit": "50packets"}}
    covered, ratios = {}, {}
    for kind in ("bsd43", "delayed", "every"):
        stack = ac.Stack("rfc793", ack=kind, rcv_buf="16384B", window_scaling=False)
        acks = [a for _, a in driven.transfer(stack, 32, size=512).acks]
        covered[kind] = np.diff([0, *acks]).max()
        found = driven.transfer(stack, 500, link=slow, size=512)
        ratios[kind] = len(found.sent) / len(found.acks)
    return [
        # 35 % of 16384 bytes are 11.2 packets of 512.
        exactly(
            "4.3BSD's: most packets for an ack, until 35 % of the window are there", covered["bsd43"], 12
        ),
        exactly("every second: most packets for an ack", covered["delayed"], 2),
        exactly("every packet: most packets for an ack", covered["every"], 1),
        # A packet takes 19.2 ms there, and the clock ticks every 200 ms.
        between("4.3BSD's on the test path: packets for an ack, 200 ms of them", ratios["bsd43"], 9.4, 11.4),
        between("every second, there", ratios["delayed"], 1.9, 2.0),
    ]


def fast_retransmit() -> list[Check]:
    """J-A14: the third duplicate ack, and no timer."""
    found = driven.transfer(tcp(ONE), 63, lost=[20])
    copy = next(s for s in found.sent if s.again)
    same = [t for t, a in found.acks if a == 19 and t <= copy.time + 1e-9]
    return [
        exactly("packet that is sent again", copy.number, 19),
        exactly("acks for the packet before it by then: one and its duplicates", len(same), 1 + 3),
        exactly("timeouts", found.flow["timeouts"], 0),
    ]


def old() -> list[Check]:
    """J-A16: all of the window at once, and all of it again from the lost packet on."""
    stack = ac.Stack("rfc793", ack="every", rcv_buf=f"{16 * driven.MSS}B", window_scaling=False)
    found = driven.transfer(stack, 16, lost=[5])
    return [
        exactly("packets of the first round trip, with a window of 16", found.by_round()[0], 16),
        exactly(
            "the first packet sent again, by the timer", (found.again[0], found.flow["timeouts"]), (4, 1)
        ),
        stated("all after it follow", str(found.again), found.again == list(range(4, 4 + len(found.again)))),
    ]


def aimd() -> list[Check]:
    """J-A17: decrease and increase as they are set."""
    window = {**ONE, "phases": "avoidance", "initial_segs": 16}
    checks = []
    for d in (0.5, 0.875):
        found = driven.transfer(tcp({**window, "decrease": d}, **TIMEOUTS), 60, lost=[16])
        outstanding, after, _ = found.cut()
        checks.append(
            six_digits(f"d = {d:g}: window after a timeout over what was in use", after / outstanding, d)
        )
    for u in (0.25, 1, 2):
        found = driven.transfer(tcp({**window, "increase_segs": u}), 100)
        checks.append(
            at_most(
                f"u = {u:g}: largest difference from W += u/W (segments)", _off(found, u), 0.001, "a byte"
            )
        )
    wrong = {**window, "increase_segs": 0, "increase_factor": 1.142857}
    grown = [more for _, more in driven.transfer(tcp(wrong), 100).growth()]
    checks.append(between("b = 8/7: growth for each ack (segments)", grown, 1 / 7 - 0.001, 1 / 7 + 0.001))
    return checks
