from __future__ import annotations

from ackclock.reproduce.interactive2007 import approaches, testbed
from ackclock.reproduce.interactive2007.approaches import BACKLOGGED, DIVERSE, INTERACTIVE, PADDED, no_slower
from ackclock.reproduce.item import Outcome, Setting, item

LOW, HIGH = 0.02, 0.1


@item("I-F8a", kind="SIM", title="Latency of the approaches against loss, RED", choices=approaches.CHOICES)
def reproduce(setting: Setting) -> Outcome:
    """The mean latency of each approach beside the same cross traffic."""
    found, own = approaches.both_methods(setting, "I-F8a", testbed.RED)
    losses = approaches.common(found.values(), LOW, HIGH)
    checks = [
        no_slower("diversity (III) is no slower than padding (II)", found[DIVERSE], found[PADDED], losses),
        no_slower("padding (II) is no slower than backlogged", found[PADDED], found[BACKLOGGED], losses),
        no_slower(
            "backlogged is faster than interactive", found[BACKLOGGED], found[INTERACTIVE], losses, tie=1.0
        ),
    ]
    figure = approaches.picture(list(found.values()), "Latency of the paper's approaches, RED", "RED")
    return Outcome(
        checks,
        {"runs": approaches.table(found.values())},
        {"latency": figure},
        approaches.notes(found.values()) + approaches.beside(own.values()),
    )
