from __future__ import annotations

import matplotlib as mpl
import matplotlib.ticker
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.comparison import Comparison, ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, between, item
from ackclock.results.confidence import half_width

LENGTHS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""ON and OFF periods, seconds (B-A9)."""
LOAD = testbed.OFFERED_MBIT / 10
SECONDS, FULL = 24, 60
SEEDS, FULL_SEEDS = 3, 10
TWICE, EACH = (1.5, 2.5), (1.3, 3.0)
"""Between which the ratio of 99th percentiles lies: its geometric mean over the lengths, which is about
twice, and at each length, of which the paper has one run.
"""


def scenario(length: float, seconds: float, seeds: int) -> ac.Scenario:
    """Bursts of one length over the testbed."""
    arrivals = ac.arrivals.OnOff(on=f"{length}s", off=f"{length}s", periods="constant")
    web = ac.Web(trace="I", load=LOAD, arrivals=arrivals)
    stacks = {f"{label}, {length:g} s": stack for label, stack in testbed.freebsd("200ms", TCP, NONE).items()}
    return testbed.scenario(testbed.dumbbell(10), web, stacks, seconds, repeat=seeds)


@item(
    "B-F4",
    kind="SIM",
    title="Arrivals in bursts",
    choices={
        **testbed.CHOICES,
        **testbed.FREEBSD,
        "arrivals": f"Poisson during ON at twice the average rate; payload of {LOAD:g} times the capacity "
        "on average",
        "lengths": f"{', '.join(f'{x:g}' for x in LENGTHS)} s, ON as long as OFF, all alike",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
        "duration": f"arrivals for {SECONDS} s ({FULL} s with --full), then as long as the last flows need",
        "non-decreasing within 10 %": "each value at least 0.9 times the largest before it",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Mean and 99th percentile against the length of bursts."""
    seconds, seeds = (FULL, FULL_SEEDS) if setting.full else (SECONDS, SEEDS)
    found = comparison.run([scenario(length, seconds, seeds) for length in LENGTHS], setting, "B-F4")
    tails = np.array([[found.p99(f"{label}, {x:g} s").mean() for label in (TCP, NONE)] for x in LENGTHS])
    middle = float(np.exp(np.log(tails[:, 0] / tails[:, 1]).mean()))
    checks: list[Check] = [
        between("P99 of TCP over TCP*(inf), geometric mean over the lengths", middle, *TWICE)
    ]
    for length in LENGTHS:
        tcp, none = (f"{label}, {length:g} s" for label in (TCP, NONE))
        tail = ratio(
            f"{length:g} s: P99 of TCP over TCP*(inf)",
            found.p99(tcp),
            found.p99(none),
            least=EACH[0],
            most=EACH[1],
        )
        means = found.mean(tcp).mean() / found.mean(none).mean()
        limit = found.p99(tcp).mean() / found.p99(none).mean()
        checks += [
            tail,
            at_most(f"{length:g} s: mean of TCP over TCP*(inf)", means, limit, "below the ratio of P99"),
        ]
    checks += [rising(f"{name} of {label}", values) for name, label, values in series(found)]
    rows = [
        {
            "quantity": name,
            "stack": label,
            "length": length,
            "seconds": float(v.mean()),
            "half_width": half_width(v),
        }
        for name, label, values in series(found)
        for length, v in zip(LENGTHS, values, strict=True)
    ]
    return Outcome(checks, {"points": pa.Table.from_pylist(rows)}, {"bursts": picture(found)}, found.notes())


def series(found: Comparison) -> list[tuple[str, str, list[np.ndarray]]]:
    """Name of the quantity, stack, and an array over the seeds for each length."""
    taken = {"mean": found.mean, "P99": found.p99}
    return [
        (name, label, [take(f"{label}, {length:g} s") for length in LENGTHS])
        for name, take in taken.items()
        for label in (TCP, NONE)
    ]


def rising(name: str, values: list[np.ndarray]) -> Check:
    """Whether the means do not decrease, within 10 %."""
    means = np.array([v.mean() for v in values])
    holds = bool((means >= 0.9 * np.maximum.accumulate(means)).all())
    return Check(
        f"{name} does not decrease with the length",
        "within 10 %",
        ", ".join(f"{m:.4g}" for m in means) + " s",
        holds,
    )


def picture(found: Comparison) -> Figure:
    """Both quantities against the length, with confidence bands."""
    fig, axes = style.figure(
        "Response times under bursts",
        f"10 Mbit/s RED, Trace-I, load {LOAD:g}, SACK, minimum RTO 0.2 s; bands: 95 % confidence",
    )
    with mpl.rc_context(style.SETTINGS):
        for i, (name, label, values) in enumerate(series(found)):
            mean, width = np.array([v.mean() for v in values]), np.array([half_width(v) for v in values])
            look = style.line(i)
            axes.plot(LENGTHS, mean, marker="o", markersize=4, label=f"{name}, {label}", **look)
            axes.fill_between(
                LENGTHS,
                np.maximum(mean - width, 1e-3),
                mean + width,
                color=look["color"],
                alpha=0.2,
                linewidth=0,
            )
        axes.set(
            xlabel="length of ON and of OFF periods (s)",
            ylabel="response time (s)",
            xscale="log",
            yscale="log",
        )
        axes.set_xticks(LENGTHS, [f"{x:g}" for x in LENGTHS])
        axes.minorticks_off()
        axes.yaxis.set_major_locator(mpl.ticker.LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(mpl.ticker.FuncFormatter(lambda y, _: f"{y:g}"))
        axes.grid(True)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=9, ncols=4)
    return fig
