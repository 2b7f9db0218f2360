"""Models of the papers: closed forms, NumPy functions that broadcast, and timers driven over series of round-trip times."""

from ackclock.models import backoff2008, eifel2000, jacobson88
from ackclock.models.formula import FORMULAS, Formula, Input
from ackclock.models.timer import Timer

__all__ = ["FORMULAS", "Formula", "Input", "Timer", "backoff2008", "eifel2000", "jacobson88"]
