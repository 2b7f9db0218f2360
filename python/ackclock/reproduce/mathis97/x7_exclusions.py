from __future__ import annotations

from typing import Any

import matplotlib as mpl
import pyarrow as pa

import ackclock as ac
from ackclock.models import mathis97 as m
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item
from ackclock.reproduce.mathis97 import bottleneck, lossy, vegas
from ackclock.results import Run
from ackclock.sweep import run_all

SIZE, P = 1460, 1e-3
C = lossy.CONSTANT["every"]
SHORT = 1000
"""Segments of a short transfer: one loss is to be expected, and slow-start is over before it."""
ALLOWED = 1.05


def scenarios(setting: Setting) -> dict[str, tuple[lossy.Case, ac.Scenario]]:
    """Transfers, each of which the model leaves out for one reason, and one that it covers."""
    base = lossy.Case("SACK", P, cycles=400 if setting.full else 120)
    cases = {
        "nothing excluded": base,
        "small receiver window": base.but(changes=(("rcv_buf", f"{8 * SIZE}B"), ("window_scaling", "false"))),
        "timeouts": base.but(row="Reno", p=0.1, cycles=2000),
        "go-back-N": base.but(row="Tahoe", p=0.03, cycles=1000),
    }
    found = {name: (case, lossy.scenario(case)) for name, case in cases.items()}
    # Four of the five megabits that the window would let go, and as long nothing as something.
    starved = ac.OnOff(rate="4Mbit/s", on="1s", off="1s", periods="exponential", bytes=f"{SIZE}B")
    found["sender starved"] = (base, lossy.scenario(base, starved))
    transfers = ac.Fixed(flows=400 if setting.full else 100, size=f"{SHORT * SIZE}B", stagger="100ms")
    short = lossy.scenario(base, transfers).but(
        {"measure_from": "0s", "duration": "60s", "stacks.tcp.window.initial_ssthresh": "0B"}
    )
    found["short transfers"] = (base, short)
    return found


def measured(name: str, case: lossy.Case, run: Run) -> dict[str, Any]:
    """Bandwidth, and the prediction of the model for the same loss and round-trip time."""
    if name != "short transfers":
        row = lossy.measured(case, run)
        model = float(m.bandwidth(row["p_ca"], row["rtt"], SIZE, C))
        return {
            "what": name,
            "p": row["p_ca"],
            "rtt": row["rtt"],
            "bandwidth": row["bandwidth"],
            "model": model,
            "timeouts": row["timeouts"],
        }
    flows = [f for f in run.flows.to_pylist() if f["outcome"] == "finished"]
    p = sum(f["ca_events"] for f in flows) / sum(f["segments_acked"] for f in flows)
    rtt = sum(f["rtt_mean"] for f in flows) / len(flows)
    bandwidth = sum(SHORT * SIZE * 8 / f["response_time"] for f in flows) / len(flows)
    timeouts = sum(f["timeouts"] for f in flows)
    return {
        "what": name,
        "p": p,
        "rtt": rtt,
        "bandwidth": bandwidth,
        "model": float(m.bandwidth(p, rtt, SIZE, C)),
        "timeouts": timeouts,
    }


def of_vegas(row: dict[str, Any]) -> dict[str, Any]:
    """Vegas on a bottleneck with a queue, as the other rows have it."""
    bandwidth = row["window"] * bottleneck.PACKET * 8 / row["rtt"]
    return {
        "what": f"Vegas, {row['bandwidth'] / 1e6:g} Mbit/s, queue {row['queue']}",
        "p": row["p_ca"],
        "rtt": row["rtt"],
        "bandwidth": bandwidth,
        "model": bandwidth / row["over"],
        "timeouts": row["timeouts"],
    }


@item(
    "M-X7",
    kind="SIM",
    title="Where the model does not apply",
    choices={
        **lossy.CHOICES,
        "TCP": "SACK, an ack for each packet, p = 0.001 and 60 ms, unless the case asks for another; the "
        "model with C = 1.31",
        "small receiver window": "8 segments",
        "sender starved": "4 Mbit/s for a second on average, then nothing for as long (both exponential)",
        "timeouts": "Reno at p = 0.1",
        "go-back-N": "Tahoe at p = 0.03",
        **vegas.CHOICES,
        "p": "CA events over acknowledged segments, as section 2 has it",
        "short transfers": f"{SHORT} segments from slow-start without bound: the paper has them as the one "
        "case that can be faster",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """Six exclusions, and one transfer that is not excluded."""
    cases = scenarios(setting)
    runs = run_all(
        [s for _, s in cases.values()],
        workers=setting.workers,
        progress=lambda share, _: setting.progress(share, "exclusions"),
    )
    rows = [measured(name, case, run) for (name, (case, _)), run in zip(cases.items(), runs, strict=True)]
    beside = vegas.runs(setting, "Vegas")
    rows += [of_vegas(r) for r in beside if r["stack"] == "Vegas"]
    for row in rows:
        row["ratio"] = row["bandwidth"] / row["model"]
    checks = [
        at_most(f"{r['what']}: measured over the model", r["ratio"], ALLOWED, "at most")
        for r in rows
        if r["what"] != "short transfers"
    ]
    short = next(r for r in rows if r["what"] == "short transfers")
    checks.append(
        at_least("short transfers, the exception: measured over the model", short["ratio"], 1, "at least")
    )
    fig, axes = style.figure(
        "What the model excludes: slower, except short transfers",
        "Random loss and no queue, C = 1.31; for Vegas a queue, C = 0.866",
    )
    with mpl.rc_context(style.SETTINGS):
        places = range(len(rows))
        axes.barh(places, [r["ratio"] for r in rows], color=style.COLOURS[0], height=0.6)
        axes.axvline(1, color="#555555", linewidth=1.2)
        for i, r in enumerate(rows):
            axes.annotate(
                f"{r['ratio']:.3g}",
                (r["ratio"], i),
                (4, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
            )
        axes.set_yticks(places, [r["what"] for r in rows])
        axes.invert_yaxis()
        axes.set(
            xlabel="measured bandwidth, relative to the model's",
            xlim=(0, 1.15 * max(r["ratio"] for r in rows)),
        )
        axes.grid(True, which="major", axis="x")
    notes = [
        (
            f"{r['what']}: p = {r['p']:.4g}, {r['bandwidth'] / 1e6:.3g} Mbit/s of {r['model'] / 1e6:.3g}, "
            f"{r['timeouts']} timeouts"
        )
        for r in rows
    ]
    return Outcome(checks, {"cases": pa.Table.from_pylist(rows)}, {"ratios": fig}, notes)
