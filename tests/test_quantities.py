"""Numbers with their units: one formatter of times for all that is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ackclock.quantities import percent, seconds

ROOT = Path(__file__).parents[1] / "python/ackclock"


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (None, "-"),
        (0.0, "0 s"),
        (2.6e-8, "26 ns"),
        (2.6e-5, "26 µs"),
        (0.00087949, "879 µs"),
        (0.0481, "48.1 ms"),
        (0.99949, "999 ms"),
        (0.99951, "1 s"),
        (1.3631, "1.36 s"),
        (12.2555, "12.3 s"),
        (125.6, "126 s"),
        (1234.5, "1,234 s"),
        (-0.002, "-2 ms"),
    ],
)
def test_times_have_three_digits_and_a_unit_that_suits(x, shown):
    assert seconds(x) == shown


@pytest.mark.parametrize(
    ("x", "shown"),
    [
        (None, "-"),
        (0.0, "0 %"),
        (2e-6, "below 0.001 %"),
        (1.234e-5, "0.00123 %"),
        (0.031608, "3.16 %"),
        (0.32513, "32.5 %"),
        (0.99951, "100 %"),
        (1.5549, "155 %"),
        (-0.0312, "-3.12 %"),
    ],
)
def test_percentages_have_three_digits(x, shown):
    assert percent(x) == shown


def test_no_time_is_formatted_beside_the_one_formatter():
    """In what users see; reproductions give the paper's numbers in the paper's units."""
    raw = re.compile(r"\{[^{}]*:[.\d]*[gf]\} ?m?s\b(?!\")")
    allowed = {
        # Keys of scenarios, which take a number with its unit.
        "passport/scene.py",
        "passport/suite.py",
        # What was asked for, as it was given.
        "cli/eifel.py",
        "cli/probe.py",
        "models/timer.py",
        # A wait in a real queue, to what a machine is punctual.
        "link/report.py",
        # Bounds of what may be asked for.
        "results/over_time.py",
        "results/transfer.py",
        # The formatter.
        "quantities.py",
    }
    found = set()
    for file in ROOT.rglob("*.py"):
        name = file.relative_to(ROOT).as_posix()
        if not name.startswith("reproduce/") and raw.search(file.read_text(encoding="utf-8")):
            found.add(name)
    assert found <= allowed
