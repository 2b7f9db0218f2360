"""Distributions of any column of the flows: the right axis, the right unit, and something to see."""

from __future__ import annotations

import numpy as np
import pytest

import ackclock as ac
from ackclock.plot.ccdf import around, ccdf
from ackclock.results import columns


@pytest.fixture(scope="module")
def run():
    path = ac.Dumbbell(
        bottleneck=ac.Link("10Mbit/s", queue=ac.Red(limit="2bdp")), rtt=ac.Uniform("10ms", "200ms")
    )
    stacks = {"tcp": "sack", "none": "sack+no-backoff"}
    # With `series` the waiting times in queues have values too.
    return ac.simulate(path, ac.Web(trace="I", load=1.2), stacks, duration="5s", series="1s")


OF_A_KERNEL = ("reorderings", "delivered_ce", "busy_time", "receiver_limited_time", "buffer_limited_time")
"""Columns that a simulation leaves empty."""


def test_every_column_of_numbers_is_drawn_where_its_values_are(run):
    units = {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in run.flows.schema}
    for column in columns.numbers(run.flows):
        if column in OF_A_KERNEL:
            assert run.flows[column].null_count == len(run.flows), column
            continue
        axes = run.plot.ccdf(column).axes[0]
        # The last line of each stack is its entry in the legend.
        drawn = [line for line in axes.get_lines() if len(line.get_xdata())]
        assert len(drawn) == 2, column
        low, high = axes.get_xlim()
        for line in drawn:
            x = np.asarray(line.get_xdata())
            assert x.max() <= high, column
            assert axes.get_xscale() == "linear" or (x[x > 0] >= low).all(), column
        label = axes.get_xlabel()
        assert label.startswith(column.replace("_", " ")), label
        if units[column] == "s":
            assert label.endswith("(s)"), label
        elif units[column]:
            assert any(
                label.endswith(f"({prefix}{units[column]})") for prefix in ("", "k", "M", "G", "Ki", "Mi")
            ), label
        else:
            assert "(" not in label, label
        assert ("took" in axes.get_ylabel()) == (column == "response_time")


def test_goodput_is_in_its_own_unit(run):
    axes = run.plot.ccdf("goodput").axes[0]
    assert axes.get_xlabel() == "goodput (Mbit/s)"
    top = max(line.get_xdata().max() for line in axes.get_lines() if len(line.get_xdata()))
    assert top == pytest.approx(max(run.flows["goodput"].to_pylist()) / 1e6)
    assert "Mbit/s" in axes.get_legend().get_texts()[0].get_text()


def test_shares_are_of_all_flows_those_with_nothing_too(run):
    flows = run.flows.filter(ac.results.run.pa.compute.equal(run.flows["stack"], "tcp"))
    timeouts = np.array(flows["timeouts"].to_pylist())
    line = next(line for line in run.plot.ccdf("timeouts").axes[0].get_lines() if len(line.get_xdata()))
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    assert y[x == 1][0] == pytest.approx((timeouts >= 1).mean())


def test_response_times_beyond_the_usual_axis_are_shown_too():
    axes = ccdf({"fast": [0.0004, 0.002], "slow": [3000.0]}, title="x").axes[0]
    assert axes.get_xlim() == (1e-4, 1e4)
    assert ccdf({"usual": [0.1, 2.0]}, title="x").axes[0].get_xlim() == (0.01, 1000.0)
    assert around(np.array([0.0, np.inf])) == (0.1, 1.0)


@pytest.mark.parametrize(
    ("column", "by", "says"),
    [
        ("latency", "stack", "`latency` is not a column of the flows; expected one of flow, start"),
        ("response-time", "stack", "did you mean `response_time`?"),
        (
            "outcome",
            "stack",
            "`outcome` is a column of the flows without numbers to draw; expected one of flow, start",
        ),
        ("timeouts_by_round", "stack", "without numbers to draw"),
        ("goodput", "nothing", "`nothing` is not a column of the flows"),
        ("goodput", "flow", "expected at most 28"),
        ("goodput", "timeouts_by_round", "without values to draw a line for each of"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_a_sentence_that_says_what_can(run, column, by, says):
    with pytest.raises(ac.InputError) as e:
        run.plot.ccdf(column, by=by)
    assert says in str(e.value)
    assert "\n" not in str(e.value)


def test_a_column_without_values_is_refused():
    path = ac.Dumbbell(bottleneck=ac.Link("10Mbit/s"), rtt="50ms")
    bulk = ac.simulate(path, ac.Bulk(flows=2), "sack", duration="2s")
    with pytest.raises(ac.InputError, match="no flow that counts has a `size`; they have flow, start"):
        bulk.plot.ccdf("size")
    assert bulk.plot.ccdf("goodput").axes[0].get_xlabel() == "goodput (Mbit/s)"
