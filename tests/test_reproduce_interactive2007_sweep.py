import numpy as np
import pytest

from ackclock.reproduce.interactive2007 import x9_sweep as x9


def test_gains_are_read_where_both_curves_reach():
    interactive = [(0.01, 0.2), (0.05, 0.4)]
    backlogged = [(0.02, 0.1), (0.05, 0.2)]
    found = x9.at_losses(interactive, backlogged)
    reached = np.isfinite(found)
    assert x9.LOSSES[reached].tolist() == [0.02, 0.03, 0.04, 0.05]
    assert found[x9.LOSSES == 0.02] == pytest.approx(0.25 / 0.1)
    assert found[x9.LOSSES == 0.05] == pytest.approx(2.0)


def test_a_flow_without_a_response_time_is_left_out():
    found = x9.at_losses([(0.01, 0.2), (0.05, float("nan"))], [(0.005, 0.1), (0.05, 0.1)])
    assert x9.LOSSES[np.isfinite(found)].tolist() == [0.01]


def test_cells_are_compared_at_the_losses_that_both_reach():
    cell = x9.Cell(5.0, 0.01, x9.QUEUES[0])
    few, many = np.full((2, x9.LOSSES.size), np.nan), np.full((2, x9.LOSSES.size), 2.0)
    few[:, :3] = 1.5
    assert x9.shared(x9.Gains(cell, few), x9.Gains(cell, many)) == (1.5, 2.0)


def test_more_flows_share_a_longer_path():
    near, far = (x9.Cell(10.0, rtt, x9.QUEUES[0]).mixes() for rtt in (0.01, 0.1))
    assert far[0].ftp > 2 * near[0].ftp
    assert [m.ftp for m in far] == sorted(m.ftp for m in far)
