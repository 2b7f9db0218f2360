"""Real forms of I-F9 and I-F12: clients above the kernel's sockets, beside their twins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import latency, sustained, testbed
from ackclock.reproduce.interactive2007.f12b_framing_red import LITTLE
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, between
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together
from ackclock.scenario import Workload

SYSCTL = {"net.ipv4.tcp_timestamps": "0", "net.ipv4.tcp_early_retrans": "0"}
"""Packets of 540 bytes, and no tail loss probes."""
SECONDS, FULL = 30.0, 60.0
POINTS: dict[str, tuple[int, ...]] = {
    sustained.INTERACTIVE: (50, 320, 360, 400),
    sustained.PADDED: (50, 220, 260, 300),
}
"""Numbers of flows."""
FULL_POINTS: dict[str, tuple[int, ...]] = {
    sustained.INTERACTIVE: (50, 200, 300, 320, 340, 360, 380, 400, 450, 500),
    sustained.PADDED: (50, 150, 200, 220, 240, 260, 280, 300, 350, 400),
}
WIDER = 0.1
"""By which ranges are wider than those of the simulation."""
WHOLE, SPLIT = "one segment of 500 bytes", "four segments of 125 bytes"
FTP, FULL_FTP = (8, 16), (4, 8, 16, 24, 32)

CHOICES = {
    "kernel": f"`reno` with minRTO {testbed.RTO:g} s (SRTT and at least that much more), TCP_NODELAY, no "
    "timestamps, no tail loss probes; RACK stays, so that a lost packet with one packet behind it may be "
    "repaired without three duplicate acks",
    "twin": "the preset `linux-reno` without probes, with the same timer",
    "response time": "from typing a packet to the cumulative ack of its last byte",
    "duration": f"{SECONDS:g} s for each point ({FULL:g} s with --full), one seed",
}


def stack(mss: int = testbed.PAYLOAD) -> ac.Stack:
    """The kernel's sockets and their twin. mss: bytes of a segment, by the route's MTU."""
    kernel = {
        "cc": "reno",
        "sysctl": SYSCTL,
        "options": {"TCP_NODELAY": 1},
        "route": {"rto_min": f"{testbed.RTO:g}s"},
    }
    least = f"{testbed.RTO:g}s"
    return ac.Stack(
        "linux-reno",
        estimator=ac.estimator.Linux(variation_floor=least, min_rto=least),
        recovery=ac.recovery.Rack(linux=True, tlp=False),
        timestamps=False,
        nagle=False,
        mss=f"{mss}B",
        kernel=kernel,
    )


def scenario(
    path: Any, loads: Sequence[Workload], stacks: dict[str, ac.Stack], seconds: float, seed: int = 1
) -> ac.Scenario:
    """So many seconds of a point, after those that do not count."""
    times = {"duration": f"{testbed.WARM + seconds:g}s", "measure_from": f"{testbed.WARM:g}s"}
    return ac.Scenario.of(path, list(loads), stacks, seed=seed, **times)


def sustain(queue: str, setting: Setting, label: str, title: str) -> Outcome:
    """Latency against the number of flows, of plain and of padded clients."""
    points, seconds = (FULL_POINTS, FULL) if setting.full else (POINTS, SECONDS)
    todo = [(a, n) for a in sustained.APPROACHES if a.name in points for n in points[a.name]]
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    path = testbed.dumbbell(queue, mbit=sustained.RATE, rtt=sustained.RTT)
    wanted = {(a, n): scenario(path, a.workloads(n), {a.name: stack()}, seconds) for a, n in todo}
    for (a, n), pair in together(wanted, setting, label).items():
        for world, r in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
            rows.append({"approach": a.name, "flows": n, "world": world, "latency": latency.mean(r)})
        notes += pair.notes(f"{a.name}, {n} flows")
    checks: list[Check] = []
    series = []
    for a in sustained.APPROACHES:
        for world in (KERNEL, TWIN) if a.name in points else ():
            mine = [r for r in rows if (r["approach"], r["world"]) == (a.name, world)]
            x, y = np.array([r["flows"] for r in mine], float), np.array([r["latency"] for r in mine])
            departs = latency.crossing(x, y, sustained.DEPARTED * y[0])
            series.append(Measured(f"{a.name}, {world}", x, y))
            low, high = a.departs
            if world == KERNEL:
                low, high = (1 - WIDER) * low, (1 + WIDER) * high
                checks.append(between(f"{a.name}: departs at, flows", departs, low, high))
            else:
                notes.insert(0, f"{a.name}, simulated: departs at {departs:.0f} flows")
    return Outcome(
        checks, {"latency": pa.Table.from_pylist(rows)}, {"latency": picture(series, title, queue)}, notes
    )


def picture(series: list[Measured], title: str, queue: str) -> Figure:
    """Latency against number of flows in both worlds."""
    return measured(
        series,
        title=title,
        subtitle=f"{queue}, {sustained.RATE:g} Mbit/s, {1e3 * sustained.RTT:g} ms, a packet a second for "
        "each flow",
        xlabel="number of flows",
        ylabel="mean latency (s)",
    )


for _id, _queue in (("I-F9a", testbed.RED), ("I-F9b", testbed.DROP_TAIL_BYTES)):

    @real_form(
        _id,
        title=f"How many of the kernel's sockets a link sustains, {_queue}",
        choices={
            **CHOICES,
            "approaches": "interactive and padded, with "
            + "; ".join(f"{', '.join(map(str, n))} flows" for n in POINTS.values())
            + " (ten numbers each with --full); the kernel has no diversity, and backlogged flows are "
            "left out",
            "ranges": f"those of the simulation, {100 * WIDER:.0f} % wider",
        },
    )
    def _sustain(setting: Setting, queue: str = _queue, id: str = _id) -> Outcome:
        return sustain(
            queue, setting, f"{id} real", "How many sockets a link sustains, on the kernel and simulated"
        )


def framed(queue: str, setting: Setting, label: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Packets in one segment and in four, beside cross traffic."""
    numbers, seconds = (FULL_FTP, FULL) if setting.full else (FTP, SECONDS)
    cases = [(n, name) for n in numbers for name in (WHOLE, SPLIT)]
    rows: list[dict[str, Any]] = []
    notes: list[str] = []
    wanted = {}
    for n, name in cases:
        mss = testbed.PAYLOAD if name == WHOLE else testbed.PAYLOAD // 4
        loads = [testbed.telnet(30), *testbed.Mix(ftp=n, http=0.2).workloads()]
        stacks = {name: stack(mss), testbed.BACKGROUND: stack()}
        wanted[n, name] = scenario(testbed.dumbbell(queue), loads, stacks, seconds)
    for (n, name), pair in together(wanted, setting, label).items():
        for world, r in ((KERNEL, pair.kernel), (TWIN, pair.twin)):
            rows.append({"ftp": n, "segments": name, "world": world, "response": latency.mean(r, "telnet")})
        notes += pair.notes(f"{n} FTP, {name}")
    return rows, notes


def ratios(rows: Sequence[dict[str, Any]], world: str) -> list[float]:
    """Response times of packets in four segments over those in one, by cross traffic."""
    by = {(r["ftp"], r["segments"]): r["response"] for r in rows if r["world"] == world}
    return [by[n, SPLIT] / by[n, WHOLE] for n in dict.fromkeys(n for n, _ in by)]


def splitting(queue: str, setting: Setting, label: str, *, byte_red: bool) -> Outcome:
    """I-F12 for real. byte_red: the queue spares small packets."""
    rows, notes = framed(queue, setting, label)
    found = {world: ratios(rows, world) for world in (KERNEL, TWIN)}
    mean = float(np.mean(found[KERNEL]))
    name = "four segments over one, mean over the cross traffic"
    checks = [between(name, mean, *LITTLE) if byte_red else at_least(name, mean, 1.1, "at least")]
    notes = [f"by cross traffic, {w}: {', '.join(f'{x:.3g}' for x in v)}" for w, v in found.items()] + notes
    x = np.array(sorted({r["ftp"] for r in rows}), float)
    series = [
        Measured(
            f"{segments}, {world}",
            x,
            np.array([r["response"] for r in rows if (r["segments"], r["world"]) == (segments, world)]),
        )
        for segments in (WHOLE, SPLIT)
        for world in (KERNEL, TWIN)
    ]
    figure = measured(
        series,
        title="Packets in one segment and in four, on the kernel and simulated",
        subtitle=f"{queue}, {testbed.RATE:g} Mbit/s, {1e3 * testbed.RTT:g} ms; 30 flows of a packet a second",
        xlabel="FTP flows of the cross traffic",
        ylabel="mean response time (s)",
    )
    return Outcome(checks, {"response": pa.Table.from_pylist(rows)}, {"response": figure}, notes)


for _id, _queue in (("I-F12a", testbed.DROP_TAIL_BYTES), ("I-F12b", testbed.RED_BYTES)):

    @real_form(
        _id,
        title=f"Packets in one segment and in four on the kernel, {_queue}",
        choices={
            **CHOICES,
            "four segments": "a route's MTU of 165 bytes cuts the packet's one write, as four writes would",
            "cross traffic": f"{', '.join(map(str, FTP))} FTP flows ({', '.join(map(str, FULL_FTP))} with "
            "--full) and HTTP, on the kernel as well; no datagrams, which a small MTU does not let pass",
        },
    )
    def _split(setting: Setting, queue: str = _queue, id: str = _id) -> Outcome:
        return splitting(queue, setting, f"{id} real", byte_red=queue == testbed.RED_BYTES)
