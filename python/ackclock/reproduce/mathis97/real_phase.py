"""Real forms of tables 2 and 3: two kernels' `reno` over the topology of the phase effects."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Check, Outcome, Setting, between
from ackclock.reproduce.mathis97 import phase, steady
from ackclock.reproduce.mathis97 import t2_phase_effects as t2
from ackclock.reproduce.mathis97 import t3_long_queue as t3
from ackclock.reproduce.real_form import KERNEL, TWIN, Pair, real_form, together
from ackclock.scenario import variation

MSS = phase.PACKET - 40
PAYLOAD = MSS - 12
WARM, SECONDS, FULL_WARM = 60.0, 240.0, float(phase.WARM)
SHARE, NEAR = 400.0, 0.2
"""kbit/s of each connection with RED, and by which part of it they may differ."""
PAPER = {t2.LIMIT: t2.PAPER, t3.LIMIT: t3.PAPER}

CHOICES = {
    "kernel": "`reno` with SACK and timestamps, RACK and the kernel's timers, without tail loss probes; all "
    "may break a phase, which needs jitter well below a packet time of 10 ms",
    "packets": f"{phase.PACKET} bytes on the wire, {PAYLOAD} of payload",
    "topology": "that of the item, emulated; " + phase.CHOICES["RED"],
    "CA events": "entries into recovery; other losses are drops beyond one for each recovery and timeout",
    "duration": f"{SECONDS:g} s after {WARM:g} s that do not count, half of the paper's time "
    f"({phase.SECONDS} s after {FULL_WARM:g} s with --full), one start; both queues and both limits side by "
    "side",
    "twin": "the preset `linux-reno` without probes",
}


def stack() -> ac.Stack:
    """The kernel and its twin."""
    return ac.Stack(
        "linux-reno",
        recovery=ac.recovery.Rack(linux=True, tlp=False),
        mss=f"{MSS}B",
        kernel={"cc": "reno", "sysctl": {"net.ipv4.tcp_early_retrans": "0"}},
    )


def pairs(setting: Setting) -> dict[tuple[str, int], Pair]:
    """Both queues of both tables, by kind and limit."""
    warm, seconds = (FULL_WARM, float(phase.SECONDS)) if setting.full else (WARM, SECONDS)
    times = {"duration": f"{warm + seconds:g}s", "measure_from": f"{warm:g}s"}
    scenarios = {
        (kind, limit): phase.scenario(phase.queue(kind, limit), stack=stack(), **times)
        for limit in PAPER
        for kind in phase.QUEUES
    }
    return variation.once(("M-T2 real", seconds), lambda: together(scenarios, setting, "M-T2 real"))


def columns(pairs: Mapping[tuple[str, int], Pair], limit: int, world: str) -> dict[str, phase.Column]:
    """The columns of a table in a world."""
    found = {}
    for kind in phase.QUEUES:
        pair = pairs[kind, limit]
        span = steady.of_kernel(pair.kernel, PAYLOAD) if world == KERNEL else steady.span(pair.twin)
        found[kind] = phase.Column.of(span)
    return found


def table(setting: Setting, limit: int) -> Outcome:
    """Table 2 or 3, by the limit of its queue."""
    done = pairs(setting)
    worlds = {world: columns(done, limit, world) for world in (KERNEL, TWIN)}
    kernel = worlds[KERNEL]
    checks: list[Check] = [
        between(
            "RED: bandwidths (kbit/s)",
            [b / 1e3 for b in kernel["RED"].bandwidths],
            (1 - NEAR) * SHARE,
            (1 + NEAR) * SHARE,
        )
    ]
    delay = 1e3 * kernel["drop-tail"].line.delay
    if limit == t3.LIMIT:
        checks.append(between("drop-tail: link delay (ms)", delay, 700, 900))
    notes = []
    for world, found in worlds.items():
        notes.append(f"{world}, drop-tail: bandwidth of TCP2 over TCP1 {found['drop-tail'].ratio:.2f}")
        notes += [f"{world}: {line}" for line in phase.lines(found)]
    for kind in phase.QUEUES:
        notes += done[kind, limit].notes(kind)
    tables = {world: pa.table(phase.table(found)) for world, found in worlds.items()}
    return Outcome(checks, tables, {"bandwidths": picture(worlds, limit)}, notes)


def picture(worlds: Mapping[str, Mapping[str, phase.Column]], limit: int) -> Figure:
    """Bandwidths in both worlds, and the paper's."""
    fig, axes = style.figure(
        "Bandwidths of two connections over one queue, on the kernel and simulated",
        f"Linux reno over 800 kbit/s, delta = {phase.DELTA:g} ms, queue of {limit} packets",
    )
    groups = [(kind, i) for kind in phase.QUEUES for i in range(2)]
    at = np.arange(len(groups))
    for n, (world, found) in enumerate(worlds.items()):
        values = [found[kind].bandwidths[i] / 1e3 for kind, i in groups]
        look = {"color": style.COLOURS[n], "hatch": ("", "//")[n], "edgecolor": "white"}
        axes.bar(at + 0.36 * (n - 0.5), values, 0.34, label=world, **look)
    stars = [PAPER[limit][kind][i] for kind, i in groups]
    axes.plot(at, stars, "k*", markersize=9, linestyle="none", label="the paper, simulated")
    axes.set_xticks(list(at), [f"{kind}\n{phase.NAMES[i]}" for kind, i in groups])
    axes.set(ylabel="bandwidth (kbit/s)", ylim=(0, 800))
    axes.grid(True, axis="y")
    axes.legend(loc="upper right", fontsize=9)
    return fig


@real_form("M-T2", title="Two kernels over a queue of 15 packets", choices=CHOICES)
def short_queue(setting: Setting) -> Outcome:
    """Table 2."""
    return table(setting, t2.LIMIT)


@real_form(
    "M-T3",
    title="Two kernels over a queue of 100 packets",
    choices={**CHOICES, "runs": "with those of the form of M-T2"},
)
def long_queue(setting: Setting) -> Outcome:
    """Table 3."""
    return table(setting, t3.LIMIT)
