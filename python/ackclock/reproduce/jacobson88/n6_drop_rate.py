from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, between, item
from ackclock.reproduce.jacobson88 import senders

RATE, DELAY = 56_000, 0.16
"""A link of the Arpanet, and the delay that makes a pipe of 5 packets with it."""
BUFFERS = (6, 7, 8, 9, 10)
RECOVERIES = {"timeout-only": "timeouts alone", "newreno": "fast recovery"}
START = 3
"""Cycles at the beginning that do not count: slow-start overshoots in the first."""


def cycles(setting: Setting) -> list[dict[str, Any]]:
    """Drop rate and window of one connection for each buffer and recovery: a row for each."""
    seconds = 20_000 if setting.full else 2000
    stacks = {name: senders.new(64, recovery=name) for name in RECOVERIES}
    paths = [ac.Single(senders.line(RATE, DELAY, buffer)) for buffer in BUFFERS]
    wanted = [
        ac.Scenario.of(path, ac.Bulk(flows=1), stacks, duration=f"{seconds}s", trace=["samples", "episodes"])
        for path in paths
    ]
    rows = []
    for buffer, run in zip(BUFFERS, setting.run_all(wanted, "J-N6"), strict=True):
        for name in stacks:
            link = run.links.filter(pc.equal(run.links["run"], name)).to_pylist()[0]
            mine = {
                k: t.filter(pc.and_(pc.equal(t["run"], name), pc.equal(t["connection"], 0)))
                for k, t in run.traces.items()
            }
            rows.append(
                {"buffer": buffer, "recovery": name, **measured(mine["samples"], mine["episodes"], link)}
            )
    return rows


def measured(samples: pa.Table, episodes: pa.Table, link: dict[str, Any]) -> dict[str, float]:
    """The mean peak of the window in each cycle, its mean over time (packets), and drops for each packet that
    came to the queue.
    """
    known = samples.filter(pc.is_valid(samples["cwnd"]))
    time, cwnd = known["time"].to_numpy(), known["cwnd"].to_numpy() / senders.DATA
    begin = np.unique(episodes["begin"].to_numpy())
    ends = np.searchsorted(time, begin, "left")
    peaks = [cwnd[a:b].max() for a, b in zip(ends[START - 1 : -1], ends[START:], strict=True) if b > a]
    since, until = ends[START - 1], ends[-1]
    span = np.diff(time[since : until + 1])
    return {
        "peak": float(np.mean(peaks)),
        "mean": float((cwnd[since:until] * span).sum() / span.sum()),
        "p": link["dropped_queue"] / link["packets_offered"],
        "cycles": float(len(peaks)),
        "utilisation": link["utilisation"],
    }


@item(
    "J-N6",
    kind="SIM",
    title="Drop rate and window on the Arpanet",
    choices={
        **{k: senders.CHOICES[k] for k in ("packets", "new TCP")},
        "fast recovery": "in the table beside it, for a clean halving",
        "path": f"{RATE / 1e3:g} kbit/s, {1e3 * DELAY:g} ms one way: a pipe of 5 packets, the one being "
        f"sent included; buffers of {BUFFERS[0]} to {BUFFERS[-1]} packets, for peaks of 12 to 16",
        "duration": f"one connection for 2000 s (20,000 s with --full), the first {START} cycles not "
        "counted in windows",
        "drop rate": "packets dropped over packets offered to the queue, the whole run",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Additive increase by one packet against a drop-tail buffer."""
    rows = cycles(setting)
    for r in rows:
        r["8/(3 w^2)"] = 8 / (3 * r["peak"] ** 2)
        r["ratio"] = r["p"] / r["8/(3 w^2)"]
    gate = [r for r in rows if r["recovery"] == "timeout-only"]
    checks = [
        between("mean peak of the window (whole packets)", [np.floor(r["peak"]) for r in gate], 12, 16),
        between(
            "drops per packet over 8/(3 w^2) of the measured peak w", [r["ratio"] for r in gate], 0.75, 1.25
        ),
    ]
    fig, axes = style.figure(
        "Drop rate and window",
        f"One connection, pipe of 5 packets, drop-tail buffers of {BUFFERS[0]} to {BUFFERS[-1]} packets",
    )
    w = np.linspace(11, 18, 100)
    axes.plot(w, 800 / (3 * w**2), label="8/(3 w²)", **style.line(0))
    axes.fill_between(
        w,
        600 / (3 * w**2),
        1000 / (3 * w**2),
        color=style.COLOURS[0],
        alpha=0.12,
        linewidth=0,
        label="within 25 %",
    )
    for i, (name, words) in enumerate(RECOVERIES.items(), start=1):
        mine = [r for r in rows if r["recovery"] == name]
        axes.plot(
            [r["peak"] for r in mine],
            [100 * r["p"] for r in mine],
            "os"[i - 1],
            color=style.COLOURS[i],
            label={"timeout-only": "timeouts only"}.get(name, words),
        )
    axes.axhline(1, color="#999999", linewidth=1, linestyle=(0, (2, 2)))
    axes.set(xlabel="peak of the window w (packets)", ylabel="drops per packet (%)", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="upper right")
    notes = [
        (
            f"{RECOVERIES[r['recovery']]}, buffer {r['buffer']}: peak {r['peak']:.2f}, mean window "
            f"{r['mean']:.2f}, drops {100 * r['p']:.2f} %, ratio {r['ratio']:.2f}, link used "
            f"{100 * r['utilisation']:.0f} %"
        )
        for r in rows
    ]
    notes.append(
        "The paper's windows of 8 to 12 packets with under 1 % of drops are mean windows: 12.2 packets "
        "go with 1 % (M-E3)"
    )
    return Outcome(checks, {"cycles": pa.Table.from_pylist(rows)}, {"drops": fig}, notes)
