"""The formulas of jacobson88: shapes, declarations, and the integer timer against the estimator that
connections run.
"""

import inspect

import numpy as np
import pytest

import ackclock as ac
from ackclock.models import FORMULAS, Timer
from ackclock.models import jacobson88 as j
from ackclock.reproduce import ITEMS
from ackclock.reproduce.papers import PAPERS


def source_is_named(f):
    """Whether the text of a formula says where it is from: a part of a paper, or that it is derived."""
    text = f.function.__doc__.partition("Source:")[2].strip()
    year = f.paper.lstrip("abcdefghijklmnopqrstuvwxyz")[-2:]
    return bool(text) and (year in text or "derived" in text or "(journal version" in text)


@pytest.mark.parametrize(
    "f", [f for f in FORMULAS.values() if f.paper != "backoff2008"], ids=lambda f: f.name
)
def test_each_formula_declares_its_arguments_and_broadcasts(f):
    assert list(inspect.signature(f.function).parameters) == list(f.inputs)
    assert source_is_named(f)
    assert "Returns" in f.function.__doc__
    assert f.result not in f.inputs
    value = {"ratio": 0.5, "count": 3, "packets": 8.0}
    given = {name: value.get(i.kind, 2.0) for name, i in f.inputs.items()}
    one = np.asarray(f(**given))
    assert one.shape == ()
    grid = f(**{name: np.full((2, 1) if n % 2 else (3,), v) for n, (name, v) in enumerate(given.items())})
    np.testing.assert_allclose(grid, np.broadcast_to(one, np.shape(grid)))
    assert np.shape(grid) == ((2, 3) if len(given) > 1 else (3,))


@pytest.mark.parametrize("f", [f for f in FORMULAS.values() if f.paper in PAPERS], ids=lambda f: f.name)
def test_every_closed_form_can_be_run_and_is_pinned(f):
    assert f.id in ITEMS
    assert ITEMS[f.id].kind == "CF"


def test_the_integer_forms_are_those_of_the_estimator():
    rng = np.random.default_rng(6)
    m = rng.integers(1, 60, 400)
    time = 1000.0 + np.arange(m.size) * 100
    rows = Timer("jacobson88-ticks", (("tick", "1s"), ("max_rto", "1h"), ("min_ticks", "0"))).rows(
        {"time": time, "rtt": m.astype(float)}
    )
    first = int(m[0])
    expected = [(8 * first, 2 * first, 3 * first)]
    for sample in m[1:]:
        old, sv, _ = expected[-1]
        sa, sv = int(j.scaled_mean(old, sample)), int(j.scaled_deviation(sv, old, sample, 2))
        expected.append((sa, sv, (sa >> 3) + sv))
    got = np.stack([rows["sa"], rows["sv"], rows["rto"]], axis=1)
    np.testing.assert_array_equal(got, expected)


def test_one_step_of_a_filter_is_the_timer_s():
    rng = np.random.default_rng(88)
    mean, deviation, sample = rng.uniform(0.001, 100, (3, 500))
    np.testing.assert_allclose(j.rfc793_srtt(mean, sample, 0.8), 0.8 * mean + 0.2 * sample, atol=1e-9)
    g = rng.choice([0.1, 0.125, 1 / 3], 500)
    np.testing.assert_allclose(j.mean_update(mean, sample, g), mean + g * (sample - mean), atol=1e-9)
    np.testing.assert_allclose(
        j.deviation_update(deviation, mean, sample, g),
        deviation + g * (np.abs(sample - mean) - deviation),
        atol=1e-9,
    )
    rto = Timer("jacobson88", (("weight", "2"), ("min_rto", "0s"), ("max_rto", "1h"))).step(
        mean, deviation, 0.0
    )["rto"]
    np.testing.assert_allclose(rto, j.mean_deviation_rto(mean, deviation, 2), atol=2e-9)
    rto = Timer("rfc793", (("min_rto", "0s"), ("max_rto", "1h"))).step(mean, 0.0, 0.0)["rto"]
    np.testing.assert_allclose(rto, j.rfc793_rto(mean), atol=2e-9)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), 1e12])
def test_times_that_no_timer_can_have_are_refused(wrong):
    with pytest.raises(ac.InputError, match="between 0 and"):
        j.mean_update(1.0, wrong)


def test_too_many_acks_are_refused():
    with pytest.raises(ac.InputError, match="at most"):
        j.avoidance_window(4, 1e9)


def test_the_command_takes_units_and_ranges(ackclock):
    done = ackclock("model", "J-E1", "--rtt", "100ms", "--window", "8,256", "--json")
    assert [row["T"] for row in done.json["rows"]] == pytest.approx([0.3, 0.8])
    assert ackclock("model", "packet-spacing", "--size", "552B", "--line", "230400bit/s", "--json").json[
        "rows"
    ][0]["spacing"] == pytest.approx(0.0191667, rel=5e-6)
    assert (
        ackclock("model", "E-E4", "--srtt", "2s", "--rttvar", "0s", "--json").json["rows"][0]["RTO_L"] == 2.0
    )
    for wrong in (
        ["E-E4", "--srtt", "2", "--rttvar", "0s"],
        ["J-E19", "--size", "552", "--line", "1kbit/s"],
        ["J-E2", "--rho", "1"],
    ):
        done = ackclock("model", *wrong)
        assert done.code == 2
        assert done.is_one_sentence()
