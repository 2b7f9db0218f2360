from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.jacobson88.shared_medium import MEDIA, Bench
from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, at_most, item, stated
from ackclock.reproduce.jacobson88 import senders
from ackclock.scenario import variation

SOURCES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
BACKOFFS = {"exponential": "exponential", "linear": "linear", "none": "constant"}
SEED = 1988
"""Of random numbers."""
OVERLOAD, MANY = 64, 256
"""Sources that overload both media, and the most at which doubling that stops at 64 times still has room:
half of 64 timeouts of 8 slots.
"""
FLOWS = (8, 32, 128)
RATE, DELAY, BUFFER = 230_400, 0.05, 50


def routed(setting: Setting) -> list[dict[str, Any]]:
    """Connections of real size over a drop-tail router: data that arrives for the first time, over the link's
    capacity.
    """
    seconds = 2000 if setting.full else 300
    stacks = {name: senders.new(32, backoff=name) for name in BACKOFFS}
    path = ac.Single(senders.line(RATE, DELAY, BUFFER))
    rows = []
    wanted = [
        ac.Scenario.of(path, ac.Bulk(flows=flows, spread="5s"), stacks, duration=f"{seconds}s")
        for flows in FLOWS
    ]
    for flows, r in zip(FLOWS, setting.run_all(wanted, "J-X9", (0.9, 1.0)), strict=True):
        most = RATE / 8 * senders.DATA / senders.PACKET * seconds
        for name in stacks:
            mine = r.flows.filter(pc.equal(r.flows["stack"], name))
            again = float(
                np.sum(mine["retransmitted_segments"].to_numpy())
                / np.sum(mine["data_segments_sent"].to_numpy())
            )
            rows.append(
                {
                    "flows": flows,
                    "backoff": name,
                    "goodput": float(np.sum(mine["bytes_delivered"].to_numpy())) / most,
                    "resent": again,
                }
            )
    return rows


def goes_to_nothing(throughput: dict[int, float]) -> bool:
    """Whether throughput falls with each doubling of the sources from 8 on, and by the last has lost half of
    its best.
    """
    tail = [throughput[n] for n in SOURCES if 8 <= n <= MANY]
    return all(b <= a for a, b in pairwise(tail)) and tail[-1] < max(throughput.values()) / 2


@item(
    "J-X9",
    kind="SIM",
    title="Is only exponential backoff stable? On a shared medium, and at a router",
    choices={
        "bench": "a documented model, `ackclock.models.jacobson88.shared_medium`, since collisions are no "
        "property of the simulator's links: slots, a packet each, sources that always have one to "
        "send; the waits are those of the backoffs that connections run",
        "shared medium": "a slot serves the packet that is alone in it",
        "router": "a drop-tail queue of 20 packets serves one in each slot; a packet that finds it full "
        "fails",
        "waits": "uniform between one slot and the backed-off timeout of 8 slots at first; doubling stops "
        "at 64 times, as in J-A7",
        "goes to 0": f"falls with each doubling of the sources from 8 to {MANY}, and loses half of its "
        "best at least",
        "connections": f"8 to 128 endless transfers of the new TCP with each backoff over {RATE / 1e3:g} "
        f"kbit/s, a buffer of {BUFFER} packets, 300 s",
        "duration": "6000 slots, the first half not counted (60,000 with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The same sources before both media, and connections before a real router."""
    slots = 60_000 if setting.full else 6000
    found: dict[tuple[str, str], dict[int, float]] = {
        (medium, name): {} for medium in MEDIA for name in BACKOFFS
    }
    for i, n in enumerate(SOURCES):
        for medium, name in found:
            found[medium, name][n] = float(
                Bench(n, name, slots=slots, seed=variation.seed(SEED)).run(medium)[slots // 2 :].mean()
            )
        setting.progress(0.9 * (i + 1) / len(SOURCES), "J-X9")
    rows = routed(setting)
    worst = {name: min(r["goodput"] for r in rows if r["backoff"] == name) for name in BACKOFFS}
    checks: list[Check] = []
    for name, words in BACKOFFS.items():
        if name == "exponential":
            continue
        t = found["collision", name]
        shown = ", ".join(f"{n}: {t[n]:.4f}" for n in SOURCES if 8 <= n <= MANY)
        checks.append(
            stated(
                f"shared medium, {words}: throughput goes to 0 with the sources", shown, goes_to_nothing(t)
            )
        )
    t = found["collision", "exponential"]
    checks += [
        at_most(
            f"shared medium, constant: throughput of {OVERLOAD} sources",
            found["collision", "none"][OVERLOAD],
            0.01,
            "no more than",
        ),
        at_least(
            f"shared medium, exponential: throughput of {MANY} sources",
            t[MANY],
            max(t.values()) / 2,
            "half of its best",
        ),
        at_least(
            "router: least throughput of overload with any backoff",
            min(found["drop-tail", b][n] for b in BACKOFFS for n in SOURCES if n >= 16),
            0.99,
            "at least",
        ),
        at_least(
            "router in the simulator: least goodput without exponential backoff",
            min(worst["linear"], worst["none"]),
            0.5,
            "does not go to 0, at least",
        ),
    ]
    notes = [
        f"{medium}, {BACKOFFS[name]}: " + ", ".join(f"{n}: {x:.3f}" for n, x in t.items())
        for (medium, name), t in found.items()
    ]
    notes += [
        (
            f"{r['flows']} connections, {BACKOFFS[r['backoff']]}: goodput {r['goodput']:.3f}, "
            f"{100 * r['resent']:.1f} % of packets resent"
        )
        for r in rows
    ]
    notes.append(
        "With more sources than slots of the longest wait, doubling that stops goes the way of the others"
    )
    table = [
        {"medium": m, "backoff": b, "sources": n, "throughput": x}
        for (m, b), t in found.items()
        for n, x in t.items()
    ]
    tables = {"bench": pa.Table.from_pylist(table), "connections": pa.Table.from_pylist(rows)}
    return Outcome(checks, tables, {"throughput": picture(found)}, notes)


def picture(found: dict[tuple[str, str], dict[int, float]]) -> Figure:
    """Throughput over the number of sources."""
    fig, axes = style.figure(
        "Throughput by backoff, on a shared medium and through a router",
        "Sources that always have a packet; a packet takes a slot, the first timeout 8",
    )
    for i, (name, words) in enumerate(BACKOFFS.items()):
        t = found["collision", name]
        axes.plot(
            list(t),
            list(t.values()),
            marker="o",
            markersize=4,
            label=f"shared medium, {words}",
            **style.line(i),
        )
    for i, (name, words) in enumerate(BACKOFFS.items()):
        t = found["drop-tail", name]
        # All three coincide: marks of different sizes show that they are there.
        look = {
            "color": style.COLOURS[i],
            "marker": "s",
            "markersize": 9 - 3 * i,
            "fillstyle": "none",
            "linestyle": ":",
            "linewidth": 1,
        }
        axes.plot(list(t), list(t.values()), label=f"router, {words}", **look)
    axes.set(xlabel="sources", ylabel="packets per slot", xscale="log", ylim=(0, 1.08))
    axes.set_xticks(SOURCES, [str(n) for n in SOURCES])
    axes.minorticks_off()
    axes.grid(True)
    axes.legend(loc="center right", fontsize=9)
    return fig
