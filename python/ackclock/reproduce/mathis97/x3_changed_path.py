from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, item
from ackclock.reproduce.mathis97 import probes, stock
from ackclock.reproduce.real import LEFT_OUT
from ackclock.sweep import run_all

RATE, RTT = 1e6, "80ms"
BUFFERS = (0.25, 0.5, 1.0, 2.0)
"""Seconds."""
SHOWN = 0.5
LEAST = 0.5
PROBES = 200
"""Round-trip times in each measurement (M-U5)."""
TRANSFER, UNDER_TEST = 40, 80
"""When the transfer begins, and when the second measurement, seconds."""
REAL_SECONDS, REAL_PROBES = 6.0, 40
BEFORE, DURING = "not under test", "under test"
LEGEND = {BEFORE: "before the transfer", DURING: "during the transfer"}


def scenario(buffer: float) -> ac.Scenario:
    """A probe, a transfer, and a probe beside it; the bottleneck's buffer in seconds."""
    probe = {"bytes": "64B", "think": "100ms", "packets": PROBES, "stack": "probe"}
    flows = [
        ac.Telnet(name=BEFORE, **probe),
        ac.Bulk(name="transfer", start=f"{TRANSFER}s", stack="Reno"),
        ac.Telnet(name=DURING, start=f"{UNDER_TEST}s", **probe),
    ]
    stacks = {"Reno": stock.tcp("reno", 1500), "probe": ac.Stack("sack+per-ack", ack="every", nagle=False)}
    path = ac.Dumbbell(
        ac.Link(f"{RATE:.0f}bit/s", queue=ac.DropTail(limit=f"{round(buffer * RATE / 8)}B")), rtt=RTT
    )
    return ac.Scenario.of(path, flows, stacks, duration=f"{UNDER_TEST + 40}s", trace="samples")


@item(
    "M-X3",
    kind="SIM, REAL",
    title="A transfer changes the path that it measures",
    choices={
        **stock.CHOICES,
        "path": f"{RATE / 1e6:g} Mbit/s, {RTT}, near to the 72.9 ms and 82 ms of the paper; drop-tail "
        f"buffers of {', '.join(f'{b:g}' for b in BUFFERS)} s",
        "transfer": f"one Reno TCP with packets of 1500 bytes, from {TRANSFER} s on, counted with its "
        "initial slow-start",
        "probe": f"{PROBES} single packets of 64 bytes at random intervals, 100 ms on average, each "
        "acknowledged at once",
        "real packets": f"TReno (M-U3, FACK-RH) for {REAL_SECONDS:g} s between two kernels over the "
        f"emulator, buffer {SHOWN:g} s, its background probe (M-U5) every 50 ms: "
        f"{REAL_PROBES} before it, and those beside it",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Probes before a transfer and beside it."""
    runs = run_all(
        [scenario(b) for b in BUFFERS],
        workers=setting.workers,
        progress=lambda share, _: setting.progress(share, "M-X3"),
    )
    rows: list[dict[str, Any]] = []
    for buffer, run in zip(BUFFERS, runs, strict=True):
        flows = {f["group"]: f for f in run.flows.to_pylist()}
        idle, tested = (flows[name] for name in (BEFORE, DURING))
        rows.append(
            {
                "buffer": buffer,
                "idle": idle["rtt_mean"],
                "idle_min": idle["rtt_min"],
                "under_test": tested["rtt_mean"],
                "under_test_max": tested["rtt_max"],
                "samples": min(idle["rtt_samples"], tested["rtt_samples"]),
                "ratio": tested["rtt_mean"] / idle["rtt_mean"],
            }
        )
    long = [r for r in rows if r["buffer"] >= LEAST]
    checks = [
        at_least(
            f"mean round-trip time under test over idle, buffer {r['buffer']:g} s", r["ratio"], 3, "at least"
        )
        for r in long
    ]
    notes = [
        f"buffer {r['buffer']:g} s: {1e3 * r['idle']:.0f} ms idle, {1e3 * r['under_test']:.0f} ms under test"
        for r in rows
    ]
    notes.append("the paper has 82 ms and 461 ms (means), with a maximum of 1800 ms")
    real = over_packets()
    if isinstance(real, str):
        notes.append(f"{LEFT_OUT}: {real}")
    else:
        idle, tested = (real["background"][name]["mean"] for name in ("before", "during"))
        checks.append(
            at_least(f"the same with real packets, buffer {SHOWN:g} s", tested / idle, 3, "at least")
        )
        notes.append(
            f"real packets, buffer {SHOWN:g} s: {1e3 * idle:.0f} ms idle, {1e3 * tested:.0f} ms under test"
        )
    fig, axes = style.figure(
        "Round-trip times before and during a transfer",
        f"{RATE / 1e6:g} Mbit/s, {RTT}, buffer of {SHOWN:g} s; {PROBES} probes from 0 and {UNDER_TEST} s on",
    )
    samples = runs[BUFFERS.index(SHOWN)].traces["samples"]
    # Connections are numbered two by two in the order in which they begin.
    for i, (name, connection) in enumerate(((BEFORE, 0), (DURING, 4))):
        mine = samples.filter(
            pc.and_(pc.equal(samples["connection"], connection), pc.is_valid(samples["rtt"]))
        )
        rtt = 1e3 * mine["rtt"].to_numpy()
        axes.plot(
            mine["time"].to_numpy(),
            rtt,
            "o",
            markersize=3,
            color=style.COLOURS[i],
            label=f"{LEGEND[name]}, mean {np.mean(rtt):.0f} ms",
        )
    axes.axvline(TRANSFER, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.annotate(
        "transfer begins",
        (TRANSFER, 1),
        (4, -10),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        fontsize=8.5,
    )
    axes.set(xlabel="time (s)", ylabel="round-trip time (ms)", ylim=(0, None), xlim=(0, UNDER_TEST + 40))
    axes.grid(True)
    axes.legend(loc="lower right", fontsize=9)
    return Outcome(checks, {"buffers": pa.Table.from_pylist(rows)}, {"probes": fig}, notes)


def over_packets() -> dict[str, Any] | str:
    """A probe run over real packets, or what is missing for it."""
    path = probes.path(
        "40ms", rate=f"{RATE:.0f}bit/s", queue={"kind": "drop-tail", "limit": f"{round(SHOWN * RATE / 8)}B"}
    )
    found = probes.emulated(
        [{"path": path, "settings": probes.settings(REAL_SECONDS, background=REAL_PROBES)}]
    )
    return found if isinstance(found, str) else found[0]
