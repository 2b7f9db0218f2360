from __future__ import annotations

from ackclock.reproduce.backoff2008 import flash
from ackclock.reproduce.item import Outcome, Setting, item


@item("B-F6b", kind="SIM", title="Flash crowds of TCP connections", choices=flash.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """Response times of web flows, those of crowds that come and go among them."""
    return flash.experiment(
        "tcp", (20, 30), "Response times in flash crowds of connections", setting, "B-F6b"
    )
