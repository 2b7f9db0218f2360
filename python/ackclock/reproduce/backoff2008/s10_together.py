from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import testbed
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, item

LIMIT, BDP = f"{2 * testbed.bdp(10):.0f}B", testbed.bdp(10)


def red(lower: float, upper: float) -> dict[str, Any]:
    """RED whose thresholds are these parts of the queue."""
    return {
        "kind": "red",
        "limit": LIMIT,
        "min_th": f"{2 * lower * BDP:.0f}B",
        "max_th": f"{2 * upper * BDP:.0f}B",
    }


OFFERED = {f"{mbit} Mbit/s": mbit / 10 for mbit in (10, 12, 15)}
OVERLOAD = {"20 s": "20s", "60 s": "60s"}
QUEUES: dict[str, Any] = {
    "RED, 1/12 and 1/4": red(1 / 12, 1 / 4),
    "RED, 1/6 and 1/2": red(1 / 6, 1 / 2),
    "RED, 5 ms": {"kind": "red", "limit": LIMIT, "target_delay": "5ms"},
    "drop-tail": {"kind": "drop-tail", "limit": LIMIT},
}
RESETS = {"any new ack": False, "a sample": True, "a timestamp": False}
"""What ends a backoff, and whether that is Karn's rule; with timestamps every new ack brings a sample."""
STAMPED = [reset == "a timestamp" for reset in RESETS]
SEEDS = 4
QUICK = {"offered": ["12 Mbit/s"], "overload": ["20 s"], "queue": ["RED, 1/6 and 1/2", "RED, 5 ms"]}
"""Values in the quick form, of axes that have more with --full."""
AXES = {
    "offered": "the load that is offered",
    "overload": "how long it lasts",
    "queue": "the queue",
    "reset": "what ends a backoff",
}


@dataclass(frozen=True)
class Headline:
    """A verdict of the register on two stacks under the same load: a ratio of their numbers, and its
    bounds.
    """

    id: str
    words: str
    number: Callable[[dict[str, Any], dict[str, Any]], float]
    """Of the means over the seeds of TCP and of TCP*(inf)."""
    least: float = -np.inf
    most: float = np.inf

    def holds(self, value: float) -> bool:
        """Whether a number is within the register's bounds."""
        return bool(self.least <= value <= self.most)


GAIN = "B-F3"
HEADLINES = (
    Headline("B-F2a", "P99 of TCP*(inf) over TCP", lambda tcp, none: none["p99"] / tcp["p99"], most=1.05),
    Headline("B-F2a", "mean of TCP*(inf) over TCP", lambda tcp, none: none["mean"] / tcp["mean"], most=1.0),
    Headline(
        "B-X2",
        "goodput of TCP*(inf) over TCP",
        lambda tcp, none: none["goodput"] / tcp["goodput"],
        least=0.98,
    ),
    Headline("B-X2", "loss of TCP*(inf) over TCP", lambda tcp, none: none["loss"] / tcp["loss"], least=1.0),
    Headline(GAIN, "P99 of TCP over TCP*(inf)", lambda tcp, none: tcp["p99"] / none["p99"], least=1.5),
)


def sweep(full: bool) -> ac.Sweep:
    """Every combination, as `scenarios/sweeps/backoff-choices.toml` has it, or the quick form's share
    of it.
    """

    def of(name: str, values: dict[str, Any]) -> dict[str, Any]:
        return values if full else {value: values[value] for value in QUICK[name]}

    def both(option: str) -> list[str]:
        return [f"stacks.{label}.{option}" for label in (TCP, NONE)]

    axes: dict[str | tuple[str, ...], Any] = {
        "offered": {"key": "workload.0.load", "values": of("offered", OFFERED)},
        "overload": {"key": "duration", "values": of("overload", OVERLOAD)},
        "queue": {"key": "path.bottleneck.queue", "values": of("queue", QUEUES)},
        ("reset", "timestamps"): [
            ac.sweep.Axis.of("reset", {"keys": both("karn_backoff"), "values": RESETS}, twice=True),
            ac.sweep.Axis.of("timestamps", {"keys": both("timestamps"), "values": STAMPED}, twice=True),
        ],
    }
    base = testbed.scenario(
        testbed.dumbbell(10), testbed.web("I", 10), testbed.stacks("200ms", TCP, NONE), 20, repeat=1
    )
    return ac.Sweep(base, axes, seeds=SEEDS if full else 1)


def points(found: pa.Table) -> list[dict[str, Any]]:
    """A row for each combination: its values, the headlines' numbers, and what they rest on."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in found.to_pylist():
        groups.setdefault(tuple(row[name] for name in AXES), []).append(row)
    rows = []
    for values, mine in groups.items():
        means = {
            label: {
                key: float(np.mean([row[key] for row in mine if row["stack"] == label]))
                for key in ("mean", "p99", "goodput", "loss")
            }
            for label in (TCP, NONE)
        }
        numbers = {f"{h.id}, {h.words}": h.number(means[TCP], means[NONE]) for h in HEADLINES}
        rows.append(
            {
                **dict(zip(AXES, values, strict=True)),
                "tcp_p99": means[TCP]["p99"],
                "tcp_loss": means[TCP]["loss"],
                **numbers,
            }
        )
    return rows


@dataclass(frozen=True)
class Verdicts:
    """Whether a headline holds at each point."""

    headline: Headline
    held: list[bool]
    flips: dict[str, tuple[int, int]]
    """By axis: how often its value alone decides, of how many sets of points that differ in nothing else."""

    @property
    def name(self) -> str:
        """Its name."""
        return f"{self.headline.id}, {self.headline.words}"


def verdicts(rows: list[dict[str, Any]]) -> list[Verdicts]:
    """The headlines' verdicts, and which axis flips them."""
    found = []
    for h in HEADLINES:
        held = [h.holds(row[f"{h.id}, {h.words}"]) for row in rows]
        flips = {}
        for axis in AXES:
            sets: dict[tuple[Any, ...], list[bool]] = {}
            for row, ok in zip(rows, held, strict=True):
                sets.setdefault(tuple(row[other] for other in AXES if other != axis), []).append(ok)
            several = [s for s in sets.values() if len(s) > 1]
            if several:
                flips[axis] = (sum(len(set(s)) > 1 for s in several), len(several))
        found.append(Verdicts(h, held, flips))
    return found


@item(
    "B-S10",
    kind="SIM",
    title="Which choices decide a verdict, when they are varied together?",
    choices={
        **{
            key: testbed.CHOICES[key]
            for key in ("flow sizes", "arrivals", "round-trip times", "packets", "giving up")
        },
        "choices": "; ".join(
            f"{words}: {', '.join(of)}"
            for words, of in zip(AXES.values(), (OFFERED, OVERLOAD, QUEUES, RESETS), strict=True)
        )
        + "; every combination (the plan `scenarios/sweeps/backoff-choices.toml`)",
        "RED": "parts of the queue for thresholds, or a delay that it aims at and adapts itself to",
        "timestamps": "a new ack ends the backoff, and every one brings a sample, of segments sent twice "
        "as well",
        "quick form": f"{', '.join(v for values in QUICK.values() for v in values)}, and everything that "
        "may end a backoff, with seed 1",
        "headlines": "; ".join(f"{h.id} {h.words}" for h in HEADLINES)
        + "; in Trace-I with a minimum RTO of 0.2 s and the bounds of the items",
        "checks": "a headline's verdict is the same at every point; `docs/sweeps.md` shows what all points "
        "gave",
        "random numbers": f"seeds 1 to {SEEDS} with --full; numbers are ratios of means over the seeds",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Each headline at each point, and which choice flips it."""
    result = sweep(setting.full).run(
        workers=setting.workers, progress=lambda part, _: setting.progress(part, "B-S10")
    )
    rows = points(result.table)
    found = verdicts(rows)
    notes = [described(v) for v in found]
    return Outcome(
        [steady(v) for v in found],
        {"points": pa.Table.from_pylist(rows)},
        {"gain": picture(rows)},
        notes,
        answer=answer(found),
    )


def steady(v: Verdicts) -> Check:
    """Whether the verdict is the same at all points."""
    count = sum(v.held)
    return Check(
        f"{v.name}: the same verdict",
        f"at all {len(v.held)} points",
        f"holds at {count} of {len(v.held)}",
        count in (0, len(v.held)),
    )


def described(v: Verdicts) -> str:
    """How often each choice decides."""
    if sum(v.held) in (0, len(v.held)):
        return f"{v.name}: nothing flips it"
    parts = [
        f"{AXES[axis]} in {some} of {of} sets"
        for axis, (some, of) in sorted(v.flips.items(), key=lambda f: -f[1][0] / f[1][1])
    ]
    return f"{v.name}: flipped by {', '.join(parts)} of points that differ in nothing else"


def answer(found: list[Verdicts]) -> str:
    """What the results say."""
    same = [v.name for v in found if sum(v.held) in (0, len(v.held))]
    text = (
        f"Whatever is combined, the verdict is the same for {'; '.join(same)}."
        if same
        else "No verdict is the same whatever is combined."
    )
    for v in found:
        if v.name in same:
            continue
        axis, (some, of) = max(v.flips.items(), key=lambda f: f[1][0] / f[1][1])
        text += (
            f" {v.name} is within the check's bounds at {sum(v.held)} of {len(v.held)} points; most often "
            f"{AXES[axis]} decides, "
        )
        text += f"in {some} of {of} sets of points that differ in nothing else."
    return text


def picture(rows: list[dict[str, Any]]) -> Figure:
    """The gain at every point, coloured by verdict."""
    h = next(h for h in HEADLINES if h.id == GAIN)
    value = {
        tuple(row[name] for name in ("offered", "reset", "overload", "queue")): row[f"{h.id}, {h.words}"]
        for row in rows
    }
    across = [(o, q) for o in OVERLOAD for q in QUEUES if any(at[2:] == (o, q) for at in value)]
    down = [(o, r) for o in OFFERED for r in RESETS if any(at[:2] == (o, r) for at in value)]
    values = np.array([[value[(*line, *column)] for column in across] for line in down])
    fig, axes = style.figure(
        "How much the tail gains, by what is chosen",
        f"99th percentile of TCP over that of TCP*(inf), Trace-I; blue: at least {h.least:g}, as checked of "
        "figure 3; orange: less",
        size=(9.0, max(4.0, 1.6 + 0.4 * len(down))),
    )
    with mpl.rc_context(style.SETTINGS):
        axes.imshow(
            np.where(
                (values >= h.least)[:, :, None], mpl.colors.to_rgb("#a9cfe8"), mpl.colors.to_rgb("#f0b58a")
            ),
            aspect="auto",
        )
        for i, j in np.ndindex(values.shape):
            axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=9)
        axes.set_xticks(
            range(len(across)), [f"{q}\n{o}".replace(", ", ",\n", 1) for o, q in across], fontsize=8.5
        )
        axes.set_yticks(range(len(down)), [f"{o}; {r}" for o, r in down], fontsize=8.5)
        axes.set(xlabel="queue, and time of arrivals", ylabel="offered; what ends a backoff")
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
    return fig
