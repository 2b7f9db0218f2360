import numpy as np
import pytest

from ackclock.reproduce.backoff2008 import chain
from ackclock.reproduce.backoff2008 import x16_sustained as x16
from ackclock.reproduce.backoff2008 import x17_pieces as x17
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.backoff2008.x16_sustained import Cell, Point

CELL = Cell("I", 20, 1.2, 1)


def point(none, tcp):
    return Point(CELL, {NONE: {"mean": np.array(none)}, TCP: {"mean": np.array(tcp)}})


def test_a_side_is_beyond_margin_and_interval():
    assert point([2.0, 2.02], [1.0, 1.0]).side == 1
    assert point([0.5, 0.51], [1.0, 1.0]).side == -1
    assert point([1.03, 1.03], [1.0, 1.0]).side == 0, "within the margin"
    assert point([0.5, 2.0], [1.0, 1.0]).side == 0, "within the interval"


@pytest.mark.parametrize("bottlenecks", [1, 2, 3])
def test_each_bottleneck_is_offered_the_load(bottlenecks):
    rest = 10.0
    run = chain.scenario("I", 0.5, bottlenecks, 20.0, rest, repeat=1).simulate()
    links = [r for r in run.links.to_pylist() if r["rate"] == 1e7 and r["from"] < r["to"]]
    assert len(links) == 2 * bottlenecks, "one for each stack"
    for link in links:
        carried = link["bytes"] * 8 / 20 / 1e7
        assert carried == pytest.approx(0.5, abs=0.12)


def test_a_flow_that_is_not_done_counts_with_the_time_that_it_had():
    cell = Cell("I", 5, 3.0, 1)
    found = x16.comparison.run(chain.scenario("I", 3.0, 1, 5.0, 0.0, repeat=1), x16.Setting(), "test")
    numbers = x16._of(found, TCP, 5.0)
    assert numbers["unfinished"][0] > 0
    assert 0 < numbers["mean"][0] < 5
    assert x16.read(cell, found).numbers[TCP]["mean"][0] > numbers["mean"][0]


def test_each_stack_lacks_one_piece():
    found = x17.pieces(TCP)
    assert len({repr(s) for s in found.values()}) == len(found) == 10
    assert len(x17.pieces(NONE)) == 7, "what has no backoff has no ceiling of it"


def test_what_was_taken_away_is_compared_with_the_whole():
    def piece(name, mean):
        return x17.Piece("I", TCP, name, np.array([mean]), np.array([mean]), np.array([1.0]), np.array([0.0]))

    every = [piece(x17.ALL, 2.0), piece("no minRTO", 3.0)]
    assert x17.worst("no minRTO", TCP, every) == (1.5, "I")
    assert "costs up to 1.50 times" in x17.answer(
        [*every, *(x17.Piece(**{**p.__dict__, "backoff": NONE}) for p in every)]
    )
