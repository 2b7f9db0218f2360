from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa

from ackclock.plot import rates
from ackclock.reproduce.item import Check, Outcome, Setting, at_most, between, item, within
from ackclock.reproduce.jacobson88 import four, testbed
from ackclock.reproduce.jacobson88.four import CHOICES, PLOTTED, RECEIVER_CHOICE, mean_from
from ackclock.results.transfer import Transfer, total_rate

WIDTH = 5.0
"""Seconds of a bin."""
TRANSIENT = 25.0
"""Seconds after which the new TCPs are judged."""
QUICKER = "old TCPs, alpha 0.8, beta 1.3"
"""Another reading of the old TCP: the other ends of RFC 793's ranges."""
MEANS = {
    "means": "old: the 170 s of J-F8; new: from 25 s to the end of the first conversation, after which the "
    "others have the link to themselves"
}


def series(*, acked: bool) -> tuple[dict[str, np.ndarray], float]:
    """Payload of old and new TCPs per bin over what the link carries, and when the first new conversation
    ends (s).
    """
    found, end = {}, 0.0
    runs = {
        "old TCPs": four.old_run(),
        QUICKER: four.old_run(estimator=testbed.quicker_timer()),
        "new TCPs": four.new_run(),
    }
    for name, run in runs.items():
        transfers = testbed.connections(run).values()
        end = min(t.acked_at[-1] for t in transfers)
        going_on = any(f["outcome"] == "unfinished" for f in run.flows.to_pylist())
        found[name] = binned(transfers, going_on, acked=acked)
    return found, end


def binned(transfers: Collection[Transfer], going_on: bool, *, acked: bool) -> np.ndarray:
    """Payload per bin over what the link carries: whole bins, of 170 s or until all is sent."""
    last = PLOTTED if going_on else min(PLOTTED, max(t.acked_at[-1] for t in transfers))
    return total_rate(transfers, WIDTH, PLOTTED, acked=acked)[: int(last / WIDTH)] / testbed.LINK_DATA


def figure(found: dict[str, np.ndarray], title: str, label: str, limits: tuple[float, float]):
    """Old and new as the paper draws them."""
    found = {name: values for name, values in found.items() if name != QUICKER}
    subtitle = (
        "Bins of 5 s; 1 is the data that the link of 230.4 kbit/s carries; four conversations as in "
        "figures 8 and 9"
    )
    return rates(found, WIDTH, title=title, subtitle=subtitle, label=label, level=1.0, limits=limits)


def table(found: dict[str, np.ndarray]) -> pa.Table:
    """All series, a row for each bin."""
    bins = max(map(len, found.values()))
    return pa.table(
        {
            "time": WIDTH * np.arange(bins),
            **{k: pa.array([*v, *[None] * (bins - len(v))], pa.float64()) for k, v in found.items()},
        }
    )


def judged(old: np.ndarray, new: np.ndarray, end: float) -> list[Check]:
    """The register's statements about what is sent. end: of the first new conversation (s)."""
    return [
        between("old TCPs, mean", float(old.mean()), 1.15, 1.40),
        within("new TCPs, mean after 25 s", mean_from(new, WIDTH, TRANSIENT, end), 1.0, 0.03),
        at_most("new TCPs, first bin", new[0], 0.9, "below"),
    ]


@item(
    "J-F10",
    kind="SIM",
    title="Total bandwidth sent by old and new TCPs",
    choices={**CHOICES, **MEANS, **testbed.OLD_CHOICES, **testbed.NEW_CHOICES, **RECEIVER_CHOICE},
)
def reproduce(setting: Setting) -> Outcome:
    """Bytes sent per bin in the runs of J-F8 and J-F9."""
    found, end = series(acked=False)
    old, new = found["old TCPs"], found["new TCPs"]
    checks = judged(old, new, end)
    fig = figure(
        found, "Bandwidth that old and new TCPs use", "payload sent, relative to the link", (0.0, 2.0)
    )
    swing = new[1:5]
    notes = [
        f"New TCPs between 5 and 25 s: {swing.min():.2f} to {swing.max():.2f}; the first conversation "
        f"ends at {end:.0f} s (paper: about 110 s).",
        f"Old TCPs: {old.min():.2f} to {old.max():.2f} (paper: 25 % above the wire on average); with "
        f"RFC 793's alpha at 0.8 and beta at 1.3 they send {found[QUICKER].mean():.2f} on average.",
    ]
    return Outcome(checks, {"bins": table(found)}, {"rates": fig}, notes)
