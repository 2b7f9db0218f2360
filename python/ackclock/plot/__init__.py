"""Figures: a file for each, and `style` for the look of all of them."""

from ackclock.plot.bands import ccdf_bands
from ackclock.plot.ccdf import ccdf
from ackclock.plot.curves import curves
from ackclock.plot.details import details
from ackclock.plot.flight import flight
from ackclock.plot.rates import rates
from ackclock.plot.round_trips import round_trips
from ackclock.plot.sequence import sequence
from ackclock.plot.spread import Measured, measured, measured_panels
from ackclock.plot.style import FigureWarning, could_not_be_drawn, save
from ackclock.plot.timers import outlines, timers
from ackclock.plot.what_if import what_if

__all__ = [
    "FigureWarning",
    "Measured",
    "ccdf",
    "ccdf_bands",
    "could_not_be_drawn",
    "curves",
    "details",
    "flight",
    "measured",
    "measured_panels",
    "outlines",
    "rates",
    "round_trips",
    "save",
    "sequence",
    "timers",
    "what_if",
]
