from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.backoff2008 import comparison, testbed
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_least, item

LOADS = (0.6, 0.7, 0.8, 0.9)
SECONDS, FULL = 40, 600
SEEDS, FULL_SEEDS = 5, 10
LARGEST = 7.0
"""An order of magnitude less half a doubling of the timer (B-F11)."""
POISSON = "Poisson"
PATTERNS = {POISSON: ac.arrivals.Poisson(), "bursts of 2 s": ac.arrivals.OnOff(on="2s", off="2s")}


def scenario(load: float, name: str, seconds: float, seeds: int) -> ac.Scenario:
    """One load with one pattern of arrivals."""
    stacks = {f"{label}, {name}, {load:g}": s for label, s in testbed.freebsd("200ms", TCP, NONE).items()}
    web = ac.Web(trace="I", load=load, load_counts="wire", arrivals=PATTERNS[name])
    return testbed.scenario(testbed.dumbbell(10), web, stacks, seconds, repeat=seeds)


@item(
    "B-X14",
    kind="SIM",
    title="The gain where congestion is lighter",
    choices={
        **testbed.ON_FREEBSD,
        "load": "60 to 90 % of the bottleneck, headers included",
        "arrivals": "Poisson, which decide; and, as a note, in bursts of our own: ON and OFF for 2 s "
        "each, as in B-F4",
        "random numbers": f"seeds 1 to {SEEDS} (1 to {FULL_SEEDS} with --full)",
        "duration": f"arrivals for {SECONDS} s ({FULL} s with --full), then as long as the last flows need",
        "gain": "of TCP over TCP*(inf), the ratio of the 99th percentiles and that of the longest responses; "
        "medians over the seeds, of the two the larger",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Ratios of 99th percentile and longest response against the load."""
    cases = [(load, name) for name in PATTERNS for load in LOADS]
    seconds, seeds = (FULL, FULL_SEEDS) if setting.full else (SECONDS, SEEDS)
    found = comparison.run([scenario(load, name, seconds, seeds) for load, name in cases], setting, "B-X14")
    rows = []
    for load, name in cases:
        tcp, none = (f"{label}, {name}, {load:g}" for label in (TCP, NONE))
        longest = {stack: np.array([t.max() for t in found.times(stack)]) for stack in (tcp, none)}
        rows.append(
            {
                "arrivals": name,
                "load": load,
                "p99_ratio": float(np.median(found.p99(tcp) / found.p99(none))),
                "longest_ratio": float(np.median(longest[tcp] / longest[none])),
                "longest_least": float(np.min(longest[tcp] / longest[none])),
                "longest_most": float(np.max(longest[tcp] / longest[none])),
                "mean_ratio": float(found.mean(tcp).mean() / found.mean(none).mean()),
                "loss": float(found.number(tcp, "loss").mean()),
            }
        )
    deciding = [row for row in rows if row["arrivals"] == POISSON]
    largest = max(deciding, key=lambda row: max(row["p99_ratio"], row["longest_ratio"]))
    gain = max(largest["p99_ratio"], largest["longest_ratio"])
    checks = [at_least(f"largest gain over the loads: load {largest['load']:g}", gain, LARGEST, "at least")]
    notes = [
        (
            f"{row['arrivals']}, load {row['load']:g}: TCP over TCP*(inf): P99 {row['p99_ratio']:.3g}, "
            f"longest {row['longest_ratio']:.3g} ({row['longest_least']:.3g} to {row['longest_most']:.3g} by "
            f"seed), mean {row['mean_ratio']:.4g}; loss of TCP {100 * row['loss']:.3g} %"
        )
        for row in rows
    ]
    return Outcome(
        checks,
        {"gains": pa.Table.from_pylist(rows), "stacks": pa.Table.from_pylist(found.rows)},
        {"gain": picture(rows)},
        notes,
    )


def picture(rows: list[dict]) -> Figure:
    """Both ratios against the load."""
    fig, axes = style.figure(
        "Gain without backoff below saturation",
        "10 Mbit/s RED, Trace-I, SACK, minimum RTO 0.2 s; TCP over TCP*(inf)",
    )
    with mpl.rc_context(style.SETTINGS):
        i = 0
        for name in PATTERNS:
            for key, words in (("p99_ratio", "99th percentile"), ("longest_ratio", "longest response")):
                mine = [row for row in rows if row["arrivals"] == name]
                axes.plot(
                    [r["load"] for r in mine],
                    [r[key] for r in mine],
                    marker="o",
                    markersize=4,
                    label=f"{words}, {name}",
                    **style.line(i),
                )
                i += 1
        axes.axhline(1.0, color="#777777", linewidth=0.8)
        axes.set(xlabel="load of the bottleneck", ylabel="TCP over TCP*(inf)")
        axes.set_ylim(bottom=0)
        axes.grid(True)
        axes.legend(loc="best", fontsize=9)
    return fig
