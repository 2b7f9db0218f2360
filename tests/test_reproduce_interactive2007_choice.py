import numpy as np
import pytest

from ackclock.reproduce.interactive2007 import choosing, testbed
from ackclock.reproduce.interactive2007.choosing import BACKLOGGED, INTERACTIVE, STRATEGIES, Case

FEW = Case(20, testbed.RED, choosing.RENO)


def test_clients_move_to_the_fastest():
    times = np.array([1.0, 0.5, 0.52, 2.0, 3.0, 4.0])
    after = choosing.moved(FEW.start(), times, 0.25)
    assert after[STRATEGIES.index(INTERACTIVE)] == pytest.approx(0.75)
    assert after[STRATEGIES.index(BACKLOGGED)] == pytest.approx(0.25)
    close = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    assert choosing.moved(close, times, 0.25).tolist() == close.tolist(), "within the margin nobody moves"
    assert choosing.at_rest(close, times)
    assert not choosing.at_rest(FEW.start(), times)


def test_all_clients_are_counted():
    assert FEW.counts(FEW.start()).tolist() == [20, 0, 0, 0, 0, 0]
    assert FEW.counts(FEW.start(), 1).tolist() == [19, 1, 0, 0, 0, 0]
    thirds = np.array([1, 1, 1, 0, 0, 0]) / 3
    mixes = Case(400, testbed.RED, choosing.RENO).mixes(thirds)
    assert len(mixes) == 4, "as they are, and each that nobody has is tried"
    assert [m.sum() for m in mixes] == [400] * 4
    assert mixes[1][3] == 8


def test_what_hardly_anybody_has_is_read_from_those_who_try_it():
    def seen(*times):
        return choosing.Seen(np.array(times), 1.0, 1.0, 0.0)

    shares = np.array([0.5, 0.5, 0.0])
    found = choosing.payoffs(shares, [seen(1.0, 2.0, np.nan), seen(1.5, 2.5, 3.0)])
    assert found.tolist() == [1.0, 2.0, 3.0]


def test_each_strategy_has_its_own_stack_in_one_run():
    counts = FEW.counts(np.full(6, 1 / 6))
    run = FEW.scenario(counts, 1, 10.0).simulate()
    groups = run.flows["group"].to_pylist()
    assert {g: groups.count(g) for g in set(groups)} == dict(zip(STRATEGIES, counts.tolist(), strict=True))
    seen = choosing.read([run], counts, 10.0)
    assert np.isfinite(seen.times).all()
    assert 0 < seen.goodput < choosing.RATE
