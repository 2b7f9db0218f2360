from __future__ import annotations

from ackclock.reproduce.backoff2008 import flash
from ackclock.reproduce.item import Outcome, Setting, item


@item("B-F6a", kind="SIM", title="Flash crowds of datagrams", choices=flash.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """Response times of web flows beside datagrams that come and go."""
    return flash.experiment("udp", (40, 50), "Response times in flash crowds of datagrams", setting, "B-F6a")
