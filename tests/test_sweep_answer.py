"""The answer of a sweep: at which values a number was best and worst, and which stack was first."""

from __future__ import annotations

import pytest

import ackclock as ac
from ackclock.quantities import percent, rate, seconds
from ackclock.sweep.answer import answer

PATH = 'path = { kind = "single", rtt = "20ms", link = { rate = "5Mbit/s", faults = [{ kind = "loss", p = '
SCENARIO = (
    'duration = "10s"\n' + PATH + '"1%", of = "data" }] } }\nworkload = { kind = "bulk" }\n'
    'stacks = { cubic = "cubic", bbr = "linux-bbr" }\n'
)
LOSSES = {"random_loss": {"key": "path.link.faults.0.p", "values": ["0.1%", "5%"]}}


def swept(tmp_path, text=SCENARIO, axes=LOSSES, seeds=2):
    file = tmp_path / "s.toml"
    file.write_text(text)
    return ac.Sweep(ac.Scenario.read(file), axes=axes, seeds=seeds).run(workers=1, processes=False)


def means(found, number):
    """The means as an outsider finds them in the table, by value of the axis and stack."""
    table = found.table.group_by(["random_loss", "stack"]).aggregate([(number, "mean")]).to_pydict()
    return dict(
        zip(zip(table["random_loss"], table["stack"], strict=True), table[f"{number}_mean"], strict=True)
    )


def test_endless_flows_are_compared_by_payload_and_stacks_at_the_same_values(tmp_path):
    found = swept(tmp_path)
    by = means(found, "goodput")
    low, high = min(by, key=by.get), max(by, key=by.get)
    first, *others = answer(found)
    assert first.startswith("Payload over the bottleneck was highest ")
    assert f" random_loss = {high[0]}" in first
    assert (
        f": {rate(by[high])}, and lowest with {low[1]} at random_loss = {low[0]}: {rate(by[low])}, " in first
    )
    assert first.endswith(f"a factor of {by[high] / by[low]:.2g} less (means over the seeds).")
    at = {stack: rate(by[low[0], stack]) for stack in ("cubic", "bbr")}
    assert (
        f"The stacks differ most at random_loss = {low[0]}: {at['bbr']} with bbr, {at['cubic']} with cubic."
        in others
    )


def test_the_number_that_was_asked_for_is_compared(tmp_path):
    found = swept(tmp_path)
    by = means(found, "loss")
    low, high = min(by, key=by.get), max(by, key=by.get)
    first = answer(found, "loss")[0]
    assert first.startswith(
        f"The share of packets dropped was smallest with {low[1]} at random_loss = {low[0]}: "
    )
    assert f": {percent(by[low])}, and largest " in first
    assert f": {percent(by[high])}, {by[high] / by[low]:.2g} times as much" in first
    assert answer(found, "mean") == ["No run has a value of `mean`: nothing finished."]


def test_transfers_are_compared_by_their_times_and_what_did_not_finish_is_told(tmp_path):
    text = SCENARIO.replace(
        'workload = { kind = "bulk" }',
        'workload = { kind = "fixed", size = "1MB", flows = 4, stagger = "2.5s" }',
    )
    found = swept(tmp_path, text)
    by = means(found, "mean")
    low, high = min(by, key=by.get), max(by, key=by.get)
    first, *others = answer(found)
    assert first.startswith("Transfers were fastest ")
    assert f" random_loss = {low[0]}" in first
    assert f": {seconds(by[low])} on average, and slowest " in first
    assert f" random_loss = {high[0]}" in first.partition("slowest")[2]
    begun, finished = (sum(found.table[name].to_pylist()) for name in ("flows", "finished"))
    left = begun - finished
    assert left > 0
    assert f"Transfers that did not finish: {left} of {begun} in all runs; " in others[-1]


@pytest.mark.parametrize("number", ac.sweep.result.NUMBERS)
def test_every_number_makes_a_sentence(tmp_path, number):
    text = SCENARIO.replace('"bulk"', '"fixed", size = "50kB"').replace(', bbr = "linux-bbr"', "")
    sentences = answer(swept(tmp_path, text, seeds=1), number)
    assert sentences
    assert all(s.endswith(".") and s[0].isupper() and "  " not in s for s in sentences)
    assert number == "load" or "No run has" not in sentences[0]


def test_a_stack_that_shares_its_run_is_not_ranked_by_the_loss_of_the_link(tmp_path):
    shared = """
[[workload]]
kind = "bulk"
name = "x"
stack = "cubic"
[[workload]]
kind = "bulk"
name = "y"
stack = "bbr"
"""
    text = SCENARIO.replace('workload = { kind = "bulk" }\n', "") + shared
    first = answer(swept(tmp_path, text), "loss")
    assert not any("cubic" in s or "bbr" in s for s in first)
    assert any("cubic" in s for s in answer(swept(tmp_path, text), "goodput"))


def test_a_single_combination_is_told_and_alike_ones_are_called_that(tmp_path):
    text = SCENARIO.replace('"bulk"', '"fixed", size = "50kB"').replace(', bbr = "linux-bbr"', "")
    (first,) = answer(swept(tmp_path, text.replace("1%", "0%"), {"duration": ["10s"]}, seeds=1))
    assert first.startswith("Transfers took ")
    assert first.endswith(" ms on average with cubic.")
    (first,) = answer(swept(tmp_path, text.replace("1%", "0%"), {"duration": ["10s", "11s"]}, seeds=1))
    assert first.startswith("Transfers were about the same in all 2 combinations: ")
