from __future__ import annotations

import numpy as np
import pyarrow as pa

import ackclock as ac
from ackclock.plot import style
from ackclock.reproduce.item import Outcome, Setting, at_most, item
from ackclock.reproduce.mathis97 import phase, steady, stock

PACKET = 1000
RATE = 4e6
RTTS = (50, 100, 150, 200)
"""ms, without queue."""
WARM = 50


@item(
    "M-X8",
    kind="SIM",
    title="Windows equalise through a shared bottleneck with randomised loss",
    choices={
        **stock.CHOICES,
        "flows": f"four SACK TCPs with delayed acks, round-trip times of {', '.join(map(str, RTTS))} ms, "
        f"{RATE / 1e6:g} Mbit/s",
        "RED": f"{phase.CHOICES['RED']}; as long a drop-tail queue beside it",
        "windows": "BW RTT/MSS with the round-trip time that each connection measures",
        "duration": f"300 s (3000 s with --full) after {WARM} s that do not count; 3 seeds, of which the "
        "means are compared",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """RED and, to compare, drop-tail."""
    seconds, seeds = 3000 if setting.full else 300, (1, 2, 3)
    queues = {"RED": phase.red(50), "drop-tail": ac.DropTail(limit="15packets")}
    flows = [ac.Bulk(name=f"{rtt} ms", rtt=f"{rtt}ms", spread="1s") for rtt in RTTS]
    wide = ac.Link(f"{RATE:.0f}bit/s", queue=ac.DropTail(limit="1000packets"))
    jobs = {}
    for name, queue in queues.items():
        path = ac.Dumbbell(ac.Link(f"{RATE:.0f}bit/s", queue=queue), rtt=f"{RTTS[0]}ms", back=wide)
        for seed in seeds:
            jobs[name, seed] = (
                ac.Scenario.of(path, flows, {"tcp": stock.tcp("sack", PACKET)}, seed=seed),
                WARM,
                seconds,
            )
    rows = [
        {
            "queue": name,
            "seed": seed,
            "rtt": rtt,
            "bandwidth": 8 * PACKET * c.rate,
            "measured_rtt": c.rtt,
            "p": c.p,
            "window": c.window,
            "timeouts": c.timeouts,
        }
        for (name, seed), span in steady.each(setting, jobs, "M-X8").items()
        for rtt in RTTS
        for c in [span.connections["tcp", f"{rtt} ms"]]
    ]

    def mean(name: str, rtt: int, column: str) -> float:
        return float(np.mean([r[column] for r in rows if (r["queue"], r["rtt"]) == (name, rtt)]))

    apart = {
        name: max(w) / min(w) - 1 for name in queues for w in [[mean(name, rtt, "window") for rtt in RTTS]]
    }
    checks = [at_most("difference of the windows through RED", apart["RED"], 0.35, "at most")]
    notes = []
    for name in queues:
        windows = ", ".join(f"{mean(name, rtt, 'window'):.1f}" for rtt in RTTS)
        bandwidths = ", ".join(f"{mean(name, rtt, 'bandwidth') / 1e3:.0f}" for rtt in RTTS)
        notes.append(
            f"{name}: windows of {windows} packets, {100 * apart[name]:.0f} % apart; bandwidths of "
            f"{bandwidths} kbit/s"
        )
    fig, axes = style.figure(
        "RED gives all the same window",
        f"Four SACK TCPs over {RATE / 1e6:g} Mbit/s, delayed acks; means of {len(seeds)} runs",
    )
    for i, name in enumerate(queues):
        axes.plot(RTTS, [mean(name, rtt, "window") for rtt in RTTS], marker="o", label=name, **style.line(i))
    axes.set(xlabel="round-trip time without queue (ms)", ylabel="BW RTT/MSS (packets)", ylim=(0, None))
    axes.grid(True)
    axes.legend(loc="lower right")
    return Outcome(checks, {"flows": pa.Table.from_pylist(rows)}, {"windows": fig}, notes)
