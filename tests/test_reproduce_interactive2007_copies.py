"""I-X5: what a sender of two copies makes of losses, and that its checks can fall short."""

import ackclock as ac
from ackclock.reproduce.interactive2007 import x5_window_accounting as x5


def test_single_packets_are_not_accounted_as_copies():
    """Without copies a loss is a timeout, and every check of the shares falls short."""
    p = 0.1
    scenario = x5.scenario(3000, [ac.Loss(p=p, of="data")], 1e6)
    copied, alone = (
        x5.single(scenario.simulate()),
        x5.single(scenario.but({"stacks.III.preset": "sack+no-limited-transmit"}).simulate()),
    )
    assert all(c.holds for c in x5.judged(p, copied))
    assert not any(c.holds for c in x5.judged(p, alone)[:2])


def test_shares_are_those_of_the_equation():
    wanted = x5.expected(0.1)
    assert round(wanted["all copies lost"], 12) == 0.01
    assert round(wanted["and the first retransmission"], 12) == 0.001
    assert round(wanted["window reduced"], 12) == 0.19


def test_an_account_that_is_wrong_is_reported():
    def flow(timeouts, cuts, again):
        return {"timeouts": timeouts, "window_cuts": cuts, "retransmitted_segments": again}

    right = [flow(0, 0, 0), flow(0, 1, 0), flow(0, 1, 0), flow(1, 1, 1)]
    assert all(c.holds for c in x5.accounted(list(zip(x5.CASES, right, strict=True))))
    wrong = [flow(0, 1, 0), flow(0, 0, 0), flow(1, 1, 1), flow(1, 1, 2)]
    assert not any(c.holds for c in x5.accounted(list(zip(x5.CASES, wrong, strict=True))))
