"""The ten TCPs of table 4: what the table prints, their fits, and how their losses were signalled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Setting
from ackclock.reproduce.mathis97 import lossy
from ackclock.scenario import variation

PLACES = (0.01, 0.033, 0.1)
"""Losses at which table 4 has shares."""


@dataclass(frozen=True)
class Printed:
    """A row of table 4."""

    n: int
    c: float
    """Of equation (3)."""
    k: float
    free_c: float
    free_error: float
    """Of equation (5), with its printed error."""
    shares: tuple[float, float, float]


TABLE = {
    "FACK-RH": Printed(16, 1.352, -0.513, 1.205, 0.047, (0.996, 0.985, 0.738)),
    "SACK": Printed(11, 1.346, -0.508, 1.247, 0.033, (0.992, 0.822, 0.497)),
    "Reno": Printed(12, 1.331, -0.521, 1.096, 0.009, (0.935, 0.765, 0.331)),
    "NewReno": Printed(12, 1.357, -0.516, 1.167, 0.020, (0.983, 0.896, 0.517)),
    "Tahoe": Printed(11, 1.254, -0.534, 0.920, 0.015, (0.974, 0.796, 0.367)),
    "FACK-RH DA": Printed(15, 0.928, -0.519, 0.783, 0.045, (1.000, 0.929, 0.725)),
    "SACK DA": Printed(10, 0.938, -0.518, 0.792, 0.012, (0.952, 0.664, 0.112)),
    "Reno DA": Printed(10, 0.939, -0.524, 0.752, 0.015, (0.919, 0.595, 0.157)),
    "NewReno DA": Printed(11, 0.935, -0.526, 0.738, 0.006, (0.942, 0.635, 0.176)),
    "Tahoe DA": Printed(11, 0.883, -0.542, 0.596, 0.012, (0.919, 0.590, 0.173)),
}
PLAIN, DELAYED = tuple(TABLE)[:5], tuple(TABLE)[5:]
"""The two blocks of the table: an ack for each packet, delayed acks."""

CHOICES = {
    **lossy.CHOICES,
    "sizes": "1460-byte segments, 30 ms one way: in packets neither matters",
    "losses": "M-F3's range in 24 steps, 3e-5 to 0.3 (from 1.0e-4 without --full), so that FACK has about "
    "16 runs without timeouts",
    "shares": "at that loss of the link",
    "adjustments": "loss episodes, each a CA event or a non-CA event (M-U1); other ways to count are in "
    "the table `shares`",
}


def runs(
    setting: Setting, rows: Sequence[str]
) -> dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]]:
    """For each row the runs of the fits, and those of the shares. What one item has run another need not run
    again.
    """
    return {row: variation.once((row, setting.full), lambda row=row: run(setting, row)) for row in rows}


def run(setting: Setting, row: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The runs of a row's fits, and those of its shares."""
    losses = [p for p in lossy.grid(3e-5, 0.3, 24) if setting.full or p >= 8e-5]
    fits = [lossy.Case(row, p) for p in losses]
    shares = [lossy.Case(row, p, cycles=2000 if setting.full else 400) for p in PLACES]
    done = lossy.measure(setting, [*fits, *shares], "ten TCPs")
    return done[: len(fits)], done[len(fits) :]


def fits(of: Sequence[dict[str, Any]], p: str = "p") -> tuple[m.Fit, m.Fit]:
    """Equations (3) and (5) through runs without timeouts. p: the column to take for it."""
    values, windows, timeouts = ([r[name] for r in of] for name in (p, "window", "timeouts"))
    return m.fit(values, windows, timeouts=timeouts, k=-0.5), m.fit(values, windows, timeouts=timeouts)


def share(row: dict[str, Any]) -> float:
    """Of the loss episodes, those that were clock-preserving halvings."""
    return row["ca"] / max(row["ca"] + row["non_ca"], 1)


def counted(row: dict[str, Any]) -> dict[str, Any]:
    """The share by three ways to count."""
    return {
        "row": row["row"],
        "loss": row["loss"],
        "p": row["p"],
        "ca": row["ca"],
        "non_ca": row["non_ca"],
        "cuts": row["cuts"],
        "timeouts": row["timeouts"],
        "of_episodes": share(row),
        "of_window_cuts": row["ca"] / max(row["cuts"], 1),
        "recoveries_of_recoveries_and_timeouts": row["recoveries"]
        / max(row["recoveries"] + row["timeouts"], 1),
        "table_4": TABLE[row["row"]].shares[PLACES.index(row["loss"])] if row["loss"] in PLACES else None,
    }
