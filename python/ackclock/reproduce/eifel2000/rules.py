"""The rules of the paper, driven over a path and through the register's values."""

from __future__ import annotations

from typing import Any

import numpy as np

import ackclock as ac
from ackclock.models import Timer
from ackclock.models.eifel2000 import exact
from ackclock.reproduce import driven
from ackclock.reproduce.eifel2000 import e18_golden_rows as golden
from ackclock.reproduce.eifel2000 import model
from ackclock.reproduce.item import Check, at_least, between, exactly, six_digits

WINDOW = {"kind": "reno", "initial_window": "segments", "initial_segs": 10, "phases": "avoidance"}
"""Ten segments at once, which grow slowly."""
SLOW = {"rate": "166400bit/s", "queue": {"kind": "drop-tail", "limit": "100packets"}}
"""A packet of 1040 bytes takes 50 ms."""
TIMEOUT = 5.0
"""Seconds: above every round-trip time here, so that the timeout is the floor."""


def tcp(**more: Any) -> ac.Stack:
    """A stack without fast retransmit, whose timer alone repairs, and an ack for each packet."""
    given = {
        "window": WINDOW,
        "recovery": "timeout-only",
        "ack": "every",
        "estimator": {"kind": "rfc6298", "min_rto": f"{TIMEOUT}s"},
        "rcv_buf": "1MiB",
        "snd_buf": "1MiB",
        "timestamps": False,
        **more,
    }
    return ac.Stack("sack", **given)


def expiry(timer: Any) -> tuple[float, float]:
    """When the timer fires for a lost segment in the middle of a stream: seconds after the segment left, and
    after the last ack of something new.
    """
    found = driven.transfer(tcp(timer=timer), 60, lost=[30], link=SLOW)
    copy = next(s.time for s in found.sent if s.again)
    first = next(s.time for s in found.sent if s.number == 29)
    ack = next(t for t, a in found.acks if a == 29)
    return copy - first, copy - ack


def lite() -> list[Check]:
    """E-A1: equations, a floor of two ticks, and the full timeout again at every ack."""
    made = exact("lite").step(2.0, 0.5, np.array([3.0, 1.0]))
    floor = Timer("lite").but(tick="500ms").rows({"time": np.arange(1.0, 30.0), "rtt": np.full(29, 0.1)})
    _, after_ack = expiry("restart-on-ack")
    return [
        six_digits("timeout after samples of 3 and 1 (E-E4)", made["rto"], [4.625, 4.375]),
        six_digits("timeout (s) of round trips of 0.1 s, two ticks", floor["rto"][-1], 1.0),
        six_digits("it fires after the last new ack (s): the full timeout", round(after_ack, 6), TIMEOUT),
    ]


def sampling() -> list[Check]:
    """E-A3: samples for each segment."""
    n, share = 100, {}
    for name, rate, ack in (
        ("every segment", "every-segment", "every"),
        ("delayed acks", "every-segment", "delayed"),
        ("once", "once-per-rtt", "every"),
    ):
        found = driven.transfer(tcp(rtt_sampling=rate, ack=ack), n)
        share[name] = (len(found.rto), len(found.by_round()))
    return [
        between("every segment timed: samples for each", share["every segment"][0] / n, 0.95, 1.05),
        between("with delayed acks", share["delayed acks"][0] / n, 0.45, 0.6),
        # The handshake gives one more, and so does the end.
        between("one at a time: samples less round trips", share["once"][0] - share["once"][1], -1, 2),
    ]


def faults() -> list[Check]:
    """E-A4: the timeout rises when the round-trip time falls, has no margin at the end of a large load's
    cycle, and begins anew at every ack.
    """
    fallen = exact("lite").step(2.0, 0.5, 1.0)
    rows = model.steady("lite", 40)
    age, _ = expiry("restart-on-ack")
    return [
        at_least(
            "timeout after a fall from 2 to 1 s, over 4 s before", float(fallen["rto"]) / 4, 1, "more than"
        ),
        exactly(
            "rows without margin at a load of 40 (E-E18)",
            int((rows.margin <= 0).sum()),
            golden.CYCLE["lite", 40][4],
        ),
        at_least("seconds that a lost segment waits, over the timeout", age / TIMEOUT, 1.05, "more than"),
    ]


def heartbeat() -> list[Check]:
    """E-A5: timeouts end on ticks of a clock."""
    found = driven.transfer(
        tcp(timer={"kind": "precise", "heartbeat": "500ms"}, karn_backoff=True), 3, lost=[1, 2, 3, 4, 5]
    )
    copies = [s.time for s in found.sent if s.number == 0]
    gaps = np.diff(copies[1:]) / 0.5
    return [
        at_least("copies", len(copies), 3, "at least"),
        between(
            "time between expiries in ticks of 500 ms, less whole ones", gaps - np.round(gaps), -1e-6, 1e-6
        ),
    ]


def eifel() -> list[Check]:
    """E-A6: the equations (E-E12), and the age of the oldest segment comes off the timeout (E-E13)."""
    made = exact("eifel").step(
        2.0, 0.5, np.array([3.0, 2.2, 1.0]), flight_size=6, cwnd=6, ssthresh=5, sampling_rate=1.0
    )
    jump = exact("eifel").step(5.0, 0.0, 8.0, flight_size=6, cwnd=6, ssthresh=5, sampling_rate=1.0)
    age, _ = expiry("precise")
    return [
        six_digits("timeout after samples of 3, 2.2 and 1", made["rto"], [5.66667, 4.98333, 4.83333]),
        six_digits("after a jump from 5 to 8", jump["rto"], 8.5),
        six_digits("it fires after the segment left (s): the timeout", round(age, 6), TIMEOUT),
    ]


def aggressive() -> list[Check]:
    """E-A7: k = 0.05 lowers the factor by a factor of 0.950006 in a cycle of 260 samples (E-E15)."""
    rows = model.RowModel(26, 4)
    agg = rows.run(exact("eifel-agg", k="0.05", max_cwnd="26")).rto / rows.run(exact("eifel")).rto
    ends = agg[rows.cycle_rows - 1 :: rows.cycle_rows]
    return [
        exactly("samples of a cycle", rows.cycle_rows, 260),
        six_digits("factor at the end of a cycle over that of the one before", ends[2] / ends[1], 0.950006),
    ]


def undo() -> list[Check]:
    """E-A8: a stall of the path makes a timeout spurious; with the response the window is as before."""
    after = {}
    for name in ("eifel", "none"):
        stack = tcp(
            undo=name,
            timestamps=True,
            estimator={"kind": "rfc6298", "min_rto": "1s"},
            recovery="newreno",
            window=WINDOW,
        )
        # It ends 5 s after the first packet of the run, the SYN.
        stall = ac.fault.Stall(from_="2s", until="5s")
        found = driven.transfer(stack, 800, faults=[stall])
        spurious = found.flow["spurious_timeouts"]
        first = next(s.time for s in found.sent if s.again)
        before = [w for t, w, _ in found.windows if t < first][-1]
        later = next(w for t, w, _ in found.windows if t > 5.0)
        after[name] = (spurious > 0, later / before)
    return [
        exactly("the timeout is spurious", [after["eifel"][0], after["none"][0]], [True, True]),
        at_least("window afterwards over that before, with the response", after["eifel"][1], 1, "at least"),
        between("without it", after["none"][1], 0, 0.9),
    ]


def sample_floor() -> list[Check]:
    """E-A9: two ticks above the latest sample, where the equations would have less."""
    series = {"time": np.arange(1.0, 400.0) * 10, "rtt": np.full(399, 5.0)}
    rto = {
        name: Timer("lite", (("sample_floor", name),)).but(tick="100ms", max_rto="1h").rows(series)["rto"][-1]
        for name in ("true", "false")
    }
    return [
        at_least("timeout (s) of samples of 5 s", rto["true"], 5.2 - 1e-9, "two ticks of 0.1 s more"),
        between("without the floor", rto["false"], 0, 5.2 - 1e-6),
    ]


def spreadsheet() -> list[Check]:
    """E-A10: reference rows of a load of 10 (E-E18)."""
    return [
        c
        for name in ("lite", "eifel")
        for c in golden.cycle(name, 10, model.steady(name, 10), golden.FIRST[name, 10])
    ]


def serial_line() -> list[Check]:
    """E-A11 and E-E17: 40 packets of 1500 bytes at 240 bytes a second."""
    link = {"rate": "1920bit/s", "queue": {"kind": "drop-tail", "limit": "40packets"}}
    burst = {**WINDOW, "initial_segs": 41}
    never = {"kind": "rfc6298", "min_rto": "50min", "initial_rto": "50min", "max_rto": "1h"}
    slow = tcp(window=burst, estimator=never)
    found = driven.transfer(slow, 41, link=link, size=1460, seconds=3000)
    times = [t for t, _ in found.acks]
    return [
        six_digits("a packet (s)", round(times[2] - times[1], 4), 6.25),
        six_digits("40 packets (s)", round(times[40] - times[0], 3), 250.0),
    ]
