import pytest

from ackclock.reproduce.interactive2007 import x8_kept_window as x8


def test_a_restart_takes_a_doubling_each_round_trip():
    assert [x8.rounds_after_restart(b) for b in (1, 4, 5, 10, 12, 13, 28, 29)] == [1, 1, 2, 2, 2, 3, 3, 4]


@pytest.mark.parametrize(("window", "rounds"), [(x8.KEPT, 1.0), (x8.RESTARTED, 3.0)])
def test_bursts_after_a_pause_are_read(window, rounds):
    run = x8.scenario(window, 28, 3.0, 0.0, 30.0).simulate()
    found = x8.after_pauses(run, 28)
    assert found.size > 50
    assert found.mean() == pytest.approx(rounds, rel=0.05)


def test_a_window_decays_with_the_pause():
    run = x8.scenario(x8.DECAYED, 28, 5.0, 0.0, 60.0).simulate()
    found = x8.after_pauses(run, 28)
    assert found.min() < 1.1
    assert found.max() > 1.9
