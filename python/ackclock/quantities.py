"""Numbers with their units, as tables show them."""

from __future__ import annotations


def seconds(x: float | None) -> str:
    """A time given in seconds."""
    if x is None:
        return "-"
    return f"{x * 1e3:.3g} ms" if x < 0.9995 else f"{x:.3f} s" if x < 99.95 else f"{x:.1f} s"


def rate(x: float | None) -> str:
    """A rate given in bit/s."""
    if x is None:
        return "-"
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if x >= scale:
            return f"{x / scale:.3g} {unit}"
    return f"{x:.3g} bit/s"


def percent(x: float | None) -> str:
    """A ratio."""
    return "-" if x is None else f"{100 * x:.2f} %"


def count(x: int | None) -> str:
    """A whole number with separators of thousands."""
    return "-" if x is None else f"{x:,}"


def number(x: float) -> str:
    """A real number to six digits."""
    return f"{x:.6g}"
