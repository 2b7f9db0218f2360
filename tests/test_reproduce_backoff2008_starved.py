import pytest

from ackclock.reproduce.backoff2008 import x15_starvation as x15
from ackclock.reproduce.backoff2008.testbed import NONE, TCP
from ackclock.reproduce.backoff2008.x15_starvation import Share


def test_shares_are_compared_by_their_errors():
    assert Share(50, 1000).error == pytest.approx(0.00689, abs=1e-5)
    assert Share(50, 1000).exceeds(Share(10, 1000))
    assert not Share(12, 1000).exceeds(Share(10, 1000))
    assert not Share(0, 1000).exceeds(Share(0, 1000))


def test_one_of_the_two_traces_must_show_all_of_it():
    def made(one, two):
        values = {}
        for trace, (tcp, none, few) in {"I": one, "II": two}.items():
            values[trace, TCP, 0.9], values[trace, NONE, 0.9] = Share(tcp, 1000), Share(none, 9000)
            values[trace, TCP, 0.1] = Share(few, 9000)
        return values

    assert all(c.holds for c in x15.checks(made((90, 90, 90), (0, 0, 0))))
    assert not any(c.holds for c in x15.checks(made((0, 0, 0), (0, 0, 0))))
    # Half in one trace and half in the other is not all of it.
    assert not all(c.holds for c in x15.checks(made((90, 9000, 90), (90, 90, 5000))))
