"""Real form of I-F10: telnet sockets with segments of several sizes through one queue."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import f10_packet_size as f10
from ackclock.reproduce.interactive2007 import real_clients
from ackclock.reproduce.item import Outcome, Setting
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together
from ackclock.results.confidence import half_width

SECONDS, FULL = 150.0, 300.0
SEEDS = (1, 2, 3)
AT_ONCE = 6


def stacks() -> dict[str, ac.Stack]:
    """Kernels by the size of their segments. The datagrams' hosts have the first one's MTU."""
    sizes = {"http": f10.MEAN - 40, **{f"{s}": s for s in f10.SIZES}}
    return {name: real_clients.stack(mss) for name, mss in sizes.items()}


@real_form(
    "I-F10",
    title="Loss against the size of the kernel's packets, byte-mode drop-tail",
    choices={
        **{key: real_clients.CHOICES[key] for key in ("kernel", "twin")},
        "telnet": f"{f10.FLOWS} flows of each size (one with --full), a write a second of as many bytes as "
        "the MTU of their hosts lets a segment have",
        "cross traffic": "that of the item, on the kernel as well",
        "lost": "retransmissions that were not spurious, over data segments sent",
        "duration": f"{SECONDS:g} s ({FULL:g} s with --full), seeds {SEEDS[0]} to {SEEDS[-1]}, both queues; "
        "all "
        "six runs side by side",
    },
)
def sizes(setting: Setting) -> Outcome:
    """Loss ratio of each size, with a queue in bytes and one in packets beside it."""
    seconds = FULL if setting.full else SECONDS
    wanted = {
        (mode, seed): f10.scenario(limit, seed, setting.full, stacks(), seconds)
        for mode, limit in f10.QUEUES.items()
        for seed in SEEDS
    }
    pairs = together(wanted, setting, "I-F10 real", at_once=AT_ONCE)
    rows = [
        {"queue": mode, "world": world, "seed": seed, "size": size, "sent": sent, "lost": lost}
        for (mode, seed), pair in pairs.items()
        for world, run in ((KERNEL, pair.kernel), (TWIN, pair.twin))
        for size, (sent, lost) in f10.losses(run).items()
    ]
    checks = f10.judged(losses(rows, "bytes", KERNEL))
    notes, series = [], []
    for mode in f10.QUEUES:
        for world in (KERNEL, TWIN):
            by = losses(rows, mode, world)
            shown = ", ".join(f"{100 * v.mean():.3g} +/- {100 * half_width(v):.2g}" for v in by.values())
            notes.append(
                f"queue in {mode}, {world}: loss (%) of {', '.join(map(str, f10.SIZES))} bytes: {shown}"
            )
            series.append(
                Measured(
                    f"queue in {mode}, {world}",
                    np.array(f10.SIZES, float),
                    np.array([100 * v.mean() for v in by.values()]),
                    np.array([100 * half_width(v) for v in by.values()]),
                )
            )
    for (mode, seed), pair in pairs.items():
        notes += pair.notes(f"queue in {mode}, seed {seed}")
    figure = measured(
        series,
        title="Loss against the size of packets, on the kernel and simulated",
        subtitle="Drop-tail, 5 Mbit/s, 12 ms; cross traffic in packets of 576 bytes; 95 % bands",
        xlabel="segment size (bytes)",
        ylabel="loss (%)",
    )
    return Outcome(checks, {"loss": pa.Table.from_pylist(rows)}, {"loss": figure}, notes)


def losses(rows: list[dict[str, Any]], mode: str, world: str) -> dict[int, np.ndarray]:
    """Loss ratios by size, an entry for each seed."""
    mine = [r for r in rows if (r["queue"], r["world"]) == (mode, world)]
    return {
        size: np.array([r["lost"] / max(r["sent"], 1) for r in mine if r["size"] == size])
        for size in f10.SIZES
    }
