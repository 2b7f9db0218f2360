from __future__ import annotations

from ackclock.reproduce.backoff2008 import deployment, testbed
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.chance import ENOUGH
from ackclock.reproduce.item import Outcome, Setting, item

QUICK_SEEDS = 4


@item(
    "B-F12a",
    kind="SIM",
    title="TCP*(inf) beside TCP, Trace-I",
    choices={
        **deployment.CHOICES,
        **{key: testbed.CHOICES[key] for key in ("packets", "backoff counter")},
        "random numbers": f"seeds 1 to {QUICK_SEEDS} (1 to {deployment.FULL_SEEDS} with --full); with fewer "
        f"than {ENOUGH} the means themselves decide",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """TCP alone, and with ever more flows without backoff."""
    m = deployment.mixes("I", TCP, NONE, setting, "B-F12a", quick_seeds=QUICK_SEEDS, stacks=testbed.stacks)
    checks = [deployment.trend(m)]
    checks += [
        ratio(f"{100 * s:g} %: mean of TCP over TCP*(inf)", m.mean(TCP, s), m.mean(NONE, s), least=1.0)
        for s in m.found
        if s > 0
    ]
    figure = deployment.picture(m, "TCP beside flows without backoff", deployment.subtitle("I"))
    return Outcome(checks, m.table(), {"ccdf": figure}, m.notes())
