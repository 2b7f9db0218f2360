"""Figures: one file for each, and one for how they all look."""

from ackclock.plot.bands import ccdf_bands
from ackclock.plot.ccdf import ccdf
from ackclock.plot.curves import curves
from ackclock.plot.rates import rates
from ackclock.plot.sequence import sequence
from ackclock.plot.style import save
from ackclock.plot.timers import outlines, timers

__all__ = ["ccdf", "ccdf_bands", "curves", "outlines", "rates", "save", "sequence", "timers"]
