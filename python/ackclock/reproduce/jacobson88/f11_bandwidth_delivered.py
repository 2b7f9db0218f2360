from __future__ import annotations

import numpy as np

from ackclock.reproduce.item import Check, Outcome, Setting, at_least, between, item
from ackclock.reproduce.jacobson88 import f10_bandwidth_sent as f10
from ackclock.reproduce.jacobson88 import testbed
from ackclock.reproduce.jacobson88.f10_bandwidth_sent import MEANS, TRANSIENT, WIDTH
from ackclock.reproduce.jacobson88.four import CHOICES, RECEIVER_CHOICE, mean_from


def judged(old: np.ndarray, new: np.ndarray, end: float) -> list[Check]:
    """The register's statements about what is delivered. end: of the first new conversation (s)."""
    return [
        between("old TCPs, mean", float(old.mean()), 0.60, 0.88),
        at_least(
            "new TCPs, mean after 25 s", mean_from(new, WIDTH, TRANSIENT, end), 0.95, "95 % of the link"
        ),
    ]


@item(
    "J-F11",
    kind="SIM",
    title="Bandwidth delivered by old and new TCPs",
    choices={**CHOICES, **MEANS, **testbed.OLD_CHOICES, **testbed.NEW_CHOICES, **RECEIVER_CHOICE},
)
def reproduce(setting: Setting) -> Outcome:
    """Bytes newly acknowledged per bin in the runs of J-F8 and J-F9."""
    found, end = f10.series(acked=True)
    old, new = found["old TCPs"], found["new TCPs"]
    checks = judged(old, new, end)
    fig = f10.figure(
        found,
        "Bandwidth that old and new TCPs deliver",
        "payload acknowledged, relative to the link",
        (0.0, 1.6),
    )
    later = 100 * mean_from(new, WIDTH, TRANSIENT, end)
    notes = [
        f"Old TCPs deliver {100 * old.mean():.0f} % of the link (paper: 75 %), new ones {later:.1f} % "
        "after 25 s.",
        "With RFC 793's alpha at 0.8 and beta at 1.3 the old TCPs deliver "
        f"{100 * found[f10.QUICKER].mean():.0f} %.",
    ]
    return Outcome(checks, {"bins": f10.table(found)}, {"rates": fig}, notes)
