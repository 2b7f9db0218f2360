"""The table of the criteria."""

from __future__ import annotations

from ackclock.passport.alone import ALONE
from ackclock.passport.beside import BESIDE
from ackclock.passport.changing import CHANGING
from ackclock.passport.criterion import Criterion
from ackclock.passport.difficult import DIFFICULT
from ackclock.passport.queues import QUEUES

GROUPS: tuple[tuple[str, tuple[Criterion, ...]], ...] = (
    ("Alone on a path", ALONE),
    ("Beside others", BESIDE),
    ("Through active queues, policers, short buffers", QUEUES),
    ("On paths that change", CHANGING),
    ("On difficult paths", DIFFICULT),
)
"""The criteria under their headings."""
CRITERIA = tuple(criterion for _, group in GROUPS for criterion in group)
UNMEASURED = (
    "real-time congestion control (5.2.2; datagrams at a constant rate stand in)",
    "circuit breakers (7.2; policers and a buffer of 8 packets stand in)",
    "tunnels (6.2), multipath (7.10), and what only words can answer (5.3)",
)
"""What RFC 9743 names and no criterion measures."""
