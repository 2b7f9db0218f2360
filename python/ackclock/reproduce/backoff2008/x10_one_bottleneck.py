from __future__ import annotations

from ackclock.reproduce.backoff2008 import comparison, crossing
from ackclock.reproduce.backoff2008 import two_bottlenecks as two
from ackclock.reproduce.backoff2008.comparison import ratio
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.item import Outcome, Setting, at_least, item

SECONDS, FULL = 20, 300


@item(
    "B-X10",
    kind="SIM",
    title="Dead packets do no harm where there is one bottleneck",
    choices={
        **two.CHOICES,
        "one bottleneck": f"R3-R4; R1-R2 has {two.OTHERS} Mbit/s as the others have, and its queue in "
        "proportion",
        "duration": f"arrivals for {SECONDS} s ({FULL} s with --full), then as long as the last flows need",
    },
)
def reproduce(setting: Setting) -> Outcome:
    """S1-C1 beside flows that lose most of their packets further on, with and without backoff."""
    found = comparison.run(
        two.scenario("I", FULL if setting.full else SECONDS, first=two.OTHERS), setting, "B-X10"
    )
    second = [row for row in found.links.to_pylist() if row["name"] == two.SECOND]
    loss = {}
    for stack in (TCP, NONE):
        mine = [row for row in second if row["run"].startswith(f"{stack} #")]
        loss[stack] = sum(row["dropped_queue"] for row in mine) / sum(row["packets_offered"] for row in mine)
    checks = [
        ratio(
            "S1-C1: mean of TCP*(inf) over TCP",
            found.mean(NONE, group=two.NEAR),
            found.mean(TCP, group=two.NEAR),
            least=0.95,
            most=1.05,
        ),
        at_least("loss at R3-R4 without backoff", loss[NONE], loss[TCP], "more than with backoff"),
    ]
    made = crossing.outcome(found, checks, "I")
    made.figures.clear()
    made.notes.append(f"loss at R3-R4: TCP {100 * loss[TCP]:.3g} %, TCP*(inf) {100 * loss[NONE]:.3g} %")
    return made
