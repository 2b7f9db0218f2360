from __future__ import annotations

from ackclock.reproduce.backoff2008 import deployment
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_most, item


@item("B-F12c", kind="SIM", title="TCP*(inf) beside TCP, Trace-III", choices=deployment.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """Long flows among short ones; Trace-II at 90 % for comparison."""
    part = Setting(setting.full, setting.workers, lambda share, label: setting.progress(0.7 * share, label))
    m = deployment.mixes("III", TCP, NONE, part, "B-F12c")
    rest = Setting(
        setting.full, setting.workers, lambda share, label: setting.progress(0.7 + 0.3 * share, label)
    )
    other = deployment.mixes("II", TCP, NONE, rest, "B-F12c", shares=(0.9,))
    checks = [
        deployment.trend(m),
        at_most(
            "slowdown of TCP beside 90 % TCP*(inf)",
            m.slowdown(0.9),
            1.2 * other.slowdown(0.9),
            "1.2 times that of Trace-II",
        ),
    ]
    figure = deployment.picture(m, "TCP beside flows without backoff", deployment.subtitle("III"))
    return Outcome(checks, m.table(), {"ccdf": figure}, m.notes())
