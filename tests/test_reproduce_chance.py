"""Other seeds and values for the items of the papers, verdicts on chance, and the scenarios that an item
ran.
"""

from __future__ import annotations

import numpy as np
import pytest

import ackclock as ac
from ackclock._core import InputError, ScenarioError
from ackclock.reproduce import chance
from ackclock.reproduce.item import Item, Number, Outcome, Setting, at_least, at_most, between, stated, within
from ackclock.scenario import Scenario, variation
from ackclock.scenario.variation import Variation, applied

SHORT = "3s"


def scenario(loss: float = 0.02, **options) -> Scenario:
    link = {"rate": "10Mbit/s", "faults": [{"kind": "loss", "p": loss}]}
    return Scenario.of(
        {"kind": "single", "link": link, "rtt": "20ms"}, ac.Bulk(), {"tcp": "sack"}, duration=SHORT, **options
    )


def example(make) -> Item:
    return Item("J-X1", "jacobson88", "SIM", "an example", {}, make)


def goodput(setting: Setting) -> Outcome:
    """An item that makes its scenario itself and runs it by itself, as most do."""
    run = scenario().simulate()
    return Outcome([at_least("goodput (bit/s)", run.stacks[0]["goodput"], 1e6, "a megabit")])


def test_a_variation_shifts_seeds_however_a_scenario_gives_them():
    for options, wanted in (
        ({}, [11]),
        ({"seed": 4, "repeat": 2}, [14, 15]),
        ({"seeds": [3, 9]}, [13, 19]),
    ):
        v = Variation(shift=10)
        (made,) = v.take([scenario(**options)])
        assert made.resolve_tree()["seeds"] == wanted
    assert v.seeds == [3, 9]
    assert v.width == 7


def test_what_is_run_inside_a_variation_is_changed_and_recorded_and_the_file_gives_the_same_run(tmp_path):
    v = Variation(shift=6, overrides=(("path.rtt", "50ms"),))
    with applied(v):
        run = scenario().simulate()
        (other,) = ac.sweep.run_all([scenario(0.05)])
    assert [s["seeds"] for s in map(_tree, v.scenarios)] == [[7], [7]]
    assert all(_tree(s)["path"]["rtt"] == "50ms" for s in v.scenarios)
    for n, (text, made) in enumerate(zip(v.scenarios, (run, other), strict=True)):
        file = tmp_path / f"{n}.toml"
        file.write_text(text)
        assert Scenario.read(file).simulate().flows.equals(made.flows)
    # Outside, nothing is changed.
    assert scenario().simulate().about["seeds"] == [1]
    assert len(v.scenarios) == 2


def test_a_sweep_inside_a_variation_is_changed_too():
    v = Variation(shift=6, overrides=(("path.rtt", "50ms"),))
    axes = {"path.link.faults.loss.p": [0.01, 0.02]}
    with applied(v):
        found = ac.Sweep(scenario(), axes, seeds=2).run()
    assert found.table["seed"].to_pylist() == [1, 2, 1, 2]
    assert [_tree(s)["seeds"] for s in v.scenarios] == [[7], [8], [7], [8]]
    assert {_tree(s)["path"]["rtt"] for s in v.scenarios} == {"50ms"}


def _tree(text: str) -> dict:
    return Scenario(text).resolve_tree()


def test_a_key_that_no_scenario_has_is_refused_and_one_that_some_have_is_counted():
    red = scenario().but({"path.link.queue": {"kind": "red", "limit": "50packets"}})
    v = Variation(overrides=(("path.link.queue.min_th", "7packets"),))
    one, other = v.take([scenario(), red])
    assert "min_th" not in one.resolve()
    assert _tree(other.resolve())["path"]["link"]["queue"]["min_th"] == "7packets"
    ((reason, texts),) = v.refused["path.link.queue.min_th"].items()
    assert texts == [one.resolve()] and "min_th" in reason
    for key, value, says in (
        ("path.colour", "red", "expected one of"),
        ("path.rtt", "soon", "which is not a time"),
        ("stacks.quic.window.kind", "cubic", "expected one of tcp"),
    ):
        with pytest.raises(ScenarioError, match=says):
            Variation(overrides=((key, value),)).take([scenario(), red])
    with pytest.raises(InputError, match="--seeds"):
        Variation(overrides=(("seed", "3"),))


def test_numbers_drawn_without_a_scenario_and_what_is_made_once_follow_the_variation():
    made = []

    def draw() -> float:
        made.append(1)
        return float(np.random.default_rng(variation.seed(5)).random())

    assert variation.seed(5) == 5
    first, second = Variation(), Variation(shift=3)
    for v in (first, second, first, second):
        with applied(v):
            assert variation.once(("chance", 1), draw) == np.random.default_rng(5 + v.shift).random()
    assert len(made) == 2
    assert first.seeds == second.seeds == [5, 5]


def test_repetitions_have_seeds_of_their_own_and_a_verdict_with_an_interval():
    settings = [Setting() for _ in range(10)]
    found = chance.repeat(example(goodput), settings, 3)
    assert found.shifts == list(range(2, 12))
    assert [next(map(_tree, s.variation.scenarios))["seeds"] for s in settings] == [[n] for n in range(3, 13)]
    (judged,) = found.judged()
    values = [o.checks[0].number.value for o in found.outcomes]
    assert len(set(values)) > 1
    assert judged.got.startswith(f"{np.mean(values):.4g} +/- ")
    assert found.verdict == judged.verdict == "holds"
    assert judged.held == judged.of == 10


def test_the_same_seed_gives_what_the_item_itself_gives():
    alone = example(goodput).run()
    assert chance.repeat(example(goodput), [Setting()]).outcomes[0].checks == alone.checks


def test_an_item_that_takes_no_seeds_runs_once():
    settings = [Setting() for _ in range(5)]
    found = chance.repeat(example(lambda _: Outcome([stated("x", "1", True)])), settings)
    assert len(found.outcomes) == 1
    assert found.judged()[0].got == "1"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.2, 1.3, 1.25, 1.22], "holds"),
        ([0.7, 0.8, 0.75, 0.77], "falls short"),
        ([0.9, 1.2, 0.95, 1.1], "open"),
        ([1.0, 1.0, 1.0, 1.0], "holds"),
        # More hold than not, and the mean is on the other side.
        ([1.01, 1.01, 1.01, 0.1], "open"),
    ],
)
def test_an_interval_on_one_side_of_the_limit_decides_and_one_across_it_is_open(values, verdict):
    assert chance.judge([at_least("x", v, 1.0, "limit") for v in values]).verdict == verdict
    assert chance.judge([at_most("x", -v, -1.0, "limit") for v in values]).verdict == verdict
    assert chance.judge([between("x", v, 1.0, 9.0) for v in values]).verdict == verdict
    assert chance.judge([within("x", v, 5.0, 4.0) for v in values]).verdict == verdict


def test_where_nothing_was_measured_nothing_lies_between():
    check = between("x", [], 0.8, 1.2)
    assert not check.holds and check.got == "nothing was measured"


@pytest.mark.parametrize(
    ("held", "of", "verdict"),
    # The exact interval of 5 of 5 begins at 0.478, that of 6 of 6 at 0.541.
    [(5, 5, "open"), (6, 6, "holds"), (9, 10, "holds"), (8, 10, "open"), (1, 10, "falls short")],
)
def test_a_check_without_a_number_is_judged_by_the_share_of_repetitions(held, of, verdict):
    checks = [stated("x", str(n), n < held) for n in range(of)]
    assert chance.judge(checks).verdict == verdict


def test_an_item_is_open_where_a_check_is_and_none_falls_short():
    def outcome(value: float) -> Outcome:
        return Outcome([at_least("a", value, 1.0, "x"), at_most("b", 0.1 * value, 1.0, "x")])

    found = chance.Repeated([outcome(v) for v in (0.9, 1.2, 1.0)])
    assert found.verdict == "open"
    found.outcomes = [Outcome([*o.checks, stated("c", "no", False)]) for o in found.outcomes]
    assert found.verdict == "falls short"


def test_a_number_that_is_not_finite_is_no_mean():
    checks = [at_most("x", v, 1.0, "limit") for v in (0.5, float("nan"), 0.4)]
    assert checks[0].number == Number(0.5, most=1.0)
    assert chance.judge(checks).got.startswith("holds in 2 of 3")


def test_reproduce_takes_seeds_and_values_and_writes_its_scenarios(ackclock, tmp_path):
    done = ackclock("reproduce", "B-F7", "--set", "drain=60s", "--seed", "5", "--json")
    assert done.code == 0, done
    result = done.json
    assert result["set"] == {"drain": "60s"}
    assert result["seeds"] == [5, 5]
    trees = [Scenario.read(file).resolve_tree() for file in result["scenarios"]]
    assert [t["seeds"] for t in trees] == [[5]] * len(trees)
    assert {t["drain"] for t in trees} == {"60s"}
    assert ackclock("run", result["scenarios"][-1]).code == 0
    # A second command replaces the folder and its scenarios, and says which seeds it took.
    again = ackclock("reproduce", "B-F7", "--seed", "2")
    assert again.code == 0 and "Run with seed 2, in place of" in again.out


def test_reproduce_over_seeds_prints_the_verdict_on_chance(ackclock):
    done = ackclock("reproduce", "J-F5", "--seeds", "2")
    assert done.code == 0, done
    assert "Over 2 repetitions with other seeds: open" in done.out
    assert "Fewer than 10 repetitions" in done.out
    result = ackclock("reproduce", "J-F5", "--seeds", "2", "--json").json
    assert result["chance"]["verdict"] == "open"
    assert result["chance"]["repetitions"] == 2


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["J-E1", "--set", "path.rtt=50ms"], "J-E1 runs no scenario (formula)"),
        (["J-F2", "--set", "path.colour=red"], "`path.colour` is not a known key"),
        (["J-F2", "--set", "path.rtt"], "is not a key and a value"),
        (["J-F2", "--set", "seed=3"], "seeds are given by `--seed` and `--seeds`"),
        (["jacobson88", "--set", "path.rtt=50ms"], "expected an id such as J-A1"),
        (["J-F2", "--seeds", "0"], "not in the range"),
    ],
)
def test_wrong_seeds_and_values_are_one_sentence(ackclock, args, says):
    done = ackclock("reproduce", *args)
    assert done.code == 2
    assert says in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_an_item_without_chance_says_so(ackclock):
    done = ackclock("reproduce", "J-E1", "--seeds", "3")
    assert done.code == 0
    assert "It takes no seeds" in done.out
