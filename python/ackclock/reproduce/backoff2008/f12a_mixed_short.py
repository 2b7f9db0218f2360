from __future__ import annotations

from ackclock.reproduce.backoff2008 import deployment
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, item


@item("B-F12a", kind="SIM", title="TCP*(inf) beside TCP, Trace-I", choices=deployment.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """TCP alone, and with ever more flows without backoff."""
    m = deployment.mixes("I", TCP, NONE, setting, "B-F12a")
    checks = [deployment.trend(m)]
    checks += [
        ratio(f"{100 * s:g} %: mean of TCP over TCP*(inf)", m.mean(TCP, s), m.mean(NONE, s), least=1.0)
        for s in m.found
        if s > 0
    ]
    figure = deployment.picture(m, "TCP beside flows without backoff", deployment.subtitle("I"))
    return Outcome(checks, m.table(), {"ccdf": figure}, m.notes())
