from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pyarrow as pa
from matplotlib.figure import Figure

from ackclock.models import mathis97 as m
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, between, item
from ackclock.reproduce.mathis97 import bottleneck, lossy, vegas

LOSSES = (1e-4, 3e-4, 1e-3, 3e-3)
"""Of the link without a queue."""


def random(setting: Setting) -> list[dict[str, Any]]:
    """Vegas where nothing queues and packets are lost at random (M-F3), a row for each loss."""
    cases = [lossy.Case("Reno DA", p, cycles=400 if setting.full else 100) for p in LOSSES]
    # The keys of Reno's window that `lossy` sets give way to Vegas's.
    scenarios = [lossy.scenario(c).but({"stacks.tcp.window": vegas.RULE}) for c in cases]
    runs = setting.run_all(scenarios, "M-X18", (0.5, 1.0))
    return [lossy.measured(c, run) for c, run in zip(cases, runs, strict=True)]


def exponent(rows: list[dict[str, Any]]) -> str:
    """The exponent of these losses in words. Runs with timeouts are in no fit (M-U6)."""
    free = [r for r in rows if r["timeouts"] == 0 and r["p"] > 0]
    if len(free) < 3:
        return f"and {len(free)} of {len(rows)} runs are without a timeout, too few to fit equation (5)"
    fit = m.fit([r["p"] for r in free], [r["window"] for r in free])
    return f"k of equation (5) {fit.k:.3f}"


def picture(rows: list[dict[str, Any]]) -> Figure:
    """What each TCP has of the model's window, at each place."""
    fig, axes = style.figure(
        "Vegas does not fit the model where it can see a queue",
        "Mean window relative to C/sqrt(p), C = 0.866; one connection, drop-tail, 60 ms",
    )
    with mpl.rc_context(style.SETTINGS):
        for i, (stack, colour) in enumerate(zip(("Reno", "Vegas"), style.COLOURS, strict=False)):
            mine = [r for r in rows if r["stack"] == stack]
            places = [n + 0.4 * i - 0.2 for n in range(len(mine))]
            axes.bar(places, [r["over"] for r in mine], width=0.38, color=colour, label=stack)
        axes.axhline(1, color="#555555", linewidth=1.2)
        axes.set_xticks(
            range(len(vegas.PLACES)), [f"{rate / 1e6:g} Mbit/s\n{queue}" for rate, queue in vegas.PLACES]
        )
        axes.set(xlabel="bottleneck, and packets of its queue", ylabel="window relative to the model's")
        axes.legend(loc="best", fontsize=9)
    return fig


@item(
    "M-X18",
    kind="SIM",
    title="Vegas does not fit the model",
    choices={
        **bottleneck.CHOICES,
        **vegas.CHOICES,
        "p": "CA events over acknowledged segments, as section 2 has it",
        "random loss": ", ".join(f"{p:g}" for p in LOSSES),
    },
    points_at=("window vegas(alpha_segs=1, beta_segs=3, gamma_segs=1)",),
    tests=("tests/test_reproduce_mathis97_queues.py::test_vegas_loses_nothing_where_reno_does",),
)
def reproduce(setting: Setting) -> Outcome:
    """Vegas and Reno, each alone on a bottleneck whose queue holds the bandwidth-delay product."""
    rows = vegas.runs(setting, "M-X18")
    own = {s: [r for r in rows if r["stack"] == s] for s in ("Reno", "Vegas")}
    drops = {s: [r["ca"] + r["non_ca"] + r["other"] for r in mine] for s, mine in own.items()}
    checks = [
        at_least(
            "Vegas: least share of the link", min(r["utilisation"] for r in own["Vegas"]), 0.95, "at least"
        ),
        at_most(
            "Vegas: most drops over Reno's on the same link",
            max(v / max(r, 1) for v, r in zip(drops["Vegas"], drops["Reno"], strict=True)),
            0.1,
            "a tenth",
        ),
        at_least(
            "Vegas: least C/sqrt(p) over its window", 1 / max(r["over"] for r in own["Vegas"]), 3, "at least"
        ),
        between("Reno: window over C/sqrt(p)", [r["over"] for r in own["Reno"]], 0.8, 1.2),
    ]
    lossy_rows = random(setting)
    constants = ", ".join(f"{r['window'] * r['p'] ** 0.5:.3g} at {r['loss']:g}" for r in lossy_rows)
    notes = [
        f"Random loss without a queue: window sqrt(p) is {constants}, {exponent(lossy_rows)}. "
        "Nothing queues there, so that Vegas grows as Reno does: a fit does not refute the claim."
    ]
    return Outcome(
        checks,
        {"drop_tail": pa.Table.from_pylist(rows), "random": pa.Table.from_pylist(lossy_rows)},
        {"windows": picture(rows)},
        notes,
    )
