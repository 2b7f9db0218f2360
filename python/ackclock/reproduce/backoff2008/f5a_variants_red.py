from __future__ import annotations

from ackclock.reproduce.backoff2008 import variants
from ackclock.reproduce.item import Outcome, Setting, item


@item(
    "B-F5a",
    kind="SIM",
    title="Tahoe, Reno and SACK over RED, with and without backoff",
    choices=variants.CHOICES,
)
def reproduce(setting: Setting) -> Outcome:
    """Three variants of TCP, each with and without backoff."""
    return variants.experiment("red", setting, "B-F5a")
