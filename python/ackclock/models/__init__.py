"""Closed forms of the papers: NumPy functions that broadcast, one file each."""

from ackclock.models import backoff2008
from ackclock.models.formula import FORMULAS, Formula, Input

__all__ = ["FORMULAS", "Formula", "Input", "backoff2008"]
