"""Gains at the loss that flows experience (I-U2)."""

import numpy as np
import pytest

from ackclock._core import InputError
from ackclock.models.interactive2007 import backlogged_latency, interactive_latency
from ackclock.results.gain import Experience, drawn, gain

EDGES = (0.0, 0.01, 0.02, 0.05)


def test_a_bin_has_the_mean_by_packets():
    found = Experience.of([0.012, 0.018, 0.03], [0.1, 0.4, 9.0], [300, 100, 7]).bins(EDGES)
    assert [b.entries for b in found] == [0, 2, 1]
    assert found[1].response == pytest.approx(0.175)
    assert found[1].loss == pytest.approx(0.0135)
    assert found[1].packets == 400
    assert np.isnan(found[0].response)
    assert np.isinf(found[2].half), "one entry has no spread"


def test_an_edge_begins_a_bin_and_the_last_one_ends_the_last():
    found = Experience.of([0.0, 0.01, 0.02, 0.05, 0.06], [1, 1, 1, 1, 1]).bins(EDGES)
    assert [b.entries for b in found] == [1, 1, 2]


def test_what_is_unknown_counts_nowhere():
    found = Experience.of([0.015, np.nan, 0.015, 0.015], [0.1, 0.1, np.nan, 5.0], [1, 1, 1, 0]).bins(EDGES)
    assert [b.entries for b in found] == [0, 1, 0]


def test_the_gain_is_the_ratio_in_each_bin_that_both_have():
    loss = np.array([0.004, 0.005, 0.012, 0.013, 0.03])
    slow = Experience.of(loss, [0.04, 0.06, 0.1, 0.12, 3.0])
    fast = Experience.of(loss[:4], [0.02, 0.03, 0.1, 0.12])
    found = gain(slow, fast, EDGES)
    assert found["gain"].to_pylist() == pytest.approx([2.0, 1.0])
    assert found["low"].to_pylist() == [0.0, 0.01]
    assert found["loss"].to_pylist() == pytest.approx([0.0045, 0.0125])
    # Two entries each: 12.7 standard errors on either side.
    relative = 12.706 * 0.1414 / np.sqrt(2) / 0.05 / 10
    assert found["half"][0].as_py() == pytest.approx(2 * np.hypot(relative, relative), rel=1e-3)
    assert gain(slow, Experience.of([], []), EDGES).num_rows == 0


def test_samples_of_the_model_give_its_gain():
    rng = np.random.default_rng(7)
    p, q, rtt = rng.uniform(0.005, 0.05, 4000), 0.2, 0.012
    slow = Experience.of(p, interactive_latency(p, rtt) * rng.uniform(0.9, 1.1, p.size))
    fast = Experience.of(p, backlogged_latency(p, q, rtt) * rng.uniform(0.9, 1.1, p.size))
    found = gain(slow, fast, np.linspace(0.005, 0.05, 10))
    at = found["loss"].to_numpy()
    model = interactive_latency(at, rtt) / backlogged_latency(at, q, rtt)
    assert found["gain"].to_numpy() == pytest.approx(model, rel=0.03)
    inside = np.abs(found["gain"].to_numpy() - model) <= found["half"].to_numpy()
    assert inside.sum() >= 8


@pytest.mark.parametrize(
    ("loss", "response", "packets"),
    [
        ([0.1], [0.1, 0.2], None),
        ([1.1], [0.1], None),
        ([-0.1], [0.1], None),
        ([0.1], [-1], None),
        ([0.1], [0.1], [-1]),
    ],
)
def test_what_makes_no_sense_is_refused(loss, response, packets):
    with pytest.raises(InputError):
        Experience.of(loss, response, packets)


@pytest.mark.parametrize("edges", [[0.1], [], [0.1, 0.1], [0.2, 0.1], [[0, 1]]])
def test_edges_that_do_not_rise_are_refused(edges):
    with pytest.raises(InputError, match="rise"):
        Experience.of([0.1], [0.1]).bins(edges)


def test_a_line_over_bins_breaks_where_a_bin_is_empty():
    one = Experience(np.array([0.01, 0.03, 0.09]), np.array([0.3, 0.4, 0.5]), np.ones(3))
    table = gain(one, one, [0.0, 0.02, 0.04, 0.08, 0.1])
    assert table["low"].to_pylist() == [0.0, 0.02, 0.08]
    loss, value, half = drawn(table)
    assert loss.tolist() == pytest.approx([0.01, 0.03, 0.04, 0.09])
    assert np.isnan(value).tolist() == [False, False, True, False]
    assert half.size == 4
