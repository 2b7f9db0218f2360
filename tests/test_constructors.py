"""What constructors refuse at once, what they keep as it was given, and what `simulate` takes."""

from __future__ import annotations

import numpy as np
import pytest

import ackclock as ac

SCENARIO = """
seed = 7
duration = "2s"
[path]
kind = "dumbbell"
rtt = "50ms"
bottleneck = { rate = "2Mbit/s" }
[workload]
kind = "bulk"
[stacks]
tcp = "sack"
"""
PATH = ac.Dumbbell(bottleneck=ac.Link("2Mbit/s"), rtt="50ms")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: ac.Red(limit="2bpd"),
            "`red`: `limit` is `2bpd`, which is not a length of a queue: give packets or bytes",
        ),
        (lambda: ac.Red(limit="-2bdp"), "`limit` is `-2bdp`, which is not a length such as `2bdp`"),
        (lambda: ac.Red(limit=50), "`limit` is `50`, which is not a length of a queue"),
        (lambda: ac.Red(max_p="lots"), "`red`: `max_p` is `lots`, which is not"),
        (lambda: ac.Red(max_p=float("nan")), "`max_p` is `nan`"),
        (lambda: ac.Red(gentle="yes"), "`gentle` is `yes`, which is not `true` or `false`"),
        (lambda: ac.Red(limit=["2bdp"]), "`red`: `limit` is `['2bdp']`, where a single value belongs"),
        (lambda: ac.Red(limit=object()), "where a single value belongs"),
        (lambda: ac.Rfc6298(min_rto="1"), "`rfc6298`: `min_rto` is `1`, which is not a time"),
        (lambda: ac.Rfc6298(min_rto="99h"), "which is not between 0s and 3600s"),
        (lambda: ac.fault.Loss(p="150%"), "`loss`: `p` is `150%`"),
        (
            lambda: ac.fault.NthLoss(number=[1, "two"]),
            "`nth-loss`: `number` is `two`, which is not a whole number",
        ),
        (
            lambda: ac.window.Reno(initial_window="rfc9999"),
            "`initial_window` is `rfc9999`, which is not one of",
        ),
        (lambda: ac.Web(trace="IV"), "`web`: `trace` is `IV`, which is not one of I, II, III"),
        (
            lambda: ac.Web(lod=1.2),
            "`lod` is not a key of the workload `web` (did you mean `load`?); expected one of trace",
        ),
        (lambda: ac.Bulk(flows="many"), "`flows` is `many`, which is not a whole number"),
        (lambda: ac.Bulk(spread="5"), "`spread` is `5`, which is not a time"),
        (lambda: ac.Bulk(stager="5s"), "did you mean `stagger`?"),
        (lambda: ac.Telnet(think="often"), "`telnet`: `think` is `often`"),
        (lambda: ac.sizes.Exponential(mean="big"), "`exponential`: `mean` is `big`"),
        (lambda: ac.Link("10Mbits"), "`rate` is `10Mbits`, which is not a rate"),
        (lambda: ac.Link("10Mbit/s", delay=5), "`delay` is `5`, which is not a time"),
        (
            lambda: ac.Link("10Mbit/s", queue="rde"),
            "`rde` is not a known queue (did you mean `red`?); expected one of drop-tail",
        ),
        (
            lambda: ac.Link("10Mbit/s", queue=ac.fault.Loss(p=0.1)),
            "`loss` is of the kind fault, where a queue belongs",
        ),
        (lambda: ac.Link("10Mbit/s", faults=["los"]), "`los` is not a known fault (did you mean `loss`?)"),
        (
            lambda: ac.Uniform("10ms", "200"),
            "a round-trip time: `200` is not a time: give a number with a unit",
        ),
        (
            lambda: ac.Dumbbell(bottleneck=ac.Link("1Mbit/s"), rtt="fifty"),
            "`fifty` is not a time: give a number with a unit",
        ),
        (
            lambda: ac.Chain(link=ac.Link("1Mbit/s"), rtt=["10ms", "20"]),
            "a round-trip time: `20` is not a time",
        ),
        (lambda: ac.Stack("sakc"), "`sakc` is not a known stack (did you mean `sack`?)"),
        (lambda: ac.Stack("sack+stra(3)"), "stra"),
        (lambda: ac.Stack(recovry="sack"), "`recovry` is not a key of a stack (did you mean `recovery`?)"),
        (lambda: ac.Stack(recovery="sakc"), "`sakc` is not a known recovery"),
        (lambda: ac.Stack(mss="536"), "`mss` is `536`"),
        (lambda: ac.Stack(recovery=ac.Red(limit="2bdp")), "`red` is not a known recovery"),
        (lambda: ac.Stack(timestamps="on"), "`timestamps` is `on`, which is not `true` or `false`"),
        (lambda: ac.Stack("sack").but(backoff="non"), "`non` is not a known backoff"),
        (lambda: ac.Stack(5), "a stack's preset is `5`"),
        (lambda: ac.Stack(window=["reno"]), "`window` of a stack is `['reno']`"),
    ],
)
def test_what_no_scenario_takes_is_refused_at_once_in_one_sentence(make, says):
    with pytest.raises(ac.InputError) as e:
        make()
    assert says in str(e.value)
    assert "\n" not in str(e.value)


def test_what_belongs_to_a_policy_and_what_to_a_scenario_raises_that():
    for make in (lambda: ac.Red(limit="2bpd"), lambda: ac.Stack("sakc"), lambda: ac.Stack(mss="536")):
        with pytest.raises(ac.PolicyError):
            make()
    for make in (
        lambda: ac.Web(lod=1),
        lambda: ac.Bulk(flows="x"),
        lambda: ac.Link("10"),
        lambda: ac.Link("1Mbit/s", queue="rde"),
        lambda: ac.Uniform("1", "2"),
    ):
        with pytest.raises(ac.ScenarioError):
            make()


def test_what_is_stored_is_what_was_given():
    red = ac.Red(limit="2bdp", max_p=0.1, gentle=True)
    assert red.given == {"limit": "2bdp", "max_p": 0.1, "gentle": True}
    for limit in ("50packets", "64KiB", "100ms", "0.5bdp", " 2bdp"):
        assert ac.Red(limit=limit).given["limit"] == limit
    assert ac.backoff.Exponential(r2_retries=float("inf")).given == {"r2_retries": "inf"}
    assert ac.backoff.Exponential(r2_retries="inf").given == {"r2_retries": "inf"}
    assert ac.fault.NthLoss(number=[1, 2]).given == {"number": [1, 2]}
    assert ac.fault.Loss(p=1e-9).given == {"p": 1e-9}
    assert ac.Bulk(flows=3, rtt="10ms", until=None).given == {"flows": 3, "rtt": "10ms", "until": None}
    assert ac.Stack(recovery="sack", timer=ac.Rfc6298(min_rto="1s")).given == {
        "recovery": "sack",
        "estimator": ac.Rfc6298(min_rto="1s"),
    }
    assert ac.Link("10Mbit/s", faults=ac.fault.Loss(p="1%")).rate == "10Mbit/s"


def test_numbers_of_numpy_are_numbers():
    run = ac.simulate(
        PATH, ac.Bulk(flows=np.int64(2)), ac.Stack("sack", thin_window=np.float64(0.25)), duration="1s"
    )
    assert run.stacks[0]["flows"] == 2


def test_simulate_takes_the_path_of_a_scenario_file(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(SCENARIO)
    for given in (file, str(file), ac.Scenario.read(file)):
        run = ac.simulate(given)
        assert run.about["seeds"] == [7]
        assert ac.simulate(given, seed=9, duration="1s").about["seeds"] == [9]
    assert ac.simulate(PATH, ac.Bulk(), "sack", duration="1s").about["seeds"] == [1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere.toml",), "`nowhere.toml` does not exist; give the path of a scenario file (TOML)"),
        (
            (5,),
            "`path` is `5`, which is neither a path such as `ac.Dumbbell` nor a scenario, nor the path "
            "of a scenario file",
        ),
        ((PATH,), "`workload` is missing: give one such as"),
        ((PATH, ac.Bulk()), "`stacks` is missing: give one such as"),
        ((ac.Scenario(SCENARIO), ac.Bulk()), "`workload` is given beside a whole scenario"),
        (("s.toml", None, "sack"), "`stacks` is given beside a whole scenario"),
        ((PATH, ac.Bulk(), {"tcp": object()}), "a value is of a kind that no scenario holds"),
    ],
)
def test_simulate_names_valid_values_in_one_sentence(arguments, says):
    with pytest.raises(ac.InputError) as e:
        ac.simulate(*arguments)
    assert says in str(e.value)
    assert "\n" not in str(e.value)
