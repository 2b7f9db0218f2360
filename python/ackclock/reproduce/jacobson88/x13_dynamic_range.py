from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, exactly, item
from ackclock.reproduce.jacobson88 import senders
from ackclock.results import Run

RATES = (1200, 10_000, 100_000, 1e6, 10e6, 100e6, 800e6)
ROUND_TRIPS = (0.1, 0.3, 0.5)
ROUND_TRIP = 0.5
"""Seconds, that of a satellite; the others are in the table."""
START, WHOLE = 20, 100
"""Round trips of the full path after which the start is over, and that a run lasts."""
EARLY = 10
"""Round trips after which no timeout may be spurious."""
BUFFER = 50
"""Packets at least (J-F7); otherwise a bandwidth-delay product."""


def packet(rate: float) -> int:
    """Bytes of a packet: the paper's, an Ethernet's, and a large one on a channel."""
    return senders.PACKET if rate < 1e6 else 1500 if rate <= 100e6 else 9000


def seconds(rate: float, round_trip: float) -> list[float]:
    """The moments at which the same run is cut off: what happened in between is the difference."""
    empty = round_trip + 8 * (packet(rate) + senders.HEADERS) / rate
    return [EARLY * empty, 2 * START * empty, 2 * WHOLE * empty]


def filled(rate: float, round_trip: float) -> int:
    """Packets that fill the path."""
    size = packet(rate)
    return math.ceil((round_trip + 8 * (size + senders.HEADERS) / rate) / (8 * size / rate))


def scenarios(rate: float, round_trip: float) -> list[ac.Scenario]:
    """The run, cut off at each of the moments."""
    data, pipe = packet(rate) - senders.HEADERS, filled(rate, round_trip)
    room = {f"{kind}_buf": f"{min(data * 64 * max(pipe, BUFFER), 1 << 30)}B" for kind in ("rcv", "snd")}
    stack = senders.new(8, mss=f"{data}B", window_scaling=True, **room)
    path = ac.Single(senders.line(rate, round_trip / 2, max(pipe, BUFFER)))
    return [
        ac.Scenario.of(path, ac.Bulk(flows=1), {"new": stack}, duration=f"{t:.6f}s")
        for t in seconds(rate, round_trip)
    ]


def row(rate: float, round_trip: float, runs: list[Run]) -> dict[str, Any]:
    """Utilisation of the link after the start, and spurious timeouts after the first ten round trips."""
    size, pipe = packet(rate), filled(rate, round_trip)
    books = []
    for t, r in zip(seconds(rate, round_trip), runs, strict=True):
        link, flow = r.links.to_pylist()[0], r.flows.to_pylist()[0]
        books.append(
            {
                "seconds": t,
                "bits": 8 * link["bytes"],
                "spurious": flow["spurious_timeouts"],
                "dropped": link["dropped_queue"],
            }
        )
        books[-1] |= {"timeouts": flow["timeouts"], "sent": flow["data_segments_sent"]}
    early, start, end = books
    return {
        "rate (bit/s)": float(rate),
        "round trip (s)": round_trip,
        "packet (B)": size,
        "pipe (packets)": pipe,
        "buffer (packets)": max(pipe, BUFFER),
        "utilisation": (end["bits"] - start["bits"]) / (end["seconds"] - start["seconds"]) / rate,
        "spurious, first 10 round trips": early["spurious"],
        "spurious, later": end["spurious"] - early["spurious"],
        "timeouts": end["timeouts"],
        "dropped": end["dropped"],
        "sent": end["sent"],
    }


@item(
    "J-X13",
    kind="SIM",
    title="One algorithm from 1200 bit/s to 800 Mbit/s",
    choices={
        "senders": senders.CHOICES["new TCP"] + "; the window is never the receiver's",
        "packets": "552 bytes below 1 Mbit/s, 1500 bytes up to 100 Mbit/s, 9000 bytes at 800 Mbit/s",
        "round trip": "0.1, 0.3 and 0.5 s without queue and sending times, which all decide",
        "buffer": f"a bandwidth-delay product, {BUFFER} packets at least",
        "after start-up": f"from {START} round trips of the full path (twice the empty one) on, until "
        f"{WHOLE}",
        "first 10 round trips": "of the empty path",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """One transfer at each decade."""
    points = [(rate, round_trip) for round_trip in ROUND_TRIPS for rate in RATES]
    cut = [scenarios(*point) for point in points]
    runs = iter(setting.run_all([s for some in cut for s in some], "J-X13"))
    rows = [row(*point, [next(runs) for _ in some]) for point, some in zip(points, cut, strict=True)]
    gate = rows
    least = min(gate, key=lambda r: r["utilisation"])
    checks = [
        at_least(
            f"least utilisation, at {least['rate (bit/s)']:g} bit/s and {least['round trip (s)']:g} s",
            least["utilisation"],
            0.9,
            "at least",
        ),
        exactly(
            "spurious timeouts after the first 10 round trips, by rate; 0.1, 0.3 and 0.5 s",
            [r["spurious, later"] for r in gate],
            [0] * len(gate),
        ),
    ]
    notes = [
        (
            f"{r['rate (bit/s)']:g} bit/s, {r['round trip (s)']:g} s: {100 * r['utilisation']:.1f} % used, "
            f"{r['timeouts']} timeouts, spurious {r['spurious, first 10 round trips']} early and "
            f"{r['spurious, later']} later, {r['dropped']} of {r['sent']} packets dropped"
        )
        for r in rows
    ]
    return Outcome(checks, {"decades": pa.Table.from_pylist(rows)}, {"utilisation": picture(rows)}, notes)


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Utilisation over the rate."""
    fig, axes = style.figure(
        "Use of the link over six decades of bandwidth",
        "Slow-start and congestion avoidance, integer timer; after the start; dotted: 90 %",
    )
    for i, round_trip in enumerate(ROUND_TRIPS):
        mine = [r for r in rows if r["round trip (s)"] == round_trip]
        used = 100 * np.array([r["utilisation"] for r in mine])
        axes.plot(
            [r["rate (bit/s)"] for r in mine],
            used,
            marker="o",
            label=f"round trip {round_trip:g} s",
            **style.line(i),
        )
    axes.axhline(90, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.set(xlabel="rate of the bottleneck (bit/s)", ylabel="link used (%)", xscale="log", ylim=(0, 105))
    axes.grid(True)
    axes.legend(loc="lower right")
    return fig
