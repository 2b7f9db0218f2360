from __future__ import annotations

from ackclock.reproduce.backoff2008 import deployment
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, between, item

OTHER_MBIT = 15.0
"""Payload offered, Mbit/s: the upper end of what the paper reports (B-A7), for comparison."""


@item(
    "B-F12b",
    kind="SIM",
    title="TCP*(inf) beside TCP, Trace-II",
    choices={**deployment.CHOICES, "another load": f"{OTHER_MBIT:g} Mbit/s offered, in the notes: the paper's 10 to 15 leave it open"},
)
def reproduce(setting: Setting) -> Outcome:
    """The slowdown of TCP when most other flows do not back off."""
    part = Setting(setting.full, setting.workers, lambda share, label: setting.progress(0.7 * share, label))
    m = deployment.mixes("II", TCP, NONE, part, "B-F12b")
    rest = Setting(setting.full, setting.workers, lambda share, label: setting.progress(0.7 + 0.3 * share, label))
    more = deployment.mixes("II", TCP, NONE, rest, "B-F12b", shares=(0.9,), offered=OTHER_MBIT)
    checks = [between("mean of TCP beside 90 % TCP*(inf) over its mean alone", m.slowdown(0.9), 1.5, 2.5)]
    figure = deployment.picture(m, "TCP beside flows without backoff", deployment.subtitle("II"))
    notes = [*m.notes(), *(f"{OTHER_MBIT:g} Mbit/s offered, {note}" for note in more.notes())]
    notes.append(f"slowdown beside 90 %: {m.slowdown(0.9):.3g} with 12 Mbit/s offered, {more.slowdown(0.9):.3g} with {OTHER_MBIT:g}")
    return Outcome(checks, m.table(), {"ccdf": figure}, notes)
