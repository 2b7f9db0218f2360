"""Real form of B-X7: connections of kernels whose SYNs are lost."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.models.backoff2008 import syn_rejection
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import x7_admission as x7
from ackclock.reproduce.item import Outcome, Setting, between
from ackclock.reproduce.real_form import KERNEL, TWIN, real_form, together

MBIT = 20
CONNECTIONS, SECONDS = 6000, 40
FULL_CONNECTIONS, FULL_SECONDS = 12_000, 80
RANDOM = "random"
"""A link that loses every packet by itself, in place of a queue."""
RANDOM_LOSSES = (0.2, 0.5)
REST = 36
"""Seconds in which the last connection has given up: SYNs after 1, 3, 7 and 15 s, and 16 s more."""
AT_ONCE = 2


def scaled(name: str) -> Any:
    """A queue of the item: limits are those of its packets, whatever the rate."""
    return None if name == RANDOM else x7.QUEUES[name]


def stacks() -> dict[str, ac.Stack]:
    """Kernels that send three SYNs and five, and their twins."""
    kernel = {"cc": "reno", "sysctl": {"net.ipv4.tcp_syn_linear_timeouts": "0"}}
    doubled = ac.backoff.Linux(syn_linear=0)
    return {
        f"N = {n}": ac.Stack("linux-reno", backoff=doubled, syn_retries=n - 1, kernel=kernel) for n in x7.SYNS
    }


@real_form(
    "B-X7",
    title="Kernels' connections rejected because their SYNs were lost",
    choices={
        **{key: x7.CHOICES[key] for key in ("p", "sure")},
        "SYNs": "`tcp_syn_retries` 2 and 4 and `tcp_syn_linear_timeouts` 0: three and five SYNs, after 1, 3, "
        "7 and 15 s (by default as many more, of which the first five are a second apart, as fit into the "
        "time of the doubled ones); of 60 bytes, with options",
        "scaled": f"{MBIT} Mbit/s in place of {x7.MBIT}, since each datagram passes an emulator in user "
        "space; "
        "queues and datagrams as in the item",
        "random loss": f"a link that loses {' and '.join(f'{100 * p:g}' for p in RANDOM_LOSSES)} % of all "
        "packets, "
        "without datagrams",
        "connections": f"{CONNECTIONS} within {SECONDS} s in each run ({FULL_CONNECTIONS} within "
        f"{FULL_SECONDS} s with --full), half of each N, of one byte each",
        "twin": "the preset `linux-reno`",
    },
)
def rejected(setting: Setting) -> Outcome:
    """Four queues and random loss, at two loss ratios, for three and five SYNs."""
    connections, seconds = (FULL_CONNECTIONS, FULL_SECONDS) if setting.full else (CONNECTIONS, SECONDS)
    cases = [(name, loss) for name in x7.QUEUES for loss in x7.LOSSES]
    cases += [(RANDOM, loss) for loss in RANDOM_LOSSES]
    size = {"mbit": MBIT, "connections": connections, "seconds": seconds, "rest": REST}
    wanted = {(name, loss): x7.scenario(scaled(name), loss, stacks(), **size) for name, loss in cases}
    pairs = together(wanted, setting, "B-X7 real", at_once=AT_ONCE)
    rows = [
        {"queue": name, "offered_loss": loss, "world": world, **row}
        for (name, loss), pair in pairs.items()
        for world, run in ((KERNEL, pair.kernel), (TWIN, pair.twin))
        for row in x7.counted(run)
    ]
    kernel = [r for r in rows if r["world"] == KERNEL]
    chance = [r for r in kernel if r["queue"] == RANDOM and r["rejected"] * r["connections"] > x7.SURE]
    checks = [
        *x7.judged([r for r in kernel if r["queue"] != RANDOM]),
        between(
            "random loss: rejections over p^N", [r["rejected"] / r["expected"] for r in chance], 0.8, 1.2
        ),
    ]
    notes = [
        f"{r['queue']}, N = {r['N']}, {r['world']}: loss {r['loss']:.4f}, {100 * r['rejected']:.3f} % of "
        f"{r['connections']} connections rejected, p^N is {100 * r['expected']:.3f} %"
        for r in rows
    ]
    for (name, loss), pair in pairs.items():
        notes += pair.notes(f"{name}, {100 * loss:g} %")
    return Outcome(checks, {"rejections": pa.Table.from_pylist(rows)}, {"rejections": picture(rows)}, notes)


def picture(rows: list[dict[str, Any]]) -> Figure:
    """Rejections against loss in both worlds."""
    fig, axes = style.figure(
        "Connections rejected because their SYNs were lost, on the kernel and simulated",
        "Lines: p^N. Marks: queues under datagrams of 1000 bytes, and random loss; open: simulated",
    )
    x, floor = np.linspace(0.1, 0.6, 100), 1e-5
    marks = dict(zip((*x7.QUEUES, RANDOM), "osDv^", strict=True))
    with mpl.rc_context(style.SETTINGS):
        for i, n in enumerate(x7.SYNS):
            axes.plot(x, syn_rejection(x, n), label=f"p^{n}", **style.line(i))
            for (name, mark), world in ((m, w) for m in marks.items() for w in (KERNEL, TWIN)):
                mine = [r for r in rows if (r["queue"], r["N"], r["world"]) == (name, n, world)]
                axes.plot(
                    [r["loss"] for r in mine],
                    [max(r["rejected"], floor) for r in mine],
                    linestyle="",
                    marker=mark,
                    markersize=6 if world == KERNEL else 9,
                    fillstyle="full" if world == KERNEL else "none",
                    color=style.COLOURS[i],
                )
        for name, mark in marks.items():
            axes.plot([], [], linestyle="", marker=mark, color="#444444", label=name)
        axes.set(
            xlabel="loss ratio p of the bottleneck",
            ylabel="share of connections rejected",
            yscale="log",
            ylim=(floor / 1.5, 1),
        )
        axes.grid(True)
        axes.legend(loc="upper left", fontsize=9, ncols=2)
    return fig
