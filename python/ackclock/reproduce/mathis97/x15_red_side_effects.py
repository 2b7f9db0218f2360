from __future__ import annotations

import numpy as np
import pyarrow as pa

from ackclock.reproduce.item import Outcome, Setting, at_least, at_most, item
from ackclock.reproduce.mathis97 import phase
from ackclock.reproduce.mathis97 import t2_phase_effects as t2

CASES = {"drop-tail, SACK": ("drop-tail", "sack"), "RED, SACK": ("RED", "sack"), "RED, Reno": ("RED", "reno")}


@item(
    "M-X15",
    kind="SIM",
    title="What RED brings besides (footnote 12)",
    choices={
        **phase.CHOICES,
        "start": "at random within the first second; means over 5 seeds (20 with --full)",
        "within 10 %": "of both connections together",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The scenario of table 2 with drop-tail and with RED, and Reno under RED."""
    seeds = range(1, 21 if setting.full else 6)
    jobs = {
        (name, seed): phase.scenario(phase.queue(kind, t2.LIMIT), stack=phase.tcp(preset), seed=seed)
        for name, (kind, preset) in CASES.items()
        for seed in seeds
    }
    found = phase.columns(setting, jobs, "M-X15")
    rows = [
        {
            "case": name,
            "start": seed,
            "link_delay": c.line.delay,
            "drops": c.line.dropped,
            "bandwidth": c.bandwidth,
            "goodput": sum(c.bandwidths),
            "timeouts": sum(x.timeouts for x in c.tcp),
        }
        for (name, seed), c in found.items()
    ]

    def mean(case: str, column: str) -> float:
        return float(np.mean([r[column] for r in rows if r["case"] == case]))

    dt, red, reno = CASES
    apart = abs(mean(reno, "goodput") / mean(red, "goodput") - 1)
    checks = [
        at_most(
            "link delay (ms) with RED",
            1e3 * mean(red, "link_delay"),
            1e3 * mean(dt, "link_delay"),
            "below drop-tail's",
        ),
        at_most("drops with RED", mean(red, "drops"), mean(dt, "drops"), "fewer than drop-tail's"),
        at_least(
            "bandwidth (kbit/s) with RED",
            mean(red, "bandwidth") / 1e3,
            mean(dt, "bandwidth") / 1e3,
            "above drop-tail's",
        ),
        at_most("difference of Reno and SACK under RED", apart, 0.1, "at most"),
    ]
    notes = [
        (
            f"{name}: link delay {1e3 * mean(name, 'link_delay'):.2f} ms, {mean(name, 'drops'):.0f} drops, "
            f"{mean(name, 'bandwidth') / 1e3:.0f} kbit/s, {mean(name, 'timeouts'):.1f} timeouts"
        )
        for name in CASES
    ]
    return Outcome(checks, {"runs": pa.Table.from_pylist(rows)}, notes=notes)
