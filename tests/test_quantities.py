"""Numbers with their units: one formatter of times for all that is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ackclock.quantities import for_people, percent, seconds, shortened

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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.5, 0.583333", "0.5, 0.583"),
        ("2.53832", "2.54"),
        ("at least 2 (2)", "at least 2 (2)"),
        ("1234.5678 of 12345", "1235 of 12345"),
        ("999.4999 and 999.51", "999 and 1000"),
        ("1.234567e-05", "1.23e-05"),
        ("-0.001234567", "-0.00123"),
        ("0.50 to 0.60", "0.50 to 0.60"),
        ("10.0.0.1, v1.2345.6, 1,234.5678", "10.0.0.1, v1.2345.6, 1,234.5678"),
    ],
)
def test_numbers_within_a_text_have_three_digits(text, shown):
    assert shortened(text) == shown


@pytest.mark.parametrize(
    ("expected", "got", "holds", "shown"),
    [
        ("0.583333", "0.583333", True, ("0.583", "0.583")),
        ("0.583333", "0.583412", False, ("0.583333", "0.583412")),
        ("at least 2 (2)", "1.99961", False, ("at least 2 (2)", "1.99961")),
        ("at least 2 (2)", "2.00012", True, ("at least 2 (2)", "2")),
        ("at least 2 (2)", "1.86123", False, ("at least 2 (2)", "1.86")),
        ("0.5, 0.583333", "0.5, 0.61234", False, ("0.5, 0.583", "0.5, 0.612")),
    ],
)
def test_a_check_that_falls_short_by_little_keeps_its_digits(expected, got, holds, shown):
    assert for_people(expected, got, holds) == shown
