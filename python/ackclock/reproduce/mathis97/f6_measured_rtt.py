from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Outcome, Setting, at_most, between, item, stated
from ackclock.reproduce.mathis97 import bottleneck, stock
from ackclock.reproduce.mathis97.f5_propagation_rtt import picture

STACKS = {"Reno": "reno", "NewReno": "newreno", "SACK": "sack", "FACK": "fack", "FACK-RH": "fack-rh"}
HALVED_AT_ONCE = ("Reno", "NewReno", "SACK", "FACK")
"""Those that the paper finds alike here. FACK-RH halves during a round trip (M-A8), and is shown beside."""
ROOT2 = 2**0.5
CYCLES = 30
"""Of each run that tries a reading."""


def fit(rows: list[dict[str, Any]]) -> tuple[float, float]:
    """C and k of equation (5) by the slope fitter (M-U6), which leaves out runs with timeouts."""
    found = m.fit([r["p"] for r in rows], [r["window"] for r in rows], timeouts=[r["timeouts"] for r in rows])
    return found.c, found.k


def over(rows: list[dict[str, Any]], c: float, k: float) -> np.ndarray:
    """Windows over those of equation (5)."""
    return np.array([r["window"] for r in rows]) / m.power_law_window([r["p"] for r in rows], c, k)


def readings() -> dict[str, ac.Stack]:
    """What is unstated, one thing changed at a time."""
    plain = bottleneck.reno()
    return {
        "as declared": plain,
        "no timestamps": plain.but(timestamps=False, mss=f"{bottleneck.PACKET - 40}B"),
        "halves in bytes": plain.but(
            window=ac.window.Reno(initial_window="segments", initial_segs=1, byte_counting=False)
        ),
        "RFC 6298's timer": plain.but(estimator=ac.Rfc6298(initial_rto="3s"), timer=ac.timer.RestartOnAck()),
        "ticks of 500 ms": plain.but(
            estimator=ac.Lite(tick="500ms"),
            timer=ac.timer.RestartOnAck(heartbeat="500ms", fast_retransmit=True),
        ),
    }


def variants(setting: Setting) -> list[dict[str, Any]]:
    """How far the outliers with the shortest queues lie above the fit to the others, for each reading."""
    places = [(rate, queue) for rate in (20e3, 40e3, 50e3, 100e3, 500e3, 2e6) for queue in (5, 10)]
    rows = bottleneck.runs(setting, readings(), places, "M-F6", cycles=CYCLES)
    found = []
    for name in readings():
        mine = [r for r in rows if r["stack"] == name]
        c, k = fit([r for r in mine if not bottleneck.slow(r)])
        for queue in (5, 10):
            slow = [r for r in mine if bottleneck.slow(r) and r["queue"] == queue]
            far, timeouts = over(slow, c, k), sum(r["timeouts"] for r in mine if r["queue"] == queue)
            found.append(
                {
                    "reading": name,
                    "queue": queue,
                    "least": float(far.min()),
                    "most": float(far.max()),
                    "timeouts": timeouts,
                }
            )
    return found


@item(
    "M-F6",
    kind="SIM",
    title="The same, round-trip time measured by the connection",
    choices={
        **bottleneck.CHOICES,
        "equation (5)": "for points: C = 0.752, k = -0.524, which table 4 has for Reno with delayed acks; "
        "outliers are compared with the fit to the others here",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """All bandwidths with all queues; Reno, NewReno, SACK, FACK and FACK with rate-halving."""
    rows = bottleneck.grid(
        setting, {name: stock.tcp(preset, bottleneck.PACKET) for name, preset in STACKS.items()}, "M-F6"
    )
    reno = [r for r in rows if r["stack"] == "Reno"]
    fast, slow = [r for r in reno if not bottleneck.slow(r)], [r for r in reno if bottleneck.slow(r)]
    c, k = fit(fast)
    near, far = over(fast, c, k), over(slow, c, k)
    by_queue = {
        queue: [f for f, r in zip(far, slow, strict=True) if r["queue"] == queue]
        for queue in bottleneck.QUEUES
    }
    apart, _ = spread(rows, HALVED_AT_ONCE)
    with_halving, worst = spread(rows, tuple(STACKS))
    checks = [
        between(
            "windows over those of equation (5), packet time up to 100 ms",
            over(fast, *bottleneck.TABLE_4),
            0.8,
            1.2,
        ),
        stated(
            "the outliers are the runs with a packet time over 100 ms",
            f"those lie {far.min():.3f} to {far.max():.3f} above the fit, the others {near.min():.3f} "
            f"to {near.max():.3f}",
            far.min() > near.max(),
            "all of them above all others",
        ),
        *(
            between(f"outliers over the fit, queue {queue}", by_queue[queue], 0.88 * ROOT2, 1.12 * ROOT2)
            for queue in bottleneck.QUEUES
        ),
        at_most("difference of window sqrt(p) between Reno, NewReno, SACK and FACK", apart, 0.1, "at most"),
    ]
    against = over(slow, *bottleneck.TABLE_4)
    notes = [
        f"fit to the runs with packet times up to 100 ms: C = {c:.3f}, k = {k:.3f}",
        f"With FACK-RH beside them they are {100 * with_halving:.1f} % apart, at {worst[0] / 1e3:g} kbit/s, "
        f"queue {worst[1]}",
        f"outliers over equation (5) as table 4 has it: {against.min():.3f} to {against.max():.3f}",
        "Packets of a cycle on the slowest line, and those that delayed acks take with the same queue: "
        + ", ".join(
            f"queue {q}: {1 / least(slow, q):.0f} and {1 / least(fast, q):.0f}" for q in bottleneck.QUEUES
        ),
    ]
    title = "With the round-trip time that the connection measures it fits"
    tried = variants(setting)
    notes += [
        (
            f"{r['reading']}, queue {r['queue']}: outliers {r['least']:.3f} to {r['most']:.3f} above "
            f"the fit; {r['timeouts']} timeouts"
        )
        for r in tried
    ]
    fig = picture(reno, "window", title, "BW RTT/MSS (packets), RTT as sampled", ROOT2, "sqrt(2) times that")
    tables = {"runs": pa.Table.from_pylist(rows), "readings": pa.Table.from_pylist(tried)}
    return Outcome(checks, tables, {"windows": fig}, notes)


def spread(rows: list[dict[str, Any]], stacks: tuple[str, ...]) -> tuple[float, tuple[float, int]]:
    """How far window sqrt(p) of these stacks lies apart at most, and at which bandwidth and queue."""
    by_place: dict[tuple[float, int], list[float]] = {}
    for r in rows:
        if r["stack"] in stacks:
            by_place.setdefault((r["bandwidth"], r["queue"]), []).append(r["c"])
    return max((max(v) / min(v) - 1, place) for place, v in by_place.items())


def least(rows: list[dict[str, Any]], queue: int) -> float:
    """p of the slowest line among some with this queue."""
    return min((r["bandwidth"], r["p"]) for r in rows if r["queue"] == queue)[1]
