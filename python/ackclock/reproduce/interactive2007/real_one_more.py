"""Real form of I-F6: one more backlogged socket."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import Measured, measured
from ackclock.reproduce.interactive2007 import f6_one_more as f6
from ackclock.reproduce.interactive2007 import real_clients, testbed
from ackclock.reproduce.item import Check, Outcome, Setting
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together

FLOWS = (5, 10, 20, 40)
SECONDS, FULL = 20.0, 60.0
AT_ONCE = 4


@real_form(
    "I-F6",
    title="Loss against the number of backlogged sockets, with and without one more",
    choices={
        **{key: real_clients.CHOICES[key] for key in ("kernel", "twin")},
        "path": "that of the item",
        "flows": f"{', '.join(map(str, FLOWS))} endless transfers in segments of {testbed.PAYLOAD} bytes, "
        "which "
        "begin within a second",
        "loss": f"dropped by the bottleneck's queue over packets offered to it, after {testbed.WARM:g} s",
        "duration": f"{SECONDS:g} s for each number ({FULL:g} s with --full), one seed; {AT_ONCE} runs side "
        "by "
        "side",
    },
)
def one_more(setting: Setting) -> Outcome:
    """The loss at the bottleneck, RED and drop-tail."""
    seconds = FULL if setting.full else SECONDS
    numbers = sorted({n + more for n in FLOWS for more in (0, 1)})
    wanted = {
        (queue, n): real_clients.scenario(
            f6.path(queue), [ac.Bulk(flows=n, spread="1s")], {"TCP": real_clients.stack()}, seconds
        )
        for queue in f6.QUEUES
        for n in numbers
    }
    pairs = together(wanted, setting, "I-F6 real", at_once=AT_ONCE)
    rows = [
        {"queue": queue, "flows": n, "world": world, "loss": f6.dropped(run)}
        for (queue, n), pair in pairs.items()
        for world, run in ((KERNEL, pair.kernel), (TWIN, pair.twin))
    ]
    checks: list[Check] = []
    notes: list[str] = []
    series = []
    for queue in f6.QUEUES:
        for world in (KERNEL, TWIN):
            mean = loss(rows, queue, world)
            if world == KERNEL:
                checks += f6.judged(queue, mean, FLOWS)
            shown = ", ".join(f"{n}: {100 * mean[n]:.3g} -> {100 * mean[n + 1]:.3g} %" for n in FLOWS)
            notes.append(f"{queue}, {world}: one more flow beside {shown}")
            values = np.array([100 * mean[n] for n in numbers])
            series.append(Measured(f"{queue}, {world}", np.array(numbers, float), values))
    for (queue, n), pair in pairs.items():
        notes += pair.notes(f"{queue}, {n} flows")
    figure = measured(
        series,
        title="Loss against the number of backlogged sockets, on the kernel and simulated",
        subtitle=f"10 Mbit/s, 12 ms, 40 kB; {', '.join(f'{n} and {n + 1}' for n in FLOWS)} Linux reno flows",
        xlabel="backlogged flows",
        ylabel="loss (%)",
    )
    return Outcome(checks, {"loss": pa.Table.from_pylist(rows)}, {"loss": figure}, notes)


def loss(rows: list[dict[str, Any]], queue: str, world: str) -> dict[int, float]:
    """Loss by number of flows."""
    return {r["flows"]: r["loss"] for r in rows if (r["queue"], r["world"]) == (queue, world)}
