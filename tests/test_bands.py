import numpy as np
import pytest

from ackclock.plot import bands, ccdf_bands
from ackclock.results.confidence import half_width, student


def runs(count, size=2000):
    return [np.random.default_rng(seed).lognormal(0, 1, size) for seed in range(count)]


def test_a_band_holds_the_line_and_narrows_with_more_runs():
    widths = []
    for count in (3, 30):
        found = runs(count)
        shares, low, high = bands.band(found)
        together = np.quantile(np.concatenate(found), 1 - shares)
        assert (low <= together).all()
        assert (together <= high).all()
        widths.append(float(np.log(high / low)[np.argmin(abs(shares - 0.1))]))
    assert widths[1] < widths[0] / 2
    assert shares[-1] == pytest.approx(1 / 2000)


def test_the_interval_is_students():
    # Tabulated: 4.303 for two degrees of freedom, 2.776 for four, at 95 %.
    assert student(3) == pytest.approx(4.303, abs=1e-3)
    assert student(5) == pytest.approx(2.776, abs=1e-3)
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(4.303 / 3**0.5, abs=1e-3)
    assert half_width([1.0]) == float("inf")


def test_one_run_and_none_are_drawn_too():
    fig = ccdf_bands({"one": runs(1), "none": [np.empty(0)], "zero": [np.zeros(3)]}, title="x")
    words = [t.get_text() for t in fig.axes[0].get_legend().get_texts()]
    assert words[1:] == ["none: nothing finished", "zero: nothing finished"]
