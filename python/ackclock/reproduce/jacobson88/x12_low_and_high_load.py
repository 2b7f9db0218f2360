from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.jacobson88 import round_trips
from ackclock.models.timer import Timer
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item, stated
from ackclock.reproduce.jacobson88 import timers
from ackclock.scenario import variation

LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9)
BASE, SERVICE = 1.0, 0.25
SHARES = (1, 10, 100)
"""The connection sends one of so many packets."""
SATELLITE, SPREAD = 0.5, 0.01
"""Round-trip time of the satellite-like path and half-width of its variation, s."""
GROWTH = 3.0
"""What "sharply" is taken to mean: at 90 % load so many times the rate of 30 % load."""
TIMERS = {"RFC 793 (J-A3)": timers.OLD, "J-A6": timers.NEW, "J-A6, tick 10 ms": timers.ticking(0.01)}
LEGEND = {
    "RFC 793 (J-A3)": "RFC 793",
    "J-A6": "mean + 4 deviations",
    "J-A6, tick 10 ms": "mean + 4 deviations, tick 10 ms",
}
"""What the figure calls them."""
SEED = 1988
"""Of random numbers."""
LINE, DELAY = 9600, 0.25
FLOWS, BYTES = 20, 500


def rates(timer: Timer, packets: int, every: int) -> list[float]:
    """Share of packets with a spurious timeout at each load."""
    made = (round_trips.queueing(load, packets, BASE, SERVICE, every, variation.seed(SEED)) for load in LOADS)
    return [timers.spurious(timer, s) / packets for s in made]


def satellite(timer: Timer, packets: int) -> float:
    """Mean timeout on the satellite-like path, seconds."""
    rtt = SATELLITE + np.random.default_rng(variation.seed(SEED)).uniform(-SPREAD, SPREAD, packets)
    return float(timer.rows(round_trips.phased(rtt, timers.TICK, variation.seed(SEED)))["rto"][100:].mean())


def by_tick(packets: int, rfc793: float) -> tuple[pa.Table, str]:
    """What the tick of J-A6 decides: a row for each."""
    rows = []
    for tick in (0.5, 0.25, 0.1, 0.05, 0.01):
        timer = timers.ticking(tick)
        rows.append(
            {
                "tick (s)": tick,
                "satellite RTO (s)": satellite(timer, packets),
                "largest spurious rate": max(rates(timer, packets, 10)),
            }
        )
    shown = ", ".join(
        f"{r['tick (s)']:g} s: {r['satellite RTO (s)']:.3g} s and {100 * r['largest spurious rate']:.2f} %"
        for r in rows
    )
    return pa.Table.from_pylist(rows), (
        f"J-A6 by tick, mean timeout on the satellite-like path (RFC 793: {rfc793:.3g} s) and largest "
        f"spurious rate with one packet of 10: {shown}"
    )


def connections(setting: Setting) -> list[dict[str, Any]]:
    """Connections that send single packets at random over a slow line: what their own timeouts do at each
    load.
    """
    seconds = 80_000 if setting.full else 8000
    options = {"mss": "512B", "rcv_buf": "16384B", "window_scaling": False, "rtt_sampling": "every-segment"}
    stacks = {
        "RFC 793 (J-A3)": ac.Stack("tahoe+no-sack", estimator=ac.Rfc793(min_rto="0s"), **options),
        "J-A6": ac.Stack("tahoe+no-sack", estimator=ac.Jacobson88Ticks(tick="500ms"), **options),
    }
    path = ac.Single(
        ac.Link(f"{LINE}bit/s", f"{DELAY}s", queue=ac.queue.DropTail(limit="1000packets")),
        back=ac.Link("10Mbit/s", f"{DELAY}s"),
    )
    thinks = [FLOWS * 8 * (BYTES + 40) / (load * LINE) for load in LOADS]
    telnets = [
        ac.Telnet(flows=FLOWS, think=f"{think:.6f}s", bytes=f"{BYTES}B", spread="10s") for think in thinks
    ]
    runs = setting.run_all(
        [ac.Scenario.of(path, telnet, stacks, duration=f"{seconds}s") for telnet in telnets], "J-X12"
    )
    rows = []
    for load, run in zip(LOADS, runs, strict=True):
        for name in stacks:
            f = run.flows.filter(pa.compute.equal(run.flows["stack"], name))
            sent, spurious = (
                int(np.sum(f[c].to_numpy())) for c in ("data_segments_sent", "spurious_timeouts")
            )
            again = int(np.sum(f["retransmitted_segments"].to_numpy()))
            rows.append(
                {"load": load, "timer": name, "packets": sent - again, "spurious": spurious / (sent - again)}
            )
    return rows


@item(
    "J-X12",
    kind="MODEL, SIM",
    title="The timers at low and at high load",
    choices={
        **timers.CHOICES,
        "satellite-like path": f"{SATELLITE:g} s +/- {SPREAD:g} s, uniform, packets sent at random phase; "
        "the timeouts' means are compared",
        "loaded path": f"{BASE:g} s and a queue with random arrivals and exponential service of "
        f"{SERVICE:g} s on average (M/M/1); the connection sends one of 10 packets (of 1 "
        "and of 100 in the table); 20,000 packets, 40,000 with --full",
        "sharply": f"the rate at 90 % load is at least {GROWTH:g} times that at 30 %, one packet of 100 "
        "being the connection's",
        "spurious": "a round-trip time above the timeout that the sample before left",
        "simulated": f"{FLOWS} connections that send single packets of {BYTES} bytes at random over "
        f"{LINE / 1e3:g} kbit/s and {2 * DELAY:g} s; 8000 s, 80,000 s with --full;",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Spurious timeouts over the load, and the timeout where there is none."""
    packets = 40_000 if setting.full else 20_000
    found = {(name, every): rates(t, packets, every) for name, t in TIMERS.items() for every in SHARES}
    at = {load: i for i, load in enumerate(LOADS)}
    old, new = found["RFC 793 (J-A3)", 100], found["J-A6", 10]
    rto = {name: satellite(t, packets) for name, t in TIMERS.items()}
    ticks, note = by_tick(packets, rto["RFC 793 (J-A3)"])
    same = satellite(Timer(timers.OLD.name, (*timers.OLD.params, ("tick", f"{timers.TICK}s"))), packets)
    over = [
        load
        for load, a, b in zip(LOADS, found["RFC 793 (J-A3)", 10], new, strict=True)
        if load > 0.3 and b >= a
    ]
    simulated = connections(setting)
    worst = max(max(r) for (name, _), r in found.items() if name == "J-A6")
    checks = [
        at_least(
            "spurious rate of J-A3 at 90 % load over that at 30 %",
            old[at[0.9]] / old[at[0.3]],
            GROWTH,
            "at least",
        ),
        stated(
            "spurious rate of J-A6 below 1 %, or reported",
            f"at most {100 * max(new):.2f} % with one packet of 10, {100 * worst:.2f} % whatever the share",
            max(new) < 0.01,
            "below 1 % at each load",
        ),
        stated(
            "loads above 30 % at which J-A6 has no fewer than J-A3",
            ", ".join(f"{x:g}" for x in over) or "none",
            not over,
            "none",
        ),
        at_most(
            "timeout (s) of J-A6 on the satellite-like path",
            rto["J-A6"],
            rto["RFC 793 (J-A3)"],
            "less than that of J-A3",
        ),
    ]
    rows = [
        {"timer": name, "one packet of": every, "load": load, "spurious": r}
        for (name, every), rs in found.items()
        for load, r in zip(LOADS, rs, strict=True)
    ]
    notes = [f"{name}, one packet of {every}: {words(r)}" for (name, every), r in found.items()]
    notes += [
        f"simulated, {name}: {words([r['spurious'] for r in simulated if r['timer'] == name])}"
        for name in ("RFC 793 (J-A3)", "J-A6")
    ]
    notes += [note, f"RFC 793 on a clock of {timers.TICK:g} s, as 4.3BSD had it, gives {same:.3g} s there"]
    figure = picture({name: found[name, 10] for name in TIMERS}, simulated)
    tables = {
        "model": pa.Table.from_pylist(rows),
        "simulated": pa.Table.from_pylist(simulated),
        "ticks": ticks,
    }
    return Outcome(checks, tables, {"spurious": figure}, notes)


def words(r: list[float]) -> str:
    """Rates by load."""
    return ", ".join(f"{load:g}: {100 * x:.2f} %" for load, x in zip(LOADS, r, strict=True))


def picture(model: dict[str, list[float]], simulated: list[dict[str, Any]]) -> Figure:
    """Spurious timeouts over the load."""
    fig, axes = style.figure(
        "Spurious timeouts over the load",
        "Lines: M/M/1 queue, one packet of 10 is the connection's; marks: simulated connections; dotted: 1 %",
    )
    for i, (name, r) in enumerate(model.items()):
        axes.plot(LOADS, 100 * np.array(r), label=LEGEND[name], **style.line(i))
        shown = [(row["load"], 100 * row["spurious"]) for row in simulated if row["timer"] == name]
        if shown:
            axes.plot(
                *zip(*shown, strict=True),
                "os"[i % 2],
                color=style.COLOURS[i],
                markersize=5,
                label=f"{LEGEND[name]}, simulated",
            )
    axes.axhline(1, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.set(xlabel="load", ylabel="packets with a spurious timeout (%)", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="best", fontsize=9)
    return fig
