"""Figures: one file for each, and one for how they all look."""

from ackclock.plot.ccdf import ccdf
from ackclock.plot.style import save
from ackclock.plot.timers import outlines, timers

__all__ = ["ccdf", "outlines", "save", "timers"]
