from __future__ import annotations

import pyarrow as pa

from ackclock._core import backoff_schedule
from ackclock.reproduce.item import Outcome, Setting, exactly, item

SECOND, BASE = 10**9, 3
ROUNDS = 8


@item(
    "B-X9",
    kind="CF",
    title="FreeBSD's SYN schedule",
    choices={
        "base": f"an initial timeout of {BASE} s",
        "where it comes from": "the backoff policy that simulations run",
    },
    points_at=["backoff freebsd-syn", "item B-A3"],
    tests=["crates/ackclock-policy/src/backoff/tests.rs::freebsd_does_not_back_off_the_first_five_syns"],
)
def reproduce(setting: Setting) -> Outcome:
    """Timeouts of SYNs and of data, from the policy."""
    syns, data = (
        [ns // SECOND for ns in backoff_schedule("freebsd-syn", [], BASE * SECOND, ROUNDS, syn)]
        for syn in (True, False)
    )
    checks = [
        exactly(
            "SYN timeouts (s): five before they double", syns, [BASE * m for m in (1, 1, 1, 1, 1, 2, 4, 8)]
        ),
        exactly("data timeouts (s), unaffected", data, [BASE * m for m in (1, 2, 4, 8, 16, 32, 64, 64)]),
    ]
    return Outcome(checks, {"timeouts": pa.table({"round": range(ROUNDS), "syn": syns, "data": data})})
