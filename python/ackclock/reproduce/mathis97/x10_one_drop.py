from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item, stated
from ackclock.reproduce.mathis97 import bottleneck, drops, stock
from ackclock.results import Run
from ackclock.sweep import run_all

STACKS = {"Reno": "reno", "SACK": "sack"}
PLACES = [(100e3, 10), (500e3, 10), (1e6, 10), (1e6, 20), (1e6, 30), (5e6, 10), (10e6, 20)]
BATCH = 4
"""Runs that are held at a time: their traces are long."""
IDEAL, JITTER, COMPRESSION = "alone", "jitter", "ack compression"


def workload(case: str, rate: float) -> list[Any]:
    """One transfer, and what disturbs it."""
    data = ac.Bulk(name="data")
    if case == JITTER:
        # Half of the line for 30 ms three times a second.
        return [
            data,
            ac.UdpOnOff(
                name="cross",
                rate=f"{rate / 2:.0f}bit/s",
                bytes="1024B",
                on="30ms",
                off="300ms",
                periods="exponential",
            ),
        ]
    if case == COMPRESSION:
        return [data, ac.Bulk(name="reverse", client="receiver", server="sender", start="1s")]
    return [data]


def scenario(place: tuple[float, int], case: str, cycles: int) -> ac.Scenario:
    """Both TCPs, each in a run of its own."""
    rate, queue = place
    path = bottleneck.path(rate, queue)
    if case == COMPRESSION:
        # Data takes the way back as well, through a queue of its own.
        path = ac.Single(path.link)
    stacks = {name: stock.tcp(preset, bottleneck.PACKET) for name, preset in STACKS.items()}
    duration = f"{(bottleneck.WARM + cycles) * bottleneck.cycle(rate, queue):.3f}s"
    return ac.Scenario.of(
        path, workload(case, rate), stacks, duration=duration, trace=["packets", "episodes"]
    )


def counted(run: Run, place: tuple[float, int], case: str) -> list[dict[str, Any]]:
    """A row for each TCP: drops by cycle of the saw-tooth."""
    rate, queue = place
    warm = bottleneck.WARM * bottleneck.cycle(rate, queue)
    rows = []
    for name in STACKS:
        segments, episodes = (drops.of_run(run.traces[t], name) for t in ("segments", "episodes"))
        mine = episodes.filter(pc.equal(episodes["connection"], 0))
        begins = mine["begin"].to_numpy()
        lost = drops.dropped(segments, 0, bottleneck.RTT / 2)
        counts = drops.per_cycle(lost[lost > warm], begins[begins > warm])
        rows.append(
            {
                "case": case,
                "stack": name,
                "bandwidth": rate,
                "queue": queue,
                "cycles": int(counts.size),
                "one": int((counts == 1).sum()),
                "drops": int(counts.sum()),
                "most": int(counts.max(initial=0)),
                "timeouts": int(np.sum(mine["timeouts"].to_numpy()[begins > warm])),
            }
        )
    return rows


def share(rows: list[dict[str, Any]]) -> float:
    """Cycles with exactly one drop, of all."""
    return sum(r["one"] for r in rows) / max(sum(r["cycles"] for r in rows), 1)


@item(
    "M-X10",
    kind="SIM",
    title="One drop per cycle in the ideal drop-tail topology",
    choices={
        **stock.CHOICES,
        "places": "100 kbit/s to 10 Mbit/s with queues of 10 to 30 packets, where a delayed ack does not "
        "wait for its timer",
        "cycle": "from one repair to the next; time for 40 of them (400 with --full) after "
        f"{bottleneck.WARM} that do not count",
        "jitter": "datagrams of 1024 bytes at half the line's rate in bursts of 30 ms on average, 300 ms "
        "apart on average, both exponential",
        "ack compression": "a second transfer in the other direction, so that acks wait behind data, with "
        "as long a queue there",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """A transfer alone, with cross traffic and with a transfer in the other direction."""
    cycles = 400 if setting.full else 40
    jobs = [(place, case) for case in (IDEAL, JITTER, COMPRESSION) for place in PLACES]
    rows: list[dict[str, Any]] = []
    for begin in range(0, len(jobs), BATCH):
        batch = jobs[begin : begin + BATCH]
        runs = run_all([scenario(*job, cycles) for job in batch], workers=setting.workers)
        rows += [row for run, job in zip(runs, batch, strict=True) for row in counted(run, *job)]
        setting.progress(min(begin + BATCH, len(jobs)) / len(jobs), "M-X10")

    def of(case: str, stack: str) -> list[dict[str, Any]]:
        return [r for r in rows if (r["case"], r["stack"]) == (case, stack)]

    ideal = share(of(IDEAL, "Reno"))
    checks = [at_least("share of Reno's cycles with exactly one drop, alone", ideal, 0.95, "at least")]
    for case in (JITTER, COMPRESSION):
        checks.append(
            at_most(
                f"the same with {case}", share(of(case, "Reno")), np.nextafter(ideal, 0), "below that alone"
            )
        )
        reno, sack = (sum(r["timeouts"] for r in of(case, s)) for s in STACKS)
        checks.append(
            stated(
                f"timeouts of Reno and of SACK with {case}",
                f"{reno} and {sack}",
                reno > sack,
                "more with Reno",
            )
        )
    notes = [
        (
            f"{case}, {stack}: {sum(r['one'] for r in of(case, stack))} of "
            f"{sum(r['cycles'] for r in of(case, stack))} cycles with one drop, at most "
            f"{max(r['most'] for r in of(case, stack))}; {sum(r['timeouts'] for r in of(case, stack))} "
            "timeouts"
        )
        for case in (IDEAL, JITTER, COMPRESSION)
        for stack in STACKS
    ]
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, {"drops": picture(rows)}, notes)


def picture(rows: list[dict[str, Any]]) -> Any:
    """Bars of the share for each case and TCP."""
    fig, axes = style.figure(
        "A queue that fills drops one packet",
        "Cycles of the sawtooth with exactly one drop; drop-tail, 60 ms, delayed acks",
    )
    cases = (IDEAL, JITTER, COMPRESSION)
    for i, stack in enumerate(STACKS):
        mine = [[r for r in rows if (r["case"], r["stack"]) == (case, stack)] for case in cases]
        at = np.arange(len(cases)) + 0.36 * (i - 0.5)
        bars = axes.bar(
            at,
            [100 * share(m) for m in mine],
            0.34,
            label=stack,
            color=style.COLOURS[i],
            hatch=("", "//")[i],
            edgecolor="white",
        )
        axes.bar_label(
            bars, [f"{sum(r['timeouts'] for r in m)} timeouts" for m in mine], fontsize=8, padding=2
        )
    axes.set_xticks(range(len(cases)), cases)
    axes.set(ylabel="cycles with one drop (%)", ylim=(0, 112))
    axes.grid(True, axis="y")
    axes.legend(loc="upper right", ncols=2, fontsize=9)
    return fig
