from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.models.eifel2000 import RowModel
from ackclock.models.timer import Timer
from ackclock.plot import style
from ackclock.reproduce.eifel2000 import testbed
from ackclock.reproduce.item import Outcome, Setting, item
from ackclock.results.confidence import half_width

PARTS = (1, 2, 5, 10, 20, 50, 100)
"""Round-trip time over tick."""
TIMERS = ("lite", "eifel", "rfc6298")
LOAD, RTT = 10, 200
"""Largest load of the step-by-step model; round-trip time of the simulated path, ms."""
LOSS, SEEDS, SECONDS = 0.03, 10, 200
FLAT = 0.05
"""A curve is flat from where it differs no more than so much from that of the finest tick."""


def modelled(name: str, part: int) -> dict[str, float]:
    """How far the timeout is from the one without ticks, and rows that are late, over a cycle at each of ten
    phases of the ticks.
    """
    # The mean round-trip time of a cycle is about three quarters of the largest.
    service = 1.0 + 0.001 * np.sqrt(2)
    tick = f"{1e6 * 0.8 * LOAD * service / part:.0f}us"
    model = RowModel(LOAD, 30, service)
    ideal = model.run(timer(name, "0s")).cycle()
    made = model.run(timer(name, tick))
    last = [made.cycle(-n) for n in range(1, 11)]
    error = float(np.mean([abs(r.rto / ideal.rto - 1).mean() for r in last]))
    return {"error": error, "late": float(np.mean([(r.margin <= 0).mean() for r in last]))}


def timer(name: str, tick: str) -> Timer:
    """A timer with that tick, which rounds its samples; RFC 6298 has it as its granularity alone."""
    if name == "rfc6298":
        return Timer(name, (("clock_granularity", tick),)).but(min_rto="0s", max_rto="1h")
    return Timer(name, (("rounded", "true"),)).but(tick=tick, min_rto="0s", max_rto="1h")


def stack(name: str, tick: str, clock: bool) -> ac.Stack:
    """A sender with that timer, which counts down on a heartbeat or exactly."""
    beat = {"heartbeat": tick} if clock else {}
    options = {"timestamps": True}
    if name == "eifel":
        return testbed.sender(
            ac.estimator.Eifel(tick=tick, rounded=True, max_rto="1h"), ac.timer.Precise(**beat), **options
        )
    estimator = (
        ac.estimator.Lite(tick=tick, max_rto="1h")
        if name == "lite"
        else ac.Rfc6298(clock_granularity=tick, min_rto="0s", initial_rto="3s")
    )
    return testbed.sender(estimator, ac.timer.RestartOnAck(fast_retransmit=True, **beat), **options)


def scenario(part: int, seed: int) -> ac.Scenario:
    """A transfer over a path that loses packets and whose queue makes round-trip times vary."""
    tick = f"{1000 * RTT / part:.0f}us"
    stacks = {
        f"{name}, {'heartbeat' if clock else 'armed'}": stack(name, tick, clock)
        for name in TIMERS
        for clock in (True, False)
    }
    link = ac.Link(
        "500kbit/s", queue=ac.DropTail(limit="20packets"), faults=[ac.fault.Loss(p=LOSS, of="data")]
    )
    cross = ac.UdpOnOff(rate="400kbit/s", bytes="1000B", on="1s", off="3s", periods="exponential")
    return ac.Scenario.of(
        ac.Single(link, rtt=f"{RTT}ms"),
        [ac.Bulk(name="tcp"), cross],
        stacks,
        duration=f"{SECONDS}s",
        seed=seed,
    )


def read(run: Any) -> dict[str, dict[str, float]]:
    """Goodput and timeouts by stack."""
    return {
        f["run"]: {
            "goodput": 8 * f["bytes_delivered"] / SECONDS,
            "spurious": 1000 * f["spurious_timeouts"] / f["data_segments_sent"],
            "timeouts": 1000 * f["timeouts"] / f["data_segments_sent"],
        }
        for f in run.flows.to_pylist()
        if f["protocol"] == "tcp"
    }


@item(
    "E-X14",
    kind="MODEL, SIM",
    title="Is a tick of a tenth of the round-trip time fine enough?",
    choices={
        "step-by-step model": f"largest load {LOAD}; the round-trip time is the mean of a cycle",
        "simulated path": f"500 kbit/s, {RTT} ms, a queue of 20 packets, {100 * LOSS:g} % of the data "
        f"lost at "
        "random, bursts of datagrams; Reno, every segment timed",
        "timers": "samples in whole ticks and, with a heartbeat, expiries on ticks; RFC 6298 with the "
        "tick as "
        "its clock granularity, no floor of a second",
        "intervals": f"95 % over {SEEDS} seeds (30 with --full), {SECONDS} s each",
        "flat": f"within {100 * FLAT:g} % of the value at the finest tick, or within its interval",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Round-trip times of 1 to 100 ticks."""
    model = {(name, part): modelled(name, part) for name in TIMERS for part in PARTS}
    seeds = range(1, (30 if setting.full else SEEDS) + 1)
    jobs = [(part, seed) for part in PARTS for seed in seeds]
    runs = setting.run_all([scenario(*job) for job in jobs], "E-X14")
    found: dict[Any, list[dict[str, float]]] = {}
    for (part, _), run in zip(jobs, runs, strict=True):
        for name, row in read(run).items():
            found.setdefault((name, part), []).append(row)
    rows = [
        {"stack": name, "part": part}
        | {k: float(np.mean([r[k] for r in of])) for k in of[0]}
        | {f"{k}_half": half_width([r[k] for r in of]) for k in of[0]}
        for (name, part), of in found.items()
    ]
    stacks = list(dict.fromkeys(r["stack"] for r in rows))
    flat = {name: flat_from([r for r in rows if r["stack"] == name]) for name in stacks}
    notes = [
        f"step-by-step model, {name}: error of the timeout "
        + ", ".join(f"{100 * model[name, p]['error']:.1f} % at {p}" for p in PARTS)
        + "; rows late "
        + ", ".join(f"{100 * model[name, p]['late']:.1f} %" for p in PARTS)
        for name in TIMERS
    ]
    notes += [
        f"{name}: goodput flat from {flat[name]} ticks a round trip on; "
        + ", ".join(
            f"{r['part']}: {r['goodput'] / 1e3:.0f} +/- {r['goodput_half'] / 1e3:.0f} kbit/s, "
            f"{r['spurious']:.2f} spurious and {r['timeouts']:.1f} timeouts of 1000 segments"
            for r in rows
            if r["stack"] == name
        )
        for name in stacks
    ]
    late = max(flat.values())
    ten = {name: 100 * model[name, 10]["error"] for name in TIMERS}
    coarse = [r for r in rows if r["part"] == PARTS[0] and r["stack"].startswith("eifel")]
    answer = (
        f"{'Yes' if late <= 10 else 'Not for all timers'}: goodput is that of the finest tick, within "
        f"intervals of a "
        f"few per cent, from {late} {'tick' if late == 1 else 'ticks'} a round trip on for every timer "
        f"and clock. The "
        f"timeout itself needs more: at ten ticks it is off by "
        f"{', '.join(f'{x:.0f} % ({n})' for n, x in ten.items())} "
        f"in the step-by-step model, at one by {100 * model['eifel', 1]['error']:.0f} % (eifel, "
        f"{coarse[0]['timeouts']:.0f} "
        "timeouts of 1000 segments). Sure for one simulated path with random loss; on others the place "
        "where curves "
        "flatten may differ."
    )
    fig, axes = style.figure(
        "Goodput by the resolution of the clock",
        f"Path of {RTT} ms with losses; bars: 95 %; dotted: ten ticks; heartbeat: timers checked each tick",
    )
    for i, name in enumerate(stacks):
        of = [r for r in rows if r["stack"] == name]
        look = {"color": style.COLOURS[i // 2], "linestyle": "-" if i % 2 == 0 else "--"}
        axes.errorbar(
            [r["part"] for r in of],
            [r["goodput"] / 1e3 for r in of],
            yerr=[r["goodput_half"] / 1e3 for r in of],
            capsize=2,
            marker="o",
            markersize=4,
            label=name,
            **look,
        )
    axes.axvline(10, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.set(xscale="log", xlabel="round-trip time over tick", ylabel="goodput (kbit/s)", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="lower right", fontsize=9)
    table = [{"timer": n, "part": p, **r} for (n, p), r in model.items()]
    tables = {"row_model": pa.Table.from_pylist(table), "simulated": pa.Table.from_pylist(rows)}
    return Outcome([], tables, {"goodput": fig}, notes, answer)


def flat_from(rows: list[dict[str, float]]) -> int:
    """The fewest ticks a round trip from which on the goodput is that of the finest tick."""
    last = rows[-1]
    for n in range(len(rows)):
        if all(
            abs(r["goodput"] - last["goodput"])
            <= max(FLAT * last["goodput"], r["goodput_half"] + last["goodput_half"])
            for r in rows[n:]
        ):
            return int(rows[n]["part"])
    return int(last["part"])
