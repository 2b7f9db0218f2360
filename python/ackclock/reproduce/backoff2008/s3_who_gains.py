from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison
from ackclock.reproduce.backoff2008.pairs import MARGIN, Pairs, pairs
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, at_least, at_most, item

SECONDS, SEEDS = {"I": 24, "II": 60, "III": 120}, 3
CHANCE = "TCP, max_p 0.101"


def scenarios(trace: str, setting: Setting) -> list[ac.Scenario]:
    """Both stacks, and TCP once more over a queue that is different in nothing that matters."""
    seconds = (testbed.FULL if setting.full else SECONDS)[trace]
    stacks = testbed.stacks("200ms", TCP, NONE)
    web, path = testbed.web(trace, 10), testbed.dumbbell(10)
    once_more = {"path.bottleneck.queue.max_p": 0.101}
    named = [
        {f"{label}, {trace}": stacks[label] for label in (TCP, NONE)},
        {f"{CHANCE}, {trace}": stacks[TCP]},
    ]
    found = [testbed.scenario(path, web, mine, seconds, repeat=SEEDS) for mine in named]
    return [found[0], found[1].but(once_more)]


@item(
    "B-S3",
    kind="SIM",
    title="What share of the flows gains?",
    choices={
        **testbed.CHOICES,
        "pairs": "the same flows, which arrive at the same moments with the same sizes, in a world with "
        "backoff and in one without",
        "faster, slower": f"by a factor of more than {MARGIN:g}",
        "chance": "an overloaded queue is chaotic: beside it, TCP paired with TCP over a RED queue whose "
        "max_p is 0.101 instead of 0.1",
        "tolerances": "no fewer flows are faster than slower, beyond what chance does; and the 99th "
        "percentile of slowdowns is at most that of speed-ups",
        "random numbers": f"seeds 1 to {SEEDS}",
        "duration": testbed.times(SECONDS),
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Each flow's response time without backoff over that with it."""
    found = comparison.run([s for trace in SECONDS for s in scenarios(trace, setting)], setting, "B-S3")
    checks: list[Check] = []
    rows, notes, paired = [], [], {}
    for trace in SECONDS:
        tcp, none, chance = (found.of(f"{label}, {trace}") for label in (TCP, NONE, CHANCE))
        change, luck = pairs(tcp, none), pairs(tcp, chance)
        paired[f"Trace-{trace}"] = change
        checks += [
            at_least(
                f"Trace-{trace}: faster less slower flows (%)",
                100 * (change.faster - change.slower),
                100 * (luck.faster - luck.slower),
                "what chance does:",
            ),
            at_most(
                f"Trace-{trace}: 99th percentile of slowdowns",
                float(np.percentile(change.ratio, 99)),
                float(np.percentile(1 / change.ratio, 99)),
                "that of speed-ups:",
            ),
        ]
        named = {
            f"{NONE} against {TCP}": change,
            "chance alone": luck,
            f"{NONE} against {TCP}, flows that TCP backed off": backed_off(found, trace, NONE),
            "chance alone, the same flows": backed_off(found, trace, CHANCE),
        }
        for name, p in named.items():
            rows.append({"trace": trace, "pair": name, **described(p)})
            notes.append(f"Trace-{trace}, {name}: {words(p)}")
    paired["chance alone, Trace-I"] = pairs(found.of(f"{TCP}, I"), found.of(f"{CHANCE}, I"))
    return Outcome(
        checks,
        {"shares": pa.Table.from_pylist(rows)},
        {"pairs": picture(paired)},
        notes,
        answer(rows, checks),
    )


def backed_off(found: Comparison, trace: str, other: str) -> Pairs:
    """The pairs of flows that met a second timeout in a row in the world with backoff, which was bad luck:
    chance alone makes most of them faster.
    """
    tcp = [
        t.filter(pc.greater(pc.list_element(t["timeouts_by_round"], 1), 0))
        for t in found.of(f"{TCP}, {trace}")
    ]
    return pairs(tcp, found.of(f"{other}, {trace}"))


def described(p: Pairs) -> dict[str, float]:
    """A row of the table."""
    percentiles = {f"p{q}": float(np.percentile(p.ratio, q)) for q in (1, 50, 99)} if p.ratio.size else {}
    return {
        "flows": p.ratio.size,
        "faster": p.faster,
        "slower": p.slower,
        "mean_ratio": p.mean_ratio,
        **percentiles,
    }


def words(p: Pairs) -> str:
    """The same as a sentence."""
    if not p.ratio.size:
        return "no flows"
    low, middle, high = np.percentile(p.ratio, [1, 50, 99])
    return (
        f"{100 * p.faster:.3g} % of {p.ratio.size} flows faster, {100 * p.slower:.3g} % slower; "
        f"response time times {middle:.3g} (median), {low:.3g} to {high:.3g} for 98 %; mean response "
        f"times {p.mean_ratio:.4g}"
    )


def answer(rows: list[dict[str, Any]], checks: list[Check]) -> str:
    """What the results say."""
    by = {(row["trace"], row["pair"]): row for row in rows}
    change, chance = f"{NONE} against {TCP}", "chance alone"
    shares = "; ".join(
        (
            f"{100 * by[t, change]['faster']:.2g} % are faster and {100 * by[t, change]['slower']:.2g} % "
            f"slower in Trace-{t} (chance alone: {100 * by[t, chance]['faster']:.2g} and "
            f"{100 * by[t, chance]['slower']:.2g} %), and the mean is {by[t, change]['mean_ratio']:.3g} of "
            f"what it was ({by[t, chance]['mean_ratio']:.3g})"
        )
        for t in SECONDS
    )
    held_up, luck = (
        by["I", name] for name in (f"{change}, flows that TCP backed off", f"{chance}, the same flows")
    )
    more = [f"Trace-{t}" for t, c in zip(SECONDS, checks[::2], strict=True) if c.holds]
    return (
        f"Flow by flow, {shares}. More gain than lose, beyond chance, in {listed(more)}. Of Trace-I's "
        f"flows that TCP backed off, {held_up['flows']} of {by['I', change]['flows']}, the mean falls "
        f"to {held_up['mean_ratio']:.2g} of what it was, by chance alone to {luck['mean_ratio']:.2g}."
    )


def listed(names: list[str]) -> str:
    """Names, or none."""
    return ", ".join(names) if names else "none of the traces"


def picture(paired: dict[str, Pairs]) -> Figure:
    """Distribution of the ratios."""
    fig, axes = style.figure(
        "Each flow without backoff against itself with backoff",
        "10 Mbit/s RED, 12 Mbit/s offered, SACK, minimum RTO 0.2 s; the same flows in both worlds",
    )
    with mpl.rc_context(style.SETTINGS):
        for i, (name, p) in enumerate(paired.items()):
            x = np.sort(p.ratio)
            share = np.linspace(0, 100, x.size)
            axes.plot(
                x,
                share,
                label=f"{name}: {100 * p.faster:.3g} % faster, {100 * p.slower:.3g} % slower",
                **style.line(i),
            )
        axes.axvline(1.0, color="#777777", linewidth=0.8)
        axes.set(
            xscale="log",
            xlim=(1 / 50, 50),
            ylim=(0, 100),
            xlabel="response time without backoff over that with",
            ylabel="flows at or below (%)",
        )
        axes.xaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda x, _: f"{x:g}"))
        axes.grid(True, which="major")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=9, ncols=2)
    return fig
