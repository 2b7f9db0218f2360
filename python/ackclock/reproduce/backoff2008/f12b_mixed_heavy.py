from __future__ import annotations

from ackclock.reproduce.backoff2008 import deployment
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, between, item


@item("B-F12b", kind="SIM", title="TCP*(inf) beside TCP, Trace-II", choices=deployment.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The slowdown of TCP when most other flows do not back off. B-S6 has other loads."""
    m = deployment.mixes("II", TCP, NONE, setting, "B-F12b")
    checks = [between("mean of TCP beside 90 % TCP*(inf) over its mean alone", m.slowdown(0.9), 1.5, 2.5)]
    figure = deployment.picture(m, "TCP beside flows without backoff", deployment.subtitle("II"))
    return Outcome(checks, m.table(), {"ccdf": figure}, m.notes())
