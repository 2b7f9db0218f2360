"""Figures: one file for each, and one for how they all look."""

from ackclock.plot.ccdf import ccdf
from ackclock.plot.style import save

__all__ = ["ccdf", "save"]
