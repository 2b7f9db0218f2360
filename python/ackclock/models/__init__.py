"""Models of the papers: formulas, NumPy functions that broadcast, and timers driven over series of
round-trip times.
"""

from ackclock.models import (
    backoff2008,
    cardwell2000,
    eifel2000,
    interactive2007,
    jacobson88,
    mathis97,
    pftk98,
    rfc9438,
)
from ackclock.models.formula import FORMULAS, Formula, Input
from ackclock.models.timer import Timer

__all__ = [
    "FORMULAS",
    "Formula",
    "Input",
    "Timer",
    "backoff2008",
    "cardwell2000",
    "eifel2000",
    "interactive2007",
    "jacobson88",
    "mathis97",
    "pftk98",
    "rfc9438",
]
