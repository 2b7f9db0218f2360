"""Numbers with their units, as tables show them."""

from __future__ import annotations

import re

UNITS_OF_TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
"""The units that a time is shown in, in seconds."""

FRACTION = re.compile(r"(?<![\w.,])-?\d+\.\d+(?:e[-+]?\d+)?(?![\w.])")
"""A number with a fraction within a text; addresses and versions are none."""
NUMBERS = re.compile(r"[\d.]+(?:e[-+]?\d+)?")
"""Numbers within a text, without their signs."""
LEAST_SHARE = 1e-5
"""A smaller ratio is not given in digits."""


def seconds(x: float | None) -> str:
    """A time given in seconds, to three significant digits; from 1,000 s on, to a second."""
    if x is None:
        return "-"
    if abs(x) < 0.5e-9:
        return "0 s"
    unit, name = next((u for u in UNITS_OF_TIME if abs(x) >= 0.9995 * u[0]), UNITS_OF_TIME[-1])
    value = x / unit
    return f"{value:.3g} {name}" if abs(value) < 999.5 else f"{value:,.0f} {name}"


def rate(x: float | None) -> str:
    """A rate given in bit/s."""
    if x is None:
        return "-"
    for scale, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")):
        if x >= scale:
            return f"{x / scale:.3g} {unit}"
    return f"{x:.3g} bit/s"


def percent(x: float | None) -> str:
    """A ratio, to three significant digits; what is below a thousandth of a per cent is called that."""
    if x is None:
        return "-"
    if 0 < abs(x) < LEAST_SHARE:
        return f"below {100 * LEAST_SHARE:g} %"
    return f"{100 * x:.3g} %"


def count(x: int | None) -> str:
    """A whole number with separators of thousands."""
    return "-" if x is None else f"{x:,}"


def number(x: float) -> str:
    """A real number to six digits."""
    return f"{x:.6g}"


def shortened(text: str) -> str:
    """A text whose numbers with a fraction have three significant digits, or all those before the point."""

    def short(found: re.Match[str]) -> str:
        digits = found[0].partition("e")[0].replace(".", "").lstrip("-0")
        if len(digits) <= 3:
            return found[0]
        x = float(found[0])
        return f"{x:.3g}" if abs(x) < 999.5 else f"{x:.0f}"

    return FRACTION.sub(short, text)


def for_people(expected: str, got: str, holds: bool) -> tuple[str, str]:
    """What a check expects and what it got, in three digits unless these hide that they differ; JSON and
    records have all.
    """
    short = shortened(expected), shortened(got)
    # A number that is just beyond its limit must not look like the limit.
    alike = set(NUMBERS.findall(short[0])) & set(NUMBERS.findall(short[1]))
    same = set(NUMBERS.findall(expected)) & set(NUMBERS.findall(got))
    return short if holds or len(alike) <= len(same) else (expected, got)
