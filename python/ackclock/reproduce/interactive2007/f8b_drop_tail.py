from __future__ import annotations

from ackclock.reproduce.interactive2007 import approaches, testbed
from ackclock.reproduce.interactive2007.approaches import BACKLOGGED, DIVERSE, INTERACTIVE, PADDED, no_slower
from ackclock.reproduce.item import Outcome, Setting, item

LOW, HIGH = 0.01, 0.1
"""The register has no range; below 1 % hardly anything is lost."""


@item(
    "I-F8b",
    kind="SIM",
    title="Latency of the approaches against loss, drop-tail that counts bytes",
    choices={
        **approaches.CHOICES,
        "range": f"losses from {100 * LOW:g} % on that all approaches reach (none is given for drop-tail)",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """The mean latency of each approach beside the same cross traffic."""
    found, own = approaches.both_methods(setting, "I-F8b", testbed.DROP_TAIL_BYTES)
    losses = approaches.common(found.values(), LOW, HIGH)
    others = (PADDED, DIVERSE, BACKLOGGED)
    checks = [
        no_slower("padding (II) is no slower than diversity (III)", found[PADDED], found[DIVERSE], losses),
        no_slower("diversity (III) is no slower than backlogged", found[DIVERSE], found[BACKLOGGED], losses),
        *(
            no_slower(f"interactive is slower than {name}", found[name], found[INTERACTIVE], losses, tie=1.0)
            for name in others
        ),
    ]
    figure = approaches.picture(
        list(found.values()), "Latency of the paper's approaches, drop-tail", "drop-tail that counts bytes"
    )
    return Outcome(
        checks,
        {"runs": approaches.table(found.values())},
        {"latency": figure},
        approaches.notes(found.values()) + approaches.beside(own.values()),
    )
