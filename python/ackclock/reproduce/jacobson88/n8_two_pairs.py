from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item
from ackclock.reproduce.jacobson88 import senders
from ackclock.reproduce.jacobson88.gateway import Gateway
from ackclock.results.transfer import of_run

RATE, DELAY = 56_000, 0.05
LIMIT, WINDOW = 8, 8
"""Packets that a pair of gateways may have under way, and the default window of 4 KB."""
DELAYS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1)
OLD, NEW = "old TCP", "new TCP"
START = 30.0
"""Seconds that pass before losses are counted by cycle."""
SHOWN = 300.0
"""Seconds in the figure."""


def scenario(delay: float, stacks: dict[str, ac.Stack], seconds: int) -> ac.Scenario:
    """Both TCPs over the path."""
    path = ac.Single(senders.line(RATE, delay, LIMIT - 1))
    bulk = ac.Bulk(flows=2, stagger="1s")
    return ac.Scenario.of(path, bulk, stacks, duration=f"{seconds}s", trace=["packets", "episodes"])


def losses(gateway: Gateway, episodes: pa.Table, run: str) -> list[int]:
    """Packets that a connection lost in each of its cycles in which it lost any."""
    found = []
    for c in range(2):
        mine = episodes.filter(
            pc.and_(pc.equal(episodes["run"], run), pc.equal(episodes["connection"], 2 * c))
        )
        drops = gateway.dropped[(gateway.by == c) & (gateway.dropped > START)]
        found += np.bincount(np.searchsorted(mine["begin"].to_numpy(), drops)).tolist()
    return [n for n in found if n]


@item(
    "J-N8",
    kind="SIM",
    title="Two conversations over a path that holds eight packets",
    choices={
        **senders.CHOICES,
        "path": f"{RATE / 1e3:g} kbit/s, {1e3 * DELAY:g} ms one way (others in the table); the gateway "
        f"holds {LIMIT} packets, the one being sent included, and drops what comes beyond",
        "cycle": f"of one connection, from one repair to the next; counted from {START:g} s on",
        "duration": "the second conversation starts 1 s after the first; 600 s (6000 s with --full)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Both TCPs with the default window of 8 packets."""
    seconds = 6000 if setting.full else 600
    stacks = {OLD: senders.old(WINDOW), NEW: senders.new(WINDOW)}
    rows = []
    for delay, r in zip(
        DELAYS, setting.run_all([scenario(delay, stacks, seconds) for delay in DELAYS], "J-N8"), strict=True
    ):
        # Only the new receivers acknowledge every packet, which the gateway's record needs.
        per_cycle = losses(Gateway.of(r.traces["segments"], NEW, delay), r.traces["episodes"], NEW)
        for name in stacks:
            link = r.links.filter(pc.equal(r.links["run"], name)).to_pylist()[0]
            flows = r.flows.filter(pc.equal(r.flows["stack"], name))
            sent, again = (
                int(np.sum(flows[c].to_numpy())) for c in ("data_segments_sent", "retransmitted_segments")
            )
            rows.append(
                {
                    "stack": name,
                    "delay (s)": delay,
                    "dropped": link["dropped_queue"],
                    "sent": sent,
                    "retransmitted": again,
                    "most in a cycle": max(per_cycle, default=0) if name == NEW else None,
                    "cycles with more than one": sum(n > 1 for n in per_cycle) if name == NEW else None,
                    "cycles": len(per_cycle) if name == NEW else None,
                }
            )
        if delay == DELAY:
            figure = picture(r.traces)
    old, new = (next(r for r in rows if r["stack"] == name and r["delay (s)"] == DELAY) for name in stacks)
    checks = [
        at_least("packets that old TCP loses", old["dropped"], 1, "at least"),
        at_most(
            "most packets that a connection of new TCP loses in a cycle", new["most in a cycle"], 1, "at most"
        ),
    ]
    notes = []
    for r in rows:
        words = (
            f"{r['stack']}, {1e3 * r['delay (s)']:g} ms: {r['dropped']} of {r['sent']} packets lost, "
            f"{r['retransmitted']} resent"
        )
        if r["cycles"] is not None:
            words += (
                f"; {r['cycles with more than one']} of {r['cycles']} cycles with more than one loss, "
                f"at most {r['most in a cycle']}"
            )
        notes.append(words)
    return Outcome(checks, {"delays": pa.Table.from_pylist(rows)}, {"losses": figure}, notes)


def picture(traces: dict[str, pa.Table]) -> Figure:
    """Packets retransmitted as they add up."""
    fig, axes = style.figure(
        "Two windows of eight packets over a path of eight",
        f"{RATE / 1e3:g} kbit/s, {1e3 * DELAY:g} ms one way, two conversations",
    )
    for i, name in enumerate((OLD, NEW)):
        again = np.sort(np.concatenate([t.time[t.again] for t in of_run(traces, name).values()]))
        again = again[again <= SHOWN]
        axes.step(
            np.append(again, SHOWN),
            np.append(np.arange(1, again.size + 1), again.size),
            where="post",
            label=name,
            **style.line(i),
        )
    axes.set(xlabel="time (s)", ylabel="packets retransmitted so far", xlim=(0, SHOWN), ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="upper left")
    return fig
