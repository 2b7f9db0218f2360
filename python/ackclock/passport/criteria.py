"""The table of the criteria."""

from __future__ import annotations

from ackclock.passport.alone import ALONE
from ackclock.passport.beside import BESIDE
from ackclock.passport.criterion import Criterion
from ackclock.passport.difficult import DIFFICULT

GROUPS: tuple[tuple[str, tuple[Criterion, ...]], ...] = (
    ("Alone on a path", ALONE),
    ("Beside others", BESIDE),
    ("On difficult paths", DIFFICULT),
)
"""The criteria under their headings."""
CRITERIA = tuple(criterion for _, group in GROUPS for criterion in group)
UNMEASURED = (
    "real-time congestion control (5.2.2; datagrams at a constant rate stand in)",
    "circuit breakers (7.2; a buffer of 8 packets stands in)",
    "links whose rate varies (6.4, 7.9; other traffic stands in)",
    "AQMs other than RED (7.1)",
    "tunnels (6.2), multipath (7.10), and what only words can answer (5.3)",
)
"""What RFC 9743 names and no criterion measures."""
