"""The random-loss half of mathis97: the path, what is measured on it, and the statements about table 4."""

import math

import pytest

from ackclock.models import mathis97 as m
from ackclock.reproduce.item import Setting
from ackclock.reproduce.mathis97 import (
    f3_bandwidth,
    f4_window,
    f8_clock_preserving,
    lossy,
    t4_ten_tcps,
    ten,
    x7_exclusions,
)


@pytest.fixture(scope="module")
def runs():
    cases = [
        lossy.Case("SACK DA", p, one_way, mss)
        for p, one_way, mss in ((3e-3, 0.03, 1460), (3e-3, 0.3, 536), (0.2, 0.03, 4312))
    ]
    return lossy.measure(Setting(), cases, "")


def test_nothing_queues_and_the_beginning_is_not_counted(runs):
    for r in runs:
        assert r["queue"] < 0.01
        assert r["ca"] + r["non_ca"] >= 50
        # Delayed acks wait at small windows; but for them the round trip is that of the path.
        assert 2 * r["one_way"] <= r["rtt"] < 2 * r["one_way"] + 0.2


def test_windows_do_not_depend_on_size_and_delay(runs):
    near, far, _ = runs
    assert near["window"] == pytest.approx(far["window"], rel=0.1)
    assert near["window"] * math.sqrt(near["p"]) == pytest.approx(0.85, abs=0.12)
    assert near["bandwidth"] == pytest.approx(float(m.bandwidth(1.0, near["rtt"], 1460, near["window"])))


def test_p_counts_every_loss_and_signals_are_beside_it(runs):
    """p_loss of M-T4 and its fits; CA events per acknowledged segment count losses of a window once."""
    mild, _, harsh = runs
    for r in runs:
        assert r["p"] == pytest.approx(r["loss"], rel=0.25)
    assert mild["p_ca"] == pytest.approx(mild["ca"] / mild["segments"])
    assert harsh["p_ca"] < harsh["p"]


def test_loss_by_count_is_one_of_so_many():
    (r,) = lossy.measure(Setting(), [lossy.Case("SACK", 0.01, periodic=True)], "")
    assert r["p"] == pytest.approx(0.01, rel=0.02)
    assert r["non_ca"] == 0


def test_the_grid_of_figure_3_has_every_path():
    for full in (False, True):
        cases = f3_bandwidth.cases(full)
        assert {(c.mss, c.one_way) for c in cases} == {(mss, d) for mss in lossy.SIZES for d in lossy.DELAYS}
        assert len(set(cases)) == len(cases)
        assert (min(c.p for c in cases), max(c.p for c in cases)) == (3e-5, 0.3)


def test_the_half_way_point_lies_between_two_losses():
    half = f8_clock_preserving.half_way
    assert half([0.01, 0.1], [0.75, 0.25]) == pytest.approx(math.sqrt(1e-3))
    assert half([0.01, 0.1], [0.9, 0.6]) == math.inf
    assert half([0.01, 0.1], [0.4, 0.1]) == 0.01


def made_up(row, **changes):
    printed = ten.TABLE[row]
    shares = {f"share_{p:g}": s for p, s in zip(ten.PLACES, printed.shares, strict=True)}
    there = {f"printed_share_{p:g}": s for p, s in zip(ten.PLACES, printed.shares, strict=True)}
    fits = {"n": printed.n, "c": printed.c, "k": printed.k, "free_c": printed.free_c}
    fits |= {"printed_c": printed.c, "printed_free_c": printed.free_c}
    return {
        "row": row,
        **fits,
        "printed_free_error": printed.free_error,
        **shares,
        **there,
        **changes,
    }


def test_the_table_as_printed_holds():
    table = {row: made_up(row) for row in ten.TABLE}
    for row in table:
        checks = t4_ten_tcps.own(table[row]) + t4_ten_tcps.across(row, table)
        assert all(c.holds for c in checks), (row, checks)


@pytest.mark.parametrize(
    ("row", "change", "name"),
    [
        ("Reno", {"c": 1.1}, "C of equation (3)"),
        ("Reno", {"k": -0.6}, "k of equation (5)"),
        ("Reno", {"share_0.01": 0.7}, "share of halvings at p = 0.01"),
        ("Reno", {"free_c": 0.9}, "C of equation (5)"),
        ("FACK-RH", {"n": 13}, "most runs without timeouts of its block"),
        ("Tahoe", {"k": -0.5}, "steepest k of its block"),
        ("Tahoe DA", {"c": 0.95}, "smallest C of its block"),
        ("SACK DA", {"c": 1.06}, "C, times the root of 2 over that without delayed acks"),
        ("FACK-RH", {"share_0.1": 0.5}, "largest share of halvings in its block at p = 0.1"),
    ],
)
def test_a_row_that_differs_falls_short(row, change, name):
    table = {r: made_up(r, **(change if r == row else {})) for r in ten.TABLE}
    checks = t4_ten_tcps.own(table[row]) + t4_ten_tcps.across(row, table)
    assert name in [c.name for c in checks if not c.holds]


def test_a_row_runs_no_more_than_its_checks_need():
    assert t4_ten_tcps.others("Reno") == ["Reno"]
    assert t4_ten_tcps.others("Reno DA") == ["Reno DA", "Reno"]
    assert set(t4_ten_tcps.others("Tahoe DA")) == {*ten.DELAYED, "Tahoe"}


def test_every_exclusion_has_its_transfer():
    assert len(x7_exclusions.scenarios(Setting())) == 6
    rows = x7_exclusions.vegas.runs(Setting(), "x")
    assert x7_exclusions.vegas.stack().to_scenario()["window"]["kind"] == "vegas"
    assert {r["stack"] for r in rows} == {"Reno", "Vegas"}
    row = x7_exclusions.of_vegas(rows[1])
    assert row["what"].startswith("Vegas, 0.5 Mbit/s")
    assert row["bandwidth"] / row["model"] == pytest.approx(rows[1]["over"])


def test_the_first_timeout_is_sought_for_each_seed():
    rows = [
        {"seed": seed, "loss": loss, "timeouts": n}
        for seed, loss, n in ((1, 0.003, 0), (1, 0.01, 2), (1, 0.02, 1), (2, 0.003, 1), (3, 0.02, 0))
    ]
    first = f4_window.first_timeouts(rows)
    assert first[:2] == [0.01, 0.003] and math.isnan(first[2])
